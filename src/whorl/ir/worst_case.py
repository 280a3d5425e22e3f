"""The most that a workflow can do: every task, try and repair, as its nested limits allow.

A call is what usage counts: one question to a model, agent, command, web service or task.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple, TypeAlias

from whorl.ir.expressions import conditions_in
from whorl.ir.nodes import Block, Call, ForEach, Loop, Node, Program, Task, Workflow
from whorl.ir.values import Constant, Fields, Items, Judge, Value
from whorl.ir.walk import blocks_of, node_path, slot_path
from whorl.lazily import dataclass

PRICED = frozenset({"ask", "agent", "judge"})
# Work of the machine itself, which no run counts as calls.
UNCOUNTED = frozenset({"file_read", "file_glob", "file_write", "memory", "validate", "xslt"})
# The turns of a model with tools, where the author says nothing.
TURNS = 10
# How often a model is asked again after a passing fault, where the author says nothing.
USUAL_RETRIES = 3
USUALLY_RETRIED = frozenset({"ask", "judge"})
# An answer that is neither yes nor no is asked for once more.
_ASKS_PER_VOTE = 2


@dataclass(frozen=True, slots=True)
class Priced:
    """What one answer costs; None if its price is unknown.

    `is_most` says that it cannot cost more: nothing of it is open before the run.
    """

    cost_usd: float | None = None
    is_most: bool = False


# What one answer to a task or judge of a workflow costs.
Price: TypeAlias = Callable[[Workflow, Task | Judge], Priced]


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most that a run can do; None if a value decides how much, or a price is unknown.

    `calls` has every try, `typical` has each call once. `paid` are the calls of models and agents
    that answered: a passing fault is free. `unbudgeted` are those outside of loops with limits of
    their own on cost, tokens or calls. Calls of tools that models choose are not counted.
    `cost_usd` is expected; `bound_usd` is what it cannot exceed, with every try at its dearest, and
    None if there is no such bound. `heaviest` is the path of the loop with the most paid calls.
    """

    calls: int | None
    typical: int | None
    paid: int | None
    unbudgeted: int | None
    cost_usd: float | None
    bound_usd: float | None
    heaviest: str


def worst_case(workflow: Workflow, price: Price | None = None) -> WorstCase:
    count = _Count(workflow, dict(workflow.workflows), price or (lambda _, __: Priced()))
    total = count.block(workflow.body, "", ())
    if workflow.limits.calls is not None:
        total = total.held(workflow.limits.calls)
    cost, bound = (None if amount == inf else amount for amount in total[4:])
    return WorstCase(*total[:4], cost, bound, count.heaviest[1])


class _Total(NamedTuple):
    calls: int | None = 0
    typical: int | None = 0
    paid: int | None = 0
    unbudgeted: int | None = 0
    # Infinite where a value decides how often; None only where no price is known.
    cost: float | None = 0.0
    # Infinite where nothing bounds it.
    bound: float = 0.0

    def plus(self, other: _Total) -> _Total:
        return self._with(other, operator.add)

    def most(self, other: _Total) -> _Total:
        return self._with(other, max)

    def _with(self, other: _Total, both: Callable[[Any, Any], Any]) -> _Total:
        pairs = zip(self, other, strict=True)
        amounts: list[Any] = [None if None in pair else both(*pair) for pair in pairs]
        return _Total(*amounts)

    def times(self, number: int | None) -> _Total:
        often: float = inf if number is None else number
        # Nothing, however often, is nothing.
        costs = [None if n is None else n * often if n and often else 0.0 for n in self[4:]]
        amounts: list[Any] = [*(_times(count, number) for count in self[:4]), *costs]
        return _Total(*amounts)

    def tried(self, tries: int) -> _Total:
        """Returns the total if each call is tried this often; `typical` stays the same."""
        return self.times(tries)._replace(typical=self.typical)

    def held(self, calls: int) -> _Total:
        all_, usual, paid = (calls if n is None else min(n, calls) for n in self[:3])
        return _Total(all_, usual, paid, 0, self.cost, self.bound)


