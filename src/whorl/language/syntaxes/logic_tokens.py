"""The words of a Logic Apps expression: texts, numbers, names and marks."""

from __future__ import annotations

import re
from dataclasses import dataclass

_SINGLE = r"""'[^']*+(?:''[^']*+)*+'"""
_DOUBLE = r'''"[^"]*+(?:""[^"]*+)*+"'''
_OTHERS = r"""
      |(?P<number>(?:[+-]?[0-9]+\.?[0-9]*|[+-]\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![^.,(){}@\[\]?'\s]))
      |(?P<mark>[.,(){}@\[\]?])
      |(?P<name>[^.,(){}@\[\]?'"\s]+)"""
_TOKEN = re.compile(f"(?P<text>{_SINGLE}){_OTHERS}", re.VERBOSE)
_LENIENT_TOKEN = re.compile(f"(?P<text>{_SINGLE}|{_DOUBLE}){_OTHERS}", re.VERBOSE)
_SPACE = re.compile(r"\s*")

CLOSING = frozenset(("end", "}"))
_DESCRIPTIONS = {
    "end": "EndOfData",
    "text": "StringLiteral",
    "number": "Number",
    "name": "Identifier",
    ".": "Dot",
    ",": "Comma",
    "(": "LeftParenthesis",
    ")": "RightParenthesis",
    "{": "LeftCurlyBrace",
    "}": "RightCurlyBrace",
    "@": "At",
    "[": "LeftSquareBracket",
    "]": "RightSquareBracket",
    "?": "QuestionMark",
}


@dataclass(frozen=True, slots=True)
class Token:
    """One word; the kind of a mark is the mark itself, and an unreadable one is invalid."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def description(self) -> str:
        """The kind as messages of Logic Apps name it."""
        return _DESCRIPTIONS.get(self.kind, self.kind)


def next_token(source: str, position: int, *, lenient: bool) -> Token:
    """Return the word at a position, after white space; lenient, a text may have double quotes."""
    space = _SPACE.match(source, position)
    assert space is not None
    start = space.end()
    if start == len(source):
        return Token("end", "", start, start)
    found = (_LENIENT_TOKEN if lenient else _TOKEN).match(source, start)
    if found is None:
        return Token("invalid", source[start], start, start + 1)
    kind = found.lastgroup
    assert kind is not None
    return Token(found[0] if kind == "mark" else kind, found[0], start, found.end())
