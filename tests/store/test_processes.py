"""Several processes write one file: each waits for the others, none sees a lock."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from journal_makers import event, started

from campaign import amount
from threats import tally
from whorl.runtimes.journal.journal import RunId

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Child
    from whorl.runtimes.sqlite import SqliteStore

pytestmark = pytest.mark.threat(row="T4")


@pytest.mark.campaign
@pytest.mark.parametrize("count", [2, 4, pytest.param(8, marks=pytest.mark.slow)])
def test_processes_append_side_by_side(
    store: SqliteStore, child: Callable[..., Child], count: int
) -> None:
    appends = amount(500, 10_000)
    workers = [child("work", f"run-{number}", str(appends)) for number in range(count)]

    assert [worker.hear() for worker in workers] == ["done"] * count
    assert [worker.close() for worker in workers] == [0] * count
    for number in range(count):
        seqs = [entry.seq for entry in store.read(RunId(f"run-{number}"))]
        assert seqs == list(range(1, 3 * appends + 2))
    assert store.check() == []
    tally("appends", count * appends)


def test_a_key_starts_one_run_among_processes(
    store: SqliteStore, child: Callable[..., Child]
) -> None:
    racers = [child("race", f"run-{number}", "night") for number in range(4)]
    for racer in racers:
        racer.hear()
    for racer in racers:
        racer.tell()
    said = [racer.hear().split() for racer in racers]

    assert sorted(created for _, created in said) == ["False", "False", "False", "True"]
    assert {run for run, _ in said} == {store.resolve("last")}


def test_two_processes_make_the_store_at_the_same_time(child: Callable[..., Child]) -> None:
    workers = [child("work", f"run-{number}", "1") for number in range(4)]

    assert [worker.hear() for worker in workers] == ["done"] * 4


def test_a_request_reaches_the_owner_and_changes_the_version(
    store: SqliteStore, child: Callable[..., Child]
) -> None:
    run, _ = asyncio.run(started(store))
    seen = [store.version()]
    assert store.version() == seen[-1]
    asyncio.run(store.post(run, event("run.paused")))

    seen.append(store.version())
    assert [message.event.kind for message in store.mail()] == ["run.paused"]
    assert child("work", "other", "1").hear() == "done"
    seen.append(store.version())
    assert len(set(seen)) == 3
