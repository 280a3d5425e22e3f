"""Whether another attempt may help, and how long to wait for it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from whorl.interpreter.constructs.task import may_help, pause
from whorl.ir import Retry

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine

MACHINE = cast("Machine", SimpleNamespace(state={"seed": "s"}))


@pytest.mark.parametrize(
    ("on", "fault", "expected"),
    [
        ((), {"retryable": True}, True),
        ((), {"retryable": False}, False),
        (("*",), {"code": "P100"}, True),
        (("503",), {"code": "P103", "detail": {"status": 503}}, True),
        (("503",), {"code": "P103", "detail": {"status": 500}}, False),
        (("5xx",), {"code": "P103", "detail": {"status": 500}}, True),
        (("5xx",), {"code": "P104", "detail": {"status": 404}}, False),
        (("timeout",), {"code": "P108"}, True),
        (("timeout",), {"code": "R101"}, True),
        (("KeyError",), {"code": "P100", "detail": {"type": "KeyError"}}, True),
        # What a node that is no task failed of is told as the cause.
        (("503",), {"code": "R100", "cause": {"code": "P103", "status": 503}}, True),
        (("P103",), {"code": "R100", "cause": {"code": "P103"}}, True),
        (("timeout",), {"code": "R100", "cause": {"code": "P108"}}, True),
    ],
)
def test_faults_that_a_policy_lists(on: tuple[str, ...], fault: Any, expected: bool) -> None:
    assert may_help(Retry(1, on=on), fault) is expected


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
