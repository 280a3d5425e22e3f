"""Schedules from Python: a program makes and steers them, and a server of the store fires them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.interfaces.python.values import dollars, plain_table, text
from whorl.wings.automation.registry import NewSchedule, Schedules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.interfaces.python.values import FilePath, JsonLike
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project
    from whorl.wings.automation.registry import Listed
    from whorl.wings.automation.table import Overlap


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule; `next` is when it is due, `trouble` why it cannot start anything.

    `runs` are the newest that it has started, the newest first.
    """

    name: str
    file: str
    when: str
    next: float | None
    paused: bool
    trouble: str
    runs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SessionSchedules:
    """The schedules of a session's store. Names that are not there raise UsageError."""

    schedules: Schedules

    async def add(
        self,
        file: FilePath,
        inputs: Mapping[str, JsonLike] | None = None,
        *,
        cron: str | None = None,
        every: str | None = None,
        zone: str | None = None,
        overlap: Overlap = "skip",
        backfill: bool = False,
        budget: float | None = None,
        name: str = "",
    ) -> Schedule:
        """Lets the clock start a file: by `cron` on the clock of `zone`, or `every` so long."""
        new = NewSchedule(
            file=os.fspath(file),
            name=text(name, "name"),
            cron=cron,
            every=every,
            zone=zone,
            overlap=overlap,
            backfill=backfill,
            inputs=plain_table(inputs, "inputs"),
            budget_usd=dollars(budget),
        )
        return _shown(self.schedules.show(await self.schedules.add(new)))

    def all(self) -> tuple[Schedule, ...]:
        return tuple(_shown(listed) for listed in self.schedules.listed())

    async def pause(self, name: str) -> None:
        await self.schedules.table.pause(name, paused=True)

    async def resume(self, name: str) -> None:
        """Resumes it from now on: what was due in the pause is left out."""
        await self.schedules.resume(name)

    async def run(self, name: str) -> None:
        """Has its workflow started now, by a server of the store."""
        await self.schedules.table.ask(name)

    async def remove(self, name: str) -> None:
        await self.schedules.table.remove(name)


def _shown(listed: Listed) -> Schedule:
    known = listed.schedule
    runs = tuple(firing.run for firing in listed.firings if firing.run)
    return Schedule(
        known.name, known.file, listed.words, listed.next, known.paused, listed.trouble, runs
    )


def schedules_of(project: Project, store: SqliteStore) -> SessionSchedules:
    return SessionSchedules(Schedules(project, store))
