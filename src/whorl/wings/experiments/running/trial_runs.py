"""The runs of an experiment, one by one: starts them, resumes them, lets them have more money.

What each has cost is counted when it has settled.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Protocol

from whorl.errors import UsageError, plural
from whorl.runtimes.sqlite import RunFilter
from whorl.services import steering
from whorl.wings.experiments.running.budget import NOTHING
from whorl.wings.experiments.table import ExperimentTable
from whorl.wings.experiments.trials import (
    BY_EXPERIMENT,
    is_short,
    key_prefix,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.start_options import Start
    from whorl.services.project import Project
    from whorl.services.run_driver import Driving
    from whorl.wings.experiments.running.budget import Budget

# By so much, and then by twice as much each time, budgets are raised where nothing limits them.
_LEAST_USD = 0.01


class Owner(Protocol):
    """Who wants the runs."""

    @property
    def is_ending(self) -> bool: ...

    def changed(self) -> None: ...


class Runs:
    """Drives runs by their keys; `rows` are those that are there."""

    def __init__(
        self,
        driving: Driving,
        rows: dict[str, RunRow],
        budget: Budget,
        owner: Owner | None = None,
    ) -> None:
        self._driving, self._runtime = driving, driving.runtime
        self._store = driving.runtime.store
        self.rows, self._budget, self._owner = rows, budget, owner

    async def start(self, workflow: Workflow, start: Start) -> None:
        """Starts a run, or goes on with the one of that key, until nobody drives it."""
        run, is_new = await self._runtime.start(workflow, start)
        spent = 0.0 if is_new else self._store.run(run).cost_usd
        if is_new:
            self._driving.drive(run)
        else:
            # Of one that was made just before a crash, it shows a moment later that nobody has it.
            await self._driving.settled(run)
            if self._store.run(run).status == "interrupted":
                await self._driving.take_up(run)
        await self._settle(start.key, run, spent)

    async def try_again(self, key: str) -> None:
        """Tries again what has failed, with what is left of its limits."""
        await self.ask(key, steering.resumed)

    async def ask(self, key: str, make: Callable[[], Event]) -> None:
        """Asks something of a run, and waits until nobody drives it."""
        row = self.rows[key]
        await self._driving.ask(row.id, make)
        await self._settle(key, row.id, row.cost_usd)

    async def allow(self, key: str, left_usd: float | None) -> None:
        """Lets a run that lacks money go on with so much; None: with as much as it takes."""
        while is_short(self._store, row := self.rows[key]):
            budget_usd = row.budget_usd or 0.0
            more = max(budget_usd, _LEAST_USD)
            if left_usd is not None:
                more = left_usd - (budget_usd - row.cost_usd)
            is_ending = self._owner is not None and self._owner.is_ending
            if more <= NOTHING or is_ending:
                return
            try:
                await self.ask(key, partial(_with_more, more, row.status))
            except UsageError:
                # A loop of it lies in an iteration that is over.
                return
            if left_usd is not None:
                return

    async def _settle(self, key: str, run: RunId, spent: float) -> None:
        row = await self._driving.settled(run)
        self.rows[key] = row
        self._budget.spent_usd += row.cost_usd - spent
        if self._owner is not None:
            self._owner.changed()


def _with_more(more_usd: float, status: str) -> Event:
    """Asks a run to go on with more money: loops that lacked it, where the run has ended well."""
    if status == "succeeded":
        return steering.asked("run.continued", {"cost_usd": more_usd, "by": BY_EXPERIMENT})
    return steering.asked("run.resumed", {"cost_usd": more_usd, "by": BY_EXPERIMENT})


def to_ask_again(row: RunRow) -> float:
    """What it takes to ask for an answer again that a limit has cut: twice as much as it had."""
    return 2 * (row.budget_usd or 0.0)


async def one_ended(running: set[asyncio.Task[None]]) -> None:
    """Waits until one of those under way has ended, and raises what it has raised."""
    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    running -= done
    for task in done:
        task.result()


async def all_ended(running: set[asyncio.Task[None]]) -> None:
    while running:
        await one_ended(running)


# All runs of an experiment are deleted, or none: not while somebody drives one of them.


async def remove(project: Project, name: str, again: str) -> int:
    """Gives how many there were; `again` is the command for when nobody drives them any more."""
    async with project.open_store() as store:
        rows = store.list_runs(RunFilter(key=key_prefix(name)), 2**31)
        if driven := sum(store.is_owned(row.id) for row in rows):
            words = f"experiment {name!r} has {plural(driven, 'run')} under way"
            raise UsageError(words, help=f"once that has ended: {again}", code="W905")
        await ExperimentTable(store).remove(name)
        return len((await store.remove(key_prefix(name))).runs)
