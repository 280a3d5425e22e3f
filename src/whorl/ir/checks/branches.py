"""A branch condition names a branch node of its loop's body, and one of its cases (W010)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.suggest import suggest
from whorl.ir.expressions import conditions_in
from whorl.ir.nodes import Branch
from whorl.ir.values import BranchTaken
from whorl.ir.walk import names_given

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.errors import Span
    from whorl.ir.checks.subject import Subject


def check_branches(subject: Subject) -> Iterator[Diagnostic]:
    """Reports branch conditions that can never be met."""
    for path, loop in subject.loops():
        branches = {name: node for name, node in names_given(loop.body) if isinstance(node, Branch)}
        for condition in conditions_in(loop.until):
            if isinstance(condition, BranchTaken):
                span = subject.places.part(condition) or subject.places.node(path)
                yield from _check(condition, branches, span)


def _check(
    condition: BranchTaken, branches: dict[str, Branch], span: Span | None
) -> Iterator[Diagnostic]:
    branch = branches.get(condition.node)
    if branch is None:
        yield Diagnostic(
            "W010",
            f"{condition.node[:60]!r} is no branch in the loop",
            span,
            "no such branch",
            suggest(condition.node, branches) or "name a step with `choose` or `if`",
        )
        return
    names = [case.name for case in branch.cases]
    if branch.default is not None:
        names.append(branch.default.name)
    if condition.name not in names:
        yield Diagnostic(
            "W010",
            f"{condition.node!r} has no case {condition.name[:60]!r}",
            span,
            "no such case",
            suggest(condition.name, names),
        )
