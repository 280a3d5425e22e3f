"""Which runs of a store nobody drives any more, and which go on by themselves, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.runtimes.journal import RunId, throughout
from whorl.runtimes.sqlite.ownership import LEASE_S, NO_BOOT, Pulse, has_living

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.runtimes.sqlite.connection import Reader
    from whorl.runtimes.sqlite.ownership import Identity

# Smaller steps are not told from the clocks' own drift.
_STEP_MIN_S: Final = 0.5
_PROCESSES: Final = """SELECT pid, started, boot, namespace, beat_at, beat_monotonic, id
    FROM processes"""
# One that was just made is about to be claimed.
_STRANDED: Final = """SELECT runs.id FROM runs JOIN progress ON progress.run = number
    JOIN upkeep ON upkeep.run = number
    WHERE status = 'running' AND kept AND (process IS NULL OR process NOT IN ({living}))
    AND NOT (owner = 0 AND process IS NULL AND abs(? - created_at) <= ?) ORDER BY number LIMIT ?"""
_DUE: Final = """SELECT runs.id, due, updated_at, anchor, ahead FROM upkeep
    JOIN runs ON number = upkeep.run JOIN progress ON progress.run = upkeep.run
    WHERE due IS NOT NULL ORDER BY due LIMIT ?"""


class UpkeepReading:
    """What a server asks of a store to look after its runs."""

    clock: Callable[[], float]
    monotonic: Callable[[], float]
    _reader: Reader
    _process: Identity

    def stranded(self, limit: int) -> list[RunId]:
        """The runs that servers keep going and no living process drives, the oldest first."""
        now = Pulse(self.clock(), self.monotonic())
        rows = self._reader.rows(_PROCESSES)
        living = [row[-1] for row in rows if has_living(row[:-1], self._process, now)]
        statement = _STRANDED.format(living=",".join("?" * len(living)))
        rows = self._reader.rows(statement, (*living, now.at, LEASE_S, limit))
        return [RunId(row[0]) for row in rows]

    def timers(self, limit: int) -> list[tuple[RunId, float, float]]:
        """The runs that wait and go on by themselves: each with its time, and how long that is.

        A clock that was set back makes no wait longer than it was at the run's last entry.
        """
        timers = []
        for run, due, updated_at, *clocks in self._reader.rows(_DUE, (limit,)):
            left_s = due - (self.clock() - self._step(*clocks))
            timers.append((RunId(run), due, max(0.0, min(left_s, due - updated_at))))
        return timers

    def clock_step(self, run: str) -> float:
        """By how many seconds the clock was set since the run was taken up, as far as is known."""
        clocks = "SELECT anchor, ahead FROM upkeep JOIN runs ON number = upkeep.run WHERE id = ?"
        return sum(self._step(*row) for row in self._reader.rows(clocks, (run,)))

    def _step(self, boot: str, ahead: float) -> float:
        if boot != self._process.boot or boot.startswith(NO_BOOT):
            return 0.0
        step = self.clock() - throughout() - ahead
        return step if abs(step) > _STEP_MIN_S else 0.0
