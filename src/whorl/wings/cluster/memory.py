"""The memory of runs on a cluster: one Temporal workflow for each key.

It lives until its records are forgotten, and costs workers nothing while it is not used. Runs add
records by signals and read them by queries, which see all earlier signals.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from temporalio import workflow
from temporalio.client import WorkflowQueryRejectedError
from temporalio.common import QueryRejectCondition
from temporalio.exceptions import FailureError
from temporalio.service import RPCError, RPCStatusCode

from whorl.lazily import dataclass

with workflow.unsafe.imports_passed_through():
    from whorl.errors import StoreError
    from whorl.runtimes.journal.journal import records_in
    from whorl.runtimes.journal.sealed_secrets import redacted, redaction_of
    from whorl.runtimes.sqlite import MemoryRow
    from whorl.runtimes.sqlite.rows import RECORDS_MAX
    from whorl.wings.cluster import messages
    from whorl.wings.cluster.connection import answering

if TYPE_CHECKING:
    from collections.abc import Sequence

    from temporalio.client import Client

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.language.libraries import Amendment
    from whorl.providers.settings import TemporalSettings
    from whorl.providers.task import Change
    from whorl.runtimes.journal.journal import Record
    from whorl.wings.cluster.messages import Beginning

# A memory is one value; Temporal takes 2 MB, or values that are stored elsewhere.
BYTES_MAX = 1_500_000
# A client that has changed records soon queries whether the change was made.
DONE_MAX = 200
# How often a record is sent to a memory before the run gives up, and the pause after the second
# try, which doubles after each further one.
TELL_MAX = 6
TELL_S = 0.5


@workflow.defn(name=messages.MEMORY)
class Memory:
    """The records under one key, oldest first."""

    @workflow.init
    def __init__(self, kept: dict[str, Any]) -> None:
        # Of each record: what it was to be added once for, when that was, its bytes, and itself.
        self._rows: list[list[Any]] = kept.get("rows", [])
        self._changes: int = kept.get("changes", 0)
        self._done: list[str] = kept.get("done", [])

    @workflow.signal(name=messages.ADD)
    def add(self, record: Any, once: str, keep: int) -> None:
        """Adds a record, unless it is there already, and removes the oldest above the limit."""
        if self._has(once):
            return
        size = len(json.dumps(record, ensure_ascii=False).encode())
        self._rows.append([once, workflow.time(), size, record])
        self._rows = self._rows[max(0, len(self._rows) - min(max(0, keep), RECORDS_MAX)) :]
        self._changes += 1

    @workflow.signal(name=messages.AMEND)
    def amend(self, change: dict[str, Any]) -> None:
        """Changes the records, if no other change was made since they were read."""
        if change["seen"] != self._changes:
            return
        gone = set(change["drops"])
        self._rows = [row for row in self._rows if _id_of(row[3]) not in gone]
        self._changes += 1
        self._done = [*self._done, change["name"]][-DONE_MAX:]
        if (record := change["record"]) is not None:
            self.add(record, _id_of(record), change["keep"])

    @workflow.query(name=messages.ALL)
    def all(self) -> dict[str, Any]:
        """Returns the records and the number of changes."""
        return {"changes": self._changes, "records": [row[3] for row in self._rows]}

    @workflow.query(name=messages.ABOUT)
    def about(self, name: str) -> dict[str, Any]:
        """Returns the size, the newest record, and whether a record or change `name` is there."""
        return {
            "records": len(self._rows),
            "bytes": sum(row[2] for row in self._rows),
            "at": self._rows[-1][1] if self._rows else 0.0,
            "newest": [row[3] for row in self._rows[-1:]],
            "is_there": self._has(name),
            "is_done": name in self._done,
        }

    @workflow.run
    async def run(self, kept: dict[str, Any]) -> None:
        await workflow.wait_condition(lambda: workflow.info().is_continue_as_new_suggested())
        rows = {"rows": self._rows, "changes": self._changes, "done": self._done}
        workflow.continue_as_new(rows)

    def _has(self, once: str) -> bool:
        return any(row[0] == once for row in self._rows)


def _id_of(record: Any) -> str:
    return str(record.get("id", "")) if isinstance(record, dict) else ""


class Remembering:
    """The records that a run sends to memories, one after the other."""

    def __init__(self, beginning: Beginning) -> None:
        self._run, self._queue = beginning.run, beginning.queue
        self._records: list[tuple[str, Record]] = []
        self._has_lost = False

    @property
    def is_busy(self) -> bool:
        return bool(self._records)

    def add(self, number: int, event: Event, hidden: list[str]) -> None:
        """Takes the records that an entry of the run adds to memories, without `hidden` texts."""
        redaction = redaction_of(hidden)
        body = event.body if redaction is None else redacted(event.body, redaction)
        records = records_in([replace(event, body=body)])
        self._records += ((f"{self._run} {number}", each) for each in records)

    async def tell(self) -> None:
        """Sends all records to their memories."""
        while self._records:
            once, record = self._records[0]
            if not await self._is_kept(once, record):
                self._has_lost = True
                words = "the memory %r lost a record of run %s"
                workflow.logger.error(words, record.key, self._run)
            self._records.pop(0)

    async def _is_kept(self, once: str, record: Record) -> bool:
        """Sends a record to its memory, which it creates if needed; returns whether it was sent."""
        name = messages.memory_id(self._queue, record.key)
        # If one was lost, the wait for the others is short.
        for attempt in range(TELL_MAX if not self._has_lost else 2):
            if attempt > 1:
                await workflow.sleep(TELL_S * 2 ** (attempt - 2))
            if attempt:
                with suppress(FailureError):  # there is one already
                    await workflow.start_child_workflow(
                        messages.MEMORY,
                        {},
                        id=name,
                        task_queue=self._queue,
                        memo={"key": record.key},
                        parent_close_policy=workflow.ParentClosePolicy.ABANDON,
                    )
            with suppress(FailureError):  # there is none yet, it was forgotten, or it is full
                memory = workflow.get_external_workflow_handle(name)
                await memory.signal(messages.ADD, args=[record.record, once, record.keep])
                return True
        return False


@dataclass(frozen=True, slots=True)
class ClusterMemories:
    """Implements `Memories` on a cluster. Raises StoreError R922 if it does not answer."""

    client: Client
    settings: TemporalSettings

    async def memory_records(self, key: str) -> list[Json]:
        """Returns the records under a key, oldest first."""
        return (await self._read(key))[1]

    async def remember(self, key: str, record: Json, *, once: str, keep: int) -> bool:
        """Adds a record and keeps the newest ones; returns False if it was added before."""
        about = await self._ask(key, messages.ABOUT, once) or {}
        if about.get("is_there"):
            return False
        self._check_size(key, about, record)
        await self._tell(key, messages.ADD, record, once, keep)
        return True

    async def amend(self, key: str, change: Change, *, keep: int) -> Amendment:
        """Changes the records under a key in one step, without other changes in between."""
        while True:
            seen, records = await self._read(key)
            amendment = await asyncio.to_thread(change, records)
            record, drops = amendment.record, sorted(amendment.drops)
            if record is None and not drops:
                return amendment
            name = secrets.token_hex(8)
            self._check_size(key, await self._ask(key, messages.ABOUT, name) or {}, record)
            gone = drops if record is None else [*drops, str(record["id"])]
            message = {"seen": seen, "name": name, "record": record, "drops": gone, "keep": keep}
            await self._tell(key, messages.AMEND, message)
            if (await self._ask(key, messages.ABOUT, name) or {}).get("is_done"):
                return amendment

    async def keep(self, run: str, records: Sequence[Record]) -> None:
        """Adds the records that a run has when it begins, once."""
        for number, each in enumerate(records):
            await self.remember(each.key, each.record, once=f"{run} {number}", keep=each.keep)

    async def forget(self, key: str) -> int:
        """Deletes all records under a key; returns their number."""
        about = await self._ask(key, messages.ABOUT, "")
        if about is None:
            return 0
        with answering(self.settings):
            await self.client.get_workflow_handle(self._id(key)).terminate("it was deleted")
        return int(about["records"])

    async def all(self) -> list[tuple[MemoryRow, list[Json]]]:
        """Returns a row for each key that has records, with its newest record."""
        found = []
        query = f"WorkflowType = '{messages.MEMORY}' AND ExecutionStatus = 'Running'"
        with answering(self.settings):
            listed = [each async for each in self.client.list_workflows(query)]
            ours = [each for each in listed if each.id.startswith(self._id(""))]
            keys = sorted([str(await each.memo_value("key")) for each in ours])
        for key in keys:
            about = await self._ask(key, messages.ABOUT, "")
            if about is not None and about["records"]:
                row = MemoryRow(key, about["records"], about["at"], about["bytes"])
                found.append((row, about["newest"]))
        return found

    async def begun(self, beginning: Beginning) -> Beginning:
        """Returns the beginning with the records that its loops have from earlier runs."""
        recalled = {key: await self.memory_records(key) for key in beginning.memory_keys()}
        memory = {key: records for key, records in recalled.items() if records}
        if not memory:
            return beginning
        first, *rest = beginning.first
        first = first | {"body": first["body"] | {"memory": memory}}
        return replace(beginning, first=[first, *rest])

    async def _read(self, key: str) -> tuple[int, list[Json]]:
        """Returns the number of changes and all records."""
        found = await self._ask(key, messages.ALL) or {"changes": 0, "records": []}
        return found["changes"], found["records"]

    async def _ask(self, key: str, query: str, *given: str) -> dict[str, Any] | None:
        """Queries the memory of a key; returns None if the key has no memory."""
        handle = self.client.get_workflow_handle(self._id(key))
        how = QueryRejectCondition.NOT_OPEN
        try:
            with answering(self.settings):
                found: dict[str, Any] = await handle.query(query, args=given, reject_condition=how)
        except WorkflowQueryRejectedError:
            return None
        except StoreError as fault:
            cause = fault.__cause__
            if isinstance(cause, RPCError) and cause.status == RPCStatusCode.NOT_FOUND:
                return None
            raise
        return found

    async def _tell(self, key: str, signal: str, *given: Any) -> None:
        """Sends a signal to the memory of a key; creates the memory if needed."""
        with answering(self.settings):
            await self.client.start_workflow(
                messages.MEMORY,
                {},
                id=self._id(key),
                task_queue=self.settings.queue,
                memo={"key": key},
                start_signal=signal,
                start_signal_args=given,
            )

    def _check_size(self, key: str, about: dict[str, Any], record: Json) -> None:
        size = about.get("bytes", 0) + len(json.dumps(record, ensure_ascii=False).encode())
        if size > BYTES_MAX and not self.settings.values:
            words = f"the memory {key!r} would have {size:,} bytes, more than Temporal takes"
            advice = "set where large values are stored: [runtime.temporal] values"
            raise StoreError(words, code="R920", help=advice)

    def _id(self, key: str) -> str:
        return messages.memory_id(self.settings.queue, key)
