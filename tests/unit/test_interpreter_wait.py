"""Waits: how long they may be, however they are written."""

from __future__ import annotations

from typing import Any

import pytest

from whorl import ir
from whorl.interpreter.events import Event, SetTimer
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan

YEAR_S = 366 * 86_400


def waiting(**fields: Any) -> Machine:
    node = ir.Wait(name="w", **{name: ir.Constant(value) for name, value in fields.items()})
    machine = Machine(Plan(ir.Workflow(name="w", body=ir.Block((node,)))))
    machine.feed(Event("run.started", "", 1_000.0, {}))
    return machine


@pytest.mark.parametrize("name", ["duration", "until"])
def test_a_wait_of_a_year_is_the_longest(name: str) -> None:
    start = 1_000 if name == "until" else 0

    assert waiting(**{name: start + YEAR_S}).status == "running"
    machine = waiting(**{name: start + YEAR_S + 1})
    assert machine.status == "failed"
    assert "longer than a year" in machine.state["result"]["error"]["message"]


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), "9999-12-31T23:59:59Z"])
def test_a_time_that_never_comes_is_refused(value: Any) -> None:
    machine = waiting(until=value)

    assert machine.state["result"]["error"]["code"] == "R104"


def test_a_duration_that_is_too_large_for_a_number_is_refused() -> None:
    machine = waiting(duration=10**400)

    assert machine.state["result"]["error"]["code"] == "R104"


def test_a_time_that_is_over_is_not_waited_for() -> None:
    assert waiting(until=-(10**400)).status == "succeeded"


def test_only_a_wait_for_a_time_of_day_follows_the_clock() -> None:
    assert SetTimer("w/:wait", 1_005.0, is_date=False) in waiting(duration=5).poll()
    assert SetTimer("w/:wait", 1_005.0, is_date=True) in waiting(until=1_005).poll()
    assert (
        SetTimer("w/:wait", 2_000.0, is_date=True)
        in waiting(duration="1970-01-01T00:33:20Z").poll()
    )


@pytest.mark.parametrize(
    ("own_s", "around_s", "due"),
    [(60.0, 600.0, 1_060.0), (600.0, 60.0, 1_060.0), (None, 60.0, 1_060.0), (None, None, None)],
)
def test_a_run_that_waits_says_when_a_time_limit_ends_that(
    own_s: float | None, around_s: float | None, due: float | None
) -> None:
    gate = ir.Gate(name="g", message=ir.Constant("?"), timeout_s=own_s)
    limits = ir.LoopLimits(iterations=3, time_s=around_s)
    loop = ir.Loop(name="l", body=ir.Block((gate,)), limits=limits)
    machine = Machine(Plan(ir.Workflow(name="w", body=ir.Block((loop,)))))
    machine.feed(Event("run.started", "", 1_000.0, {}))

    assert machine.status == "waiting"
    assert machine.take_notes()[-1].body.get("due") == due
