"""The errors of a store as Whorl reports them: SQLite's, damage, owners, refusals."""

from __future__ import annotations

import os
import shlex
from typing import Final

import apsw

from whorl.errors import Fenced, StoreError, UsageError, safe
from whorl.runtimes.sqlite.schema import FORMAT_VERSION

_OF_DISKS = frozenset({apsw.SQLITE_IOERR, apsw.SQLITE_CANTOPEN})
_OF_READING = frozenset({apsw.SQLITE_IOERR_READ, apsw.SQLITE_IOERR_SHORT_READ})
_FSYNC_FAULTS = frozenset({apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})
# With less room than this SQLite cannot make the files that it needs beside a store, and says that
# the disk has failed.
_ROOM_BYTES_MIN: Final = 64 * 1024
DO_AGAIN = "then do it again"
_RETRY = f"{DO_AGAIN}: what was acknowledged is stored"
_FULL = ("has no room to grow: the disk is full", f"free some space, {_RETRY}")
DOCTOR = (
    "`whorl project doctor` names what is damaged; restore a backup with "
    "`whorl project restore FILE`"
)
_WORDS: dict[int, tuple[str, str]] = {
    apsw.SQLITE_FULL: _FULL,
    apsw.SQLITE_IOERR: (
        "cannot be read or written",
        f"check the disk, its quota and the limit on file sizes, {_RETRY}",
    ),
    apsw.SQLITE_BUSY: (
        "is locked by another process",
        "look for a stopped or hanging process that has it open, end it, and try again",
    ),
    apsw.SQLITE_READONLY: (
        "may not be written",
        "check the rights of the file and its folder, or name another place with --store",
    ),
    apsw.SQLITE_CANTOPEN: (
        "cannot be opened",
        "check that its folder exists and may be written, or name another place with --store",
    ),
    apsw.SQLITE_NOTADB: (
        "is not a store of Whorl",
        "name another place with --store, or move the file away",
    ),
    apsw.SQLITE_CORRUPT: ("is damaged", DOCTOR),
}


def _number(error: Exception, name: str) -> int:
    """Returns a result code; errors that APSW itself raises have none."""
    return int(vars(error).get(name, apsw.SQLITE_ERROR))


def is_fsync_fault(error: Exception) -> bool:
    """Returns whether the disk may have lost a write; such a write is never retried."""
    return _number(error, "extendedresult") in _FSYNC_FAULTS


def is_of_reading(error: apsw.Error) -> bool:
    """Returns whether a copy failed because of its source, not because of its target."""
    if _number(error, "result") & 0xFF in (apsw.SQLITE_FULL, *_OF_DISKS):
        return _number(error, "extendedresult") in _OF_READING
    return True


def store_error(error: Exception, path: str) -> StoreError:
    result, is_final, code = _number(error, "result") & 0xFF, False, "R900"
    usual = ("cannot be used", "run `whorl project doctor` to look at the store")
    what, remedy = _WORDS.get(result, usual)
    if is_fsync_fault(error):
        is_final, what = True, "did not reach the disk (fsync failed)"
        remedy = "check the disk, then start again: the store takes no writes until it is reopened"
    elif result == apsw.SQLITE_CORRUPT:
        code = "R906"
    elif _number(error, "extendedresult") == apsw.SQLITE_IOERR_SHORT_READ or (
        # A file with a log is a store even if SQLite denies it.
        result == apsw.SQLITE_NOTADB and os.path.exists(f"{path}-wal")
    ):
        code, what, remedy = "R906", "is damaged: it, or its log ('-wal'), is cut", DOCTOR
    elif result in _OF_DISKS and is_full(path):
        what, remedy = _FULL
    # A copy that fails has left no words with the connection.
    why = "" if str(error) == "not an error" else f": {error}"
    return StoreError(f"the store {path!r} {what}{why}", code=code, help=remedy, is_final=is_final)


def is_full(path: str) -> bool:
    """Returns whether a file's disk is too full for the extra files of SQLite."""
    import shutil

    try:
        return shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free < _ROOM_BYTES_MIN
    except OSError:
        return False


def fenced(run: str, owner: int, current: int) -> Fenced:
    return Fenced(
        f"run {run!r} has another owner now (owner number {owner}, current {current})",
        code="R902",
        help="nothing was written; watch the run with `whorl watch`, or resume it later",
    )


def damaged(run: str, seq: int | None, what: str, code: str = "R906") -> StoreError:
    place = f"run {run!r}" if seq is None else f"run {run!r}, entry {seq}"
    advice = DOCTOR if code == "R906" else "use the version of Whorl that wrote it"
    return StoreError(f"{place}: {what}", help=advice, code=code)


def unknown(run: str) -> StoreError:
    words = f"there is no run {run!r} in the store"
    return StoreError(words, code="W902", help="`whorl ls` lists the runs")


def check_format(path: str, version: int) -> None:
    """Raises StoreError R901 if another version of Whorl has written the store."""
    if version not in (0, FORMAT_VERSION):
        words = f"the store {path!r} has format {version}; this version of Whorl knows format"
        remedy = "use the version of Whorl that wrote it, or name another place with --store"
        raise StoreError(f"{words} {FORMAT_VERSION}", code="R901", help=remedy)


def check_log(path: str) -> None:
    """Refuses to create a store beside another's log, which SQLite would delete or merge."""
    log = f"{path}-wal"
    if not os.path.exists(log) or not os.path.getsize(log):
        return
    # Another process may have made the store meanwhile.
    if os.path.exists(path) and os.path.getsize(path):
        return
    words = f"the store {path!r} is empty or missing, but its log is there: {log!r}"
    remedy = (
        "restore a backup with `whorl project restore FILE` (--force where the file is there), or "
    )
    remedy += "move the log away to begin without what was stored"
    raise StoreError(words, code="R906", help=remedy)


def closed(path: str) -> StoreError:
    return StoreError(f"the store {path!r} is closed", help="open it again", is_final=True)


def strange(path: str) -> UsageError:
    """Returns the refusal to write to, or rely on, a store that this user has not made."""
    words = f"the store {safe(path)!r} is read-only: you did not make it here"
    advice = "`whorl project adopt` copies its runs into one of your own; if it was moved,"
    folder = shlex.quote(os.path.dirname(os.path.abspath(path)))
    advice += f" set WHORL_HOME={folder} in the environment"
    return UsageError(words, help=advice, code="W908")


def ended(what: str) -> StoreError:
    """Returns why this process can no longer write."""
    remedy = "start again; what was acknowledged is stored"
    return StoreError(what, help=remedy, is_final=True)
