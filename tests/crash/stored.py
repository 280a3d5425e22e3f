"""Crashes with the real store: its thread dies at an append, and another store opens the file."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from conformance.local import CountingStore, LoopClock, StoreLoop, made_fork
from conformance.person import ASKED, events_for, fork_for
from conformance.reading import workflow_of
from conformance.replies import ScriptedWorkers
from conformance.running import options_of, requests_of, result_of
from crash.promise import Trace, watch
from whorl.errors import StoreError
from whorl.ir.values import parse_duration
from whorl.runtimes.journal.keys import Seals
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.simulated import EPOCH
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from conformance.literate import Case
    from conformance.replies import Script
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import Entry, RunId

# Longer than the lease of an owner: who crashed is known to be gone.
_GONE_S = 60.0


class Crash(BaseException):
    """The process is gone."""


class StoredCase:
    """A case on the local runtime, interrupted at chosen strikes of the store's crash hook.

    Every append strikes three times: before it, inside of its transaction, and after its commit.
    """

    def __init__(self, case: Case, script: Script, path: Path) -> None:
        self._case = case
        self._script = script
        self._path = path
        self._workflow = workflow_of(case)
        self._resting, _ = requests_of(case)
        self.struck = 0
        # The first strike at each kind of append.
        self.different: dict[tuple[str, ...], int] = {}
        self.crashes = 0
        self._done = 0
        self._clock_s = 0.0
        self._seals = Seals()
        self._wrong: list[str] = []

    def run(self, points: frozenset[int]) -> Trace:
        """Runs the case to its end, through all crashes."""
        self._script.forget_calls()
        while True:
            store = self._open(partial(self._strike, points))
            try:
                run = self.live(store)
                performed = self._script.performed.copy()
                return self._trace(store, run, performed, self._wrong)
            except (Crash, StoreError):
                if not self._died:
                    raise
            finally:
                store.close()

    def _trace(
        self, store: CountingStore, run: RunId, performed: Counter[str], wrong: list[str]
    ) -> Trace:
        entries = list(store.read(run))
        repeatable = frozenset(self._script.repeatable)
        return Trace(result_of(store, run), entries, performed, wrong, repeatable)

    def live(self, store: CountingStore) -> RunId:
        """One life of a process: goes on where the last one ended."""
        loop = StoreLoop(lambda: store.under_way > 0)
        loop.jump(self._clock_s)
        try:
            return loop.run_until_complete(self._live(store, loop))
        finally:
            self._clock_s = loop.time()
            _leave(loop)

    def _open(self, strike: Callable[[tuple[str, ...]], None]) -> CountingStore:
        self._died = False
        later_s = _GONE_S * self.crashes

        def hook(point: str, run: str, events: Sequence[Event]) -> None:
            strike((point, *(event.kind for event in events)))

        # The key outlives the process.
        return CountingStore(
            self._path,
            monotonic=lambda: time.monotonic() + later_s,
            crash_hook=hook,
            seals=self._seals,
        )

    def _strike(self, points: frozenset[int], kind: tuple[str, ...]) -> None:
        self.struck += 1
        self.different.setdefault(kind, self.struck)
        if self.struck in points:
            self.crashes += 1
            self._died = True
            raise Crash

    def _watch(self, store: CountingStore, run: RunId) -> None:
        watch(self._script, lambda: store.read(run), self._wrong, self._note_call)

    def _note_call(self, address: str) -> None:
        """A call goes out."""

    def _forget_calls(self) -> None:
        """Those of the run that is about to be forked."""
        self._script.forget_calls()

    def _made(self, asked: int) -> int:
        """How many of the requests are in the journal, by the number of their events."""
        made = 0
        for number, request in enumerate(self._resting, start=1):
            if "wait" in request or "refused" in request:
                continue
            asked -= len(request.get("together", (0,)))
            if asked < 0:
                return made
            made = number
        return made

    async def _live(self, store: CountingStore, loop: StoreLoop) -> RunId:
        runtime = LocalRuntime(
            store, ScriptedWorkers(self._script), clock=LoopClock(loop), watcher=_Mourner()
        )
        loop.is_busy = lambda: store.under_way + runtime.turns.under_way > 0
        given = dict(self._case.blocks.get("input") or {})
        start = Start(input=given, key="once", **options_of(self._case))
        run, _ = await runtime.start(self._workflow, start)
        run = next(iter(store.forks(run)), run)
        self._watch(store, run)
        self._done = max(self._done, self._made(_asked(store, run)))
        await runtime.drive(run)
        for request in self._resting[self._done :]:
            events: list[Event] = []
            fork = fork_for(request)
            if fork is not None:
                self._forget_calls()
                run = await made_fork(store, run, fork, loop)
                self._watch(store, run)
            elif "wait" in request:
                loop.jump(parse_duration(request["wait"]))
            else:
                events = events_for(request, store, run, loop.time() + EPOCH)
            await runtime.drive(run, events)
            self._done += 1
        return run


class _Mourner:
    """Ends the driver when its store is dead, as the end of the process would."""

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Nothing to do."""

    def text(self, run: RunId, address: str, text: str) -> None:
        """Nothing to do."""

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """The store's thread has ended."""
        raise Crash from fault


def _asked(store: CountingStore, run: RunId) -> int:
    return sum(entry.event.kind in (*ASKED, "run.forked") for entry in store.read(run))


def _leave(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
    loop.close()


class KilledCase(StoredCase):
    """The same, with real processes: each life is a child that is killed at its strike."""

    @property
    def _calls(self) -> Path:
        """Where children note their calls, for those who come after them."""
        return self._path.with_suffix(".calls")

    def killed_at(self, point: int) -> Trace | None:
        """Runs the case in children, the first one killed at the point; None: it ended before."""
        status = self._child(lambda _: self._kill(point))
        if status == 0:
            return None
        assert os.WIFSIGNALED(status), f"the first child failed: {status}"
        self.crashes = 1
        status = self._child(lambda _: None)
        assert status == 0, f"the second child failed: {status}"
        return self._read_back()

    def _note_call(self, address: str) -> None:
        with self._calls.open("a") as file:
            file.write(address + "\n")

    def _forget_calls(self) -> None:
        self._calls.unlink(missing_ok=True)

    def _child(self, strike: Callable[[tuple[str, ...]], None]) -> int:
        child = os.fork()
        if child:
            return os.waitpid(child, 0)[1]
        # A child must not go on as a second test run.
        code = 1
        try:
            self.live(self._open(strike))
            code = 0
        finally:
            if self._wrong:
                self._note_call(f"wrong {self._wrong}")
            os._exit(code)

    def _kill(self, point: int) -> None:
        self.struck += 1
        if self.struck == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def _read_back(self) -> Trace:
        told = self._calls.read_text().splitlines() if self._calls.exists() else []
        performed = Counter(line for line in told if not line.startswith("wrong "))
        wrong = [line for line in told if line.startswith("wrong ")]
        store = CountingStore(self._path)
        try:
            return self._trace(store, store.runs()[0].id, performed, wrong)
        finally:
            store.close()
