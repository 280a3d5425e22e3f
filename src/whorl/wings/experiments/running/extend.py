"""Records what recorded runs lack, within a budget: iterations of a loop, votes, or grades.

What is under way has a limit of its own that is reserved for it, as trials have.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol

from whorl.lazily import dataclass
from whorl.wings.experiments.running.budget import CostHistory, Reserved
from whorl.wings.experiments.running.cost_bounds import Bound, bound_of, longest_usd
from whorl.wings.experiments.running.trial_runs import all_ended, one_ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunRow
    from whorl.wings.experiments.running.budget import Budget
    from whorl.wings.experiments.running.trial_runs import Runs


class Lacking(Protocol):
    """Something that recorded runs lack: `count` iterations of a loop, votes of a judge, or grades.

    `key` is that of the run that has it then; `asked_for` is a workflow that costs as much.
    `seen_usd` is what one of those that are recorded has cost on average; 0: nobody knows.
    What is not `is_due` follows from something else that has to be recorded before.
    """

    @property
    def key(self) -> str: ...

    @property
    def count(self) -> int: ...

    @property
    def seen_usd(self) -> float: ...

    @property
    def asked_for(self) -> Workflow: ...

    @property
    def is_due(self) -> bool: ...

    def has_limit(self, row: RunRow) -> bool:
        """Whether its run goes on with the limit that it has."""

    async def record(self, runs: Runs, providers: Any, most_usd: float) -> None: ...


@dataclass(slots=True)
class _Item:
    one: Lacking
    bound: Bound
    longest_usd: float
    # What its run, which goes on, may still spend by the limit that it has.
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
        self._seen = CostHistory()
        # What its share has stopped.
        self._cut: list[_Item] = []
        self.is_short = self.has_failed = False

    def _item(self, one: Lacking) -> _Item:
        workflow, row = one.asked_for, self._runs.rows.get(one.key)
        bound = bound_of(workflow, self._providers) if one.count else Bound()
        own_usd = None
        if row is not None and one.has_limit(row) and row.budget_usd is not None:
            own_usd = max(0.0, row.budget_usd - row.cost_usd)
        return _Item(one, bound, longest_usd(workflow, self._providers), own_usd)

    @property
    def count(self) -> int:
        return sum(item.one.count for item in self._items)

    @property
    def missing(self) -> dict[str, int]:
        """How much each run lacks, by key."""
        return {item.one.key: item.one.count for item in self._items}

    def forecast(self) -> Bound:
        """What all of it may come to."""
        return sum((item.bound for item in self._items), Bound())

    def about_usd(self) -> float:
        """What all of it will cost if it costs as much as what is recorded."""
        return sum(
            max(item.one.seen_usd * item.one.count or item.bound.cost_usd, self._again_usd(item))
            for item in self._items
        )

    def _again_usd(self, item: _Item) -> float:
        """What has to be left where an answer was cut that is asked for again."""
        return self._runs.to_ask_again(item.one.key)

    def faults(self) -> list[str]:
        """Why it is not recorded, where runs of it have failed."""
        rows = [self._runs.rows.get(item.one.key) for item in self._items]
        return [row.error for row in rows if row is not None and row.status == "failed"]

    async def run(self, at_once: int) -> None:
        running: set[asyncio.Task[None]] = set()
        due = [item for item in self._items if item.one.is_due]
        try:
            for at, item in enumerate(due):
                while running and (len(running) >= at_once or not self._allows(item)):
                    await one_ended(running)
                if not self._allows(item):
                    self.is_short = True
                    continue
                reserved = Reserved(self._budget)
                places = min(at_once - len(running), len(due) - at)
                reserved.keep(self._share_usd(item, self._least_usd(item), places))
                running.add(asyncio.create_task(self._record(item, reserved)))
        finally:
            await all_ended(running)
        cut, self._cut = self._cut, []
        for item in cut:
            await self._go_on(item)
        self.is_short |= bool(self._cut)

    def _allows(self, item: _Item) -> bool:
        """Whether the budget allows it, beside what is reserved for what is under way."""
        return self._budget.allows(self._least_usd(item), is_open=not item.bound.is_limit)

    def _least_usd(self, item: _Item) -> float:
        """What has to be left for it."""
        if item.own_usd is not None:
            return item.own_usd
        seen_usd = self._seen.mean_usd(item.one.seen_usd) * item.one.count
        return max(item.bound.needed_usd(seen_usd), self._again_usd(item))

    def _share_usd(self, item: _Item, least_usd: float, places: int) -> float:
        count = item.one.count
        if not count or item.own_usd is not None:
            return least_usd
        wanted_usd = 2 * self._seen.mean_usd(least_usd / count / 2 + item.longest_usd / 2) * count
        share_usd = self._budget.share(least_usd, wanted_usd, places)
        bound_usd = item.bound.cost_usd if item.bound.is_limit else share_usd
        return max(least_usd, min(share_usd, bound_usd))

    async def _go_on(self, item: _Item) -> None:
        """What its share has stopped goes on with all that is left, once the others have ended."""
        left_usd = self._budget.left_usd or 0.0
        if left_usd < self._again_usd(item):
            self._cut.append(item)
            return
        reserved = Reserved(self._budget)
        reserved.keep(left_usd)
        await self._record(item, reserved)

    async def _record(self, item: _Item, reserved: Reserved) -> None:
        one, rows = item.one, self._runs.rows
        before_usd = rows[one.key].cost_usd if one.key in rows else 0.0
        try:
            await one.record(self._runs, self._providers, reserved.amount_usd)
        finally:
            reserved.keep(0.0)
        if self._runs.lacks_money(one.key):
            self._cut.append(item)
        elif rows[one.key].status == "failed":
            self.has_failed = True
        elif one.count:
            self._seen.add((rows[one.key].cost_usd - before_usd) / one.count)
