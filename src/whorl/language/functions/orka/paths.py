"""Paths to a value inside of what an agent gave: `$.eval.score`, `scores[0]`, `$['the score']`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.language.faults import LanguageError
from whorl.language.values import UNDEFINED

if TYPE_CHECKING:
    from whorl.language.values import Value

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
