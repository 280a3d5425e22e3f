"""The store: one SQLite file that holds the journals of all runs and what lists show of them."""

from __future__ import annotations

import asyncio
import re
import threading
import time
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

import apsw

from whorl.errors import StoreError, UsageError
from whorl.runtimes.journal import Record
from whorl.runtimes.sqlite import shared_tables
from whorl.runtimes.sqlite.connection import Place, copy_of, prepare, store_error
from whorl.runtimes.sqlite.encoding import encode, encode_whole, to_text, whole
from whorl.runtimes.sqlite.journal_tables import Append
from whorl.runtimes.sqlite.read_journal import JournalReading
from whorl.runtimes.sqlite.writer import Change, Writer, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal import NewRun, RunId
    from whorl.runtimes.sqlite.writer import CrashHook, Job

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
# How many entries of a run with a past are made ready before others have their turn.
_ENCODED_AT_ONCE: Final = 500


class SqliteStore(JournalReading):
    """Implements `Journal`; the reading side works without an event loop.

    An append whose awaiting task is cancelled may or may not have been written.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        create: bool = True,
        vfs: str | None = None,
        exclusive: bool = False,
        checkpoint_pages: int = 4000,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        crash_hook: CrashHook | None = None,
    ) -> None:
        place = Place(str(path), vfs, exclusive, checkpoint_pages)
        prepare(place, create=create)
        super().__init__(place, clock, monotonic)
        self._place = place
        self._crash_hook = crash_hook
        self._gate = threading.Lock()
        self._writer: Writer | None = None
        self._waiting: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        self._written_down: tuple[Json, str] = (None, "null")

    async def create(
        self,
        run: NewRun,
        first: Event,
        *,
        more: Sequence[Event] = (),
        memories: Sequence[Record] = (),
        state: Json = None,
    ) -> tuple[RunId, bool]:
        """Stores a run with its first event; a known key gives the run that has it, and False."""
        _check_id(run.id)
        texts = (self._text_of_workflow(run), to_text(cast("Json", run.sources)))
        clean = _cleaned(run)
        rows = [encode(first)]
        for start in range(0, len(more), _ENCODED_AT_ONCE):
            rows += map(encode, more[start : start + _ENCODED_AT_ONCE])
            await asyncio.sleep(0)
        past = Append(run.id, 0, (first, *more), rows, memories=_written(memories))
        packed = None if state is None else _packed(state)
        made = await self._change(
            Change(lambda tables: tables.create(clean, past, texts, packed), run.id, past.events)
        )
        return cast("tuple[RunId, bool]", made)

    async def claim(self, run: RunId) -> int:
        """Makes this process the owner; gives the owner number. Raises StoreError R902."""
        _check_id(run)
        return cast("int", await self._change(Change(lambda tables: tables.claim(run))))

    async def release(self, run: RunId, owner: int) -> None:
        """Gives the run up; it may be claimed by anyone."""
        _check_id(run)
        await self._change(Change(lambda tables: tables.release(run, owner)))

    async def append(
        self,
        run: RunId,
        owner: int,
        events: Sequence[Event],
        *,
        messages: Sequence[int] = (),
        memories: Sequence[Record] = (),
        after: int | None = None,
    ) -> int:
        """Appends events in one transaction; gives the last seq once they are durable."""
        _check_id(run)
        job = Append(
            run,
            owner,
            events,
            [encode(event) for event in events],
            after,
            messages,
            _written(memories),
        )
        writer = self._started()
        if writer.is_for_one_run and not self._waiting:
            outcomes = writer.commit_now([job])
            if outcomes is not None:
                _, last, fault = outcomes[0]
                if fault is not None:
                    raise fault
                return cast("int", last)
        return cast("int", await self._change(job))

    async def snapshot(self, run: RunId, owner: int, seq: int, state: Json) -> None:
        """Stores the machine's state as it is after the entry `seq`."""
        _check_id(run)
        packed = _packed(state)
        await self._change(Change(lambda tables: tables.snapshot(run, owner, seq, packed)))

    async def post(self, run: RunId, event: Event) -> int:
        """Leaves a control request for the owner of a run; gives the number of the message."""
        return cast("int", await self._change(_posting(run, event)))

    async def discard(self, run: RunId, owner: int, messages: Sequence[int]) -> None:
        """Throws requests away that ask for what cannot be. Raises Fenced."""
        _check_id(run)
        await self._change(
            Change(lambda tables: shared_tables.discard(tables.connection, run, owner, messages))
        )

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        """Adds a record of a task, and keeps the newest ones; False: it is there already."""
        kept, text, at = Record(whole(key), record, keep), to_text(record), self.clock()
        adding = Change(
            lambda tables: shared_tables.remember_once(
                tables.connection, kept, text, once=once, at=at
            )
        )
        return cast("bool", await self._change(adding))

    async def forget(self, key: str) -> int:
        """Deletes what loops remember under a key; gives the number of records."""
        stored = whole(key)
        forgetting = Change(lambda tables: shared_tables.forget(tables.connection, stored))
        return cast("int", await self._change(forgetting))

    async def prune(
        self,
        older_than_s: float,
        statuses: Sequence[str] = shared_tables.FINISHED,
        *,
        dry_run: bool = False,
    ) -> shared_tables.Pruned:
        """Deletes runs that ended long ago, with what only they use, and shrinks the file."""
        limit = self.clock() - older_than_s
        pruned: list[RunId] = []
        bytes_total = entries_total = 0
        for run, status in self._ended_before(limit, statuses):
            size, entries = self._size_of(run)
            if dry_run or await self._delete(run, status, limit):
                pruned.append(run)
                bytes_total += size
                entries_total += entries
        if pruned and not dry_run:
            giving = shared_tables.give_back
            while await self._change(Change(lambda tables: giving(tables.connection), alone=True)):
                continue
            emptying = shared_tables.empty_log
            await self._change(Change(lambda tables: emptying(tables.connection), alone=True))
        return shared_tables.Pruned(tuple(pruned), entries_total, bytes_total, dry_run)

    def close(self) -> None:
        """Writes all that waits, ends the writer thread and closes the file."""
        for loop in list(self._waiting):
            self._hand_over(loop)
        super().close()
        if self._writer is not None:
            self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for loop in list(self._waiting):
            self._hand_over(loop)
        await asyncio.to_thread(self.close)

    def _text_of_workflow(self, run: NewRun) -> str:
        """The workflow as it is stored; many runs of one workflow write it down once."""
        if self._written_down[0] is not run.workflow:
            self._written_down = (run.workflow, to_text(run.workflow))
        return self._written_down[1]

    async def _delete(self, run: RunId, status: str, limit: float) -> object:
        return await self._change(Change(lambda tables: tables.delete(run, status, limit)))

    async def _change(self, job: Job) -> object:
        """Waits for a job. All jobs of one turn of the event loop are committed together."""
        loop = asyncio.get_running_loop()
        job.loop = loop
        job.answer = loop.create_future()
        waiting = self._waiting.get(loop)
        if waiting is None:
            self._waiting[loop] = [job]
            loop.call_soon(self._hand_over, loop)
        else:
            waiting.append(job)
        return await job.answer

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        jobs = self._waiting.pop(loop, None)
        if not jobs:
            return
        try:
            writer = self._started()
        except StoreError as fault:
            settle([(job, None, copy_of(fault)) for job in jobs], here=loop)
            return
        outcomes = writer.commit_now(jobs)
        if outcomes is None:
            writer.submit(jobs)
        else:
            settle(outcomes, here=loop)

    def _started(self) -> Writer:
        """The writer; a store that is only read never has one."""
        if self._writer is not None:
            return self._writer
        with self._gate:
            if self._writer is None:
                self._writer = self._start()
            return self._writer

    def _start(self) -> Writer:
        if self.is_closed:
            raise StoreError(
                f"the store {self._place.path!r} is closed", code="R905", help="open it again"
            )
        try:
            return Writer(
                self._place,
                clock=self.clock,
                monotonic=self.monotonic,
                crash_hook=self._crash_hook,
            )
        except apsw.Error as error:
            raise store_error(error, self._place.path) from error


def _check_id(run: str) -> None:
    if _ID.fullmatch(run) is None:
        raise UsageError(
            f"{run[:140]!r} cannot be the id of a run",
            help="use 1 to 128 letters, digits, '_' and '-'",
            code="W902",
        )


def _cleaned(run: NewRun) -> NewRun:
    return replace(
        run,
        key=whole(run.key),
        name=whole(run.name),
        dialect=whole(run.dialect),
        file=whole(run.file),
        parent=whole(run.parent),
    )


def _written(memories: Sequence[Record]) -> list[tuple[Record, str]]:
    return [(replace(one, key=whole(one.key)), to_text(one.record)) for one in memories]


def _packed(state: Json) -> bytes:
    return zlib.compress(to_text(state).encode(), 1)


def _posting(run: RunId, event: Event) -> Change:
    _check_id(run)
    row = encode_whole(event)
    return Change(lambda tables: shared_tables.post(tables.connection, run, row))
