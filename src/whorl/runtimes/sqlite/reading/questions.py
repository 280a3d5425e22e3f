"""The reading side of a store: safe while others write, without an event loop."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from whorl.errors import StoreError
from whorl.runtimes.sqlite import inbox, retention
from whorl.runtimes.sqlite.bodies import Unreadable, from_text
from whorl.runtimes.sqlite.connection import fetch
from whorl.runtimes.sqlite.liveness import Pulse, this_process
from whorl.runtimes.sqlite.reading.entries import Entries
from whorl.runtimes.sqlite.reading.pool import Reader
from whorl.runtimes.sqlite.reading.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from whorl.language import Json
    from whorl.runtimes.journal import Entry, IterationRow, Letter, LoopRow, RunId, RunRow
    from whorl.runtimes.sqlite.connection import Place
    from whorl.runtimes.sqlite.reading.runs import Total

_SIZES: Final = """
SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM journal), (SELECT count(*) FROM payloads),
    (SELECT coalesce(sum(size), 0) FROM payloads),
    (SELECT coalesce(sum(octet_length(content)), 0) FROM payloads)
"""
_MEMORIES: Final = """
SELECT key, count(*), max(at), sum(octet_length(record)) FROM memories GROUP BY key ORDER BY key
"""


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much a store holds; payloads are counted as they are and as they are stored."""

    file_bytes: int
    log_bytes: int
    free_bytes: int
    runs: int
    entries: int
    payloads: int
    payload_bytes: int
    payload_bytes_stored: int


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """What is remembered under one key."""

    key: str
    records: int
    updated_at: float
    bytes: int


class Reading:
    """Everything that can be asked of a store. Each call reads what is committed by then."""

    def __init__(
        self, place: Place, clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        self.clock = clock
        self.monotonic = monotonic
        self.path = place.path
        self.is_closed = False
        self._reader = Reader(place)
        self._here = this_process()
        self._runs = Runs(self._reader, self._here, lambda: Pulse(clock(), monotonic()))
        self._entries = Entries(self._reader, self._runs)
        self._seen: int | None = None

    def runs(
        self,
        status: str | None = None,
        name: str | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunRow]:
        """The newest runs first; `before` is the id of the last run of the page before."""
        return self._runs.newest(status=status, name=name, limit=limit, before=before)

    def run(self, run: str) -> RunRow:
        """The row of a run. Raises UsageError W902 for an unknown one."""
        return self._runs.one(run)

    def resolve(self, text: str) -> RunId:
        """The run that a person means: an id, the beginning of one, or `last`."""
        return self._runs.resolve(text)

    def totals(self, since: float = 0.0) -> list[Total]:
        """What the runs made since a time have used, by workflow name, the dearest first."""
        return self._runs.totals(since)

    def touched(self, after: int) -> tuple[int, list[RunId]]:
        """The runs with entries after a place in the common journal, and its last place."""
        return self._runs.touched(after)

    def is_owned(self, run: RunId) -> bool:
        """Whether a living process has the run, whatever its status."""
        return self._runs.is_owned(run)

    def forks(self, run: RunId, limit: int = 100) -> list[RunId]:
        """The runs that were made from a run, oldest first."""
        return self._runs.forks(run, limit)

    def read(self, run: RunId, after: int = 0, limit: int | None = None) -> Iterator[Entry]:
        """The entries of a run after a sequence number, in order. Raises StoreError R903."""
        return self._entries.read(run, after, limit)

    def entries_at(self, run: RunId, address: str, after: int = 0) -> Iterator[Entry]:
        """The entries at an address and below it, in order."""
        return self._entries.at(run, address, after)

    def loops(self, run: RunId) -> list[LoopRow]:
        """The loops of a run, in the order in which they started."""
        return self._entries.loops(run)

    def iterations(
        self, run: RunId, loop: str, after: int = 0, limit: int = 1000
    ) -> list[IterationRow]:
        """The finished iterations of the loop at an address, with numbers above `after`."""
        return self._entries.iterations(run, loop, after=after, limit=limit)

    def newest_iterations(self, run: RunId, loop: str, limit: int = 100) -> list[IterationRow]:
        """The last finished iterations of the loop at an address, in order."""
        return self._entries.newest_iterations(run, loop, limit)

    def last_snapshot(self, run: RunId) -> tuple[int, Json] | None:
        """The newest readable snapshot and the seq that it stands after."""
        return self._entries.last_snapshot(run)

    def workflow(self, run: RunId) -> Json:
        """The workflow that the run pins."""
        return self._entries.workflow(run)

    def file(self, run: RunId) -> str:
        """The file that the run was started from."""
        return self._runs.one(run).file

    def sources(self, run: RunId) -> dict[str, str]:
        """The source texts that the run pins, by file."""
        return self._entries.sources(run)

    def take(self, run: RunId, owner: int) -> list[Letter]:
        """The letters of a run, oldest first; each stays until an append names it."""
        with self._reader.lend() as connection:
            return inbox.letters_of(connection, run, owner)

    def mail(self) -> list[Letter]:
        """The letters for all runs that this process owns, oldest first."""
        with self._reader.lend() as connection:
            return inbox.letters_of_process(connection, self._here)

    def memory(self, key: str) -> list[Json]:
        """What loops remember under a key, oldest first."""
        with self._reader.lend() as connection:
            found = "SELECT record FROM memories WHERE key = ? ORDER BY number"
            texts = [row[0] for row in fetch(connection, found, (key,))]
        try:
            return [from_text(text) for text in texts]
        except Unreadable as error:
            raise StoreError(
                f"what is remembered under {key!r} cannot be read: {error}",
                code="R903",
                help=f"delete it with `whorl memory rm {key}`",
            ) from error

    def memories(self) -> list[MemoryRow]:
        """All keys under which something is remembered."""
        with self._reader.lend() as connection:
            return [MemoryRow(*row) for row in fetch(connection, _MEMORIES)]

    def version(self) -> int:
        """A number that differs from the last one when anybody has committed something since."""
        return self._reader.version()

    def changed(self) -> bool:
        """Whether anybody has committed something since the last time this was asked."""
        seen, self._seen = self._seen, self._reader.version()
        return seen != self._seen

    def sizes(self) -> Sizes:
        """How much the store holds."""
        with self._reader.lend() as connection:
            counts = fetch(connection, _SIZES)[0]
            free = connection.pragma("freelist_count") * connection.pragma("page_size")
        log = self.path + "-wal"
        log_bytes = os.path.getsize(log) if os.path.exists(log) else 0
        return Sizes(os.path.getsize(self.path), log_bytes, free, *counts)

    def check(self) -> list[str]:
        """What is wrong with the file, by SQLite's own examination; empty when nothing is."""
        with self._reader.lend() as connection:
            found = [row[0] for row in fetch(connection, "PRAGMA integrity_check(20)")]
        return [] if found == ["ok"] else found

    def close(self) -> None:
        """Closes the reading connections."""
        self.is_closed = True
        self._reader.close()

    def _ended_before(self, limit: float, statuses: Sequence[str]) -> list[tuple[RunId, str]]:
        rows = [row for status in statuses for row in self.runs(status=status, limit=2**31)]
        return [(row.id, row.status) for row in rows if row.updated_at < limit]

    def _size_of(self, run: RunId) -> tuple[int, int]:
        with self._reader.lend() as connection:
            return retention.size_of(connection, run)
