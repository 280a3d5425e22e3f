"""The clock of a task whose time is for all attempts: crashes, pauses, tools, and late replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simulation import machines
from simulation.machines import error_of, fail, feed, performs, restored, sent
from whorl import ir
from whorl.interpreter.events import SetTimer

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine

RESERVE: Any = {"reserve": {"calls": 1, "cost_usd": 0.5}}
CHARGED = {"calls": 1, "cost_usd": 0.5, "in_doubt": 1}
ALARM = "a/:timeout"


def begun(**fields: Any) -> Machine:
    """A run whose only task has ten seconds for all its attempts."""
    return machines.begun(ir.Task(name="a", kind="ask", total_timeout_s=10.0, **fields))


def in_loop() -> Machine:
    """A run whose only task is in a loop that has three seconds."""
    body = ir.Block((ir.Task(name="a", kind="ask"),))
    return machines.begun(ir.Loop(name="l", body=body, limits=ir.LoopLimits(time_s=3.0)))


def send(machine: Machine, address: str, at: float) -> None:
    feed(machine, "task.started", address, at, **RESERVE)
    assert sent(machine) == [address]


def test_no_provider_ends_an_attempt_before_the_clock_does() -> None:
    """What they take as their usual time could be less than what the author wants."""
    machine = begun()
    (first,) = performs(machine)
    send(machine, "a", 0.0)
    fail(machine, "a", at=7.0, code="P103")
    feed(machine, "timer.fired", "a/:retry", 8.0)
    (second,) = performs(machine)

    assert (first.timeout_s, second.timeout_s) == (11.0, 3.0)


def test_the_time_of_one_attempt_stays_what_it_is() -> None:
    assert [c.timeout_s for c in performs(begun(timeout_s=3.0))] == [3.0]


def test_the_end_of_the_clock_tells_what_the_call_is_charged_with() -> None:
    machine = begun()
    send(machine, "a", 0.0)
    machine.take_notes()
    feed(machine, "timer.fired", ALARM, 10.0)
    ends = [note for note in machine.take_notes() if note.kind == "node.finished"]

    assert [(note.address, note.body["status"]) for note in ends] == [("a", "failed")]
    assert ends[0].body["usage"] == CHARGED | {"input_tokens": 0, "output_tokens": 0}
    assert error_of(machine)["code"] == "R101"
    assert machine.pending == {}


def test_a_call_that_the_time_of_a_loop_cuts_off_is_charged_everywhere() -> None:
    machine = in_loop()
    body: Any = {"reserve": {"calls": 1, "tokens": 30, "input_tokens": 10, "cost_usd": 0.5}}
    feed(machine, "task.started", "l[1]/a", 0.0, **body)
    machine.take_notes()
    feed(machine, "timer.fired", "l/:time", 3.0)
    notes = {note.kind: note for note in machine.take_notes()}

    used = {"calls": 1, "input_tokens": 10, "output_tokens": 20, "cost_usd": 0.5, "in_doubt": 1}
    ends = ("node.finished", "iteration.finished", "loop.finished", "run.finished")
    assert [notes[kind].body["usage"] for kind in ends] == [used] * 4
    assert list(notes)[:3] == list(ends[:3])
    node = notes["node.finished"]
    assert (node.address, node.body["status"]) == ("l[1]/a", "cancelled")

    late: Any = {"value": 1, "usage": {"calls": 1, "input_tokens": 9, "cost_usd": 0.1}}
    feed(machine, "task.finished", "l[1]/a", 3.0, **late)
    usage = {name: amount for name, amount in machine.state["usage"].items() if amount}
    assert usage == pytest.approx({"calls": 1, "input_tokens": 9, "cost_usd": 0.1})


@pytest.mark.parametrize(("kinds", "calls"), [(("held",), 0), (("held", "sent"), 1)])
def test_a_call_that_its_provider_holds_back_is_free(kinds: tuple[str, ...], calls: int) -> None:
    machine = in_loop()
    feed(machine, "task.started", "l[1]/a", 0.0, **RESERVE)
    for kind in kinds:
        feed(machine, f"task.{kind}", "l[1]/a", 1.0)
    feed(machine, "timer.fired", "l/:time", 3.0)

    usage = machine.state["usage"]
    assert (usage.get("calls", 0), usage.get("in_doubt", 0)) == (calls, calls)
    assert not any(machine.state["reserved"].values())


def test_the_clock_survives_a_crash() -> None:
    machine = begun()
    send(machine, "a", 0.0)
    machine = restored(machine)
    assert SetTimer(ALARM, 10.0) in machine.poll()
    feed(machine, "task.in_doubt", "a", 6.0)

    assert [c.timeout_s for c in performs(machine)] == [5.0]


def test_after_a_crash_that_took_longer_nothing_is_sent_again() -> None:
    machine = begun()
    send(machine, "a", 0.0)
    machine = restored(machine)
    feed(machine, "task.in_doubt", "a", 60.0)
    assert performs(machine) == []
    feed(machine, "timer.fired", ALARM, 60.0)

    assert error_of(machine)["code"] == "R101"
    assert machine.state["usage"] == CHARGED


def test_what_was_not_sent_before_a_crash_is_not_sent_after_its_time() -> None:
    machine = restored(begun())
    assert len(performs(machine)) == 1
    feed(machine, "task.started", "a", 60.0, **RESERVE)

    assert sent(machine) == []
    feed(machine, "timer.fired", ALARM, 60.0)
    assert error_of(machine)["code"] == "R101"
    assert not machine.state["usage"].get("calls")


@pytest.mark.parametrize("is_told", [False, True], ids=["asleep", "awake"])
def test_the_time_that_a_run_is_paused_is_no_time_of_its_tasks(is_told: bool) -> None:
    """Whether somebody looked at the clock meanwhile or not."""
    machine = begun()
    feed(machine, "run.paused", "", 1.0)
    if is_told:
        feed(machine, "timer.fired", ALARM, 10.0)
    feed(machine, "run.resumed", "", 3_600.0)

    assert [c.timeout_s for c in performs(machine)] == [10.0]
    assert machine.pending[ALARM]["due"] == 3_609.0


def test_a_reply_that_comes_after_the_clock_counts_instead_of_its_reservation() -> None:
    machine = begun()
    send(machine, "a", 0.0)
    feed(machine, "timer.fired", ALARM, 10.0)
    assert machine.state["usage"] == CHARGED
    usage: Any = {"calls": 1, "cost_usd": 0.1, "output_tokens": 3}
    feed(machine, "task.finished", "a", 10.0, value="late", usage=usage)

    assert machine.status == "failed"
    assert machine.state["usage"]["cost_usd"] == pytest.approx(0.1)
    assert machine.state["usage"]["calls"] == 1


def test_tools_that_a_model_wants_are_under_the_same_clock() -> None:
    machine = begun(inputs=ir.Fields((("tools", ir.Constant(["x"])),)))
    send(machine, "a", 0.0)
    calls: Any = [{"id": "1", "kind": "tool", "name": "x", "inputs": {}}]
    feed(machine, "task.finished", "a", 4.0, calls=calls, said={"role": "assistant"})
    (tool,) = performs(machine)
    assert tool.address == "a/:tool1"
    feed(machine, "timer.fired", ALARM, 10.0)

    assert error_of(machine)["code"] == "R101"
    assert machine.pending == {}
