"""Deletes runs, with the values that only they use, and frees their space.

A long run is deleted in small steps, so that other processes do not wait long for a transaction.
If a crash interrupts this, the next deletion finishes it.
"""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import apsw

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.checking import is_of_run
from whorl.runtimes.sqlite.connection import fetch
from whorl.runtimes.sqlite.listing import EXPERIMENT, RunFilter, RunListing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from whorl.providers.settings import Retention
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite.rows import JournalTables


# Runs that were deleted from a mirror: the server of the cluster may have them for long. Each is
# kept with the time of its last entry, so that it stays away until it goes on. Only a mirror has
# the table, and only after something was deleted from it.
_TABLE: Final = """CREATE TABLE IF NOT EXISTS pruned(
    run TEXT PRIMARY KEY, updated_at REAL NOT NULL
) WITHOUT ROWID"""
_HAS_TABLE: Final = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'pruned'"
_NOTE: Final = """INSERT OR REPLACE INTO pruned
    SELECT id, updated_at FROM runs JOIN progress ON run = number WHERE id = ?"""
_FORGET: Final = "DELETE FROM pruned WHERE run = ?"
_OVER: Final = ("succeeded", "failed", "cancelled")
# What is deleted in one transaction.
SWEPT_ENTRIES: Final = 2_000
_SWEPT_PAYLOADS: Final = 200
_STILL_OLD: Final = """SELECT number FROM runs JOIN progress ON run = number
    WHERE id = ? AND status = ? AND updated_at < ?"""
_SWEEP_ENTRIES: Final = f"""DELETE FROM journal WHERE id IN
    (SELECT id FROM journal WHERE run = ? ORDER BY seq LIMIT {SWEPT_ENTRIES})"""
_SOME_USES: Final = f"""SELECT payload FROM payload_uses WHERE run = ?1
    ORDER BY payload LIMIT {_SWEPT_PAYLOADS}"""
_SWEEP_PAYLOADS: Final = f"""DELETE FROM payloads WHERE id IN ({_SOME_USES})
    AND NOT EXISTS (SELECT 1 FROM payload_uses WHERE payload = payloads.id AND run <> ?1)"""
_SWEEP_USES: Final = f"DELETE FROM payload_uses WHERE run = ?1 AND payload IN ({_SOME_USES})"
_OF_RUNS: Final = "loops snapshots inbox upkeep spending queue labels homes doubts progress"
_SIZE: Final = """SELECT coalesce(sum(octet_length(body) + octet_length(address) + 32), 0), count(*)
    FROM journal WHERE run = (SELECT number FROM runs WHERE id = ?)"""
_ENDED: Final = """SELECT id, status, updated_at FROM runs JOIN progress ON run = number
    WHERE status IN ('succeeded', 'failed', 'cancelled')
    AND coalesce(key, '') NOT GLOB ? ORDER BY updated_at, number"""
# The numbers of runs hop along the index, however many entries each of them has.
_LEFT_OVER: Final = """WITH RECURSIVE kept(run) AS (SELECT min(run) FROM journal UNION ALL
        SELECT (SELECT min(run) FROM journal WHERE run > kept.run) FROM kept WHERE run IS NOT NULL),
    used(run) AS (SELECT min(run) FROM payload_uses UNION ALL
        SELECT (SELECT min(run) FROM payload_uses WHERE run > used.run) FROM used
        WHERE run IS NOT NULL)
    SELECT run FROM (SELECT run FROM kept UNION SELECT run FROM used)
    WHERE run IS NOT NULL AND run NOT IN (SELECT number FROM runs)"""


@dataclass(frozen=True, slots=True)
class Pruned:
    """The deleted runs, or those of a dry run; `bytes` is their journal without shared payloads."""

    runs: tuple[RunId, ...]
    entries: int
    bytes: int
    dry_run: bool


