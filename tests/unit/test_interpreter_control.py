"""A request with a name is carried out once, however often it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simulation.machines import FALSE, begun, feed, loop_of, restored
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.requests import REQUESTS_KEPT, is_known, objection

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine
    from whorl.language import Json


def ended(**fields: Any) -> Machine:
    """A run whose loop is at its limit."""
    body = ir.Block((ir.Compute(name="write", value=ir.Constant(1)),))
    machine = begun(ir.Loop(name="loop", body=body, until=FALSE, limits=ir.LoopLimits(2), **fields))
    machine.take_notes()
    return machine


def more(name: str = "", iterations: int = 1) -> Event:
    body: dict[str, Json] = {"iterations": iterations}
    return Event("run.continued", "", 1.0, body | ({"request": name} if name else {}))


def test_a_request_that_comes_twice_counts_once_also_after_a_crash() -> None:
    machine = ended()
    machine.feed(more("r-1"))
    machine.feed(more("r-1"))
    assert loop_of(machine)["count"] == 3
    machine.take_notes()

    machine = restored(machine)
    machine.feed(more("r-1"))

    assert loop_of(machine)["count"] == 3
    assert is_known(machine, more("r-1"))
    assert str(objection(machine, more("r-1"))) == "this request has been carried out already"
    assert objection(machine, more("r-2")) is None


def test_requests_of_other_names_or_of_none_count_each() -> None:
    machine = ended()
    for event in (more("r-1"), more("r-2"), more(), more()):
        machine.feed(event)

    assert loop_of(machine)["count"] == 6


def test_a_repeated_request_of_a_run_that_has_ended_is_followed_by_its_end() -> None:
    machine = ended()
    machine.feed(more("r-1"))
    end = machine.take_notes()[-1]
    machine.feed(more("r-1"))

    [note] = machine.take_notes()
    assert (note.kind, note.body) == ("run.finished", end.body)


def test_a_decision_does_not_answer_the_next_question() -> None:
    machine = ended(ask="at_limit")
    feed(machine, "gate.decided", "loop/:limit", 1.0, approved=True, request="r-1")
    assert machine.status == "succeeded"
    machine.feed(more("r-2"))
    assert machine.status == "waiting"

    for request, status in (("r-1", "waiting"), ("r-3", "succeeded")):
        feed(machine, "gate.decided", "loop/:limit", 1.0, approved=True, request=request)
        assert machine.status == status


def test_a_run_remembers_so_many_requests() -> None:
    machine = ended()
    for number in range(REQUESTS_KEPT + 5):
        feed(machine, "run.paused", at=1.0, request=f"r-{number}" + "x" * 500)

    kept = machine.state["requests"]
    assert len(kept) == REQUESTS_KEPT
    assert max(map(len, kept)) <= 64
    assert kept[0].startswith("r-5")


@pytest.mark.parametrize("name", [None, "", 7, ["a"], {}])
def test_an_odd_name_is_none(name: Json) -> None:
    machine = ended()
    for _ in range(2):
        feed(machine, "run.continued", at=1.0, iterations=1, request=name)

    assert loop_of(machine)["count"] == 4
    assert "requests" not in machine.state
