"""Control requests reach the owner of a run exactly once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from journal_makers import event, started

from whorl.errors import Fenced, StoreError
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

RUN = RunId("run-1")


def test_messages_are_taken_in_order_and_stay_until_they_are_answered(
    store: SqliteStore, path: Path
) -> None:
    run, owner = asyncio.run(started(store))
    other = SqliteStore(path)
    feedback = "more, é\0 " * 5000
    decided = event("gate.decided", "gate", approved=True, feedback=feedback)
    posted = [asyncio.run(other.post(run, asked)) for asked in (decided, event("run.paused"))]
    other.close()
    messages = store.take(run, owner)

    assert [message.id for message in messages] == posted
    assert [message.event.kind for message in messages] == ["gate.decided", "run.paused"]
    assert messages[0].event.body == {"approved": True, "feedback": feedback}
    assert store.take(run, owner) == messages
    with pytest.raises(Fenced):
        store.take(run, owner + 1)
    with pytest.raises(StoreError, match="there is no run 'none'"):
        asyncio.run(store.post(RunId("none"), event("run.paused")))

    first = messages[0]
    asyncio.run(store.append(run, owner, [first.event], messages=[first.id]))
    assert [message.id for message in store.take(run, owner)] == posted[1:]
    assert [entry.event for entry in store.read(run, after=1)] == [first.event]


def test_a_message_is_never_delivered_twice(store: SqliteStore) -> None:
    async def write() -> tuple[int | BaseException, int | BaseException]:
        run, owner = await started(store)
        one, two = [await store.post(run, event("run.paused")) for _ in range(2)]
        return await asyncio.gather(
            store.append(run, owner, [event("run.paused")], messages=[one]),
            store.append(run, owner, [event("run.paused")], messages=[two, one]),
            return_exceptions=True,
        )

    first, second = asyncio.run(write())

    assert first == 2
    assert str(second) == "request 1 was delivered before"
    assert store.run(RUN).last_seq == 2
    # The refused append has not taken its other message along.
    assert [message.id for message in store.take(RUN, 1)] == [2]
