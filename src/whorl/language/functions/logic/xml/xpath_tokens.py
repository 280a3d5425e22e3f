"""The words of an XPath expression."""

from __future__ import annotations

import re
from dataclasses import dataclass

from whorl.language.faults import EvaluationError, LimitExceeded

_SOURCE_MAX = 8_192
_TOKEN = re.compile(
    r"""\s*(?:(?P<literal>"[^"]*"|'[^']*')
      |(?P<number>[0-9]+(?:\.[0-9]*)?|\.[0-9]+)
      |(?P<mark>//|::|!=|<=|>=|\.\.|[/()\[\],@.|+\-=<>*])
      |(?P<name>[^\W\d][\w.-]*(?::(?:[^\W\d][\w.-]*|\*))?))""",
    re.VERBOSE,
)
_OPERATORS = frozenset(("=", "!=", "<", "<=", ">", ">=", "+", "-", "|"))
_WORDS = frozenset(("and", "or", "div", "mod"))
# After one of these, or at the start, a name is a name and a star stands for any name.
_BEFORE_OPERAND = frozenset(("@", "::", "(", "[", ",", "/", "//", "operator"))


@dataclass(frozen=True, slots=True)
class Token:
    """One word; the kind of a mark is the mark itself."""

    kind: str
    text: str
    start: int


def tokenize(source: str) -> list[Token]:
    """Split an expression into words; the last one is `end`."""
    if len(source) > _SOURCE_MAX:
        raise LimitExceeded(f"XPath expression is longer than {_SOURCE_MAX} characters")
    tokens: list[Token] = []
    position = 0
    while source[position:].strip():
        found = _TOKEN.match(source, position)
        if found is None:
            raise EvaluationError(
                f"the XPath expression {source[:60]!r} is not valid at position '{position}'"
            )
        kind = found.lastgroup
        assert kind is not None
        text = found[kind]
        is_operand = not tokens or tokens[-1].kind in _BEFORE_OPERAND
        if kind == "mark":
            kind = "operator" if text in _OPERATORS or (text == "*" and not is_operand) else text
        elif kind == "name" and text in _WORDS and not is_operand:
            kind = "operator"
        tokens.append(Token(kind, text, found.start(found.lastgroup or 0)))
        position = found.end()
    tokens.append(Token("end", "", len(source)))
    return tokens
