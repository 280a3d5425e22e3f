"""Plain placeholders: `{{ a.b[0] }}` is a path, every other text is literal."""

from __future__ import annotations

import re

from whorl.language import tree

_PLACE = re.compile(
    r"\{\{\s*(?P<root>[^\W\d][\w-]*)"
    r"(?P<path>(?:\.[\w-]+|\[\s*(?:-?\d{1,9}|'[^'\n]*'|\"[^\"\n]*\")\s*\])*)\s*\}\}"
)
_STEP = re.compile(r"\.([\w-]+)|\[\s*(?:(-?\d+)|'([^']*)'|\"([^\"]*)\")\s*\]")


def read_plain(source: str, library: str) -> tree.Tree:
    """Read a text with placeholders."""
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
        number = index if index is not None else _index(name)
        if number is not None:
            node = tree.Item(node, tree.Literal(int(number), offset), offset)
        else:
            key = next(part for part in (name, *quoted) if part is not None)
            node = tree.Member(node, key, offset)
    return node


def _index(name: str | None) -> str | None:
    """Return the index that a path like `items.0` names."""
    if name is not None and name.isascii() and name.isdecimal() and len(name) < 10:
        return name
    return None
