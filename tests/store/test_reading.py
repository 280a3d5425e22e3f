"""Lists and charts: what they show is in step with the journal."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from journal_makers import START, event, iteration, new_run, started, write

from whorl.errors import UsageError
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.language import Json

RUN = RunId("run-1")


def loop(count: int, name: str = "polish", **finish: Json) -> list[Event]:
    events = [event("loop.started", name, path=name, limits={"iterations": 5, "cost_usd": 1})]
    for number in range(1, count + 1):
        events.append(event("iteration.started", f"{name}[{number}]", number=number))
        events += iteration(number, score=number / 10, best=number == 2)
    if finish:
        ending: dict[str, Json] = {"path": name, "iterations": count}
        events.append(Event("loop.finished", name, START, ending | finish))
    return events


def test_a_row_and_its_loop_show_where_a_run_is(store: SqliteStore) -> None:
    write(store, *loop(3))
    row = store.run("run-1")

    assert (row.status, row.loop, row.iteration, row.iterations_max) == ("running", "polish", 3, 5)
    assert (row.calls, row.tokens, row.last_seq) == (3, 360, 14)
    assert row.cost_usd == pytest.approx(0.003)
    assert (row.score, row.exit_reason, row.updated_at) == (0.3, "", START)

    write(store, *loop(3), event("iteration.started", "polish[4]", number=4), name="next")
    [found] = store.loops(RunId("next"))
    assert (found.state, found.iterations) == ("running", 4)
    assert (found.score, found.best_iteration) == (0.3, 2)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        ([event("run.waiting")], "waiting"),
        ([event("run.waiting"), event("gate.decided", "gate")], "running"),
        ([event("run.waiting"), event("timer.fired", "gate")], "running"),
        ([event("run.paused")], "paused"),
        ([event("run.paused"), event("task.finished", "x")], "paused"),
        ([event("run.paused"), event("run.resumed")], "running"),
        ([event("run.finished", status="succeeded")], "succeeded"),
        ([event("run.finished", status="cancelled")], "cancelled"),
        ([event("run.finished", status="failed"), event("run.continued", at="x")], "running"),
        ([event("run.finished", status="failed"), event("run.accepted", at="x")], "running"),
        ([event("run.finished")], "failed"),
    ],
)
def test_the_status_follows_the_events(
    store: SqliteStore, events: list[Event], status: str
) -> None:
    write(store, *events)

    assert store.run("run-1").status == status
    assert [row.id for row in store.runs(status=status)] == ["run-1"]


def test_odd_usage_lowers_nothing(store: SqliteStore) -> None:
    usages: list[Json] = [
        {"calls": 1, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.5},
        {"calls": -5, "input_tokens": -10, "output_tokens": "many", "cost_usd": -1},
        {"calls": True, "cost_usd": None},
        {"calls": 10**400},
        "much",
        None,
    ]
    write(store, *(event("task.failed", "x", usage=usage) for usage in usages))
    row = store.run("run-1")

    assert (row.calls, row.tokens, row.cost_usd) == (1, 15, 0.5)


def test_the_budget_grows_when_a_run_is_continued(store: SqliteStore) -> None:
    async def append() -> None:
        run, _ = await store.create(
            new_run(), event("run.started", limits={"cost_usd": 2.0, "calls": None})
        )
        owner = await store.claim(run)
        await store.append(run, owner, loop(5, exit_reason="max_iterations"))
        asked = event("run.continued", at="polish", iterations=3, cost_usd=0.5)
        limits: Json = {"iterations": 8}
        told = event("loop.continued", "polish", limits=limits, run_limits={"cost_usd": 2.5})
        await store.append(run, owner, [asked, told])

    asyncio.run(append())
    row = store.run("run-1")

    assert (row.budget_usd, row.iterations_max, row.exit_reason) == (2.5, 8, "")
    assert [found.limits for found in store.loops(RUN)] == [{"iterations": 8, "cost_usd": 1}]
    assert [found.state for found in store.loops(RUN)] == ["running"]


def test_nested_loops_are_listed_apart_and_the_row_shows_the_outer_one(store: SqliteStore) -> None:
    events = [event("loop.started", "outer", limits={"iterations": 2})]
    for number in (1, 2):
        events.append(event("iteration.started", f"outer[{number}]", number=number))
        inner = f"outer[{number}]/inner"
        events.append(event("loop.started", inner, limits={"iterations": 9}))
        for turn in range(1, 4):
            events.append(event("iteration.started", f"{inner}[{turn}]", number=turn))
            events.append(event("iteration.finished", f"{inner}[{turn}]", number=turn, score=turn))
        events.append(event("loop.finished", inner, iterations=3, exit_reason="failed"))
        events.append(event("iteration.finished", f"outer[{number}]", number=number, score=0.5))
    write(store, *events)
    row = store.run("run-1")

    addresses = [found.address for found in store.loops(RUN)]
    assert addresses == ["outer", "outer[1]/inner", "outer[2]/inner"]
    assert (row.loop, row.iteration, row.iterations_max, row.score) == ("outer", 2, 2, 0.5)
    assert [one.number for one in store.iterations(RUN, "outer")] == [1, 2]
    assert [one.score for one in store.iterations(RUN, "outer[2]/inner")] == [1, 2, 3]
    assert store.iterations(RUN, "inner") == []


def test_a_request_that_is_refused_changes_no_row(store: SqliteStore) -> None:
    refused = event("run.continued", at="polish", iterations=3, cost_usd=0.5)
    write(store, *loop(3, exit_reason="max_iterations", mark="limit"), MET, refused, MET)
    row = store.run("run-1")

    assert (row.iterations_max, row.exit_reason, row.mark) == (5, "max_iterations", "limit")


MET = event("run.finished", status="succeeded")
LIMIT = {"exit_reason": "max_iterations", "mark": "limit"}
BUDGET = {"exit_reason": "budget", "mark": "budget"}


@pytest.mark.parametrize(
    ("events", "mark"),
    [
        ([*loop(2, exit_reason="max_iterations"), MET], ""),
        ([*loop(2, **LIMIT), MET], "limit"),
        ([*loop(2, **LIMIT), *loop(2, "other", **BUDGET), MET], "budget"),
        ([*loop(2, **BUDGET), *loop(2, "other", **LIMIT), MET], "budget"),
        ([*loop(2, exit_reason="budget", mark="nonsense"), MET], ""),
        ([*loop(2, **LIMIT)], ""),
        ([*loop(2, **LIMIT), event("run.finished", status="failed")], ""),
        ([*loop(2, **LIMIT), MET, event("loop.continued", "polish"), MET], ""),
        ([*loop(2, **LIMIT), event("loop.finished", "polish", exit_reason="accepted"), MET], ""),
        ([*loop(2, **LIMIT), *loop(1, "polish#2", exit_reason="condition_met"), MET], ""),
        ([*loop(2, "polish#2", **LIMIT), *loop(1, "polish#3", exit_reason="failed"), MET], ""),
        ([event("warning", code="R117"), MET], "warning"),
        ([event("warning", code="R100"), MET], ""),
        ([event("warning", code="R117"), *loop(2, **LIMIT), MET], "limit"),
        ([*loop(2, "polished", **LIMIT), *loop(1, "polish#2", exit_reason="failed"), MET], "limit"),
        ([*loop(1, "g[1]/in", **LIMIT), *loop(1, "g#2[1]/in", **BUDGET), MET], "budget"),
        ([*loop(1, "g#2/a", **LIMIT), *loop(1, "g#2/b", exit_reason="failed"), MET], "limit"),
    ],
)
def test_a_run_that_succeeded_is_marked_where_a_loop_did_not(
    store: SqliteStore, events: list[Event], mark: str
) -> None:
    write(store, *events)

    assert store.run("run-1").mark == mark
    assert [row.mark for row in store.runs()] == [mark]


def test_marks_are_the_same_whether_written_at_once_or_one_by_one(store: SqliteStore) -> None:
    events = [*loop(1, **BUDGET), *loop(1, "other", **LIMIT), event("loop.continued", "polish")]
    write(store, *events, MET)

    async def append() -> None:
        run, owner = await started(store, "run-2")
        for one in (*events, MET):
            await store.append(run, owner, [one])

    asyncio.run(append())

    assert [row.mark for row in store.runs()] == ["limit", "limit"]


def test_iterations_come_in_pages(store: SqliteStore) -> None:
    write(store, *loop(600))

    third = store.iterations(RUN, "polish", after=10, limit=3)
    assert [one.number for one in third] == [11, 12, 13]
    assert [one.number for one in store.iterations(RUN, "polish", after=598)] == [599, 600]
    assert len(store.iterations(RUN, "polish")) == 600
    assert [one.number for one in store.newest_iterations(RUN, "polish", 2)] == [599, 600]
    assert len(store.newest_iterations(RUN, "polish", 1000)) == 600
    [first] = store.iterations(RUN, "polish", limit=1)
    assert (first.status, first.score, first.seq) == ("succeeded", 0.1, 6)
    assert first.note["seconds"] == 1.5


def test_a_run_is_found_by_what_a_person_types(store: SqliteStore) -> None:
    for name in ("7f3a-one", "7f3b-two", "9abc_x"):
        write(store, name=name)

    write(store, name="9abc")
    assert (store.resolve("last"), store.resolve("9abc")) == ("9abc", "9abc")
    assert store.resolve("7f3a") == "7f3a-one"
    assert store.resolve("7f3b-two") == "7f3b-two"
    with pytest.raises(UsageError, match="'7f' is the beginning of more than one run") as caught:
        store.resolve("7f")
    assert caught.value.code == "W903"
    for text in ("", "%", "7f3a'--", "\0", "no"):
        with pytest.raises(UsageError, match="there is no run"):
            store.resolve(text)


def test_projections_are_the_same_for_a_second_owner(store: SqliteStore, path: Path) -> None:
    async def first() -> None:
        run, owner = await started(store)
        await store.append(run, owner, loop(2))
        await store.release(run, owner)

    async def second(other: SqliteStore) -> None:
        owner = await other.claim(RUN)
        await other.append(RUN, owner, loop(3)[-4:])

    asyncio.run(first())
    with closing(SqliteStore(path)) as other:
        asyncio.run(second(other))
        row = other.run("run-1")

    assert (row.calls, row.iteration, row.iterations_max, row.score) == (3, 3, 5, 0.3)


def test_the_last_run_of_a_mirror_is_the_one_that_began_last(tmp_path: Path) -> None:
    async def work() -> None:
        async with SqliteStore(tmp_path / "mirror.db", is_mirror=True) as store:
            # It takes runs up in any order; the ids of runs with a key sort behind all others.
            for run, at in (("1b", 20.0), ("1c", 30.0), ("key-0b", 10.0), ("1a", 25.0)):
                await store.create(new_run(run, created_at=at), event("run.started", input={}))
            listed = store.runs()
            assert [row.id for row in listed] == ["1c", "1a", "1b", "key-0b"]
            assert store.resolve("last") == "1c"
            assert [row.id for row in store.runs(limit=2, before="1a")] == ["1b", "key-0b"]

    asyncio.run(work())


def test_the_last_run_is_no_run_of_an_experiment_and_no_try(store: SqliteStore) -> None:
    write(store, name="own")
    for name, key in (("a", "experiment:e:1:0"), ("b", "experiment:e:1:grade-0"), ("c", "try:0")):
        asyncio.run(store.create(new_run(name, key=key), event("run.started", input={})))

    assert store.resolve("last") == "own"
    assert store.resolve("a") == "a"


@pytest.mark.parametrize("entries", [[], [event("loop.started", "polish"), *iteration(1)]])
def test_no_question_about_iterations_is_too_odd_for_their_index(
    path: Path, entries: list[Event]
) -> None:
    async def work() -> None:
        async with SqliteStore(path) as store:
            run, owner = await started(store)
            await store.append(run, owner, entries)
            for loop in ("", "polish", "polish[1]/inner", "it's [odd"):
                for count in (0, 1, 1000):
                    assert len(store.newest_iterations(run, loop, count)) <= 1
                    assert len(store.iterations(run, loop, count)) <= 1
            for asked in ((), ("polish[1]",), ("", "polish[1]#2"), ["x"] * 500):
                assert set(store.iteration_ends(run, asked)) <= set(asked)

    asyncio.run(work())
