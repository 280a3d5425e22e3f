"""Patterns and paths in the dialect's files: `score: (\\d+)`, `$.eval.score`, `scores[0]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.language.faults import LanguageError
from whorl.language.patterns import pattern
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from whorl.language.patterns import Pattern
    from whorl.language.values import Value


_AHEAD = "(?="


def search_pattern(source: str, *, lessons: bool = False) -> Pattern:
    """Compiles a pattern; raises LanguageError. Patterns for lessons ignore case and line ends.

    What a pattern only looks for ahead of its end may as well belong to what it finds: no more
    than its groups is ever read.
    """
    return pattern(without_look_ahead(source), ignore_case=lessons, dot_matches_newline=lessons)


def without_look_ahead(source: str) -> str:
    """The pattern with a look-ahead at its very end turned into a group."""
    start = source.rfind(_AHEAD)
    if start < 0 or _closing(source, start) != len(source) - 1:
        return source
    return f"{source[:start]}(?:{source[start + len(_AHEAD) :]}"


def _closing(source: str, start: int) -> int:
    """Where the parenthesis at `start` is closed; -1 where it is not."""
    depth = 0
    is_class = False
    index = start
    while index < len(source):
        letter = source[index]
        if letter == "\\":
            index += 1
        elif is_class:
            is_class = letter != "]"
        elif letter == "[":
            is_class = True
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if depth == 0:
                return index
        index += 1
    return -1


_STEP = re.compile(
    r"""\.?(?P<name>[^.\[\]'"$*?@\s](?:[^.\[\]'"*?@]*[^.\[\]'"*?@\s])?)"""
    r"""|\[(?P<index>-?\d{1,6})\]"""
    r"""|\[\s*(?:'(?P<single>[^']+)'|"(?P<double>[^"]+)")\s*\]"""
)
_HELP = "write members with dots and positions in brackets, as in $.eval.scores[0]"


def parse_path(text: str) -> list[str | int]:
    """The steps of a path; raises LanguageError with the offset of what is wrong."""
    at = 1 if text.startswith("$") else 0
    steps: list[str | int] = []
    while at < len(text):
        found = _STEP.match(text, at)
        is_joined = at == 0 or text[at] in ".["
        if found is None or not is_joined:
            raise LanguageError(f"{text[:60]!r} is no path to a value", at, _HELP)
        index = found["index"]
        name = found["name"] or found["single"] or found["double"]
        steps.append(name if index is None else int(index))
        at = found.end()
    if not steps:
        raise LanguageError(f"{text[:60]!r} names no value", 0, _HELP)
    return steps


def value_at(value: Value, steps: list[Value]) -> Value:
    """The value at the end of a path: members of objects, positions of lists, and nothing else."""
    for step in steps:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step, UNDEFINED)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return UNDEFINED
    return value
