"""The reading side of a store: runs, entries, loops, snapshots, and what lies beside them."""

from __future__ import annotations

import zlib
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import Message, RunId, RunRow
from whorl.runtimes.sqlite import checking, encoding
from whorl.runtimes.sqlite.change_watch import FileWatch
from whorl.runtimes.sqlite.connection import Place, Reader, copy_all, copy_rows, fetch
from whorl.runtimes.sqlite.encoding import Unreadable, from_text, inflate
from whorl.runtimes.sqlite.entries import SEQ_MAX, EntryReading
from whorl.runtimes.sqlite.faults import DOCTOR, damaged
from whorl.runtimes.sqlite.listing import COLUMNS, SHOWN_FIELDS, RunListing
from whorl.runtimes.sqlite.ownership import ClockPair, check_owner, has_living, this_process
from whorl.runtimes.sqlite.tables.upkeep import UpkeepReading

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whorl.language import Json
    from whorl.runtimes.sqlite.checking import Sizes
    from whorl.runtimes.sqlite.connection import Column


_RUN: Final = f"{COLUMNS} WHERE runs.id = ?"
# The journal is one log of all runs, so its own numbers tell what is new in it.
_TOUCHED: Final = """SELECT DISTINCT runs.id FROM journal JOIN runs ON runs.number = journal.run
    WHERE journal.id > ? AND journal.id <= ?"""
_SNAPSHOTS: Final = """SELECT seq, state FROM snapshots
    WHERE run = ? AND seq > ? AND seq <= ? ORDER BY seq DESC LIMIT 1"""
_MESSAGES: Final = """SELECT inbox.id, runs.id, kind, at, address, body
    FROM inbox JOIN runs ON runs.number = inbox.run JOIN progress ON progress.run = inbox.run
    LEFT JOIN processes ON processes.id = process"""
_MEMORIES: Final = """SELECT key, count(*), max(at), sum(octet_length(record)) FROM memories
    GROUP BY key ORDER BY key"""


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """What is remembered under one key."""

    key: str
    records: int
    updated_at: float
    bytes: int


