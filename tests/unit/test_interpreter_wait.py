"""Waits: how long they may be, however they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simulation.machines import begun, error_of
from whorl import ir
from whorl.interpreter.events import SetTimer

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine

YEAR_S = 366 * 86_400


def waiting(**fields: Any) -> Machine:
    values = {name: ir.Constant(value) for name, value in fields.items()}
    return begun(ir.Wait(name="w", **values), at=1_000.0)


@pytest.mark.parametrize("name", ["duration", "until"])
def test_a_wait_of_a_year_is_the_longest(name: str) -> None:
    start = 1_000 if name == "until" else 0

    assert waiting(**{name: start + YEAR_S}).status == "running"
    machine = waiting(**{name: start + YEAR_S + 1})
    assert machine.status == "failed"
    assert "longer than a year" in error_of(machine)["message"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("until", 10**400),
        ("until", float("inf")),
        ("until", float("nan")),
        ("until", "9999-12-31T23:59:59Z"),
        ("duration", 10**400),
    ],
)
def test_a_time_that_never_comes_is_refused(name: str, value: Any) -> None:
    assert error_of(waiting(**{name: value}))["code"] == "R104"


def test_a_time_that_is_over_is_not_waited_for() -> None:
    assert waiting(until=-(10**400)).status == "succeeded"


def test_only_a_wait_for_a_time_of_day_follows_the_clock() -> None:
    for due, is_date, fields in (
        (1_005.0, False, {"duration": 5}),
        (1_005.0, True, {"until": 1_005}),
        (2_000.0, True, {"duration": "1970-01-01T00:33:20Z"}),
    ):
        assert SetTimer("w/:wait", due, is_date=is_date) in waiting(**fields).poll()


@pytest.mark.parametrize(
    ("own_s", "around_s", "due"),
    [(60.0, 600.0, 1_060.0), (600.0, 60.0, 1_060.0), (None, 60.0, 1_060.0), (None, None, None)],
)
def test_a_run_that_waits_says_when_a_time_limit_ends_that(
    own_s: float | None, around_s: float | None, due: float | None
) -> None:
    gate = ir.Gate(name="g", message=ir.Constant("?"), timeout_s=own_s)
    limits = ir.LoopLimits(iterations=3, time_s=around_s)
    machine = begun(ir.Loop(name="l", body=ir.Block((gate,)), limits=limits), at=1_000.0)

    assert machine.status == "waiting"
    assert machine.take_notes()[-1].body.get("due") == due
