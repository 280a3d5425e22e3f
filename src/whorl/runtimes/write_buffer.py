"""Appending to the journal of a run: what may wait for company does, and snapshots stand behind it.

What can be had again may wait in the buffer for company: the machine's own notes, and replies of
tasks without effects. All else is written at once. Nothing leaves the process before all of it is
written, so a crash that loses it is a crash that came a moment earlier.
"""

from __future__ import annotations

import asyncio
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from whorl.errors import StoreError
from whorl.language.chunked_json import is_large
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import Entry, entries_between

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.folding import Folded
    from whorl.runtimes.journal.journal import Journal
    from whorl.runtimes.journal.sealed_secrets import RunSealing
    from whorl.runtimes.runtime import Watcher
    from whorl.runtimes.time_slices import Computing

WAIT_S = 0.1
# A process that is this busy would be held up even more if it wrote as often as it should.
LATE_S = 0.02
WAIT_MAX_S = 1.0
ENTRIES_MAX = 64
SNAPSHOT_CPU_S = 0.5
# A store that cannot be written is tried again so often; a watcher is told each fourth time.
TROUBLE_PAUSE_S = 0.5
WARN_EVERY = 4


class CommitTimer:
    """Wakes all runs of a process that have something to write together: they share a commit."""

    def __init__(self) -> None:
        self._waiting: list[Callable[[], None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due = 0.0
        self._late = 0.0

    def wait(self, wake: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # What waited in a loop that has ended waits for nothing any more.
            self._loop, self._waiting, self._late = loop, [], 0.0
        self._waiting.append(wake)
        if len(self._waiting) == 1:
            seconds = WAIT_S if self._late < LATE_S else WAIT_S + 4 * self._late
            self._due = loop.time() + min(seconds, WAIT_MAX_S)
            loop.call_at(self._due, self._wake_all, loop)

    def _wake_all(self, loop: asyncio.AbstractEventLoop) -> None:
        self._late = loop.time() - self._due
        waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()


@dataclass(slots=True, eq=False)
class WriteBuffer:
    """The entries of a run that wait, in the order of the journal, and until when they may."""

    _entries: list[Event]
    _timer: CommitTimer
    _wake: Callable[[], None]
    _is_due: bool = False
    _is_waiting: bool = False

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, entries: list[Event], *, now: bool = False) -> None:
        """Puts entries behind those that wait; `now`: they may not wait."""
        self._entries += entries
        self._is_due |= now

    def take(self) -> list[Event]:
        entries, self._entries = self._entries, []
        self._is_due = False
        return entries

    @property
    def is_full(self) -> bool:
        return len(self._entries) >= ENTRIES_MAX

    def must_be_written(self) -> bool:
        """Whether it has waited long enough; whoever asks is woken when it has."""
        if self._is_due:
            return True
        if not self._is_waiting:
            self._is_waiting = True
            self._timer.wait(self._time_is_up)
        return False

    def _time_is_up(self) -> None:
        self._is_waiting = False
        if self._entries:
            self._is_due = True
            self._wake()


class Appending:
    """Writes what is in the buffer of one run, behind the entries that it was folded from.

    `messages` are the requests that leave the inbox with it.
    """

    def __init__(
        self,
        folded: Folded,
        owner: int,
        journal: Journal,
        buffer: WriteBuffer,
        *,
        computing: Computing,
        sealing: RunSealing,
        watcher: Watcher | None,
    ) -> None:
        self._run = folded.run
        self._machine = folded.machine
        self._seq = self._snapshot_seq = folded.seq
        # The state of a run whose secrets are closed is none to go on from.
        self._is_open = folded.seals is not None
        self._owner = owner
        self._journal = journal
        self._buffer = buffer
        self._snapshot_size = 0
        self._snapshot_cpu_s = computing.cpu_s
        self._computing = computing
        self._sealing = sealing
        self._watcher = watcher
        self.messages: list[int] = []

    async def write(self, *, snapshot: bool = True) -> None:
        """Returns once it is durable; waits while the store cannot be written."""
        taken = self._buffer.take()
        if self._computing.is_light:
            events, has_large = self._sealed(taken)
        else:
            events, has_large = await self._computing.aside(partial(self._sealed, taken))
        messages, self.messages = self.messages, []
        for attempt in count():
            try:
                last = await self._journal.append(
                    self._run,
                    self._owner,
                    events,
                    messages=messages,
                    after=self._seq,
                    is_large=has_large,
                )
                break
            except StoreError as fault:
                if fault.code != "R900" or self._computing.is_stopped:
                    raise
                if self._watcher is not None and attempt % WARN_EVERY == 0:
                    self._watcher.trouble(self._run, fault)
                await asyncio.sleep(TROUBLE_PAUSE_S)
        if self._watcher is not None:
            first = last - len(events) + 1
            entries = [Entry(first + index, event) for index, event in enumerate(events)]
            self._watcher.entries(self._run, entries)
        self._seq = last
        is_due = snapshot and self._is_open and self._is_snapshot_due(last)
        if is_due and self._machine.is_whole:
            await self._snapshot(last)

    def _sealed(self, events: list[Event]) -> tuple[list[Event], bool]:
        """The entries of events, and whether some of them are large."""
        entries = [self._sealing.entry(event) for event in events]
        return entries, not self._computing.is_light and any(is_large(e.body) for e in entries)

    def _is_snapshot_due(self, seq: int) -> bool:
        """Whether enough has happened, or was computed, to make the state the shorter way back."""
        if seq - self._snapshot_seq >= entries_between(self._snapshot_size):
            return True
        least = SNAPSHOT_CPU_S * (1 + self._snapshot_size / 250_000)
        return self._computing.cpu_s - self._snapshot_cpu_s > least

    async def _snapshot(self, seq: int) -> None:
        """Stores the state: all that it was fed, and all that it said, is in the journal."""
        work = partial(self._sealing.state, seq, in_pieces=not self._computing.is_light)
        size, state = await self._computing.aside(work)
        self._snapshot_seq, self._snapshot_size = seq, size
        self._snapshot_cpu_s = self._computing.cpu_s
        try:
            await self._journal.snapshot(self._run, self._owner, seq, state)
        except StoreError as fault:
            # A snapshot only saves time; the next entry finds out whether the disk is full.
            if fault.code != "R900":
                raise
