"""Lists of runs by what is asked of them, and what a store keeps of their charges."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from journal_makers import START, event, new_run, started

from whorl.runtimes.sqlite import RunFilter, SqliteStore
from whorl.runtimes.sqlite.listing import KEPT
from whorl.services.inspecting.places import _add_charges

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.projection import Spent

HOUR = 3600.0


def paid(address: str, hours: float = 0, /, cost: float | None = 0.25, **body: Json) -> Event:
    usage: Json = {"calls": 1, "input_tokens": 10, "output_tokens": 2, "cost_usd": cost}
    return event("task.finished", address, START + hours * HOUR, usage=usage, **body)


def begun(address: str, **inputs: Json) -> Event:
    return event("task.started", address, inputs=inputs, reserve={"calls": 1})


CHARGE: Json = {"calls": 1, "input_tokens": 5, "output_tokens": 5, "cost_usd": 1.0, "in_doubt": 1}
RESERVE: Json = {"calls": 1, "tokens": 8, "cost_usd": 0.5}
FREE: Json = {"calls": 1, "input_tokens": 0, "output_tokens": 0, "cost_usd": 0.0}
# What calls can come to, in runs by name.
RUNS: dict[str, list[Event]] = {
    "first": [
        event("task.finished", "polish[1]/tests", usage=FREE),
        paid("polish[1]/write", model="p/m"),
        paid("polish[2]/write#2", 1, model="p/m"),
        paid("polish[2]/:judge", 30, cost=None, model="other", provider="q"),
    ],
    "second": [
        event("task.finished", "edit", agent="coder", usage=FREE),
        begun("all[1]/a", model="p/m"),
        begun("all[2]/a", model="p/m"),
        begun("all[3]/a"),
        event("node.finished", "all[1]/a", status="cancelled", usage=CHARGE),
        event("node.finished", "all[2]/a", status="cancelled", usage=CHARGE),
        paid("all[2]/a", 2, cost=0.125, model="p/m"),
        event("task.in_doubt", "all[3]/a", START + 50 * HOUR, reserve=RESERVE),
    ],
    "third": [],
}


@pytest.fixture
def filled(path: Path) -> Iterator[SqliteStore]:
    """The runs above, each made a day after the one before."""
    now = [START]
    store = SqliteStore(path, clock=lambda: now[0])

    async def write() -> None:
        for name, events in RUNS.items():
            made = new_run(name, name=f"{name} flow", file=f"{name}.yaml", key=f"key {name}")
            given: Json = {"task": f"A Harbour in {name}", "deep": {"n": ["Grüße"]}}
            run, _ = await store.create(made, event("run.started", input=given))
            owner = await store.claim(run)
            for each in events:
                await store.append(run, owner, [each])
            await store.release(run, owner)
            now[0] += 24 * HOUR

    asyncio.run(write())
    yield store
    store.close()


@pytest.mark.parametrize(
    ("which", "ids"),
    [
        ({}, ["third", "second", "first"]),
        ({"text": "harbour in SEC"}, ["second"]),
        ({"text": "grüsse"}, ["third", "second", "first"]),
        ({"since": START + 24 * HOUR}, ["third", "second"]),
        ({"until": START + 24 * HOUR}, ["first"]),
        ({"cost_min": 1.0}, ["second"]),
        ({"sort": "cost", "is_reversed": True}, ["third", "first", "second"]),
        ({"sort": "tokens"}, ["first", "second", "third"]),
        ({"sort": "score"}, ["third", "second", "first"]),
        ({"status": "interrupted"}, ["third", "second", "first"]),
    ],
)
def test_runs_are_chosen_and_sorted(
    filled: SqliteStore, which: dict[str, Any], ids: list[str]
) -> None:
    chosen = RunFilter(**which)

    assert [row.id for row in filled.list_runs(chosen)] == ids
    one_by_one: list[str] = []
    while rows := filled.list_runs(chosen, 1, one_by_one[-1] if one_by_one else None):
        one_by_one += [row.id for row in rows]
    assert one_by_one == ids


@pytest.mark.parametrize("since", [0.0, START + HOUR, START + 1.5 * HOUR, START + 40 * HOUR, 9e9])
def test_what_is_kept_of_charges_is_what_the_journals_tell(
    filled: SqliteStore, since: float
) -> None:
    for by in KEPT:
        for chosen in (None, filled.resolve("second")):
            told: dict[str, Spent] = {}
            for run in [chosen] if chosen else [row.id for row in filled.runs()]:
                _add_charges(filled, run, told, by=by, at="", since=since)

            used = {name: spent for name, spent in told.items() if spent.calls}
            assert filled.charges(by, since, chosen or "") == used


def test_only_the_time_in_which_a_run_works_is_its_duration(store: SqliteStore) -> None:
    kinds = [("task.finished", 2), ("run.finished", 3), ("run.continued", 1000),
             ("run.paused", 1004), ("run.resumed", 2000), ("run.finished", 2001)]  # fmt: skip

    async def write() -> None:
        run, owner = await started(store)
        for kind, seconds in kinds:
            await store.append(run, owner, [event(kind, "", START + seconds, status="succeeded")])
            await store.release(run, owner)
            owner = await store.claim(run)

    asyncio.run(write())

    assert store.runs()[0].seconds == 8.0
