"""One owner process per run: claims, heartbeats, releases; and which runs have no owner, or wait.

On the same machine a process is identified by its number and start time, so a killed owner is
noticed at once. A stopped process, or one that is not visible from here, loses its runs when its
heartbeat is older than the lease. All processes of one boot share the monotonic clock, so each
owner keeps its runs if the wall clock jumps.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from dataclasses import astuple, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import StoreError
from whorl.interpreter import BEHAVIOUR
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite.connection import fetch
from whorl.runtimes.sqlite.faults import fenced, unknown

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    import apsw

    from whorl.runtimes.sqlite.change_watch import FileWatch
    from whorl.runtimes.sqlite.connection import Column, Reader
    from whorl.runtimes.sqlite.rows import JournalTables

LEASE_S: Final = 10.0
BEAT_EVERY_S: Final = 2.0
# Where nothing tells one start of the machine from another.
NO_BOOT: Final = "host:"
_BOOT_FILE: Final = Path("/proc/sys/kernel/random/boot_id")
_CLOCK_SLACK_S: Final = 1.0
# A clock that keeps running while the machine is suspended, unlike that of an event loop.
_THROUGHOUT: Final = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
# Where SQLite locks the file of a database for as long as it is open: the first byte, how many.
_SHARED_LOCK: Final = (0x40000002, 510)
_OWNER: Final = """SELECT number, owner, behaviour, process,
    pid, started, boot, namespace, beat_at, beat_monotonic FROM runs JOIN progress ON run = number
    LEFT JOIN processes ON processes.id = process WHERE runs.id = ?"""


@dataclass(frozen=True, slots=True)
class Identity:
    pid: int
    started: str
    boot: str
    namespace: str


@dataclass(frozen=True, slots=True)
class ClockPair:
    """Two readings of the time: the wall clock and the clock that only goes forward."""

    at: float
    monotonic: float


class StorePart:
    """The base of all parts of a store: its clocks, its reader and its process."""

    path: str
    home: str
    is_mirror: bool
    clock: Callable[[], float]
    monotonic: Callable[[], float]
    watch: FileWatch
    _reader: Reader
    _process: Identity
    _ask: Callable[..., Awaitable[Any]]


def throughout() -> float:
    """Returns seconds of a monotonic clock that all processes of a machine share."""
    return time.monotonic() if _THROUGHOUT is None else time.clock_gettime(_THROUGHOUT)


def this_process() -> Identity:
    return _identity(os.getpid())


@cache
def _identity(pid: int) -> Identity:
    """Returns the identity of this process, which has another number after a fork."""
    try:
        boot = _BOOT_FILE.read_text("ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, namespace = f"{NO_BOOT}{socket.gethostname()}", ""
    return Identity(pid, _start_time(pid) or "", boot, namespace)


def is_alive(owner: Identity, last: ClockPair, observer: Identity, now: ClockPair) -> bool:
    """Returns whether an owner may be alive; if not, its runs may be claimed."""
    if owner.boot != observer.boot:
        return abs(now.at - last.at) <= LEASE_S
    if is_gone(owner, observer):
        return False
    return -_CLOCK_SLACK_S <= now.monotonic - last.monotonic <= LEASE_S


def has_living(process: Sequence[Any], observer: Identity, now: ClockPair) -> bool:
    """Returns whether a row of `processes`, which may be all null, is of a living process."""
    if process[0] is None:
        return False
    return is_alive(Identity(*process[:4]), ClockPair(*process[4:]), observer, now)


def is_gone(owner: Identity, observer: Identity) -> bool:
    """Returns whether an owner is known to be dead; one that is not visible from here never is."""
    if (owner.boot, owner.namespace) != (observer.boot, observer.namespace) or owner == observer:
        return False
    if owner.started:
        return _start_time(owner.pid) != owner.started
    if sys.platform == "win32":
        return False
    try:
        os.kill(owner.pid, 0)
    except OSError as error:
        return isinstance(error, ProcessLookupError)
    return False


def is_open_elsewhere(path: str) -> bool:
    """Returns whether another process has a store open, if the system reports locks.

    A process that has it open holds an SQLite lock on the file. This process must not have one.
    """
    try:
        import fcntl

        with open(path, "r+b") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_LOCK[1], _SHARED_LOCK[0])
    except BlockingIOError:
        return True
    except (ImportError, OSError):
        return False
    return False


def _start_time(pid: int) -> str | None:
    """Returns when a process started, in ticks since boot, or None if it is not alive."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rfind(")") + 2 :].split()
    return None if fields[0] in "ZX" else fields[19]


