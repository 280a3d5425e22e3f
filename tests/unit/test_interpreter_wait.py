"""Waits: how long they may be, however they are written."""

from __future__ import annotations

from typing import Any

import pytest

from whorl import ir
from whorl.interpreter.events import Event
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
