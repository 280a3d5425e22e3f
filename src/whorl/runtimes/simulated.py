"""The simulated runtime: virtual time, a journal in memory, crashes where a test wants them."""

from __future__ import annotations

import asyncio
import selectors
from dataclasses import field
from typing import TYPE_CHECKING, Any, TypeVar

from whorl.errors import Fenced, UsageError
from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import Event, numbered, split_iteration
from whorl.interpreter.plan import Plan
from whorl.ir import Workflow, content_hash, to_json
from whorl.lazily import dataclass
from whorl.runtimes.driver import Driver
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.forking import Fork, new_run_of
from whorl.runtimes.journal.journal import (
    Entry,
    LoopRow,
    NewRun,
    Record,
    RunId,
    records_in,
    remembered,
)
from whorl.runtimes.journal.keys import Seals
from whorl.runtimes.journal.projection import LoopFold, RunFold
from whorl.runtimes.journal.sealed_secrets import redaction_of, sealed, secrets_of
from whorl.runtimes.time_slices import CPU_MAX_S

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterable, Iterator, Sequence

    from whorl.language import Json
    from whorl.runtimes.driver import Workers
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.time_slices import CpuScheduler

    T = TypeVar("T")

EPOCH = 1_700_000_000.0


class AllLoops(RunFold[LoopFold]):
    __slots__ = ()

    def loop_for(self, event: Event, address: str) -> LoopFold | None:
        if event.kind == "loop.started":
            self.loops.setdefault(address, LoopFold(address))
        return self.loops.get(address)


def loop_rows(entries: Iterable[Entry]) -> list[LoopRow]:
    run = AllLoops()
    for entry in entries:
        run.take(entry.event)
    return [loop.row() for loop in run.loops.values()]


@dataclass(slots=True)
class _Run:
    made: NewRun
    entries: list[Event] = field(default_factory=list)
    owner: int = 0
    snapshots: list[tuple[int, Json]] = field(default_factory=list)


@dataclass(eq=False)
class MemoryJournal:
    """Implements `Journal` with lists."""

    seals: Seals = field(default_factory=Seals)
    _runs: dict[RunId, _Run] = field(default_factory=dict)
    _memories: dict[str, list[Json]] = field(default_factory=dict)

    async def create(self, run: NewRun, *events: Event) -> tuple[RunId, bool]:
        for other in self._runs.values():
            if run.key and other.made.key == run.key:
                return other.made.id, False
        self._runs[run.id] = made = _Run(run, list(events))
        if run.state is not None:
            made.snapshots.append((len(events), run.state))
        self._remember(run.memories)
        return run.id, True

    async def claim(self, run: RunId) -> int:
        stored = self._run(run)
        stored.owner += 1
        return stored.owner

    async def append(
        self,
        run: RunId,
        owner: int,
        events: Sequence[Event],
        *,
        messages: Sequence[int] = (),
        after: int | None = None,
        is_large: bool = False,
    ) -> int:
        stored = self._run(run)
        if stored.owner != owner or (after is not None and after != len(stored.entries)):
            raise Fenced(f"run {run!r} has another owner")
        stored.entries.extend(events)
        self._remember(records_in(events))
        return len(stored.entries)

    async def snapshot(self, run: RunId, owner: int, seq: int, state: Json) -> None:
        stored = self._run(run)
        stored.snapshots = [*stored.snapshots, (seq, state)][-2:]

    async def release(self, run: RunId, owner: int) -> None:
        """Releases a run."""

    def read(
        self, run: RunId, after: int = 0, *, kinds: frozenset[str] = frozenset()
    ) -> Iterator[Entry]:
        for index, event in enumerate(self._run(run).entries[after:], start=after + 1):
            if not kinds or event.kind in kinds:
                yield Entry(index, event)

    def last_snapshot(
        self, run: RunId, after: int = 0, before: int | None = None
    ) -> tuple[int, Json] | None:
        stored = self._run(run)
        last = len(stored.entries) if before is None else before
        between = [each for each in stored.snapshots if after < each[0] <= last]
        return between[-1] if between else None

    def loop_start(self, run: RunId, loop: str) -> int | None:
        starts = self.read(run, kinds=frozenset({"loop.started"}))
        return next((entry.seq for entry in starts if entry.event.address == loop), None)

    def iteration_ends(self, run: RunId, iterations: Iterable[str]) -> dict[str, int]:
        wanted = set(iterations)
        ends: dict[str, int] = {}
        for entry in self.read(run, kinds=frozenset({"iteration.finished"})):
            loop, number = split_iteration(entry.event.address)
            iteration = numbered(loop, number or 0)
            if iteration in wanted:
                ends.setdefault(iteration, entry.seq)
        return ends

    def workflow(self, run: RunId) -> Json:
        return self._run(run).made.workflow

    def file(self, run: RunId) -> str:
        return self._run(run).made.file

    def sources(self, run: RunId) -> dict[str, str]:
        return dict(self._run(run).made.sources)

    def loops(self, run: RunId) -> list[LoopRow]:
        return loop_rows(self.read(run))

    def memory(self, key: str) -> list[Json]:
        return list(self._memories.get(key, []))

    def _remember(self, memories: Sequence[Record]) -> None:
        for memory in memories:
            kept = [*self._memories.get(memory.key, []), memory.record]
            self._memories[memory.key] = kept[-memory.keep :]

    def _run(self, run: RunId) -> _Run:
        if run not in self._runs:
            raise UsageError(f"no run {run!r}", code="W902")
        return self._runs[run]


