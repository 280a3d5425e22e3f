"""The simulated runtime: virtual time, seeded faults, crashes wherever a test wants them."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import Event
from whorl.ir import content_hash, to_json
from whorl.runtimes.driver import Driver
from whorl.runtimes.folding import fold, fork_run
from whorl.runtimes.journal import NewRun, RunId, remembered
from whorl.runtimes.memory_journal import MemoryJournal

if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import TypeVar

    from whorl.interpreter.plan import Plan
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.driver import Watcher, Workers
    from whorl.runtimes.folding import Folded, Fork

    T = TypeVar("T")

EPOCH = 1_700_000_000.0


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: when there is nothing to do, the time jumps to the next timer."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        """Moves the clock on instead of waiting."""
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the simulation waits for something that can never happen")
        if not ready and timeout:
            self.loop.jump(timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time only passes when everybody waits."""

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self._virtual = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """The virtual time."""
        return self._virtual

    def jump(self, seconds: float) -> None:
        """Lets time pass."""
        self._virtual += seconds


class VirtualClock:
    """The clock of a virtual loop."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now(self) -> float:
        """The virtual time of day."""
        return EPOCH + self._loop.time()

    async def sleep(self, seconds: float) -> None:
        """Waits without waiting."""
        await asyncio.sleep(seconds)


class SimulatedRuntime:
    """Runs workflows in virtual time on a journal in memory."""

    def __init__(self, workers: Workers, journal: MemoryJournal | None = None) -> None:
        self.journal = journal or MemoryJournal()
        self._workers = workers
        self._driver: Driver | None = None
        self._passed_s = 0.0

    def start(
        self, workflow: Workflow, given: dict[str, Json], *, run: str = "sim", **options: Json
    ) -> RunId:
        """Makes a run; `resume` drives it."""
        body: dict[str, Json] = {"run": run, "seed": run, "input": given}
        body |= options
        memory = remembered(workflow, self.journal.memory)
        if memory:
            body["memory"] = memory
        made = NewRun(
            RunId(run), to_json(workflow), content_hash(workflow), workflow.name, workflow.dialect
        )
        first = Event("run.started", "", EPOCH, body)
        made_run, _ = self._until_done(self.journal.create(made, first))
        return made_run

    def fork(self, source: RunId, fork: Fork, *, run: str = "fork") -> RunId:
        """Makes a run that redoes an iteration of another one; `resume` drives it."""
        made = fork_run(self.journal, source, fork, run=RunId(run), now=self.now())
        forked, _ = self._until_done(made)
        return forked

    def resume(
        self,
        run: RunId,
        requests: tuple[Event, ...] = (),
        *,
        plan: Plan | None = None,
        later_s: float = 0.0,
        watcher: Watcher | None = None,
    ) -> str:
        """Drives a run, some time later, until it ends, waits or pauses; gives its status."""
        loop = VirtualLoop()
        folded = fold(self.journal, run, plan)
        loop.jump(max(self._passed_s, folded.machine.now - EPOCH) + later_s)
        try:
            return self._until_done(self._drive(loop, run, folded, requests, watcher), loop)
        finally:
            self._passed_s = loop.time()

    def now(self) -> float:
        """The virtual time, also while nothing is driven."""
        return EPOCH + self._passed_s

    def deliver(self, event: Event) -> None:
        """Brings a request to the run that is being driven, as it is now."""
        assert self._driver is not None
        self._driver.deliver(event)

    async def _drive(
        self,
        loop: VirtualLoop,
        run: RunId,
        folded: Folded,
        requests: tuple[Event, ...],
        watcher: Watcher | None,
    ) -> str:
        self._driver = Driver(
            run,
            folded,
            owner=await self.journal.claim(run),
            journal=self.journal,
            workers=self._workers,
            clock=VirtualClock(loop),
            watcher=watcher,
        )
        for request in requests:
            self._driver.deliver(request)
        return await self._driver.drive()

    def _until_done(self, work: Coroutine[Any, Any, T], loop: VirtualLoop | None = None) -> T:
        loop = loop or VirtualLoop()
        try:
            return loop.run_until_complete(work)
        finally:
            loop.close()
