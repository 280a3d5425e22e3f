"""A journal in memory, for simulation and for trying things out: nothing outlives the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import Fenced, UsageError
from whorl.runtimes.journal import Entry, LoopRow, RunId
from whorl.runtimes.projection import loop_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal import NewRun, Record

# Called before and after each append takes effect; raising there is a crash.
CrashHook: TypeAlias = Callable[[str, RunId], None]


@dataclass(slots=True)
class _Run:
    made: NewRun
    entries: list[Event] = field(default_factory=list)
    owner: int = 0
    snapshots: list[tuple[int, Json]] = field(default_factory=list)


class MemoryJournal:
    """Implements `Journal` with lists."""

    def __init__(self, crash_hook: CrashHook | None = None) -> None:
        self.crash_hook = crash_hook
        self._runs: dict[RunId, _Run] = {}
        self._memories: dict[str, list[Json]] = {}

    async def create(
        self,
        run: NewRun,
        first: Event,
        *,
        more: Sequence[Event] = (),
        memories: Sequence[Record] = (),
        state: Json = None,
    ) -> tuple[RunId, bool]:
        """Stores a run with its first event, and with its past."""
        for other in self._runs.values():
            if run.key and other.made.key == run.key:
                return other.made.id, False
        self._strike("before", run.id)
        made = _Run(run, [first, *more])
        if state is not None:
            made.snapshots.append((len(made.entries), state))
        self._runs[run.id] = made
        self._remember(memories)
        self._strike("after", run.id)
        return run.id, True

    async def claim(self, run: RunId) -> int:
        """Makes the caller the owner."""
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
        memories: Sequence[Record] = (),
        after: int | None = None,
    ) -> int:
        """Appends events, all or none."""
        stored = self._run(run)
        if stored.owner != owner or (after is not None and after != len(stored.entries)):
            raise Fenced(f"run {run!r} has another owner")
        self._strike("before", run)
        stored.entries.extend(events)
        self._remember(memories)
        self._strike("after", run)
        return len(stored.entries)

    async def snapshot(self, run: RunId, owner: int, seq: int, state: Json) -> None:
        """Stores a state."""
        stored = self._run(run)
        stored.snapshots = [*stored.snapshots, (seq, state)][-2:]

    async def release(self, run: RunId, owner: int) -> None:
        """Gives a run up."""

    def read(self, run: RunId, after: int = 0) -> Iterator[Entry]:
        """The entries of a run."""
        for index, event in enumerate(self._run(run).entries[after:], start=after + 1):
            yield Entry(index, event)

    def last_snapshot(self, run: RunId) -> tuple[int, Json] | None:
        """The newest snapshot."""
        snapshots = self._run(run).snapshots
        return snapshots[-1] if snapshots else None

    def workflow(self, run: RunId) -> Json:
        """The workflow that the run pins."""
        return self._run(run).made.workflow

    def file(self, run: RunId) -> str:
        """The file that a run was started from."""
        return self._run(run).made.file

    def sources(self, run: RunId) -> dict[str, str]:
        """The source texts that the run pins, by file."""
        return dict(self._run(run).made.sources)

    def loops(self, run: RunId) -> list[LoopRow]:
        """The loops of a run."""
        return loop_rows(self.read(run))

    def memory(self, key: str) -> list[Json]:
        """What loops remember under a key."""
        return list(self._memories.get(key, []))

    def _remember(self, memories: Sequence[Record]) -> None:
        for memory in memories:
            kept = [*self._memories.get(memory.key, []), memory.record]
            self._memories[memory.key] = kept[-memory.keep :]

    def _run(self, run: RunId) -> _Run:
        if run not in self._runs:
            raise UsageError(f"no run {run!r}", code="W902")
        return self._runs[run]

    def _strike(self, point: str, run: RunId) -> None:
        if self.crash_hook is not None:
            self.crash_hook(point, run)
