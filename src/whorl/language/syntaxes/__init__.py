"""The syntaxes: each reads a source into the one tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.language.faults import LanguageError
from whorl.language.libraries import libraries, open_library
from whorl.language.tree import Name, Tree

if TYPE_CHECKING:
    from whorl.language.libraries import Read

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


# Jinja2 takes 40 ms to import, so each syntax is imported when the first source needs it.
SYNTAXES: dict[str, Read] = {
    "jinja": _jinja,
    "template": _template,
    "plain": _plain,
}


def reader(syntax: str) -> Read:
    """Return the function that reads a syntax: one of the core's, or one that a library brings."""
    if syntax in SYNTAXES:
        return SYNTAXES[syntax]
    read = open_library(syntax).read if libraries().has(syntax) else None
    if read is None:
        known = [*SYNTAXES, *libraries().names()]
        raise LanguageError(f"there is no syntax {syntax!r}", help=did_you_mean(syntax, known))
    return read
