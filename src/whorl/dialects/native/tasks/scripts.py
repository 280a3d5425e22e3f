"""What a shell script with values in it is read into, and where its expressions end."""

from __future__ import annotations

import re
from dataclasses import field
from typing import NamedTuple

from whorl.lazily import dataclass

# Texts and brackets of an expression; a text that is not closed ends with the script.
_TOKEN = re.compile(r"""(['"])(?:\\.|(?!\1)[^\\])*(?:\1|\\?\Z)|[](){}[]""", re.DOTALL)
_CLOSING = {"(": ")", "[": "]", "{": "}"}
ADVICE = "compute the text in a `value` step, or pass it through `env` or `stdin`"


class Fault(NamedTuple):
    """A place in a script that cannot hold a value."""

    message: str
    offset: int
    length: int
    help: str = ADVICE


class Placed(NamedTuple):
    """An expression of a script, with where its text begins, and the variable in its place.

    The name of the variable ends with that of a program which must not take the value for one of
    its options.
    """

    source: str
    offset: int
    name: str


@dataclass(slots=True)
class Script:
    """A script with variables in place of its expressions."""

    text: str
    placed: list[Placed] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def expression_end(source: str, at: int) -> int | None:
    """Finds the end of the `}}` that closes an expression, quotes and brackets in it aside."""
    open_brackets: list[str] = []
    for token in _TOKEN.finditer(source, at):
        mark = token[0]
        if not open_brackets and source.startswith("}}", token.start()):
            return token.start() + 2
        if mark in _CLOSING:
            open_brackets.append(_CLOSING[mark])
        elif open_brackets and mark == open_brackets[-1]:
            open_brackets.pop()
    return None
