"""What the store says of a run: its spending, its mark, and which run is meant."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from journal_makers import START, event, iteration, new_run, started, write

from whorl.errors import UsageError
from whorl.interpreter.events import Event
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.language import Json


def loop(count: int, name: str = "polish", **finish: Json) -> list[Event]:
    events = [event("loop.started", name, path=name, limits={"iterations": 5, "cost_usd": 1})]
    for number in range(1, count + 1):
        events.append(event("iteration.started", f"{name}[{number}]", number=number))
        events += iteration(number, score=number / 10, best=number == 2)
    if finish:
        ending: dict[str, Json] = {"path": name, "iterations": count}
        events.append(Event("loop.finished", name, START, ending | finish))
    return events


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


MET = event("run.finished", status="succeeded")
LIMIT = {"exit_reason": "max_iterations", "mark": "limit"}
BUDGET = {"exit_reason": "budget", "mark": "budget"}


@pytest.mark.parametrize(
    ("events", "mark"),
    [
        ([*loop(2, exit_reason="max_iterations"), MET], ""),
        ([*loop(2, **LIMIT), MET], "limit"),
        ([*loop(2, **LIMIT), *loop(2, "other", **BUDGET), MET], "budget"),
        ([*loop(2, **LIMIT)], ""),
        ([*loop(2, **LIMIT), event("run.finished", status="failed")], ""),
        ([*loop(2, **LIMIT), MET, event("loop.continued", "polish"), MET], ""),
        ([*loop(2, **LIMIT), event("loop.finished", "polish", exit_reason="accepted"), MET], ""),
        ([*loop(2, "polish#2", **LIMIT), *loop(1, "polish#3", exit_reason="failed"), MET], ""),
        ([event("warning", code="R117"), MET], "warning"),
        ([event("warning", code="R117"), *loop(2, **LIMIT), MET], "limit"),
        ([*loop(2, "polished", **LIMIT), *loop(1, "polish#2", exit_reason="failed"), MET], "limit"),
        ([*loop(1, "g[1]/in", **LIMIT), *loop(1, "g#2[1]/in", **BUDGET), MET], "budget"),
    ],
)
def test_a_run_that_succeeded_is_marked_where_a_loop_did_not(
    store: SqliteStore, events: list[Event], mark: str
) -> None:
    write(store, *events)

    assert store.run("run-1").mark == mark
    assert [row.mark for row in store.runs()] == [mark]


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
