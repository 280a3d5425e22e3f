"""Looks after the runs of a server's store: resumes runs that no process drives any more, starts
runs whose turn it is, and resumes runs whose timer is due.

Each pass reads a fixed number of rows, for any number of waiting runs. If a run cannot be driven
here, Upkeep stores the reason and leaves the run alone until a person acts on it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.errors import StoreError, UsageError, WhorlError, safe
from whorl.lazily import dataclass
from whorl.services.files import preflight
from whorl.services.inspecting.results import workflow_of

if TYPE_CHECKING:
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.services.run_driver import Driving

LOOK_S = 0.5
# How long a store that cannot be written, or a run that was lost to another server, is left alone.
TROUBLE_S = 1.0
AGAIN_S = 2.0
TIMERS_MAX = 200
_LOOK_MIN_S = 0.05
_STRANDED_MAX = 200
_FORGOTTEN_MAX = 100_000

log = logging.getLogger("whorl")


@dataclass(eq=False)
class Upkeep:
    """Looks after the runs of a store; it drives at most `runs_max` of them at once."""

    driving: Driving
    providers: Providers
    runs_max: int
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._store = self.driving.runtime.store
        # When runs resume by themselves, in their own time and by the monotonic clock.
        self._timers: dict[RunId, tuple[float, float]] = {}
        self._driven: set[RunId] = set()
        # The last entry of runs that cannot be driven here, and when others may be tried again.
        self._held: dict[RunId, int] = {}
        self._later: dict[RunId, float] = {}
        self._pause_until = 0.0
        self._holding: set[asyncio.Future[None]] = set()

    async def work(self) -> None:
        """Works until it is cancelled; a cluster looks after the runs of a mirror."""
        while not self._store.is_mirror:
            has_more = False
            try:
                has_more = await self._look()
            except WhorlError as fault:
                log.warning("the store cannot be read: %s", safe(str(fault)))
                await asyncio.sleep(TROUBLE_S)
            await self._wait(0.0 if has_more else LOOK_S)

    async def _wait(self, seconds: float) -> None:
        nearest = min((deadline for _, deadline in self._timers.values()), default=None)
        if nearest is not None and self._room() > 0:
            seconds = min(seconds, max(0.01, nearest - time.monotonic()))
        self.awake.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.awake.wait()
                # Many runs may end at the same time.
                await asyncio.sleep(_LOOK_MIN_S)

    def _room(self) -> int:
        """Returns how many more runs may be driven; sleeping runs do not count."""
        asleep = self.driving.runtime.is_asleep
        return self.runs_max - sum(not asleep(run) for run in self._driven)

    async def _look(self) -> bool:
        """Does one pass; returns whether more runs may be waiting only for their turn."""
        if time.monotonic() < self._pause_until or self.driving.is_closing:
            return False
        rows = await asyncio.to_thread(self._store.timers, TIMERS_MAX)
        now = time.monotonic()
        for run, due, left_s in rows:
            # The deadline of a new timer is computed once, by the monotonic clock.
            if run not in self._timers or self._timers[run][0] != due:
                self._timers[run] = (due, now + left_s)
        timers = ((deadline, due, run) for run, (due, deadline) in self._timers.items())
        for deadline, due, run in sorted(timers):
            if deadline <= now and self._room() > 0:
                await self._fire(run, due)
        room = min(self._room(), _STRANDED_MAX)
        if room <= 0:
            return False
        # Those that cannot be driven here stay in the list.
        wanted = room + len(self._held) + len(self._later)
        stranded = await asyncio.to_thread(self._store.stranded, wanted)
        taken = 0
        for run in stranded:
            if taken < room and self._is_open(run):
                taken += await self._take_up(run)
        admitted = 0
        for run in await asyncio.to_thread(self._store.next_in_queue, room - taken):
            if self._is_open(run) and await self._store.admit(run):
                admitted += await self._take_up(run)
        return admitted > 0 or taken == room

    async def _fire(self, run: RunId, due: float) -> None:
        row = self._row(run)
        if row is None or row.status != "waiting" or row.due != due:
            del self._timers[run]
            return
        # Where it cannot be driven now, it is tried again; once it is, the run has another timer.
        self._timers[run] = (due, time.monotonic() + AGAIN_S)
        if self._is_open(run):
            await self._take_up(run, due)

    def _is_open(self, run: RunId) -> bool:
        if run in self._later and time.monotonic() < self._later[run]:
            return False
        self._later.pop(run, None)
        row = self._row(run) if run in self._held else None
        if row is not None and self._held[run] == row.last_seq:
            return False
        self._held.pop(run, None)
        return not self.driving.is_driven(run)

    def _row(self, run: RunId) -> RunRow | None:
        try:
            return self._store.run(run)
        except UsageError:  # it was deleted
            return None

    async def _take_up(self, run: RunId, at_least: float = 0.0) -> bool:
        """Drives a run that no process drives, unless something that it needs is missing here."""
        try:
            workflow = await asyncio.to_thread(workflow_of, self._store, run)
            await asyncio.to_thread(preflight.check_performable, workflow, self.providers)
        except (UsageError, StoreError) as fault:
            await self._hold(run, str(fault))
            return False
        log.info("run %s is resumed", run)
        self._driven.add(run)
        task = self.driving.drive(run, at_least=at_least)
        task.add_done_callback(lambda done: self._ended(run, done))
        return True

    async def _hold(self, run: RunId, reason: str) -> None:
        if len(self._held) > _FORGOTTEN_MAX:
            self._held.clear()
        log.warning("run %s is not resumed: %s", run, safe(reason))
        with suppress(StoreError):
            await self._store.hold(run, reason)
        row = self._row(run)
        if row is not None:
            self._held[run] = row.last_seq

    def _ended(self, run: RunId, task: asyncio.Task[str]) -> None:
        self.awake.set()
        self._driven.discard(run)
        fault = None if task.cancelled() else task.exception()
        if fault is None:
            return
        if isinstance(fault, StoreError) and fault.code == "R900":
            if time.monotonic() >= self._pause_until:
                log.warning("runs wait, since the store cannot be written: %s", safe(str(fault)))
            self._pause_until = time.monotonic() + TROUBLE_S
        elif isinstance(fault, StoreError) and fault.code == "R902":
            # Another server was quicker.
            self._later[run] = time.monotonic() + AGAIN_S
        else:
            words = str(fault) if isinstance(fault, WhorlError) else repr(fault)
            holding = asyncio.ensure_future(self._hold(run, words))
            self._holding.add(holding)
            holding.add_done_callback(self._holding.discard)
