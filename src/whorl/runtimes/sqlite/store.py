"""The store: one SQLite file that holds the journals of all runs and what lists show of them."""

from __future__ import annotations

import asyncio
import os
import shlex
import threading
import time
import zlib
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, cast

import apsw

from whorl.errors import StoreError, UsageError
from whorl.language.chunked_json import is_large
from whorl.lazily import regex
from whorl.providers.json_values import beside
from whorl.runtimes.journal.fields import records_in
from whorl.runtimes.journal.journal import NewRun, Record, RunId
from whorl.runtimes.journal.keys import Seals
from whorl.runtimes.sqlite.connection import Place, prepare
from whorl.runtimes.sqlite.encoding import Encoded, encode, to_text, whole
from whorl.runtimes.sqlite.faults import check_log, closed, copy_of, strange, unchangeable
from whorl.runtimes.sqlite.reading import StoreReading
from whorl.runtimes.sqlite.tables.hooks import HookTable
from whorl.runtimes.sqlite.tables.journal import Append, JournalTables
from whorl.runtimes.sqlite.tables.pruning import Pruning
from whorl.runtimes.sqlite.tables.queue import QueueTable
from whorl.runtimes.sqlite.writer import Change, CrashHook, Job, Writer, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.language.libraries import Amendment
    from whorl.runtimes.journal.registry import Registry


T = TypeVar("T")

_HOME: Final = "SELECT home FROM homes JOIN runs ON number = run WHERE id = ?"
_ID: Final = regex(r"[A-Za-z0-9_-]{1,128}")
REASON_MAX: Final = 500
# How many entries of a run with a past are made ready before others have their turn.
_ENCODED_AT_ONCE: Final = 500


