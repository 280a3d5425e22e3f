"""Writes expressions: names and texts of the file enter them as quoted texts, never as code."""

from __future__ import annotations

import json

from whorl import ir

LIBRARY = "studio"


def quoted(text: str) -> str:
    """A text as it is written in an expression."""
    return json.dumps(text, ensure_ascii=False)


def called(function: str, *arguments: str) -> str:
    """The call of a function."""
    return f"{function}({', '.join(arguments)})"


def known(name: str) -> str:
    """The value of a name."""
    return called("known", quoted(name))


def field(name: str, key: str) -> str:
    """A field of the result of a node."""
    return called("field", quoted(name), quoted(key))


def listed(items: list[str]) -> str:
    """A list of texts."""
    return f"[{', '.join(map(quoted, items))}]"


def expression(source: str) -> ir.Expression:
    """An expression of the IR."""
    return ir.Expression("jinja", source, LIBRARY)
