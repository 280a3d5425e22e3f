"""What nodes say about each other: names, order, jumps, branches and calls that make sense."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from whorl.errors import Diagnostic
from whorl.ir.checks.scopes import Subject, suggest
from whorl.ir.nodes import Block, Branch, Break, Call, Continue, Loop, Workflow
from whorl.ir.values import BranchTaken
from whorl.ir.walk import blocks_in, blocks_of, names_given, node_path, slot_path, walk

if TYPE_CHECKING:
    from collections.abc import Iterator


_SHOWN_MAX = 8


def check_unique(subject: Subject) -> Iterator[Diagnostic]:
    """Names are unique within a scope, which open blocks share with what is around them (W012)."""
    yield from _check_scope(subject, subject.workflow.body, "", {})


def _check_scope(
    subject: Subject, block: Block, path: str, taken: dict[str, str]
) -> Iterator[Diagnostic]:
    for node in block.nodes:
        at = node_path(path, node.name)
        if node.name in taken:
            first = subject.places.node(taken[node.name])
            yield Diagnostic(
                "W012",
                f"two steps are called {node.name[:60]!r}",
                subject.places.node(at),
                f"the first one is on line {first.line}" if first else "again",
                "choose another name for one of them",
            )
        taken.setdefault(node.name, at)
        for slot, inner in blocks_of(node):
            names = taken if inner.open else {}
            yield from _check_scope(subject, inner, slot_path(at, slot), names)


def check_order(subject: Subject) -> Iterator[Diagnostic]:
    """`after` names nodes of the same block (W010)."""
    for path, block in blocks_in(subject.workflow.body):
        names = {node.name for node in block.nodes}
        for node in block.nodes:
            for after in node.after:
                if after.node in names:
                    continue
                yield Diagnostic(
                    "W010",
                    f"{node.name!r} waits for {after.node[:60]!r}, which is no step beside it",
                    subject.places.part(after) or subject.places.node(node_path(path, node.name)),
                    "unknown step",
                    suggest(after.node, names - {node.name}) or "there is no other step beside it",
                )


def check_cycles(subject: Subject) -> Iterator[Diagnostic]:
    """Nodes do not wait for each other in a circle (W011); one of each block is reported."""
    for path, block in blocks_in(subject.workflow.body):
        circle = _circle(block)
        if not circle:
            continue
        shown = " -> ".join(circle[:_SHOWN_MAX]) + (" -> ..." if len(circle) > _SHOWN_MAX else "")
        yield Diagnostic(
            "W011",
            f"steps wait for each other: {shown} -> {circle[0]}",
            subject.places.node(node_path(path, circle[0])),
            "waits for itself",
            "remove one `after`; to do steps again, put them into a `repeat`",
        )


def _circle(block: Block) -> list[str]:
    """A circle of nodes, each of which waits for the next one; it begins with the first written."""
    names = [node.name for node in block.nodes]
    waits = {
        node.name: [after.node for after in node.after if after.node in names]
        for node in block.nodes
    }
    try:
        TopologicalSorter(waits).prepare()
    except CycleError as fault:
        circle: list[str] = fault.args[1][:0:-1]
        first = circle.index(min(circle, key=names.index))
        return circle[first:] + circle[:first]
    return []


def check_jumps(subject: Subject) -> Iterator[Diagnostic]:
    """`break` and `continue` name a loop that they stand in (W010)."""
    yield from _check_jumps(subject, subject.workflow.body, "", ())


def _check_jumps(
    subject: Subject, block: Block, path: str, loops: tuple[str, ...]
) -> Iterator[Diagnostic]:
    for node in block.nodes:
        at = node_path(path, node.name)
        if isinstance(node, Break | Continue) and node.loop and node.loop not in loops:
            yield Diagnostic(
                "W010",
                f"{node.name!r} names {node.loop[:60]!r}, which is no loop around it",
                subject.places.node(at),
                "no such loop",
                suggest(node.loop, loops) or "put it inside of the loop",
            )
        inside = (*loops, node.name) if isinstance(node, Loop) else loops
        for slot, inner in blocks_of(node):
            yield from _check_jumps(subject, inner, slot_path(at, slot), inside)


def check_branches(subject: Subject) -> Iterator[Diagnostic]:
    """A branch condition names a branch node of its loop's body, and one of its cases (W010)."""
    for _, loop, condition, span in subject.conditions():
        if not isinstance(condition, BranchTaken):
            continue
        branches = {name: node for name, node in names_given(loop.body) if isinstance(node, Branch)}
        branch = branches.get(condition.node)
        if branch is None:
            message = f"{condition.node[:60]!r} is no branch in the loop"
            advice = suggest(condition.node, branches) or "name a step with `choose` or `if`"
            yield Diagnostic("W010", message, span, "no such branch", advice)
            continue
        cases = (*branch.cases, *((branch.default,) if branch.default else ()))
        names = [case.name for case in cases]
        if condition.name not in names:
            message = f"{condition.node!r} has no case {condition.name[:60]!r}"
            advice = suggest(condition.name, names)
            yield Diagnostic("W010", message, span, "no such case", advice)


def check_calls(subject: Subject) -> Iterator[Diagnostic]:
    """Calls name workflows that are there, and none leads back to itself (W017).

    An empty key was reported by its reader.
    """
    called = dict(subject.workflow.workflows)
    for path, node in subject.nodes():
        if not isinstance(node, Call) or not node.workflow:
            continue
        span, calls = subject.places.node(path), f"{node.name!r} calls {node.workflow[:60]!r}, "
        if node.workflow not in called:
            advice = suggest(node.workflow, called)
            yield Diagnostic("W017", f"{calls}which is not there", span, "unknown workflow", advice)
        elif _leads_back(node.workflow, called):
            advice = "repeat steps with a loop, which has limits"
            yield Diagnostic("W017", f"{calls}which calls itself", span, "leads back", advice)


def _leads_back(start: str, called: dict[str, Workflow]) -> bool:
    queue = [start]
    for key in queue:
        workflow = called.get(key)
        for _, node in walk(workflow.body) if workflow else ():
            if isinstance(node, Call) and node.workflow == start:
                return True
            if isinstance(node, Call) and node.workflow not in queue:
                queue.append(node.workflow)
    return False
