"""How many priced calls a workflow could make: the product of its nested limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.ir.conditions import Judge
from whorl.ir.expressions import conditions_in
from whorl.ir.loop import Loop
from whorl.ir.nodes import Branch, Call, ForEach, Task
from whorl.ir.values import Constant, Items
from whorl.ir.walk import blocks_of

if TYPE_CHECKING:
    from whorl.ir.nodes import Block, Node
    from whorl.ir.workflow import Workflow

PRICED = frozenset({"ask", "agent", "judge"})
# The turns of a model with tools, where the author says nothing.
TURNS = 10
# An answer that is neither yes nor no is asked for once more.
_ASKS_PER_VOTE = 2


@dataclass(frozen=True, slots=True)
class LoopCase:
    """The worst case of one loop, over all times that it runs."""

    path: str
    iterations: int | None
    calls: int | None


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most priced calls that a run can make, retries aside; None where a value decides.

    `typical` counts each judge's vote once; `unbudgeted` leaves out loops with limits of their own
    on cost, tokens or calls.
    """

    calls: int | None
    typical: int | None
    unbudgeted: int | None
    loops: tuple[LoopCase, ...]


def worst_case(workflow: Workflow) -> WorstCase:
    """Computes the worst case of a workflow and of all that it calls."""
    count = _Count(dict(workflow.workflows))
    total = count.block(workflow.body, "", 1, ())
    return WorstCase(total.calls, total.typical, total.unbudgeted, tuple(count.loops))


@dataclass(frozen=True, slots=True)
class _Total:
    calls: int | None = 0
    typical: int | None = 0
    unbudgeted: int | None = 0

    def plus(self, other: _Total) -> _Total:
        return _Total(
            _plus(self.calls, other.calls),
            _plus(self.typical, other.typical),
            _plus(self.unbudgeted, other.unbudgeted),
        )

    def times(self, number: int | None) -> _Total:
        return _Total(
            _times(self.calls, number),
            _times(self.typical, number),
            _times(self.unbudgeted, number),
        )


class _Count:
    def __init__(self, workflows: dict[str, Workflow]) -> None:
        self.loops: list[LoopCase] = []
        self._workflows = workflows
        self._called: dict[str, _Total] = {}

    def block(self, block: Block, path: str, runs: int | None, stack: tuple[str, ...]) -> _Total:
        total = _Total()
        for node in block.nodes:
            here = f"{path}/{node.name}" if path else node.name
            total = total.plus(self._node(node, here, runs, stack))
        return total

    def _node(self, node: Node, path: str, runs: int | None, stack: tuple[str, ...]) -> _Total:
        match node:
            case Task():
                turns = _turns(node)
                return _Total(turns, 1, turns) if node.kind in PRICED else _Total()
            case Loop():
                return self._loop(node, path, runs, stack)
            case ForEach():
                number = _length(node)
                return self.block(node.body, path, _times(runs, number), stack).times(number)
            case Branch():
                return self._branch(node, path, runs, stack)
            case Call():
                return self._call(node.workflow, stack)
        total = _Total()
        for _, inner in blocks_of(node):
            total = total.plus(self.block(inner, path, runs, stack))
        return total

    def _loop(self, loop: Loop, path: str, runs: int | None, stack: tuple[str, ...]) -> _Total:
        number = loop.limits.iterations if isinstance(loop.limits.iterations, int) else None
        place = len(self.loops)
        self.loops.append(LoopCase(path, number, None))
        votes = sum(c.votes for c in conditions_in(loop.until) if isinstance(c, Judge))
        judged = _Total(votes * _ASKS_PER_VOTE, votes, votes * _ASKS_PER_VOTE)
        total = self.block(loop.body, path, _times(runs, number), stack).plus(judged).times(number)
        limits = loop.limits
        if limits.calls is not None:
            calls = limits.calls
            total = _Total(_least(total.calls, calls), _least(total.typical, calls), 0)
        if limits.cost_usd is not None or limits.tokens is not None:
            total = _Total(total.calls, total.typical, 0)
        self.loops[place] = LoopCase(path, number, _times(total.calls, runs))
        return total

    def _branch(self, node: Branch, path: str, runs: int | None, stack: tuple[str, ...]) -> _Total:
        """The costliest case counts, since one is taken."""
        worst = _Total()
        for slot, inner in blocks_of(node):
            case = self.block(inner, f"{path}@{slot}", runs, stack)
            worst = _Total(
                _most(worst.calls, case.calls),
                _most(worst.typical, case.typical),
                _most(worst.unbudgeted, case.unbudgeted),
            )
        return worst

    def _call(self, key: str, stack: tuple[str, ...]) -> _Total:
        workflow = self._workflows.get(key)
        if workflow is None or key in stack:
            return _Total()
        if key not in self._called:
            inner = _Count(self._workflows)
            inner._called = self._called
            self._called[key] = inner.block(workflow.body, "", 1, (*stack, key))
        return self._called[key]


def _turns(node: Task) -> int:
    """How often a model may be asked in one task: once, or as long as it uses tools."""
    given = {name: value for name, value in node.inputs.entries if isinstance(name, str)}
    if "tools" not in given:
        return 1
    limit = given.get("max_turns")
    number = limit.value if isinstance(limit, Constant) else None
    return number if isinstance(number, int) else TURNS


def _length(node: ForEach) -> int | None:
    if isinstance(node.items, Items):
        return len(node.items.items)
    if isinstance(node.items, Constant) and isinstance(node.items.value, list):
        return len(node.items.value)
    return None


def _plus(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else one + other


def _times(one: int | None, other: int | None) -> int | None:
    # Nothing, however often, is nothing.
    if one == 0 or other == 0:
        return 0
    return None if one is None or other is None else one * other


def _least(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _most(one: int | None, other: int | None) -> int | None:
    return None if one is None or other is None else max(one, other)