class Pruning(RunListing):
    used_bytes: Callable[[], int]
    run: Callable[[str], RunRow]
    check: Callable[[], list[str]]

    async def prune(
        self,
        older_than_s: float,
        statuses: Sequence[str] = _OVER,
        *,
        dry_run: bool = False,
        without_key: tuple[str, ...] = (),
    ) -> Pruned:
        """Deletes runs that ended long ago, with the values that only they use; shrinks the file.

        Runs whose keys begin with one of `without_key` stay.
        """
        limit = self.clock() - older_than_s
        each = (RunFilter(status=status, without_key=without_key) for status in statuses)
        rows = [row for which in each for row in self.list_runs(which, 2**31)]
        old = [(row.id, row.status) for row in rows if row.updated_at < limit]
        return await self._delete(old, limit, dry_run=dry_run)

    async def remove(self, key: str) -> Pruned:
        """Deletes all runs whose keys begin with a prefix, unless a process drives them."""
        rows = self.list_runs(RunFilter(key=key), 2**31)
        return await self._delete([(row.id, row.status) for row in rows], self.clock() + 1.0)

    async def remove_run(self, run: RunId, *, dry_run: bool = False) -> Pruned:
        """Deletes a run that has ended, or one that cannot resume because its journal is damaged.

        Raises UsageError if it can resume, or if a process drives it.
        """
        row = self.run(run)
        is_over = row.status in _OVER
        if not is_over and not any(is_of_run(fault, run) for fault in self.check()):
            words, advice = f"run {run} has not ended", f"`whorl runs cancel {run}` ends it"
            raise UsageError(words, help=advice, code="W905")
        pruned = await self._delete([(run, row.status)], self.clock() + 1.0, dry_run=dry_run)
        if not pruned.runs:
            words = f"run {run} is being driven, and was not deleted"
            raise UsageError(words, help="end the process that drives it first", code="R902")
        return pruned

    async def retire(self, keep: Retention, limit: int = 100) -> Pruned:
        """Deletes the oldest ended runs that exceed the limits of `keep`, at most `limit` runs.

        Runs of experiments stay, since reports need them.
        """
        now = self.clock()
        old = math.inf if keep.older_than_s is None else keep.older_than_s
        ended = self._reader.rows(_ENDED, (f"{EXPERIMENT}*",))

        def surplus() -> Iterator[tuple[RunId, str]]:
            for index, (run, status, updated_at) in enumerate(ended[:limit]):
                is_old = now - updated_at > old
                is_surplus = keep.max_runs is not None and len(ended) - index > keep.max_runs
                is_large = keep.max_bytes is not None and self.used_bytes() > keep.max_bytes
                if not (is_old or is_surplus or is_large):
                    return
                yield run, status

        return await self._delete(surplus(), now + 1.0)

    async def _delete(
        self, runs: Iterable[tuple[RunId, str]], older_than: float, *, dry_run: bool = False
    ) -> Pruned:
        """Deletes runs that no process drives, and frees the space of all that is deleted.

        That includes runs that a crash left half deleted.
        """
        gone: list[tuple[RunId, int, int]] = []
        for run, status in runs:
            size, entries = self._reader.rows(_SIZE, (run,))[0]
            if not dry_run:
                if self.is_mirror:
                    # First, so that no refresh brings it back in between.
                    await self.note_pruned(run)
                apply = partial(delete, run=run, status=status, older_than=older_than)
                if not (number := await self._ask(apply)):
                    continue
                await self._sweep(number)
            gone.append((run, entries, size))
        left = [] if dry_run else [row[0] for row in self._reader.rows(_LEFT_OVER)]
        for number in left:
            await self._sweep(number)
        if (gone or left) and not dry_run:
            while await self._ask(give_back, alone=True):
                continue
            await self._ask(empty_log, alone=True)
        entries, bytes_ = sum(part[1] for part in gone), sum(part[2] for part in gone)
        return Pruned(tuple(part[0] for part in gone), entries, bytes_, dry_run)

    async def _sweep(self, number: int) -> None:
        while await self._ask(partial(sweep, number=number)):
            await asyncio.sleep(0)

    def pruned_runs(self) -> dict[RunId, float]:
        """Returns the deleted runs, and when each had its last entry."""
        if not self._reader.rows(_HAS_TABLE):
            return {}
        return dict(self._reader.rows("SELECT run, updated_at FROM pruned"))

    async def note_pruned(self, run: str) -> None:
        """Records a run that will be deleted."""

        def change(tables: JournalTables) -> None:
            tables.connection.execute(_TABLE)
            tables.connection.execute(_NOTE, (run,))

        await self._ask(change)

    async def forget_pruned(self, runs: Iterable[str]) -> None:
        """Forgets deleted runs that may return, or that the server no longer has."""
        known = self.pruned_runs()
        if gone := [(run,) for run in runs if run in known]:
            await self._ask(lambda tables: tables.connection.executemany(_FORGET, gone))


def delete(tables: JournalTables, run: str, status: str, older_than: float) -> int:
    """Deletes a run if it is still that old and no process drives it; returns its number, or 0.

    `sweep` deletes the remaining entries of a long run, so that each transaction is short.
    """
    # A run is interrupted when the process that drove it is gone; its row does not know.
    stored = "running" if status == "interrupted" else status
    number = tables.connection.execute(_STILL_OLD, (run, stored, older_than)).get
    if number is None or tables.ownership.is_driven(run):
        return 0
    for table in _OF_RUNS.split():
        tables.connection.execute(f"DELETE FROM {table} WHERE run = ?", (number,))
    tables.connection.execute("DELETE FROM runs WHERE number = ?", (number,))
    tables.forget(run)
    sweep(tables, number)
    return int(number)


def sweep(tables: JournalTables, number: int) -> bool:
    """Deletes some remaining entries of a deleted run; returns whether there may be more."""
    tables.connection.execute(_SWEEP_ENTRIES, (number,))
    entries = tables.connection.changes()
    tables.connection.execute(_SWEEP_PAYLOADS, (number,))
    tables.connection.execute(_SWEEP_USES, (number,))
    return entries == SWEPT_ENTRIES or tables.connection.changes() == _SWEPT_PAYLOADS


def give_back(tables: JournalTables) -> bool:
    """Frees up to a thousand pages in the file system; returns whether there are more."""
    before = tables.connection.pragma("freelist_count")
    fetch(tables.connection, "PRAGMA incremental_vacuum(1000)")
    return bool(0 < tables.connection.pragma("freelist_count") < before)


def empty_log(tables: JournalTables) -> None:
    """Moves the log into the file, unless a reader prevents it."""
    with suppress(apsw.BusyError):
        tables.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