@dataclass(slots=True, eq=False)
class Ownership:
    """The runs that this store has claimed, their owner numbers, and its heartbeat."""

    connection: apsw.Connection
    process: Identity
    pulse: Callable[[], ClockPair]
    runs: dict[str, int] = field(default_factory=dict)
    # Those that were claimed as they were made, until a process drives them.
    fresh: set[str] = field(default_factory=set)
    _row: int | None = None
    _beaten: float = 0.0
    _unsure: list[str] = field(default_factory=list)
    _registered: bool = False

    def claim(self, run: str) -> int:
        if run in self.fresh:
            self.fresh.discard(run)
            if run in self.runs:
                return self.runs[run]
        rows = fetch(self.connection, _OWNER, (run,))
        if not rows:
            raise unknown(run)
        number, owner, behaviour, row, *process = rows[0]
        if behaviour > BEHAVIOUR:
            raise StoreError(
                f"run {run!r} was driven by version {behaviour} of the machine; this version of"
                f" Whorl has version {BEHAVIOUR}",
                code="R901",
                help="continue with the newer Whorl that drove it",
            )
        if has_living(process, self.process, self.pulse()):
            pid = process[0]
            holder = "this process" if row == self._row else f"process {pid}"
            raise StoreError(
                f"run {run!r} is owned by {holder}",
                code="R902",
                help=f"watch it with `whorl watch {run}`, steer it with `whorl runs pause` "
                f"or `whorl runs cancel`, or end process {pid} and try again",
            )
        if self._row is None:
            self._register()
        if behaviour < BEHAVIOUR:
            # Older machines do not understand all that is journaled from here on.
            update = "UPDATE runs SET behaviour = ? WHERE number = ?"
            self.connection.execute(update, (BEHAVIOUR, number))
        self.connection.execute(
            "UPDATE progress SET owner = ?, process = ? WHERE run = ?",
            (owner + 1, self._row, number),
        )
        self.runs[run] = owner + 1
        self._unsure.append(run)
        return int(owner) + 1

    def is_driven(self, run: str) -> bool:
        rows = fetch(self.connection, _OWNER, (run,))
        return bool(rows) and has_living(rows[0][4:], self.process, self.pulse())

    def release(self, run: str, owner: int) -> None:
        self.forget(run, owner)
        self.connection.execute(
            "UPDATE progress SET process = NULL WHERE owner = ?"
            " AND run = (SELECT number FROM runs WHERE id = ?)",
            (owner, run),
        )

    def forget(self, run: str, owner: int) -> None:
        if self.runs.get(run) == owner:
            del self.runs[run]

    def settle(self, *, committed: bool) -> None:
        """Keeps or undoes the claims of a transaction, as the database did."""
        if not committed:
            for run in self._unsure:
                self.runs.pop(run, None)
            if self._registered:
                self._row = None
        self._unsure.clear()
        self._registered = False

    def is_beat_due(self, monotonic: float) -> bool:
        return bool(self.runs) and monotonic - self._beaten >= BEAT_EVERY_S

    def beat(self) -> None:
        now = self.pulse()
        self._beaten = now.monotonic
        self.connection.execute(
            "UPDATE processes SET beat_at = ?, beat_monotonic = ? WHERE id = ?",
            (now.at, now.monotonic, self._row),
        )

    def leave(self) -> None:
        """Removes this process from the list of processes, which frees its runs."""
        if self._row is not None:
            self.connection.execute("DELETE FROM processes WHERE id = ?", (self._row,))
            self._row = None
            self.runs.clear()

    def _register(self) -> None:
        """Adds this process to the list of processes, and removes the dead ones."""
        statement = "SELECT id, pid, started, boot, namespace FROM processes"
        for row, *process in fetch(self.connection, statement):
            if is_gone(Identity(*process), self.process):
                self.connection.execute("DELETE FROM processes WHERE id = ?", (row,))
        now = self.pulse()
        self._beaten = now.monotonic
        self._registered = True
        self.connection.execute(
            "INSERT INTO processes(pid, started, boot, namespace, beat_at, beat_monotonic)"
            " VALUES(?, ?, ?, ?, ?, ?)",
            (*astuple(self.process), now.at, now.monotonic),
        )
        self._row = self.connection.last_insert_rowid()


