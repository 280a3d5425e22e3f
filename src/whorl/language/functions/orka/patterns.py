"""Patterns of the dialect's files, which are written for an engine that can look ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.language.patterns import pattern

if TYPE_CHECKING:
    from whorl.language.patterns import Pattern

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
