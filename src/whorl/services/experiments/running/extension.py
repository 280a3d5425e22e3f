"""Records what recorded runs lack, within a budget: iterations of a loop, or votes of a judge.

What is under way has a limit of its own that is reserved for it, as trials have.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from whorl.lazily import dataclass
from whorl.services.experiments.running.bounds import Bound, bound_of, longest_usd
from whorl.services.experiments.running.budget import Reserved, Seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Workflow
    from whorl.services.experiments.running.budget import Budget
    from whorl.services.experiments.running.runs import Runs


class Lacking(Protocol):
    """Something that recorded runs lack: `count` iterations of a loop, or votes of a judge.

    `key` is that of the run that has it then; `asked_for` is a workflow that costs as much.
    """

    @property
    def key(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def asked_for(self) -> Workflow: ...

    async def record(self, runs: Runs, providers: Any, most_usd: float) -> None: ...


@dataclass(slots=True)
class _Item:
    one: Lacking
    bound: Bound
    longest_usd: float
    # What its run, which is interrupted, may still spend by the limit that it has.
    own_usd: float | None


class Extension:
    """Records what is missing, as far as the budget goes.

    `is_short`: the budget did not allow all of it. `has_failed`: some of it was not answered.
    """

    def __init__(
        self, runs: Runs, providers: Any, missing: Sequence[Lacking], budget: Budget
    ) -> None:
        self._runs, self._providers, self._budget = runs, providers, budget
        self._items = [self._item(one) for one in missing]
        self._seen = Seen()
        self.is_short = self.has_failed = False

    def _item(self, one: Lacking) -> _Item:
        workflow, row = one.asked_for, self._runs.rows.get(one.key)
        bound = bound_of(workflow, self._providers) if one.count else Bound()
        own_usd = None
        if row is not None and row.status == "interrupted" and row.budget_usd is not None:
            own_usd = max(0.0, row.budget_usd - row.cost_usd)
        return _Item(one, bound, longest_usd(workflow, self._providers), own_usd)

    @property
    def count(self) -> int:
        return sum(item.one.count for item in self._items)

    def forecast(self) -> Bound:
        """What all of it may come to."""
        return sum((item.bound for item in self._items), Bound())

    async def run(self, at_once: int) -> None:
        running: set[asyncio.Task[None]] = set()
        try:
            for at, item in enumerate(self._items):
                while running and (len(running) >= at_once or not self._allows(item)):
                    await _wait(running)
                if not self._allows(item):
                    self.is_short = True
                    continue
                reserved = Reserved(self._budget)
                places = min(at_once - len(running), len(self._items) - at)
                reserved.keep(self._share_usd(item, self._least_usd(item), places))
                running.add(asyncio.create_task(self._record(item, reserved)))
        finally:
            while running:
                await _wait(running)

    def _allows(self, item: _Item) -> bool:
        """Whether the budget allows it, beside what is reserved for what is under way."""
        return self._budget.allows(self._least_usd(item), is_open=not item.bound.is_limit)

    def _least_usd(self, item: _Item) -> float:
        """What has to be left for it: its bound, or what others have cost."""
        if item.own_usd is not None:
            return item.own_usd
        return max(item.bound.cost_usd, self._seen.mean_usd() * item.one.count)

    def _share_usd(self, item: _Item, least_usd: float, places: int) -> float:
        if item.bound.is_limit or item.own_usd is not None:
            return least_usd
        count = item.one.count
        wanted_usd = 2 * self._seen.mean_usd(least_usd / count / 2 + item.longest_usd / 2) * count
        return self._budget.share(least_usd, wanted_usd, places)

    async def _record(self, item: _Item, reserved: Reserved) -> None:
        one, rows = item.one, self._runs.rows
        before_usd = rows[one.key].cost_usd if one.key in rows else 0.0
        try:
            await one.record(self._runs, self._providers, reserved.amount_usd)
        finally:
            reserved.keep(0.0)
        self.is_short |= rows[one.key].status == "paused"
        self.has_failed |= rows[one.key].status == "failed"
        if one.count:
            self._seen.add((rows[one.key].cost_usd - before_usd) / one.count)


async def _wait(running: set[asyncio.Task[None]]) -> None:
    """Waits until one that is under way has ended."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    running -= done
    for task in done:
        task.result()
