"""Entries and control requests come out as they went in, for whoever opens the file later."""

from __future__ import annotations

import asyncio
import stat
from typing import TYPE_CHECKING

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from journal_makers import START, event, iteration, new_run, started, write

from campaign import amount
from waiting import PATIENCE_S
from whorl.errors import Fenced, InternalError, StoreError, UsageError
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.encoding import decode, encode

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.language import Json


json_values: st.SearchStrategy[Json] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.slow
@pytest.mark.campaign
@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), json_values, max_size=5))
@settings(max_examples=amount(100, 800), deadline=None)
def test_any_body_survives_as_a_row(body: dict[str, Json]) -> None:
    made = Event("task.finished", "a[1]/b", START + 0.1, body)
    row = encode(made, is_split=False)

    assert decode(row.kind, row.at, row.address, row.body) == made


def test_lone_surrogates_become_replacement_characters(store: SqliteStore) -> None:
    body: dict[str, Json] = {
        "value": "a\ud83d b",
        "k\udc00": "\ud83d\ude00",
        "long": "\ud800" * 9000,
    }
    failed = event("run.finished", status="failed", error={"code": "P100", "message": "\ud800"})

    async def work() -> None:
        run, owner = await started(store, name="n\ud800")
        await store.append(run, owner, [Event("task.finished", "x\udfff", START, body), failed])

    asyncio.run(work())
    entry = next(iter(store.read(RunId("run-1"), after=1)))

    assert entry.event.address == "x\ufffd"
    assert entry.event.body == {"value": "a\ufffd b", "k\ufffd": "😀", "long": "\ufffd" * 9000}
    row = store.run("run-1")
    assert (row.name, row.status, row.error) == ("n\ufffd", "failed", "\ufffd")


def test_what_is_not_json_is_refused_at_the_door(store: SqliteStore) -> None:
    async def write(body: dict[str, Json], kind: str = "warning") -> None:
        await store.append(RunId("run-1"), owner, [Event(kind, "", START, body)])

    owner = asyncio.run(started(store))[1]

    with pytest.raises(InternalError, match="not JSON"):
        asyncio.run(write({"value": float("nan")}))
    with pytest.raises(InternalError, match="no number for events of kind 'teleported'"):
        asyncio.run(write({}, "teleported"))
    assert store.run("run-1").last_seq == 1


def test_the_newest_two_snapshots_stay(store: SqliteStore, path: Path) -> None:
    async def write() -> None:
        run, owner = await started(store)
        for number in range(1, 6):
            last = await store.append(run, owner, iteration(number))
            await store.snapshot(run, owner, last, {"count": number, "text": "x" * 1000})
        with pytest.raises(StoreError, match="has no entry 99 yet"):
            await store.snapshot(run, owner, 99, {})

    asyncio.run(write())
    newest = store.last_snapshot(RunId("run-1"))

    assert newest == (16, {"count": 5, "text": "x" * 1000})

    with apsw.Connection(str(path)) as file:
        assert file.execute("SELECT count(*) FROM snapshots").get == 2
        file.execute("UPDATE snapshots SET state = x'00' WHERE seq = 16")
    assert store.last_snapshot(RunId("run-1")) == (13, {"count": 4, "text": "x" * 1000})


def test_a_key_starts_one_run(store: SqliteStore) -> None:
    async def write() -> list[tuple[RunId, bool]]:
        first = event("run.started")
        runs = [new_run(f"run-{number}", key="night") for number in range(20)]
        return await asyncio.gather(*(store.create(run, first) for run in runs))

    made = asyncio.run(write())

    assert [created for _, created in made].count(True) == 1
    assert {run for run, _ in made} == {store.runs()[0].id}
    assert len(store.runs()) == 1


def test_runs_without_a_key_do_not_collide_but_ids_do(store: SqliteStore) -> None:
    asyncio.run(started(store, "one"))
    asyncio.run(started(store, "two"))

    with pytest.raises(StoreError, match="has a run 'two' already"):
        asyncio.run(started(store, "two"))


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "x" * 129, "a\n", "../x"])
def test_ids_are_letters_digits_and_dashes(store: SqliteStore, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the id of a run"):
        asyncio.run(started(store, name))


def test_files_are_for_the_user_alone(store: SqliteStore, path: Path) -> None:
    asyncio.run(started(store))
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}

    assert modes == {"runs.db": 0o600, "runs.db-wal": 0o600, "runs.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_settings_that_durability_rests_on(store: SqliteStore, path: Path) -> None:
    asyncio.run(started(store))
    assert store._writer is not None
    writing = store._writer._connection

    expected = {"journal_mode": "wal", "synchronous": 2, "trusted_schema": 0, "cell_size_check": 1}
    assert {name: writing.pragma(name) for name in expected} == expected
    assert writing.pragma("auto_vacuum") == 2
    assert writing.pragma("mmap_size") == 0


@pytest.mark.parametrize("is_written_to", [True, False])
def test_a_closed_store_says_so_at_once(path: Path, *, is_written_to: bool) -> None:
    store = SqliteStore(path)
    if is_written_to:
        write(store, *iteration(1))
    store.close()

    with pytest.raises(StoreError, match="is closed"):
        store.runs()
    with pytest.raises(StoreError, match="is closed") as caught:
        asyncio.run(asyncio.wait_for(started(store, "late"), PATIENCE_S))
    assert caught.value.code == "R900"


def test_names_that_cannot_be_stored_are_not_found_and_break_nothing(store: SqliteStore) -> None:
    odd = RunId("\ud800")
    run, owner = asyncio.run(started(store))

    with pytest.raises(UsageError, match="cannot be the id of a run"):
        asyncio.run(store.claim(odd))
    with pytest.raises(UsageError, match="cannot be the id of a run"):
        asyncio.run(store.append(odd, 1, iteration(1)))
    with pytest.raises(UsageError, match="there is no run"):
        store.resolve(odd)
    with pytest.raises(StoreError, match="was delivered before"):
        asyncio.run(store.append(run, owner, iteration(1), messages=[2**70]))
    assert store.memory(odd) == []
    assert store.runs(name=odd) == []
    kept: Json = {"key": "k\ud800", "record": "\ud800", "keep": 2**70}
    assert asyncio.run(store.append(run, owner, iteration(1, remember=kept))) == 4
    assert store.memory("k\ufffd") == ["\ufffd"]


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