class _JumpingSelector(selectors.SelectSelector):
    """Never waits: when there is nothing to do, the time jumps to the next timer."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise RuntimeError("the simulation waits for something that can never happen")
        if not ready and timeout:
            self.loop.skip()
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time only passes when all tasks wait."""

    # The timers, as the base class keeps them: a heap.
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self) -> None:
        selector = _JumpingSelector()
        selector.loop = self
        self._virtual = 0.0
        super().__init__(selector)

    def time(self) -> float:
        return self._virtual

    def jump(self, seconds: float) -> None:
        self._virtual += seconds

    def skip(self) -> None:
        """Advances the time exactly to the next timer."""
        self._virtual = max(self._virtual, self._scheduled[0].when())

    def now(self) -> float:
        return EPOCH + self._virtual


class SimulatedRuntime:
    """Runs workflows in virtual time on a journal in memory."""

    def __init__(
        self,
        workers: Workers,
        journal: MemoryJournal | None = None,
        *,
        turns: CpuScheduler | None = None,
        cpu_max_s: float = CPU_MAX_S,
        passed_s: float = 0.0,
    ) -> None:
        self.journal = journal or MemoryJournal()
        self._workers = workers
        self._turns = turns
        self._cpu_max_s = cpu_max_s
        self._driver: Driver | None = None
        self._passed_s = passed_s

    def start(
        self, workflow: Workflow, given: dict[str, Json], *, run: str = "sim", **options: Json
    ) -> RunId:
        body: dict[str, Json] = {"run": run, "seed": run, "input": given, "behaviour": BEHAVIOUR}
        body |= options
        if Plan(workflow).awaits_calls:
            body["callback"] = {"url": "https://simulated.example", "token": run}
        memory = remembered(workflow, self.journal.memory)
        if memory:
            body["memory"] = memory
        encoded, about = to_json(workflow), (workflow.name, workflow.dialect)
        made = NewRun(RunId(run), encoded, content_hash(encoded), *about)
        redaction = redaction_of(secrets_of(workflow, given))
        first = Event("run.started", "", EPOCH, body)
        first = sealed(first, run, self.journal.seals, redaction, workflow=workflow)
        made_run, _ = self._until_done(self.journal.create(made, first))
        return made_run

    def fork(self, source: RunId, fork: Fork, *, run: str = "fork") -> RunId:
        fork_id, now = RunId(run), self.now()
        made, events = new_run_of(self.journal, source, fork, run=fork_id, now=now)
        forked, _ = self._until_done(self.journal.create(made, *events))
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
        """Drives a run, some time later, until it ends, waits or pauses; returns its status."""
        loop = VirtualLoop()
        folded = fold(self.journal, run, plan, to_drive=True)
        loop.jump(max(self._passed_s, folded.machine.now - EPOCH) + later_s)

        async def drive() -> str:
            owner = await self.journal.claim(run)
            whom = (self.journal, self._workers, loop.now, watcher)
            self._driver = driver = Driver(
                run, folded, owner, *whom, turns=self._turns, cpu_max_s=self._cpu_max_s
            )
            for request in requests:
                driver.deliver(request)
            return await driver.drive()

        try:
            return self._until_done(drive(), loop)
        finally:
            self._passed_s = loop.time()

    def now(self) -> float:
        return EPOCH + self._passed_s

    def deliver(self, event: Event) -> None:
        assert self._driver is not None
        self._driver.deliver(event)

    def _until_done(self, work: Coroutine[Any, Any, T], loop: VirtualLoop | None = None) -> T:
        loop = loop or VirtualLoop()
        try:
            return loop.run_until_complete(work)
        finally:
            loop.close()