class SqliteStore(StoreReading, HookTable, QueueTable, Pruning):
    """Implements `Journal`. An append whose task is cancelled may or may not have been written."""

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
        seals: Seals | None = None,
        is_mirror: bool = False,
        registry: Registry | None = None,
        is_strange: bool = False,
        home: str = "",
    ) -> None:
        if create:
            check_log(str(path))
        place = Place(str(path), vfs, exclusive, checkpoint_pages, is_strange=is_strange)
        place = prepare(place, create=create, registry=registry)
        super().__init__(place, clock, monotonic, is_mirror=is_mirror)
        self.seals = seals or Seals()
        self.is_new, self.is_strange = place.is_new, place.is_strange
        # Whose runs are made and taken up here: `Project.home`.
        self.home = home
        self._crash_hook = crash_hook
        self._gate = threading.Lock()
        self._writer: Writer | None = None
        self._waiting: dict[asyncio.AbstractEventLoop, list[Job]] = {}
        self._written_down: tuple[Json, str] = (None, "null")

    async def create(self, run: NewRun, *events: Event) -> tuple[RunId, bool]:
        _check_id(run.id)
        if self._written_down[0] is not run.workflow:
            # Many runs of one workflow write it down once.
            self._written_down = (run.workflow, to_text(run.workflow))
        texts = (self._written_down[1], to_text(cast("Json", run.sources)))
        names = ("key", "name", "dialect", "file", "parent")
        mended: dict[str, Any] = {
            name: whole(text) for name in names if not (text := getattr(run, name)).isascii()
        }
        if run.labels:
            mended["labels"] = {whole(name): whole(text) for name, text in run.labels.items()}
        clean = replace(run, home=whole(self.home), **mended) if mended or self.home else run
        rows: list[Encoded] = []
        for start in range(0, len(events), _ENCODED_AT_ONCE):
            if start:
                await asyncio.sleep(0)
            rows += map(encode, events[start : start + _ENCODED_AT_ONCE])
        past = Append(run.id, 0, events, rows, memories=self._written(run.memories))
        packed = None if run.state is None else _packed(run.state)
        job = Change(lambda tables: tables.create(clean, past, texts, packed), run.id, events)
        return cast("tuple[RunId, bool]", await self._change(job))

    async def probe(self) -> None:
        """Raises StoreError where nothing can be written.

        Something small is written where only that can tell: at first, where there is hardly any
        room, and some time after a write has failed.
        """
        if self._place.immutable:
            raise unchangeable(self._place.path)
        if (fault := self.watch.fault()) is not None:
            raise fault
        if self.watch.is_in_doubt():
            await self._ask(lambda tables: _touch(tables.connection))
        if (fault := self.watch.refusal) is not None:
            raise fault

    async def claim(self, run: RunId, *, keeps: bool = False, is_driven: bool = True) -> int:
        """Makes this process the owner; with `keeps`, servers take the run up after it.

        Raises UsageError W905 for a run of another project, whose configuration is not here.
        """

        def claim(tables: JournalTables) -> int:
            if is_driven:
                self._check_home(run, tables.connection.execute(_HOME, (run,)).get or "")
            return tables.claim(run, keeps=keeps)

        return await self._ask(claim, run)

    def _check_home(self, run: RunId, home: str) -> None:
        folder = self.folder_of(home)
        is_own = folder in ("", self.folder_of(self.home))
        if is_own or not os.path.isfile(os.path.join(folder, "whorl.toml")):
            return
        store = f", with `--store {shlex.quote(os.path.abspath(self.path))}`" if home else ""
        advice = f"do this there: `cd {shlex.quote(folder)}`{store}"
        raise UsageError(f"run {run} belongs to the project {folder!r}", help=advice, code="W905")

    async def release(self, run: RunId, owner: int, *, is_stopped: bool = False) -> None:
        """Gives the run up; one that a person has stopped is left to people."""
        await self._ask(lambda tables: tables.release(run, owner, is_stopped=is_stopped), run)

    async def label(self, run: RunId, name: str, value: str) -> None:
        """Gives a run a label, by which lists find it."""
        await self._ask(lambda tables: tables.label(run, name, value), run)

    async def hold(self, run: RunId, reason: str) -> None:
        """Notes for people why a server did not take a run up."""
        words = whole(reason[:REASON_MAX])
        await self._ask(lambda tables: tables.hold(run, words), run)

    async def append(
        self,
        run: RunId,
        owner: int,
        events: Sequence[Event],
        *,
        messages: Sequence[int] = (),
        after: int | None = None,
        is_large: bool = False,
    ) -> int:
        _check_id(run)
        if is_large:
            rows = await self._aside(lambda: [encode(event, is_large=True) for event in events])
        else:
            rows = [encode(event) for event in events]
        records = records_in(events)
        memories = self._written(records) if records else ()
        job = Append(run, owner, events, rows, after, messages, memories)
        writer = self._started()
        if writer.is_for_one_run and not self._waiting:
            outcomes = writer.commit_now([job])
            if outcomes is not None:
                _, last, fault = outcomes[0]
                if fault is not None:
                    raise fault
                return cast("int", last)
        return cast("int", await self._change(job))

    def _written(self, memories: Sequence[Record]) -> list[tuple[Record, str]]:
        """What is remembered of a run; of one that others drive, they remember it."""
        kept = () if self.is_mirror else memories
        return [(replace(each, key=whole(each.key)), to_text(each.record)) for each in kept]

    async def _aside(self, work: Callable[[], T]) -> T:
        return await beside(work)

    async def snapshot(self, run: RunId, owner: int, seq: int, state: Json) -> None:
        # A large one takes long to pack: the writer does it.
        await self._ask(lambda tables: tables.snapshot(run, owner, seq, _packed(state)), run)

    async def post(self, run: RunId, event: Event) -> int:
        row = encode(event, is_split=False)
        return await self._ask(lambda tables: tables.post(run, row), run)

    async def discard(self, run: RunId, owner: int, messages: Sequence[int]) -> None:
        await self._ask(lambda tables: tables.discard(run, owner, messages), run)

    async def memory_records(self, key: str) -> list[Json]:
        return self.memory(key)

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        kept, text = Record(whole(key), record, keep), to_text(record)
        return await self._ask(lambda tables: tables.memories.remember(kept, text, once=once))

    async def amend(
        self, key: str, change: Callable[[list[Json]], Amendment], *, keep: int
    ) -> Amendment:
        stored = whole(key)
        return await self._ask(lambda tables: tables.memories.amend(stored, change, keep))

    async def forget(self, key: str) -> int:
        stored = whole(key)
        return await self._ask(lambda tables: tables.memories.forget(stored))

    def close(self) -> None:
        for loop in list(self._waiting):
            self._hand_over(loop)
        super().close()
        if self._writer is not None:
            self._writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for loop in list(self._waiting):
            self._hand_over(loop)
        await asyncio.to_thread(self.close)

    async def change(self, apply: Callable[[apsw.Connection], T]) -> T:
        """Has something done to tables of others in a transaction (see `runtimes/service`)."""
        return await self._ask(lambda tables: apply(tables.connection))

    async def _ask(
        self, apply: Callable[[JournalTables], T], run: RunId | None = None, *, alone: bool = False
    ) -> T:
        """Has something done in a transaction, or outside of one: `alone`; `run` is checked."""
        if run is not None:
            _check_id(run)
        return cast("T", await self._change(Change(apply, alone=alone)))

    async def _change(self, job: Job) -> object:
        """Waits for a job. All jobs of one turn of the event loop are committed together."""
        if self.is_strange:
            raise strange(self.path)
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
            settle([(job, None, copy_of(fault)) for job in jobs], own_loop=loop)
            return
        outcomes = writer.commit_now(jobs)
        if outcomes is None:
            writer.submit(jobs)
        else:
            settle(outcomes, own_loop=loop)

    def _started(self) -> Writer:
        """The writer; a store that is only read never has one."""
        if self._writer is not None:
            return self._writer
        if self.is_strange:
            raise strange(self.path)
        with self._gate:
            if self.is_closed and self._writer is None:
                raise closed(self._place.path)
            try:
                self._writer = self._writer or self._checked_writer()
            except apsw.Error as error:
                fault = self.watch.fault_of(error)
                self.watch.note_failure(error, fault)
                raise fault from error
            return self._writer

    def _checked_writer(self) -> Writer:
        writer = Writer(self._place, self.watch, self.clock, self.monotonic, self._crash_hook)
        try:
            # Only now it is known that there should be an index of the log.
            self.watch.check_shared()
        except StoreError:
            writer.close()
            raise
        return writer


# A run is written to again and again.
@lru_cache(maxsize=1024)
def _check_id(run: str) -> None:
    if _ID.fullmatch(run) is None:
        words = f"{run[:140]!r} cannot be the id of a run"
        raise UsageError(words, help="use 1 to 128 letters, digits, '_' and '-'", code="W902")


def _touch(connection: apsw.Connection) -> None:
    """Writes a page that stays as it is: whoever tries finds out whether it can be written."""
    connection.pragma("user_version", connection.pragma("user_version"))


def _packed(state: Json) -> bytes:
    # In pieces: other threads wait for each of them.
    return zlib.compress(to_text(state, is_large=is_large(state)).encode(), 1)
