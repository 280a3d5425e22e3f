"""The journal of a run as it is sent: encoded once for all watchers, with previews of large values.

The entries after a place are kept as a batch. All readers at the same place get the same batch.
Each batch ends where the journal did, so readers from other places soon share batches, too.

A preview names its value by the number of an entry and a path into its body. So it needs no memory,
and leads to values of that run only. A value of a record is derived again and has entry number 0.
"""

import asyncio
import base64
import json
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

from whorl.interfaces.advice import advice
from whorl.interfaces.formatting import paragraphs, written
from whorl.interfaces.http.models import Closed, JsonValue
from whorl.interpreter.events import Event
from whorl.language import Json
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.runtimes.sqlite import SqliteStore

# How many entries are read at once.
PAGE = 500
# About how much is kept of a run.
_KEPT_MAX = 2_000_000
TASK_ENDS = ("task.finished", "task.failed")

BODY_MAX = 8_000
VALUE_MAX = 4_000
PREVIEW_MAX = 400
_PATH_MAX = 1_000
_ENTRIES_MAX = 200

_Path: TypeAlias = tuple[str | int, ...]


class JournalEvent(Closed):
    """An entry of the journal. A large value in `body` is `{"$ref", "size", "preview"}`."""

    run: str
    seq: int
    kind: str
    address: str
    at: float
    body: dict[str, JsonValue]


def journal_event(run: str, entry: Entry) -> JournalEvent:
    event = entry.event
    body = body_of(event)
    fault = body if event.kind == "warning" else body.get("error")
    if isinstance(fault, dict) and fault.get("facts"):
        words = advice(str(fault["code"]), cast("Any", fault["facts"]), run)
        fault = fault | {"help": words}
        body = fault if event.kind == "warning" else body | {"error": fault}
    return JournalEvent.from_row(event, run=run, seq=entry.seq, body=abridged(body, entry.seq))


def event_text(data: str, name: str = "", *, seq: int | None = None) -> str:
    """Returns the text of an event of a stream; `seq` is the number of its entry."""
    head = f"id: {seq}\n" if seq is not None else ""
    named = f"event: {name}\n" if name else ""
    return f"{head}{named}data: {data}\n\n"


@dataclass(frozen=True, slots=True)
class Batch:
    """Entries as they are sent, the tasks that ended in them, and whether the run ended.

    It ends with the entry `last`; `is_all`: no entry after it is known.
    """

    last: int
    text: str = ""
    ended: frozenset[str] = frozenset()
    is_over: bool = False
    is_all: bool = True


class RunTail:
    """The end of a run's journal."""

    def __init__(self, store: SqliteStore, run: RunId) -> None:
        self._store, self._run = store, run
        # By the entry that they come after.
        self._batches: dict[int, Batch] = {}
        self._size = self._last = 0
        self._reading: asyncio.Task[None] | None = None
        self.status = ""
        # Something has been written since it was read.
        self.is_stale = True

    async def read(self, after: int) -> Batch:
        """Returns entries after one; if it has all, `status` is not newer than they are."""
        if after not in self._batches and (self.is_stale or after < self._last):
            if self._reading is None:
                self._reading = asyncio.create_task(self._load(after))
            # A reader that leaves does not cancel it for others.
            await asyncio.shield(self._reading)
        batch = self._batches.get(after, Batch(after))
        return replace(batch, is_all=batch.last >= self._last)

    async def _load(self, after: int) -> None:
        self.is_stale = False
        try:
            status, last, batch = await asyncio.to_thread(self._encoded, after)
        finally:
            self._reading = None
        self.status, self._last = status, last
        if batch.last > after:
            self._batches[after] = batch
            self._size += len(batch.text)
        while self._size > _KEPT_MAX and len(self._batches) > 1:
            self._size -= len(self._batches.pop(next(iter(self._batches))).text)

    def _encoded(self, after: int) -> tuple[str, int, Batch]:
        # The status is read first, so that an end is sent after all entries before it.
        row = self._store.run(self._run)
        entries = list(self._store.read(self._run, after=after, limit=PAGE))
        events = [entry.event for entry in entries]
        batch = Batch(
            last=entries[-1].seq if entries else after,
            text="".join(map(self._text, entries)),
            ended=frozenset(event.address for event in events if event.kind in TASK_ENDS),
            is_over=any(event.kind == "run.finished" for event in events),
        )
        return row.status, max(row.last_seq, batch.last), batch

    def _text(self, entry: Entry) -> str:
        return event_text(journal_event(self._run, entry).model_dump_json(), seq=entry.seq)


def body_of(event: Event) -> dict[str, Json]:
    """Returns the body of an entry without `callback`, which signs addresses and stays secret."""
    return {name: value for name, value in shown(event).items() if name != "callback"}


def abridged(body: dict[str, Json], seq: int) -> dict[str, Json]:
    if _size(body) <= BODY_MAX:
        return body
    return {name: shortened(value, seq, (name,)) for name, value in body.items()}


def shortened(value: Json, seq: int, path: _Path) -> Json:
    """Returns a value of an entry or a record, with previews of its large parts."""
    if _size(value) <= VALUE_MAX:
        return value
    is_far = len(_encoded(path)) > _PATH_MAX
    if is_far or not isinstance(value, dict | list) or len(value) > _ENTRIES_MAX:
        return _reference(value, seq, path)
    if isinstance(value, dict):
        inner: Json = {k: shortened(v, seq, (*path, k)) for k, v in value.items()}
    else:
        inner = [shortened(v, seq, (*path, at)) for at, v in enumerate(value)]
    return inner if _size(inner) <= BODY_MAX else _reference(value, seq, path)


def _reference(value: Json, seq: int, path: _Path) -> Json:
    size = _size(value)
    if size <= VALUE_MAX:
        return value
    preview = paragraphs(written(value)[:PREVIEW_MAX])
    return {"$ref": f"{seq}.{_encoded(path)}", "size": size, "preview": preview}


def _size(value: Json) -> int:
    return len(value) if isinstance(value, str) else len(json.dumps(value, ensure_ascii=False))


def _encoded(path: _Path) -> str:
    text = json.dumps(path, ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8", "replace")).decode("ascii").rstrip("=")