class StoreReading(EntryReading, RunListing, UpkeepReading):
    """All that can be asked of a store while others write, without an event loop."""

    def __init__(
        self,
        place: Place,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
        *,
        is_mirror: bool = False,
    ) -> None:
        # Nobody drives the runs of a mirror here, and so nobody can leave them.
        self.is_mirror = is_mirror
        self.clock = clock
        self.monotonic = monotonic
        self.path, self._place = place.path, place
        self.is_closed = False
        self.watch = FileWatch(place.path, is_real=place.vfs is None and not place.immutable)
        self._reader = Reader(place, self.watch)
        self._process = this_process()

    def run(self, run: str) -> RunRow:
        rows = self._reader.rows(_RUN, (run,))
        if not rows:
            raise self._unknown(run)
        return self._shown(rows[0])

    def resolve(self, text: str) -> RunId:
        """The run that a person means: an id, the beginning of one, or `last` (see `last`)."""
        # '{' follows the last letter that an id may hold.
        matching = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
        ids = [row[0] for row in self._reader.rows(matching, (text, text + "{"))] if text else []
        if text == "last":
            ids = list(map(str, self.last()))
        if text in ids:
            return RunId(text)
        if not ids:
            raise self._unknown(text)
        if len(ids) > 1:
            words = f"{text!r} is the beginning of more than one run: {', '.join(ids)}"
            raise UsageError(words, help="write more of the id", code="W902")
        return RunId(ids[0])

    def touched(self, after: int) -> tuple[int, list[RunId]]:
        """The runs with entries after a place in the common journal, and its last place."""
        with self._reader.lend() as connection:
            last = int(connection.execute("SELECT max(id) FROM journal").get or 0)
            rows = fetch(connection, _TOUCHED, (after, last)) if last > after else []
        return last, [RunId(row[0]) for row in rows]

    def forks(self, run: str, limit: int = 100) -> list[RunId]:
        made = "SELECT id FROM runs WHERE parent = ? ORDER BY number LIMIT ?"
        return [RunId(row[0]) for row in self._reader.rows(made, (run, limit))]

    def is_owned(self, run: str) -> bool:
        rows, now = self._reader.rows(_RUN, (run,)), ClockPair(self.clock(), self.monotonic())
        return bool(rows) and has_living(rows[0][SHOWN_FIELDS + 1 :], self._process, now)

    def last_snapshot(
        self, run: str, after: int = 0, before: int | None = None
    ) -> tuple[int, Json] | None:
        """The newest snapshot that can be read; an older one, or the journal alone, is as good."""
        number, before = self._number(run), SEQ_MAX if before is None else before
        while rows := self._reader.rows(_SNAPSHOTS, (number, after, before)):
            seq, state = rows[0]
            with suppress(Unreadable):
                return seq, from_text(inflate(state, zlib.MAX_WBITS))
            before = seq - 1
        return None

    def workflow(self, run: str) -> Json:
        return self._pinned(run, "workflow")

    def sources(self, run: str) -> dict[str, str]:
        texts = self._pinned(run, "sources")
        if not isinstance(texts, dict):
            raise damaged(run, None, "its source texts are damaged")
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    def _pinned(self, run: str, column: str) -> Json:
        number = self._number(run)
        with self._reader.lend() as connection:
            pinned = f"SELECT {column} FROM runs WHERE number = ?"
            try:
                return encoding.payload(connection, connection.execute(pinned, (number,)).get)
            except Unreadable as error:
                raise damaged(run, None, str(error)) from error

    def file(self, run: RunId) -> str:
        return self.run(run).file

    def take(self, run: RunId, owner: int) -> list[Message]:
        """The requests to a run, oldest first; each stays until an append names it."""
        with self._reader.lend() as connection:
            check_owner(connection, run, owner)
        return self.inbox(run)

    def inbox(self, run: RunId) -> list[Message]:
        """The same, for those who do not own the run."""
        return self._messages("runs.id = ?", run)

    def mail(self) -> list[Message]:
        """The requests to all runs that this process owns, oldest first."""
        owned = "pid = ? AND started = ? AND boot = ? AND namespace = ?"
        process = self._process
        key = (process.pid, process.started, process.boot, process.namespace)
        return self._messages(owned, *key)

    def _messages(self, chosen: str, *values: str | int) -> list[Message]:
        messages = []
        statement = f"{_MESSAGES} WHERE {chosen} ORDER BY inbox.id"
        for number, run, *row in self._reader.rows(statement, values):
            try:
                messages.append(Message(number, RunId(run), encoding.decode(*row)))
            except Unreadable as error:
                raise damaged(run, None, f"request {number}: {error}") from error
        return messages

    def memory(self, key: str) -> list[Json]:
        records = "SELECT record FROM memories WHERE key = ? ORDER BY number"
        return encoding.remembered(key, (row[0] for row in self._reader.rows(records, (key,))))

    def memories(self) -> list[MemoryRow]:
        return [MemoryRow(*row) for row in self._reader.rows(_MEMORIES)]

    def rows(self, statement: str, values: Sequence[Column] = ()) -> list[tuple[Any, ...]]:
        """What a constant query of tables of others finds (see `runtimes/service`)."""
        return self._reader.rows(statement, values)

    def version(self) -> int:
        return self._reader.version()

    def sizes(self) -> Sizes:
        with self._reader.lend() as connection:
            return checking.sizes(connection, self.path)

    def used_bytes(self) -> int:
        with self._reader.lend() as connection:
            return checking.used_bytes(connection)

    def check(self, report: Callable[[int, int], None] = lambda done, all_of_it: None) -> list[str]:
        """What is damaged, each with its run and entry; `report` hears of what has been read."""
        with self._reader.lend() as connection:
            return checking.faults(connection, report)

    def check_touched(self) -> list[str]:
        """What is damaged, if others have written into the file itself since this was asked.

        Where it is not one entry or another but the file, nothing is written from then on.
        """
        if not self.watch.is_touched():
            return []
        # Those of the pool have pages of the file in memory.
        with closing(self._reader.open()) as connection:
            found = checking.faults(connection)
        words = next((words for words in found if words.startswith(checking.PAGES)), None)
        if words is not None:
            self.watch.refuse(f"the store {self.path!r} is damaged: {words}", DOCTOR)
        return found

    def copy_to(self, path: str) -> None:
        with self._reader.lend() as connection:
            copy_all(connection, path)

    def copy_rows_to(self, path: str, tables: Sequence[str], definitions: str) -> None:
        copy_rows(self._place, path, tables, definitions)

    def living(self) -> list[int]:
        """The numbers of the processes that drive runs, or may."""
        statement = "SELECT pid, started, boot, namespace, beat_at, beat_monotonic FROM processes"
        now = ClockPair(self.clock(), self.monotonic())
        rows = self._reader.rows(statement)
        return [row[0] for row in rows if has_living(row, self._process, now)]

    def close(self) -> None:
        self.is_closed = True
        self._reader.close()
