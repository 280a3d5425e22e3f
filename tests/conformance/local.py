"""Runs cases on the local runtime: a real SQLite file, but virtual time.

Time jumps to the next timer as soon as everybody waits, but never while the store's thread is at
work: then the loop waits for it, as it does outside of tests.
"""

from __future__ import annotations

import asyncio
import selectors
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from conformance.person import check_refusal, during, events_for, fork_for, fork_run
from conformance.reading import workflow_of
from conformance.recording import records_in
from conformance.replies import ScriptedWorkers
from conformance.running import options_of, requests_of, result_of
from whorl.ir.values import parse_duration
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.simulated import EPOCH
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from conformance.expecting import Result
    from conformance.literate import Case
    from conformance.replies import Script
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.forking import Fork


_STUCK_S = 180.0


class CountingStore(SqliteStore):
    """A store that knows how many of its jobs are under way."""

    under_way = 0

    async def _change(self, job: Any) -> object:
        self.under_way += 1
        try:
            return await super()._change(job)
        finally:
            self.under_way -= 1

    async def _aside(self, work: Any) -> Any:
        self.under_way += 1
        try:
            return await super()._aside(work)
        finally:
            self.under_way -= 1


class _Selector(selectors.DefaultSelector):
    loop: StoreLoop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or (timeout is not None and timeout <= 0):
            return ready
        if self.loop.is_busy():
            return super().select(_STUCK_S)
        if timeout is None:
            raise RuntimeError("the run waits for something that can never happen")
        self.loop.skip()
        return ready


class StoreLoop(asyncio.SelectorEventLoop):
    """An event loop whose time only passes when everybody waits, the store's thread too."""

    # The timers, as the base class keeps them: a heap.
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        selector = _Selector()
        selector.loop = self
        self.is_busy = is_busy
        self._virtual = 0.0
        super().__init__(selector)

    def time(self) -> float:
        """The virtual time."""
        return self._virtual

    def jump(self, seconds: float) -> None:
        """Lets time pass."""
        self._virtual += seconds

    def skip(self) -> None:
        """Lets time pass until the next timer, exactly, however often others were awake."""
        self._virtual = max(self._virtual, self._scheduled[0].when())


class LoopClock:
    """The clock of such a loop."""

    def __init__(self, loop: StoreLoop) -> None:
        self._loop = loop

    def __call__(self) -> float:
        """The virtual time of day."""
        return EPOCH + self._loop.time()


@contextmanager
def virtual_store(path: Path) -> Iterator[tuple[CountingStore, StoreLoop]]:
    """A store with the loop of its time; both are closed at the end."""
    store = CountingStore(path)
    loop = StoreLoop(lambda: store.under_way > 0)
    try:
        yield store, loop
    finally:
        loop.close()
        store.close()


def run_local(case: Case, script: Script, path: Path) -> tuple[Result, str]:
    """Runs a case on the local runtime; gives its result, and the status that lists show."""
    with virtual_store(path) as (store, loop):
        return loop.run_until_complete(_run(case, script, store, loop))


async def _run(
    case: Case, script: Script, store: CountingStore, loop: StoreLoop
) -> tuple[Result, str]:
    workflow = workflow_of(case)
    clock = LoopClock(loop)
    runtime = LocalRuntime(store, ScriptedWorkers(script), clock=clock)
    loop.is_busy = lambda: store.under_way + runtime.turns.under_way > 0
    for _ in range(case.options.get("runs", 1)):
        script.forget_calls()
        start = Start(input=dict(case.blocks.get("input") or {}), **options_of(case))
        run, _ = await runtime.start(workflow, start)
        run = await drive(case, runtime, run, script, loop)
    result = result_of(store, run)
    result.records = records_in(store, run)
    return result, store.run(run).status


async def drive(
    case: Case, runtime: LocalRuntime, run: RunId, script: Script, loop: StoreLoop
) -> RunId:
    """Drives a run, and makes the requests of its case; gives the run that is left at the end."""
    resting, busy = requests_of(case)
    asked: list[asyncio.Task[bool]] = []

    def ask(address: str) -> None:
        for request in busy:
            if during(request) == address:
                for event in events_for(request, runtime.store, run, loop.time() + EPOCH):
                    asked.append(asyncio.ensure_future(runtime.request(run, event)))

    script.on_perform = ask
    await runtime.drive(run)
    for request in resting:
        if check_refusal(request, runtime.store, run):
            continue
        events: list[Event] = []
        fork = fork_for(request)
        if fork is not None:
            script.forget_calls()
            run = await made_fork(runtime.store, run, fork, loop)
        elif "wait" in request:
            loop.jump(parse_duration(request["wait"]))
        else:
            at = max(fold(runtime.store, run).machine.now, EPOCH + loop.time())
            events = events_for(request, runtime.store, run, at)
        await runtime.drive(run, events)
    await asyncio.gather(*asked)
    return run


async def made_fork(store: SqliteStore, source: RunId, fork: Fork, loop: StoreLoop) -> RunId:
    """The fork of a run, made now or before."""
    now = EPOCH + loop.time()
    run, _ = await fork_run(store, source, fork, run=RunId(f"fork-of-{source}"), now=now)
    return run
