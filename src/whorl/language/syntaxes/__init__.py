"""The syntaxes: each reads a source into the one tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import did_you_mean
from whorl.language import tree
from whorl.language.faults import LanguageError
from whorl.language.libraries import Read, libraries, open_library
from whorl.language.values import is_index
from whorl.lazily import regex

if TYPE_CHECKING:
    import re

_PLACE = regex(
    r"\{\{\s*(?P<root>[^\W\d][\w-]*)"
    r"(?P<path>(?:\.[\w-]+|\[\s*(?:-?\d{1,9}|'[^'\n]*'|\"[^\"\n]*\")\s*\])*)\s*\}\}"
)
_STEP = regex(r"\.([\w-]+)|\[\s*(?:(-?\d+)|'([^']*)'|\"([^\"]*)\")\s*\]")
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")
# Words that Jinja2 reads as constants or operators.
_WORDS = frozenset(("true", "false", "none", "and", "or", "not", "in", "is", "if", "else", "elif"))


def _jinja(source: str, library: str) -> tree.Tree:
    # A step's name alone is the output of most small files: it needs no parser.
    if _NAME.fullmatch(source) and source.lower() not in _WORDS:
        return tree.Tree("jinja", library, tree.Name(source, 0), (), frozenset())
    from whorl.language.syntaxes.jinja import read_expression

    return read_expression(source, library)


def _template(source: str, library: str) -> tree.Tree:
    from whorl.language.syntaxes.jinja import read_template

    return read_template(source, library)


def read_plain(source: str, library: str) -> tree.Tree:
    body: list[tree.Stmt] = []
    end = 0
    for place in _PLACE.finditer(source):
        if place.start() > end:
            body.append(tree.Text(source[end : place.start()]))
        body.append(tree.Emit(_path(place), place.start("root")))
        end = place.end()
    if end < len(source):
        body.append(tree.Text(source[end:]))
    only = body[0] if len(body) == 1 else None
    value = only.value if isinstance(only, tree.Emit) else None
    return tree.Tree("plain", library, value, tuple(body), frozenset())


def _path(place: re.Match[str]) -> tree.Expr:
    node: tree.Expr = tree.Name(place["root"], place.start("root"))
    for step in _STEP.finditer(place["path"]):
        name, index, *quoted = step.groups()
        offset = place.start("path") + step.start()
        key = next(part for part in (name, index, *quoted) if part is not None)
        # A path like `items.0` names an index, too.
        if index is not None or (key == name and is_index(key)):
            node = tree.Item(node, tree.Literal(int(key), offset), offset)
        else:
            node = tree.Member(node, key, offset)
    return node


# Jinja2 takes 40 ms to import, so each syntax is imported when the first source needs it.
SYNTAXES: dict[str, Read] = {"jinja": _jinja, "template": _template, "plain": read_plain}


def reader(syntax: str) -> Read:
    """Return the function that reads a syntax: one of the core's, or one that a library brings."""
    if syntax in SYNTAXES:
        return SYNTAXES[syntax]
    read = open_library(syntax).read if libraries().has(syntax) else None
    if read is None:
        syntaxes = [*SYNTAXES, *libraries().names()]
        raise LanguageError(f"there is no syntax {syntax!r}", help=did_you_mean(syntax, syntaxes))
    return read
