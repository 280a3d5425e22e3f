"""Detects that a store's file was deleted, replaced or overwritten while it is open, and remembers
whether it can be written.

SQLite keeps writing to the file that it has opened, even if the file was renamed or deleted. These
writes would be lost, so Whorl checks the path before commits and while reading.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Final

import apsw

from whorl.errors import StoreError
from whorl.runtimes.sqlite.faults import is_fsync_fault, store_error

if TYPE_CHECKING:
    from collections.abc import Callable

LOOK_EVERY_S: Final = 0.25
# So long a writer relies on what it saw: it may commit a thousand times a second.
SURE_S: Final = 0.02
_MAGIC: Final = b"SQLite format 3\x00"
_ADVICE: Final = (
    "nothing more is written; put the file back or restore a backup with "
    "`whorl project restore FILE`, then start again"
)
_NO_INDEX: Final = "has lost the index of its log (the file '-shm' beside it)"
_START_AGAIN: Final = (
    "nothing more is written; end all processes that have it open, then start again: SQLite makes "
    "the index again, and what was acknowledged is stored"
)
_HARMED: Final = "has lost its log or was damaged while it was open"
_UNSEEN: Final = "check the disk and the rights of the folder; nothing is written until then"
# So long a write that failed counts, whatever else succeeds: those who wait try again more often.
TRY_EVERY_S: Final = 2.0


class FileWatch:
    """Checks whether a store's file is the one that was opened; safe to use from any thread."""

    def __init__(
        self, path: str, *, is_real: bool = True, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = path
        self._log, self._index = f"{path}-wal", f"{path}-shm"
        # A file system of SQLite's own, which tests have, knows no such names.
        self._is_real = is_real
        self._monotonic = monotonic
        self._file = _identity(path) if is_real else None
        self._log_file: tuple[int, int] | None = None
        self._index_file: tuple[int, int] | None = None
        self._looked_at = self._log_at = monotonic()
        self._sure_until = 0.0
        self._damage: StoreError | None = None
        self._refusal: StoreError | None = None
        self._refused_at = -math.inf

    def fault(self, connection: apsw.Connection | None = None) -> StoreError | None:
        """Returns why nothing may be written any more, or None if the file is unchanged.

        A connection reads the file's header: opening and closing the file again would release the
        locks that SQLite holds in this process.
        """
        if self._damage is not None:
            return copy(self._damage)
        now = self._monotonic()
        if connection is not None and now < self._sure_until:
            return None
        try:
            what = self._change(connection) if self._is_real else ""
        except OSError as error:
            self._sure_until = 0.0
            words = f"the store {self._path!r} cannot be looked at: {error.strerror}"
            return StoreError(words, help=_UNSEEN)
        self._sure_until = 0.0 if what else now + SURE_S
        if not what:
            return None
        # The fault stays, even if the file comes back: the runs of this process were left, and
        # others may have written since. A restart continues from the stored state.
        advice = _START_AGAIN if what.startswith(_NO_INDEX) else _ADVICE
        self._damage = StoreError(f"the store {self._path!r} {what}", code="R907", help=advice)
        return copy(self._damage)

    def check_sometimes(self, connection: apsw.Connection) -> None:
        """Checks the file at most four times a second; raises its fault."""
        now = self._monotonic()
        if self._damage is None and now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        fault = self.fault(connection)
        if fault is not None and fault.code == "R907":
            raise fault

    @property
    def refusal(self) -> StoreError | None:
        """Returns why a write has just failed."""
        is_new = self._monotonic() - self._refused_at < TRY_EVERY_S
        return copy(self._refusal) if self._refusal is not None and is_new else None

    def note_failure(self, error: apsw.Error, fault: StoreError) -> None:
        """Remembers why a write has failed: forever, or for a moment."""
        self.keep_damage(error, fault)
        if is_fsync_fault(error):
            self._damage = fault
        elif fault.code == "R900":
            # It may be over by itself: no room, no rights, another process that holds the lock.
            self._refusal, self._refused_at = fault, self._monotonic()

    def note_commit(self) -> None:
        """Notes a commit. From the first commit on, the log exists until the store is closed."""
        if self._is_real and self._log_file is None:
            with suppress(OSError):
                self._index_file = _identity(self._index)
                self._log_file = _identity(self._log)

    def keep_damage(self, error: apsw.Error, fault: StoreError) -> None:
        """Remembers an error of SQLite that means damage; nothing is written afterwards."""
        if self._damage is None and (_is_harmed(error) or isinstance(error, apsw.CorruptError)):
            self._damage = copy(fault)

    def fault_of(self, error: apsw.Error) -> StoreError:
        """Translates an error of SQLite; the file was a store when it was opened."""
        if _is_harmed(error):
            words = f"the store {self._path!r} {_HARMED}: {error}"
            return StoreError(words, code="R907", help=_ADVICE)
        return store_error(error, self._path)

    def _change(self, connection: apsw.Connection | None) -> str:
        file = _identity(self._path)
        if file is None:
            return "was deleted while it was open"
        if file != self._file:
            return "was replaced by another file while it was open"
        if connection is not None and connection.read("main", 0, 0, len(_MAGIC))[1] != _MAGIC:
            return "was overwritten while it was open"
        now = self._monotonic()
        if self._log_file is None or now - self._log_at < LOOK_EVERY_S:
            return ""
        self._log_at = now
        if _identity(self._log) != self._log_file:
            return "has lost its log (the file '-wal' beside it) while it was open"
        if self._index_file is not None and _identity(self._index) != self._index_file:
            return f"{_NO_INDEX} while it was open"
        return ""


def _is_harmed(error: apsw.Error) -> bool:
    """Returns whether a good file was overwritten, or its log cut short."""
    is_short = vars(error).get("extendedresult") == apsw.SQLITE_IOERR_SHORT_READ
    return is_short or isinstance(error, apsw.NotADBError)


def _identity(path: str) -> tuple[int, int] | None:
    """Returns the identity of a file, or None if it does not exist. Raises OSError."""
    try:
        # A store is no link: one that leads to the same file is something else.
        about = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return about.st_dev, about.st_ino
