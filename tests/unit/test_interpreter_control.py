"""A request with a name is carried out once, however often it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.interpreter.requests import REQUESTS_KEPT, is_known, objection

if TYPE_CHECKING:
    from whorl.language import Json

NEVER = ir.When(ir.Expression("jinja", "false"))


def plan(**fields: object) -> Plan:
    write = ir.Compute(name="write", value=ir.Constant(1))
    loop = ir.Loop(
        name="loop",
        body=ir.Block((write,)),
        until=NEVER,
        limits=ir.LoopLimits(2),
        **fields,  # type: ignore[arg-type]
    )
    return Plan(ir.Workflow(name="w", body=ir.Block((loop,))))


def ended(**fields: object) -> Machine:
    """A run whose loop is at its limit."""
    machine = Machine(plan(**fields))
    machine.feed(Event("run.started", "", 0.0, {}))
    machine.take_notes()
    return machine


def more(name: str = "", iterations: int = 1) -> Event:
    body: dict[str, Json] = {"iterations": iterations}
    return Event("run.continued", "", 1.0, body | ({"request": name} if name else {}))


def count(machine: Machine) -> int:
    [loop] = [frame for frame in machine.frames.values() if frame["kind"] == "loop"]
    return int(loop["count"])


def test_a_request_that_comes_twice_counts_once() -> None:
    machine = ended()
    for _ in range(3):
        machine.feed(more("r-1"))

    assert count(machine) == 3


def test_requests_of_other_names_or_of_none_count_each() -> None:
    machine = ended()
    for event in (more("r-1"), more("r-2"), more(), more()):
        machine.feed(event)

    assert count(machine) == 6


def test_what_came_before_is_known_after_a_crash() -> None:
    machine = ended()
    machine.feed(more("r-1"))
    machine.take_notes()

    restored = Machine.restore(plan(), machine.snapshot())
    restored.feed(more("r-1"))

    assert count(restored) == 3
    assert is_known(restored, more("r-1"))
    assert str(objection(restored, more("r-1"))) == "this request has been carried out already"
    assert objection(restored, more("r-2")) is None


def test_a_repeated_request_of_a_run_that_has_ended_is_followed_by_its_end() -> None:
    machine = ended()
    machine.feed(more("r-1"))
    end = machine.take_notes()[-1]
    machine.feed(more("r-1"))

    [note] = machine.take_notes()
    assert (note.kind, note.body) == ("run.finished", end.body)


def test_a_repeated_request_does_not_wake_a_run_that_is_paused() -> None:
    gate = ir.Gate(name="ask", message=ir.Constant("ok?"))
    machine = Machine(Plan(ir.Workflow(name="w", body=ir.Block((gate,)))))
    machine.feed(Event("run.started", "", 0.0, {}))
    resume = Event("run.resumed", "", 0.0, {"request": "r-1"})
    machine.feed(resume)
    machine.feed(Event("run.paused", "", 0.0, {"request": "r-2"}))
    machine.take_notes()
    machine.feed(resume)

    assert machine.status == "paused"
    [note] = machine.take_notes()
    assert (note.kind, note.body) == ("run.waiting", {"status": "paused"})


def test_a_decision_does_not_answer_the_next_question() -> None:
    machine = ended(ask="at_limit")
    decision: dict[str, Json] = {"approved": True, "request": "r-1"}
    machine.feed(Event("gate.decided", "loop/:limit", 1.0, dict(decision)))
    assert machine.status == "succeeded"
    machine.feed(more("r-2"))
    assert machine.status == "waiting"

    machine.feed(Event("gate.decided", "loop/:limit", 1.0, dict(decision)))

    assert machine.status == "waiting"
    machine.feed(Event("gate.decided", "loop/:limit", 1.0, decision | {"request": "r-3"}))
    assert machine.status == "succeeded"


def test_a_run_remembers_so_many_requests() -> None:
    machine = ended()
    for number in range(REQUESTS_KEPT + 5):
        machine.feed(Event("run.paused", "", 1.0, {"request": f"r-{number}" + "x" * 500}))

    kept = machine.state["requests"]
    assert len(kept) == REQUESTS_KEPT
    assert max(map(len, kept)) <= 64
    assert kept[0].startswith("r-5")


@pytest.mark.parametrize("name", [None, "", 7, ["a"], {}])
def test_an_odd_name_is_none(name: Json) -> None:
    machine = ended()
    event = Event("run.continued", "", 1.0, {"iterations": 1, "request": name})
    machine.feed(event)
    machine.feed(event)

    assert count(machine) == 4
    assert "requests" not in machine.state
