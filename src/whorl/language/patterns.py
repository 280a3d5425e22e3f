"""Authors' regular expressions, on RE2: linear time, bounded memory, no look-around."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whorl.language.faults import LanguageError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

PATTERN_MAX = 4_096
PROGRAM_MAX = 4_000
MEMORY_MAX = 8_000_000
TEXT_MAX = 1_000_000

_UNSUPPORTED = (
    ("(?=", "look-ahead"),
    ("(?!", "look-ahead"),
    ("(?<=", "look-behind"),
    ("(?<!", "look-behind"),
    ("(?>", "an atomic group"),
    ("(?(", "a conditional group"),
    ("(?P=", "a back-reference"),
    ("\\1", "a back-reference"),
    ("\\2", "a back-reference"),
    ("\\3", "a back-reference"),
)


class Match:
    """Where a pattern was found."""

    __slots__ = ("_found",)

    def __init__(self, found: Any) -> None:
        self._found = found

    def group(self, index: int | str = 0) -> str | None:
        """Return the text of a group, 0 for all of it; None if the group took no part."""
        try:
            text = self._found.group(index)
        except (IndexError, KeyError):
            raise LanguageError(f"the regular expression has no group {index!r}") from None
        assert text is None or isinstance(text, str)
        return text

    @property
    def groups(self) -> tuple[str | None, ...]:
        """The texts of all groups, from the first."""
        return tuple(self._found.groups())

    @property
    def span(self) -> tuple[int, int]:
        """Where the match begins and ends."""
        start, end = self._found.span()
        return start, end


class Pattern:
    """A compiled regular expression; made by `pattern`."""

    __slots__ = ("_program", "cost", "groups", "source")

    def __init__(self, source: str, program: Any) -> None:
        self.source = source
        self._program = program
        self.groups: int = program.groups
        self.cost: int = program.programsize

    def search(self, text: str) -> Match | None:
        """Find the first match in a text."""
        found = self._program.search(_checked(text))
        return None if found is None else Match(found)

    def match(self, text: str) -> Match | None:
        """Match at the start of a text."""
        found = self._program.match(_checked(text))
        return None if found is None else Match(found)

    def search_all(self, text: str) -> Iterator[Match]:
        """Find all matches that do not overlap."""
        return map(Match, self._program.finditer(_checked(text)))


def _checked(text: str) -> str:
    if len(text) > TEXT_MAX:
        raise LimitExceeded(
            f"a regular expression searches at most {TEXT_MAX} characters, not {len(text)}"
        )
    # A lone surrogate cannot be encoded; it is replaced one for one, so that positions hold.
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


@lru_cache(maxsize=512)
def pattern(
    source: str, *, ignore_case: bool = False, dot_matches_newline: bool = False
) -> Pattern:
    """Compile a regular expression; raises LanguageError for what RE2 does not support."""
    if len(source) > PATTERN_MAX:
        raise LimitExceeded(f"regular expression is longer than {PATTERN_MAX} characters")
    re2 = _engine()
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY_MAX
    options.case_sensitive = not ignore_case
    options.dot_nl = dot_matches_newline
    try:
        program = re2.compile(_checked(source), options)
    except re2.error as error:
        raise _explained(source, error) from None
    if program.programsize > PROGRAM_MAX:
        raise LimitExceeded(
            f"regular expression {source!r} is too large", help="use smaller repeat counts"
        )
    return Pattern(source, program)


def _engine() -> ModuleType:
    import re2

    module: ModuleType = re2
    return module


def _explained(source: str, error: Exception) -> LanguageError:
    for mark, meaning in _UNSUPPORTED:
        at = source.find(mark)
        if at >= 0:
            return LanguageError(
                f"regular expression {source!r} uses {meaning}, which is not supported",
                at,
                "regular expressions follow the RE2 syntax: no look-around, no back-references",
            )
    reason = error.args[0] if error.args else "invalid"
    if isinstance(reason, bytes):
        reason = reason.decode("utf-8", "replace")
    if "too large" in str(reason):
        return LimitExceeded(
            f"regular expression {source!r} is too large", help="use smaller repeat counts"
        )
    return LanguageError(f"regular expression {source!r} is not valid: {reason}", 0)
