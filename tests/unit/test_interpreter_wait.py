"""Waits, and pauses before another attempt: how long they are and may be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from simulation.machines import begun, error_of
from whorl import ir
from whorl.interpreter.constructs.task import pause
from whorl.interpreter.events import SetTimer
from whorl.ir import Retry

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine

YEAR_S = 366 * 86_400
MACHINE = cast("Machine", SimpleNamespace(state={"seed": "s"}))


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


def test_only_a_wait_for_a_time_of_day_follows_the_clock() -> None:
    for due, is_date, fields in (
        (1_005.0, False, {"duration": 5}),
        (1_005.0, True, {"until": 1_005}),
        (2_000.0, True, {"duration": "1970-01-01T00:33:20Z"}),
    ):
        assert SetTimer("w/:wait", due, is_date=is_date) in waiting(**fields).poll()


@pytest.mark.parametrize("seed", range(50))
def test_a_drawn_wait_lies_between_the_one_before_and_its_own(seed: int) -> None:
    policy = Retry(9, wait_s=8.0, wait_min_s=5.0, wait_max_s=20.0, drawn=True)
    waits = [pause(MACHINE, f"{seed} {number}", policy, number) for number in range(1, 5)]

    for wait, least, most in zip(waits, (5, 8, 16, 20), (8, 16, 20, 20), strict=True):
        assert least <= wait <= most


def test_a_drawn_wait_whose_least_is_above_its_most_is_the_least() -> None:
    assert pause(MACHINE, "a", Retry(1, wait_s=2.0, wait_min_s=5.0, drawn=True), 1) == 5.0


def test_waits_that_grow_beyond_all_numbers_are_as_long_as_they_may_be() -> None:
    policy = Retry(1_000, wait_s=1.0, backoff=10.0, wait_max_s=30.0)

    assert pause(MACHINE, "a", policy, 1_000) == 30.0
