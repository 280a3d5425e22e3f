"""The write buffer: what a run has said or learned and not yet written.

What can be had again may wait here for company: the machine's own notes, and replies of tasks
without effects. All else is written at once. Nothing leaves the process before all of it is
written, so a crash that loses it is a crash that came a moment earlier.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.interpreter.events import Event

WAIT_S = 0.1
# A process that is this busy would be held up even more if it wrote as often as it should.
LATE_S = 0.02
WAIT_MAX_S = 1.0
ENTRIES_MAX = 64


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


class WriteBuffer:
    """The entries of a run that wait, in the order of the journal, and until when they may."""

    def __init__(
        self, entries: Iterable[Event], timer: CommitTimer, wake: Callable[[], None]
    ) -> None:
        self._entries = list(entries)
        self._timer = timer
        self._wake = wake
        self._is_due = self._is_waiting = False

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