def check_owner(connection: apsw.Connection, run: str, owner: int) -> None:
    current = "SELECT owner FROM progress JOIN runs ON number = run WHERE id = ?"
    holder = connection.execute(current, (run,)).get
    if holder != owner:
        raise fenced(run, owner, holder or 0)


# Which runs of a store no process drives any more; which resume by themselves, and when.

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
# Whether servers keep a run going. Within one boot it keeps its time.
KEEP: Final = """INSERT INTO upkeep SELECT number, '', ?2, NULL, '', ?3, ?4 FROM runs WHERE id = ?1
    ON CONFLICT(run) DO UPDATE SET kept = max(kept, excluded.kept), held = '',
    ahead = iif(anchor = excluded.anchor, ahead, excluded.ahead), anchor = excluded.anchor"""
# So many runs are counted at most, so that counting takes no longer the more of them there are.
COUNTED_MAX: Final = 10_000
_OPEN: Final = f"""SELECT name, state, count(*) FROM (SELECT name,
        iif(status = 'running' AND (process IS NULL OR process NOT IN ({{living}})),
            iif(began = 0, 'queued', 'interrupted'), status) AS state
    FROM runs JOIN progress ON progress.run = number LEFT JOIN queue ON queue.run = number
    WHERE status IN ('running', 'waiting', 'paused') LIMIT {COUNTED_MAX}) GROUP BY name, state"""


class UpkeepReading(StorePart):
    """The queries with which a server looks after its runs."""

    def stranded(self, limit: int) -> list[RunId]:
        """Returns this project's runs that servers keep going but no process drives, by age."""
        living = self.living()
        statement = _STRANDED.format(living=",".join("?" * len(living)))
        rows = self._reader.rows(statement, (*living, self.home, self.clock(), LEASE_S, limit))
        return [RunId(row[0]) for row in rows]

    def open_runs(self) -> list[tuple[str, str, int]]:
        """Counts the runs that have not ended, by workflow name and state."""
        living = self.living()
        rows = self._reader.rows(_OPEN.format(living=",".join("?" * len(living))), (*living,))
        return [(str(name), str(state), int(number)) for name, state, number in rows]

    def living(self) -> dict[int, int]:
        """Returns the living processes: the numbers of their rows, and their process numbers."""
        now = ClockPair(self.clock(), self.monotonic())
        rows = self._reader.rows(_PROCESSES)
        return {row[-1]: row[0] for row in rows if has_living(row[:-1], self._process, now)}

    def timers(self, limit: int) -> list[tuple[RunId, float, float]]:
        """Returns the runs that wait for a timer, each with its time and the seconds left.

        A wait never gets longer than at the run's last entry, even if the clock was set back.
        """
        timers = []
        for run, due, updated_at, *clocks in self._reader.rows(_DUE, (self.home, limit)):
            left_s = due - (self.clock() - self._step(*clocks))
            timers.append((RunId(run), due, max(0.0, min(left_s, due - updated_at))))
        return timers

    def clock_step(self, run: str) -> float:
        """Returns by how many seconds the clock was set since the run was claimed, if known."""
        clocks = "SELECT anchor, ahead FROM upkeep JOIN runs ON number = upkeep.run WHERE id = ?"
        return sum(self._step(*row) for row in self._reader.rows(clocks, (run,)))

    def _step(self, boot: str, ahead: float) -> float:
        if boot != self._process.boot or boot.startswith(NO_BOOT):
            return 0.0
        step = self.clock() - throughout() - ahead
        return step if abs(step) > _STEP_MIN_S else 0.0


