"""The plans that runs of one workflow share, and what their ids tell."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from whorl.interpreter.events import Event
from whorl.ir import Block, Compute, Constant, Workflow
from whorl.runtimes.journal.journal import Entry
from whorl.runtimes.start_options import PINNED_MAX, Pins, created_at, new_run_id
from whorl.services.serving.watchers import Metrics


def _workflow(number: int) -> Workflow:
    return Workflow(name=f"w{number}", body=Block((Compute(name="a", value=Constant(number)),)))


class _Journal:
    """Has the workflows of runs, as they are stored."""

    def __init__(self) -> None:
        self.stored: dict[str, Any] = {}

    def workflow(self, run: str) -> Any:
        return self.stored[run]


def test_a_plan_that_was_dropped_while_its_run_was_stored_is_made_again() -> None:
    journal = _Journal()
    pins = Pins(cast("Any", journal))
    for number in range(PINNED_MAX + 1):
        pins.pin(_workflow(number))
    encoded, digest, plan = pins.pin(_workflow(1_000))
    journal.stored["mine"] = encoded

    pins.drop("another")  # type: ignore[arg-type]
    pins.keep("mine", digest)  # type: ignore[arg-type]

    assert pins.plan("mine") is not plan  # type: ignore[arg-type]
    assert pins.plan("mine") is pins.plan("mine")  # type: ignore[arg-type]


@pytest.mark.parametrize("now", [0.0, 1.5, 1_794_971_408.355, 32_503_680_000.0])
def test_the_id_of_a_run_tells_when_it_was_made(now: float) -> None:
    assert created_at(new_run_id(now)) == pytest.approx(now, abs=0.001)


@pytest.mark.parametrize("run", ["", "run0", "u" * 17, "1" * 18])
def test_another_id_does_not_tell_it(run: Any) -> None:
    assert created_at(run) is None


def test_a_run_that_ends_is_counted_without_reading_the_store() -> None:
    # On the event loop of a server a read waits for all threads that compute.
    runtime = SimpleNamespace(plan=lambda run: SimpleNamespace(workflow=_workflow(1)))
    metrics = Metrics()
    ended = Entry(1, Event("run.finished", "", 8.0, {"status": "succeeded"}))
    metrics.take(new_run_id(7.0), [ended], cast("Any", runtime))

    assert metrics.seconds.values == {("w1",): pytest.approx(1.0, abs=0.001)}
