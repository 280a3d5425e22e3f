"""A journal that calls a test before and after each append takes effect; raising is a crash."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl.runtimes.simulated import MemoryJournal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import NewRun, RunId

    Strike: TypeAlias = Callable[[str, RunId], None]


@dataclass(eq=False)
class StruckJournal(MemoryJournal):
    strike: Strike | None = None

    def copy(self, strike: Strike | None = None) -> StruckJournal:
        runs = {
            run: replace(made, entries=made.entries.copy(), snapshots=made.snapshots.copy())
            for run, made in self._runs.items()
        }
        return StruckJournal(self.seals, runs, self._memories.copy(), strike)

    async def create(self, run: NewRun, *events: Event) -> tuple[RunId, bool]:
        is_known = any(run.key and each.made.key == run.key for each in self._runs.values())
        strike = None if is_known else self.strike
        if strike is not None:
            strike("before", run.id)
        made = await super().create(run, *events)
        if strike is not None:
            strike("after", run.id)
        return made

    async def append(self, run: RunId, owner: int, events: Sequence[Event], **more: Any) -> int:
        if self.strike is not None and self._runs[run].owner == owner:
            self.strike("before", run)
        last = await super().append(run, owner, events, **more)
        if self.strike is not None:
            self.strike("after", run)
        return last
