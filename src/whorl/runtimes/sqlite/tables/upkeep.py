"""Which runs of a store nobody drives any more, and which go on by themselves, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whorl.runtimes.clock import throughout
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite.ownership import LEASE_S, NO_BOOT, ClockPair, has_living

if TYPE_CHECKING:
    from collections.abc import Callable

    import apsw

    from whorl.runtimes.sqlite.connection import Column, Reader
    from whorl.runtimes.sqlite.ownership import Identity

# Smaller steps are not told from the clocks' own drift.
_STEP_MIN_S: Final = 0.5
_PROCESSES: Final = """SELECT pid, started, boot, namespace, beat_at, beat_monotonic, id
    FROM processes"""
# Of all runs of the store, those that the project may drive that has opened it.
IS_OWN: Final = "coalesce((SELECT home FROM homes WHERE homes.run = number), '') = ?"
# One that was just made is about to be claimed.
_STRANDED: Final = f"""SELECT runs.id FROM runs JOIN progress ON progress.run = number
    JOIN upkeep ON upkeep.run = number
    WHERE status = 'running' AND kept AND (process IS NULL OR process NOT IN ({{living}}))
    AND {IS_OWN} AND NOT EXISTS (SELECT 1 FROM queue WHERE queue.run = number AND began = 0)
    AND NOT (owner = 0 AND process IS NULL AND abs(? - created_at) <= ?) ORDER BY number LIMIT ?"""
_DUE: Final = f"""SELECT runs.id, due, updated_at, anchor, ahead FROM upkeep
    JOIN runs ON number = upkeep.run JOIN progress ON progress.run = upkeep.run
    WHERE due IS NOT NULL AND {IS_OWN} ORDER BY due LIMIT ?"""
# Within one boot a run keeps its time.
_KEEP: Final = """INSERT INTO upkeep SELECT number, '', ?2, NULL, '', ?3, ?4 FROM runs WHERE id = ?1
    ON CONFLICT(run) DO UPDATE SET kept = max(kept, excluded.kept), held = '',
    ahead = iif(anchor = excluded.anchor, ahead, excluded.ahead), anchor = excluded.anchor"""
# So many runs are counted at most, so that counting takes no longer the more of them there are.
COUNTED_MAX: Final = 10_000
_OPEN: Final = f"""SELECT name, state, count(*) FROM (SELECT name,
        iif(status = 'running' AND (process IS NULL OR process NOT IN ({{living}})),
            iif(began = 0, 'queued', 'interrupted'), status) AS state
    FROM runs JOIN progress ON progress.run = number LEFT JOIN queue ON queue.run = number
    WHERE status IN ('running', 'waiting', 'paused') LIMIT {COUNTED_MAX}) GROUP BY name, state"""


class UpkeepReading:
    """What a server asks of a store to look after its runs."""

    home: str
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    _reader: Reader
    _process: Identity

    def stranded(self, limit: int) -> list[RunId]:
        """The own runs that servers keep going and no living process drives, the oldest first."""
        living = self._living()
        statement = _STRANDED.format(living=",".join("?" * len(living)))
        rows = self._reader.rows(statement, (*living, self.home, self.clock(), LEASE_S, limit))
        return [RunId(row[0]) for row in rows]

    def open_runs(self) -> list[tuple[str, str, int]]:
        """Names of workflows, states of runs that have not ended, and how many there are."""
        living = self._living()
        rows = self._reader.rows(_OPEN.format(living=",".join("?" * len(living))), living)
        return [(str(name), str(state), int(number)) for name, state, number in rows]

    def _living(self) -> list[int]:
        """The processes that drive runs, as the tables know them."""
        now = ClockPair(self.clock(), self.monotonic())
        rows = self._reader.rows(_PROCESSES)
        return [row[-1] for row in rows if has_living(row[:-1], self._process, now)]

    def timers(self, limit: int) -> list[tuple[RunId, float, float]]:
        """The runs that wait and go on by themselves: each with its time, and how long that is.

        A clock that was set back makes no wait longer than it was at the run's last entry.
        """
        timers = []
        for run, due, updated_at, *clocks in self._reader.rows(_DUE, (self.home, limit)):
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


def keep(connection: apsw.Connection, run: str, kept: tuple[bool, str, float]) -> None:
    """Notes whether servers keep a run going, the boot, and how far its clocks are apart."""
    connection.execute(_KEEP, (run, *kept))


def change_upkeep(connection: apsw.Connection, change: str, run: str, value: Column) -> None:
    chosen = "WHERE run = (SELECT number FROM runs WHERE id = ?1)"
    connection.execute(f"UPDATE upkeep SET {change} {chosen}", (run, value))


def lane_of(home: str, workflow: str) -> str:
    """Workflows of two projects are two, whatever they are called."""
    return f"{home}\n{workflow}" if home else workflow
