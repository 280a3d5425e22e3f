"""A condition is no text of a model: any text but an empty one counts as true (W023)."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.names import joined_path
from whorl.ir.checks.scopes import uses_in
from whorl.ir.checks.shapes import part_of
from whorl.ir.expressions import conditions_in
from whorl.ir.nodes import Branch, Loop, Task
from whorl.ir.values import When
from whorl.ir.walk import blocks_of, names_given
from whorl.language import LanguageError, path_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.scopes import Use
    from whorl.ir.checks.subject import Subject
    from whorl.ir.nodes import Node
    from whorl.ir.values import Expression

    # A name, and the keys behind it.
    Path = tuple[str, tuple[str | int, ...]]

_ANSWERING = ("ask", "agent")


def check_truths(subject: Subject) -> Iterator[Diagnostic]:
    """Reports conditions that are what a model said and nothing else, where it surely answers."""
    if not subject.is_text_suspicious:
        return
    paths = {
        id(expression): path
        for node in (node for _, node in subject.nodes())
        for expression, is_end in _conditions(node)
        # Whether a part of an answer is empty is a fair question, but it ends no loop.
        if (path := _path(expression)) is not None and (is_end or not path[1])
    }
    if not paths:
        return
    unsure = {id(giver) for _, node in subject.nodes() for giver in _unsure(node)}
    for use in uses_in(subject.workflow):
        path = paths.get(id(use.expression))
        if path is not None and _is_text(use, path, unsure):
            yield _report(subject, use, path)


def _conditions(node: Node) -> Iterator[tuple[Expression, bool]]:
    """The conditions of a node, and whether each of them ends a loop."""
    if node.when is not None:
        yield node.when, False
    if isinstance(node, Branch):
        yield from ((case.when, False) for case in node.cases if case.when is not None)
    elif isinstance(node, Loop):
        for condition in conditions_in(node.until):
            if isinstance(condition, When):
                yield condition.test, True


def _path(expression: Expression) -> Path | None:
    try:
        return path_in(expression)
    except LanguageError:
        return None


def _unsure(node: Node) -> Iterator[Node]:
    """The nodes that may have no result because of this one, so that it may be asked for."""
    is_optional = node.when is not None or node.on_failure == "continue"
    if is_optional:
        yield node
    if is_optional or isinstance(node, Branch):
        for _, block in blocks_of(node):
            yield from (giver for _, giver in names_given(block))


def _is_text(use: Use, path: Path, unsure: set[int]) -> bool:
    giver = use.view.origin(path[0])
    if not isinstance(giver, Task) or giver.kind not in _ANSWERING or id(giver) in unsure:
        return False
    shape = reduce(part_of, path[1], use.view.find(path[0])[1])
    return shape is not None and shape.kind == "text"


def _report(subject: Subject, use: Use, path: Path) -> Diagnostic:
    name, keys = path
    shown = reduce(joined_path, keys, name)[:60]
    instead = f"give {name[:60]!r} returns: {{done: boolean}} and write {name[:60]}.done"
    if keys:
        instead = f"let it be a boolean in the 'returns' of {name[:60]!r}"
    return Diagnostic(
        "W023",
        f"{shown!r} is a text, and any text but an empty one counts as true",
        subject.places.span(use.expression) or subject.places.node(use.path),
        "also true when it says no",
        f"compare it: {shown} == 'yes', or {instead}",
        severity="warning",
    )