class _Count:
    def __init__(self, workflow: Workflow, workflows: dict[str, Workflow], price: Price) -> None:
        self.heaviest = (0, "")
        self._workflow = workflow
        self._workflows = workflows
        self._price = price
        self._called: dict[str, _Total] = {}

    def block(self, block: Block, path: str, stack: tuple[str, ...]) -> _Total:
        total = _Total()
        for node in block.nodes:
            if isinstance(node, Task):
                total = total.plus(self._task(node))
                continue
            tries = 1 + (node.retry.times if node.retry else 0)
            total = total.plus(self._node(node, node_path(path, node.name), stack).tried(tries))
        return total

    def _task(self, node: Task) -> _Total:
        if node.kind in UNCOUNTED:
            return _Total()
        usual = USUAL_RETRIES if node.kind in USUALLY_RETRIED else 0
        repairs = node.repairs if node.returns is not None else 0
        written = node.retry.times if node.retry else 0
        turns = _turns(node)
        retries = written if node.retry else usual
        # A retry that the author wrote may come after an answer; the usual ones never do.
        paid = (1 + repairs + written) * turns if node.kind in PRICED else 0
        calls = (1 + repairs + retries) * turns * _models(node, self._workflow)
        return self._asked(node, calls, turns, paid)

    def _asked(self, node: Task | Judge, calls: int, typical: int, paid: int) -> _Total:
        price = self._price(self._workflow, node) if paid else Priced(0.0, is_most=True)
        cost = price.cost_usd
        # A call without an answer may be billed, too, so each of them counts.
        bound = cost * calls if cost is not None and price.is_most else inf
        return _Total(calls, typical, paid, paid, None if cost is None else cost * paid, bound)

    def _node(self, node: Node, path: str, stack: tuple[str, ...]) -> _Total:
        match node:
            case Loop():
                return self._loop(node, path, stack)
            case ForEach():
                return self.block(node.body, path, stack).times(_length(node.items))
            case Call():
                return self._call(node.workflow, stack)
            case Program():
                return _Total(None, None, None, None, inf, inf)
        # Of a branch the costliest case counts, since one is taken; a group has one block.
        total = _Total()
        for slot, inner in blocks_of(node):
            total = total.most(self.block(inner, slot_path(path, slot), stack))
        return total

    def _loop(self, loop: Loop, path: str, stack: tuple[str, ...]) -> _Total:
        limits = loop.limits
        number = limits.iterations if isinstance(limits.iterations, int) else None
        failure = loop.on_iteration_failure
        tries = 1 + (failure.times if failure.action == "retry" else 0)
        total = self.block(loop.body, path, stack).tried(tries)
        for judge in conditions_in(loop.until):
            if isinstance(judge, Judge):
                paid = judge.votes * _ASKS_PER_VOTE
                calls = paid * (1 + USUAL_RETRIES) * max(1, len(judge.model))
                total = total.plus(self._asked(judge, calls, judge.votes, paid))
        total = total.times(number)
        if limits.calls is not None:
            total = total.held(limits.calls)
        if limits.cost_usd is not None or limits.tokens is not None:
            cost, bound = total.cost, total.bound
            if limits.cost_usd is not None and cost is not None:
                cost, bound = min(cost, limits.cost_usd), min(bound, limits.cost_usd)
            total = total._replace(unbudgeted=0, cost=cost, bound=bound)
        if (paid := total.paid or 0) >= self.heaviest[0]:
            self.heaviest = (paid, path)
        return total

    def _call(self, key: str, stack: tuple[str, ...]) -> _Total:
        workflow = self._workflows.get(key)
        if workflow is None or key in stack:
            return _Total()
        if key not in self._called:
            inner = _Count(workflow, self._workflows, self._price)
            inner._called = self._called
            self._called[key] = inner.block(workflow.body, "", (*stack, key))
        return self._called[key]


def _models(node: Task, workflow: Workflow) -> int:
    """Returns how many models a task may fall back on, one after the other."""
    if node.kind not in PRICED:
        return 1
    defaults = dict(workflow.defaults).get(node.kind, Fields())
    named = dict(node.inputs.entries).get("model") or dict(defaults.entries).get("model")
    return max(1, _length(named) or 1)


def _length(value: Value | None) -> int | None:
    """Returns the number of items in a list, if that is written."""
    if isinstance(value, Items):
        return len(value.items)
    is_list = isinstance(value, Constant) and isinstance(value.value, list)
    return len(value.value) if is_list else None  # type: ignore[union-attr,arg-type]


def _turns(node: Task) -> int:
    """Returns how often a task may ask a model: once, or as long as it uses tools."""
    given = dict(node.inputs.entries)
    if "tools" not in given:
        return 1
    limit = given.get("max_turns")
    number = limit.value if isinstance(limit, Constant) else None
    return number if isinstance(number, int) else TURNS


def _times(first: int | None, second: int | None) -> int | None:
    # Nothing, however often, is nothing.
    if first == 0 or second == 0:
        return 0
    return None if first is None or second is None else first * second
