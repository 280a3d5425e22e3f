"""The syntaxes: each reads a source into the one tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from whorl.errors import did_you_mean
from whorl.language.faults import LanguageError
from whorl.language.tree import Name, Tree

Read: TypeAlias = Callable[[str, str], Tree]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that Jinja2 reads as constants or operators.
_WORDS = frozenset(("true", "false", "none", "and", "or", "not", "in", "is", "if", "else", "elif"))


def _jinja(source: str, library: str) -> Tree:
    # A step's name alone is the output of most small files: it needs no parser.
    if _NAME.fullmatch(source) and source.lower() not in _WORDS:
        return Tree("jinja", library, Name(source, 0), (), frozenset())
    from whorl.language.syntaxes.jinja import read_expression

    return read_expression(source, library)


def _template(source: str, library: str) -> Tree:
    from whorl.language.syntaxes.jinja import read_template

    return read_template(source, library)


def _plain(source: str, library: str) -> Tree:
    from whorl.language.syntaxes.plain import read_plain

    return read_plain(source, library)


def _logic(source: str, library: str) -> Tree:
    from whorl.language.syntaxes.logic import read_logic

    return read_logic(source, library)


def _lenient_logic(source: str, library: str) -> Tree:
    from whorl.language.syntaxes.logic import read_lenient_logic

    return read_lenient_logic(source, library)


# Jinja2 takes 40 ms to import, so each syntax is imported when the first source needs it.
SYNTAXES: dict[str, Read] = {
    "jinja": _jinja,
    "template": _template,
    "plain": _plain,
    "logic": _logic,
    "logic-lenient": _lenient_logic,
}


def reader(syntax: str) -> Read:
    """Return the function that reads a syntax."""
    read = SYNTAXES.get(syntax)
    if read is None:
        raise LanguageError(f"there is no syntax {syntax!r}", help=did_you_mean(syntax, SYNTAXES))
    return read
