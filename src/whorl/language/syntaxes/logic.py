"""Logic Apps strings: literal, `@expression` that keeps its type, or text with `@{expression}`."""

from __future__ import annotations

from whorl.language import tree
from whorl.language.syntaxes.logic_expressions import ExpressionReader


def read_logic(source: str, library: str) -> tree.Tree:
    """Read a string by Azure's rules."""
    return _read(source, library, lenient=False)


def read_lenient_logic(source: str, library: str) -> tree.Tree:
    """Read a string by Loom's rules.

    `@` may stand before a nested call, texts also in double quotes, and what is missing is null.
    """
    return _read(source, library, lenient=True)


def _read(source: str, library: str, *, lenient: bool) -> tree.Tree:
    syntax = "logic-lenient" if lenient else "logic"
    if source.startswith("@@"):
        return tree.Tree(syntax, library, None, (tree.Text(source[1:]),), frozenset())
    if len(source) > 1 and source[0] == "@" and source[1] != "{":
        value = ExpressionReader(source, library, lenient=lenient).whole(1)
        return tree.Tree(syntax, library, value, (), frozenset())
    body = _interpolated(source, library, lenient=lenient)
    return tree.Tree(syntax, library, None, body, frozenset())


def _interpolated(source: str, library: str, *, lenient: bool) -> tree.Body:
    body: list[tree.Stmt] = []
    literal: list[str] = []
    end = 0
    while (start := source.find("@{", end)) >= 0:
        if start > end and source[start - 1] == "@":
            literal.append(source[end : start - 1] + "@{")
            end = start + 2
            continue
        literal.append(source[end:start])
        reader = ExpressionReader(source, library, lenient=lenient)
        value, end = reader.braced(start + 2)
        if any(literal):
            body.append(tree.Text("".join(literal)))
        literal = []
        body.append(tree.Emit(value, start + 2))
    literal.append(source[end:])
    if any(literal):
        body.append(tree.Text("".join(literal)))
    return tuple(body)
