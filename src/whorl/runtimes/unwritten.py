"""What a run has said or learned and not yet written: it may wait a moment for company.

Only what can be had again waits here: the machine's own notes, and replies of tasks without
effects. Nothing leaves the process before all of it is written, so a crash that loses it is a
crash that came a moment earlier.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.interpreter.events import Event

WAIT_S = 0.1
LATE_S = 0.02
ENTRIES_MAX = 64


class Unwritten:
    """The entries that wait, in the order of the journal, and until when they may."""

    def __init__(self, entries: Iterable[Event], wake: Callable[[], None]) -> None:
        self._entries = list(entries)
        self._wake = wake
        self._is_due = False
        self._was_late = False
        self._timer: asyncio.TimerHandle | None = None

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, entries: list[Event]) -> None:
        """Puts entries behind those that wait."""
        self._entries += entries

    def take(self) -> list[Event]:
        """All that waits, to be written now."""
        entries, self._entries = self._entries, []
        self._is_due = self._was_late = False
        return entries

    def must_be_written(self) -> bool:
        """Whether it has waited long enough; whoever asks is woken when it has."""
        if self._is_due or len(self._entries) >= ENTRIES_MAX:
            return True
        if self._timer is None:
            self._wait(WAIT_S)
        return False

    def forget(self) -> None:
        """Nobody is to be woken any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + seconds
        self._timer = loop.call_at(due, self._time_is_up, loop, due)

    def _time_is_up(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self._timer = None
        if not self._entries:
            return
        late = loop.time() - due
        if late > LATE_S and not self._was_late:
            # So many runs are busy that writing this by itself would hold all of them up.
            self._was_late = True
            self._wait(WAIT_S + late)
            return
        self._is_due = True
        self._wake()
