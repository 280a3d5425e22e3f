"""The plans that runs of one workflow share."""

from __future__ import annotations

from typing import Any, cast

from whorl.ir import Block, Compute, Constant, Workflow
from whorl.runtimes.start_options import PINNED_MAX, Pins


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
