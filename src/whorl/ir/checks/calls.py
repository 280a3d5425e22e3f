"""Calls name workflows that are there, and none leads back to itself (W017)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.suggest import suggest
from whorl.ir.nodes import Call
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.subject import Subject
    from whorl.ir.nodes import Workflow


def check_calls(subject: Subject) -> Iterator[Diagnostic]:
    """Reports calls of nothing, and calls in a circle. An empty key was reported by its reader."""
    called = dict(subject.workflow.workflows)
    for path, node in subject.nodes():
        if not isinstance(node, Call) or not node.workflow:
            continue
        span = subject.places.node(path)
        if node.workflow not in called:
            message = f"{node.name!r} calls {node.workflow[:60]!r}, which is not there"
            yield Diagnostic(
                "W017", message, span, "unknown workflow", suggest(node.workflow, called)
            )
        elif _leads_back(node.workflow, called):
            message = f"{node.name!r} calls {node.workflow[:60]!r}, which calls itself"
            advice = "repeat steps with a loop, which has limits"
            yield Diagnostic("W017", message, span, "leads back", advice)


def _leads_back(start: str, called: dict[str, Workflow]) -> bool:
    seen: set[str] = set()
    queue = [start]
    while queue:
        workflow = called.get(queue.pop())
        for _, node in walk(workflow.body) if workflow else ():
            if not isinstance(node, Call):
                continue
            if node.workflow == start:
                return True
            if node.workflow not in seen:
                seen.add(node.workflow)
                queue.append(node.workflow)
    return False
