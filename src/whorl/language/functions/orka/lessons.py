"""What an iteration teaches: insights, improvements and mistakes in what its agents said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.faults import LanguageError
from whorl.language.functions.orka.patterns import search_pattern
from whorl.language.functions.orka.scores import SEARCHED_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

JOINT = " | "
_LESSON_MIN = 3
_LESSON_MAX = 200
_LESSONS_MAX = 50


def lessons(texts: Iterable[str], patterns: Iterable[str], length_max: int) -> str:
    """What the patterns find, each once, joined, and cut at a length."""
    found: dict[str, str] = {}
    sources = list(patterns)
    for text in texts:
        for source in sources:
            for lesson in _found(text[-SEARCHED_MAX:], source):
                if len(found) < _LESSONS_MAX:
                    found.setdefault(lesson.lower(), lesson)
    joined = JOINT.join(found.values())
    return joined if len(joined) <= length_max else joined[: max(0, length_max - 3)] + "..."


def _found(text: str, source: str) -> Iterator[str]:
    try:
        program = search_pattern(source, lessons=True)
        for number, match in enumerate(program.search_all(text)):
            if number >= _LESSONS_MAX:
                return
            said = next((part for part in match.groups if part), None) or match.group(0) or ""
            lesson = " ".join(said.split())
            if len(lesson) >= _LESSON_MIN:
                cut = len(lesson) > _LESSON_MAX
                yield lesson[:_LESSON_MAX] + "..." if cut else lesson
    except LanguageError:
        # The reader has reported a pattern that does not compile.
        return
