"""Writes expressions: names and texts of the file enter them as quoted texts, never as code."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl import ir

if TYPE_CHECKING:
    from whorl.language import Json

LIBRARY = "shodan"
# A number that is written without sign and exponent.
_PLAIN = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")


def quoted(text: str) -> str:
    """A text as it is written in an expression."""
    return json.dumps(text, ensure_ascii=False)


def called(function: str, *arguments: str) -> str:
    """The call of a function."""
    return f"{function}({', '.join(arguments)})"


def given(name: str) -> str:
    """The value of a name."""
    return called("given", quoted(name))


def output(node: str, name: str) -> str:
    """An output of a node."""
    return called("port", quoted(node), quoted(name))


def packed(value: Json) -> str:
    """A JSON value as a text, which functions unpack."""
    return quoted(json.dumps(value, ensure_ascii=False))


def literal(value: Json) -> str:
    """A JSON value as an expression."""
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return quoted(value)
    if _PLAIN.fullmatch(json.dumps(value)):
        return json.dumps(value)
    return f"({packed(value)} | fromjson)"


def expression(source: str) -> ir.Expression:
    """An expression of the IR."""
    return ir.Expression("jinja", source, LIBRARY)
