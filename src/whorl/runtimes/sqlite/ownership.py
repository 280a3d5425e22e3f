"""One owner process per run: claims, heartbeats, releases, and whether an owner still lives.

On the same machine a process is known by its number and the time it started, so a killed owner is
noticed at once. A process that is stopped, or that cannot be seen from here, is given up when its
heartbeat is older than the lease; the monotonic clock is shared by all processes of one boot, so
a jump of the wall clock takes no run away from its owner.
"""

from __future__ import annotations

import os
import platform
import struct
import sys
from dataclasses import astuple, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import StoreError
from whorl.interpreter import BEHAVIOUR
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.connection import fetch
from whorl.runtimes.sqlite.faults import fenced, refused

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

LEASE_S: Final = 10.0
BEAT_EVERY_S: Final = 2.0
# Where nothing tells one start of the machine from another.
NO_BOOT: Final = "host:"
_BOOT_FILE: Final = Path("/proc/sys/kernel/random/boot_id")
_CLOCK_SLACK_S: Final = 1.0
# Where SQLite locks the file of a database for as long as it is open: the first byte, how many.
_SHARED_LOCK: Final = (0x40000002, 510)
# A `struct flock` of Linux.
_LOCK: Final = "hhqqi"
_OWNER: Final = """SELECT number, owner, behaviour, process,
    pid, started, boot, namespace, beat_at, beat_monotonic FROM runs JOIN progress ON run = number
    LEFT JOIN processes ON processes.id = process WHERE runs.id = ?"""


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells a process from every other one."""

    pid: int
    started: str
    boot: str
    namespace: str


@dataclass(frozen=True, slots=True)
class ClockPair:
    """Two readings of the time: the wall clock and the clock that only goes forward."""

    at: float
    monotonic: float


def this_process() -> Identity:
    return _identity(os.getpid())


@cache
def _identity(pid: int) -> Identity:
    """The identity of this process; after a fork it has another number."""
    try:
        boot = _BOOT_FILE.read_text("ascii").strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot, namespace = f"{NO_BOOT}{platform.node()}", ""
    return Identity(pid, _start_time(pid) or "", boot, namespace)


def is_alive(owner: Identity, last: ClockPair, observer: Identity, now: ClockPair) -> bool:
    """Whether an owner may still be at work; a run of one that is not may be claimed."""
    if owner.boot != observer.boot:
        return abs(now.at - last.at) <= LEASE_S
    if is_gone(owner, observer):
        return False
    return -_CLOCK_SLACK_S <= now.monotonic - last.monotonic <= LEASE_S


def has_living(process: Sequence[Any], observer: Identity, now: ClockPair) -> bool:
    """Whether a row of `processes`, which may be all null, is that of a living process."""
    if process[0] is None:
        return False
    return is_alive(Identity(*process[:4]), ClockPair(*process[4:]), observer, now)


def is_gone(owner: Identity, observer: Identity) -> bool:
    """Whether an owner is known to be dead; one that cannot be seen from here is not."""
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


def opener(path: str) -> int | None:
    """The number of another process that has a store open, 0 where that is not told; None: none.

    Whoever has one open holds a lock of SQLite on its file. This process must not have it open.
    """
    try:
        import fcntl

        file = os.open(path, os.O_RDWR)
    except (ImportError, OSError):
        return None
    try:
        if platform.system() == "Linux":
            wanted = struct.pack(_LOCK, fcntl.F_WRLCK, os.SEEK_SET, *_SHARED_LOCK, 0)
            kind, *_, pid = struct.unpack(_LOCK, fcntl.fcntl(file, fcntl.F_GETLK, wanted))
            return None if kind == fcntl.F_UNLCK else max(pid, 0)
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, _SHARED_LOCK[1], _SHARED_LOCK[0])
    except BlockingIOError:
        return 0
    except OSError:
        return None  # the file system knows no locks
    finally:
        os.close(file)
    return None


def _start_time(pid: int) -> str | None:
    """The start of a living process in ticks since boot; None for no process, or a dead one."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    fields = stat[stat.rfind(")") + 2 :].split()
    return None if fields[0] in "ZX" else fields[19]


@dataclass(slots=True, eq=False)
class Ownership:
    """The runs that this store has claimed with their owner numbers, and its sign of life."""

    connection: apsw.Connection
    process: Identity
    pulse: Callable[[], ClockPair]
    runs: dict[str, int] = field(default_factory=dict)
    # Those that were claimed as they were made, until somebody drives them.
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
            raise refused(f"there is no run {run!r} in the store", "`whorl ls` lists the runs")
        number, owner, behaviour, row, *process = rows[0]
        if behaviour > BEHAVIOUR:
            raise StoreError(
                f"run {run!r} was driven by version {behaviour} of the machine; this version of"
                f" Whorl has version {BEHAVIOUR}",
                code="R901",
                help="go on with the newer Whorl that drove it",
            )
        if has_living(process, self.process, self.pulse()):
            pid = process[0]
            holder = "this very process" if row == self._row else f"process {pid}"
            raise StoreError(
                f"run {run!r} is owned by {holder}",
                code="R902",
                help=f"watch it with `whorl watch {run}`, steer it from here with `whorl pause` or"
                f" `whorl cancel`, or end process {pid} and try again",
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
        """Keeps or undoes the claims of a transaction, as the database has done with them."""
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
        """Takes this store off the list of the living; its runs are free."""
        if self._row is not None:
            self.connection.execute("DELETE FROM processes WHERE id = ?", (self._row,))
            self._row = None
            self.runs.clear()

    def _register(self) -> None:
        """Puts this process on the list of the living, and takes the dead off it."""
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