def change_upkeep(connection: apsw.Connection, change: str, run: str, value: Column) -> None:
    chosen = "WHERE run = (SELECT number FROM runs WHERE id = ?1)"
    connection.execute(f"UPDATE upkeep SET {change} {chosen}", (run, value))


def lane_of(home: str, workflow: str) -> str:
    """Returns the queue of a workflow; same names in two projects have two queues."""
    return f"{home}\n{workflow}" if home else workflow


# Which runs of a workflow wait for their turn, where only so many of them run at once.
#
# A place is taken when a run begins, and given back when it ends, waits for a person or is paused.
# A process takes a place in one transaction, so that the limit holds for all processes.

_WAITS: Final = """SELECT queue.run, lane, at_once FROM queue JOIN runs ON number = queue.run
    WHERE runs.id = ? AND began = 0"""
# What has left its place; a run that cannot be driven, or that is left to people, keeps none.
_LEFT: Final = """DELETE FROM queue WHERE began = 1 AND lane = ?1
    AND (SELECT status FROM runs WHERE number = queue.run) IS NOT 'running'"""
_TAKEN: Final = """(SELECT count(*) FROM queue AS other JOIN runs ON number = other.run
    JOIN upkeep ON upkeep.run = other.run WHERE other.began = 1 AND other.lane = {lane}
    AND status = 'running' AND kept AND held = '')"""
_EARLIER: Final = """SELECT 1 FROM queue WHERE began = 0 AND lane = ? AND run < ? LIMIT 1"""
# The lanes hop along the index, however many runs wait.
_NEXT: Final = f"""WITH RECURSIVE waiting(lane) AS (
        SELECT min(lane) FROM queue WHERE began = 0 UNION ALL
        SELECT (SELECT min(lane) FROM queue WHERE began = 0 AND lane > waiting.lane)
        FROM waiting WHERE lane IS NOT NULL),
    first(run) AS (SELECT (SELECT min(run) FROM queue
        WHERE began = 0 AND queue.lane = waiting.lane) FROM waiting)
    SELECT id FROM first JOIN runs ON number = first.run JOIN queue ON queue.run = first.run
    WHERE {_TAKEN.format(lane="queue.lane")} < at_once AND {IS_OWN} ORDER BY number LIMIT ?"""
_LENGTH: Final = "SELECT count(*) FROM queue WHERE began = 0 AND lane = ?"


class QueueTable(StorePart):
    """The queue of runs that wait for their turn."""

    def is_queued(self, run: str) -> bool:
        return bool(self._reader.rows(_WAITS, (run,)))

    def next_in_queue(self, limit: int) -> list[RunId]:
        """Returns the next run of each workflow that has a free place."""
        return [RunId(row[0]) for row in self._reader.rows(_NEXT, (self.home, limit))]

    def queue_length(self, workflow: str) -> int:
        return int(self._reader.rows(_LENGTH, (lane_of(self.home, workflow),))[0][0])

    async def admit(self, run: str) -> bool:
        """Gives a run its place, or returns False if it is not its turn."""

        def change(tables: JournalTables) -> bool:
            execute = tables.connection.execute
            row = execute(_WAITS, (run,)).fetchone()
            if row is None:
                return True
            number, workflow, at_once = row
            execute(_LEFT, (workflow,))
            taken = execute(f"SELECT {_TAKEN.format(lane='?')}", (workflow,)).get
            if taken >= at_once or execute(_EARLIER, (workflow, number)).get:
                return False
            execute("UPDATE queue SET began = 1 WHERE run = ?", (number,))
            return True

        return bool(await self._ask(change))
