"""The journal of a run as streams send it: read and encoded once for all who watch.

What is read after an entry is kept as a batch. Whoever is at the same place gets the same one, and
since each batch ends where the journal did, those who come from elsewhere soon are there too.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast

from whorl.interfaces.advice import advice
from whorl.interfaces.http.schemas import runs as schemas
from whorl.interfaces.http.views.previews import abridged, body_of
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.sqlite import SqliteStore

# How many entries are read at once.
PAGE = 500
# About how much is sent at once, and kept of a run.
_SENT_MAX = 1_000_000
_KEPT_MAX = 2_000_000
TASK_ENDS = ("task.finished", "task.failed")


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries as they are sent, the tasks that ended in them, and whether the run did.

    It ends with the entry `last`; `is_all`: there were no more when it was read.
    """

    last: int
    text: str = ""
    ended: frozenset[str] = frozenset()
    is_over: bool = False
    is_all: bool = True

    @classmethod
    def of(
        cls, after: int, entries: list[Entry], texts: Callable[[Entry], Iterator[str]]
    ) -> "Batch":
        text = "".join(text for entry in entries for text in texts(entry))
        kinds = {entry.event.kind for entry in entries}
        ended = (entry.event.address for entry in entries if entry.event.kind in TASK_ENDS)
        last = entries[-1].seq if entries else after
        is_over = "run.finished" in kinds
        return cls(last, text, frozenset(ended), is_over, len(entries) < PAGE)

    def then(self, newer: "Batch") -> "Batch":
        """Both as one."""
        text, ended = self.text + newer.text, self.ended | newer.ended
        return Batch(newer.last, text, ended, self.is_over or newer.is_over, newer.is_all)


class RunTail:
    """The end of a run's journal."""

    def __init__(self, store: SqliteStore, run: RunId) -> None:
        self._store, self._run = store, run
        # By the entry that they come after.
        self._batches: dict[int, Batch] = {}
        self._reading: dict[int, asyncio.Task[Batch]] = {}
        self._size = self._last = 0
        self._begun = self._known = 0
        self.status = ""
        # Something has been written since it was read.
        self.is_stale = True

    async def read(self, after: int) -> Batch:
        """What has come after an entry; if it is all, `status` is no newer."""
        found, loads = Batch(after), 0
        while len(found.text) < _SENT_MAX:
            batch = self._batches.get(found.last)
            # What was under way may have begun before the last change; a second one has not.
            if batch is None and loads < 2 and self._may_be_more(found.last):
                batch = await self._load(found.last)
                loads += 1
            if batch is None or not batch.text:
                return found
            found = found.then(batch) if found.text else batch
        return found.then(Batch(found.last, is_all=found.last >= self._last))

    def _may_be_more(self, after: int) -> bool:
        return self.is_stale or bool(self._reading) or after < self._last

    async def _load(self, after: int) -> Batch:
        if after not in self._reading:
            self.is_stale = False
            self._reading[after] = asyncio.create_task(self._read(after))
        # Whoever leaves meanwhile does not end it for others.
        return await asyncio.shield(self._reading[after])

    async def _read(self, after: int) -> Batch:
        self._begun += 1
        number = self._begun
        try:
            status, last, batch = await asyncio.to_thread(self._encoded, after)
        finally:
            del self._reading[after]
        if number > self._known:
            self._known, self.status, self._last = number, status, last
        if batch.text:
            self._batches[after] = batch
            self._size += len(batch.text)
        while self._size > _KEPT_MAX and len(self._batches) > 1:
            self._size -= len(self._batches.pop(next(iter(self._batches))).text)
        return batch

    def _encoded(self, after: int) -> tuple[str, int, Batch]:
        # The status is read first: an end is told after all that led to it.
        row = self._store.run(self._run)
        entries = list(self._store.read(self._run, after=after, limit=PAGE))
        batch = Batch.of(after, entries, self._texts)
        return row.status, max(row.last_seq, batch.last), batch

    def _texts(self, entry: Entry) -> Iterator[str]:
        yield event_text(journal_event(self._run, entry).model_dump_json(), seq=entry.seq)


def event_text(data: str, name: str = "", *, seq: int | None = None) -> str:
    head = f"id: {seq}\n" if seq is not None else ""
    named = f"event: {name}\n" if name else ""
    return f"{head}{named}data: {data}\n\n"


def journal_event(run: str, entry: Entry) -> schemas.JournalEvent:
    event = entry.event
    body = body_of(event)
    fault = body if event.kind == "warning" else body.get("error")
    if isinstance(fault, dict) and fault.get("facts"):
        words = advice(str(fault["code"]), cast("Any", fault["facts"]), run)
        fault = fault | {"help": words}
        body = fault if event.kind == "warning" else body | {"error": fault}
    return schemas.JournalEvent(
        run=run,
        seq=entry.seq,
        kind=event.kind,
        address=event.address,
        at=event.at,
        body=abridged(body, entry.seq),
    )
