"""Tasks: calls in doubt, and inputs that are computed anew because they are stored nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from whorl import ir
from whorl.interpreter.constructs.asking import CHARACTERS_MAX, MESSAGES_MAX
from whorl.interpreter.constructs.task import DOUBTS_MAX
from whorl.interpreter.events import Event, Perform, Send
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan

RESERVE: Any = {"reserve": {"calls": 1}}


def secure() -> Machine:
    """A paused run with a call that was not sent and whose inputs can no longer be computed."""
    url = ir.Expression("jinja", "{{ 10 // v }}")
    task = ir.Task(name="t", kind="http", secure=True, inputs=ir.Fields((("url", url),)))
    gate = ir.Gate(name="g", message=ir.Constant("?"))
    zero = ir.Assign(name="a", sets=(("v", ir.Constant(0)),), after=(ir.After("g"),))
    body = ir.Block((task, gate, zero))
    workflow = ir.Workflow(name="w", body=body, variables=(("v", ir.Constant(2)),))
    machine = Machine(Plan(workflow))
    machine.feed(Event("run.started", "", 0.0, {}))
    return machine


def decide(machine: Machine) -> None:
    machine.feed(Event("gate.decided", "g", 1.0, {"approved": True}))


def code(machine: Machine) -> str:
    return str(machine.state["result"]["error"]["code"])


@pytest.mark.parametrize("restore", [False, True], ids=["straight", "restored"])
def test_a_paused_run_fails_of_inputs_that_can_no_longer_be_computed(restore: bool) -> None:
    machine = secure()
    machine.feed(Event("run.paused", "", 0.0, {}))
    decide(machine)
    if restore:
        machine = Machine.restore(machine.plan, machine.snapshot())
        assert machine.in_flight() == []
    machine.feed(Event("run.resumed", "", 2.0, {}))

    assert (machine.status, code(machine)) == ("failed", "R104")
    assert machine.pending == {}


def test_a_restored_run_has_calls_in_doubt_whose_inputs_can_no_longer_be_computed() -> None:
    """Restoring is no event and changes nothing; the doubt is one, and the task fails of it."""
    machine = secure()
    decide(machine)
    before = machine.snapshot()
    machine = Machine.restore(machine.plan, before)
    assert machine.snapshot() == before
    assert [c for c in machine.poll() if isinstance(c, Perform)] == []

    assert machine.in_flight() == ["t"]
    machine.feed(Event("task.in_doubt", "t", 2.0, {"reserve": machine.held_for("t")}))
    assert (machine.status, code(machine)) == ("failed", "R104")


def test_a_call_in_doubt_fails_of_inputs_that_can_no_longer_be_computed() -> None:
    machine = secure()
    machine.feed(Event("task.started", "t", 0.0, RESERVE))
    decide(machine)
    machine.feed(Event("task.in_doubt", "t", 2.0, {}))

    assert (machine.status, code(machine)) == ("failed", "R104")
    assert machine.state["usage"]["in_doubt"] == 1


def _crash(machine: Machine) -> tuple[Machine, int]:
    """What was sent is in doubt; gives how often it is sent then."""
    machine = Machine.restore(machine.plan, machine.snapshot())
    machine.feed(Event("task.in_doubt", "a", 1.0, {}))
    performs = [c for c in machine.poll() if isinstance(c, Perform)]
    for perform in performs:
        machine.feed(Event("task.started", perform.address, 1.0, RESERVE))
    return machine, sum(isinstance(c, Send) for c in machine.poll())


def test_a_call_in_doubt_is_repeated_once_after_each_crash_up_to_a_limit() -> None:
    task = ir.Task(name="a", kind="http")
    machine = Machine(Plan(ir.Workflow(name="w", body=ir.Block((task,)))))
    machine.feed(Event("run.started", "", 0.0, {}))
    machine.feed(Event("task.started", "a", 0.0, RESERVE))
    for _ in range(DOUBTS_MAX):
        machine, sent = _crash(machine)
        assert sent == 1
    machine, sent = _crash(machine)

    assert sent == 0
    assert (machine.status, code(machine)) == ("failed", "R106")
    assert f"sent {DOUBTS_MAX + 1} times" in machine.state["result"]["error"]["message"]
    machine.feed(Event("run.resumed", "", 2.0, {}))
    assert [c.address for c in machine.poll() if isinstance(c, Perform)] == ["a#2"]


def _told(messages: int, length: int) -> tuple[int, list[str]]:
    """How many messages a session keeps that had so many before a long pair, and what is said."""
    task = ir.Task(name="a", kind="ask", session="s")
    machine = Machine(Plan(ir.Workflow(name="w", body=ir.Block((task,)))))
    machine.feed(Event("run.started", "", 0.0, {}))
    old = [{"role": "user", "content": ""} for _ in range(messages)]
    machine.state["conversations"] = {"run s": old}
    machine.feed(Event("task.started", "a", 0.0, RESERVE))
    machine.feed(Event("task.finished", "a", 1.0, {"value": "x" * length}))
    said = [str(note.body["code"]) for note in machine.take_notes() if note.kind == "warning"]
    return len(machine.state["conversations"]["run s"]), said


@pytest.mark.parametrize(
    ("messages", "length", "kept"),
    [
        (MESSAGES_MAX - 2, 0, MESSAGES_MAX),
        (MESSAGES_MAX, 0, MESSAGES_MAX),
        (2, CHARACTERS_MAX, 4),
        (2, CHARACTERS_MAX + 1, 0),
    ],
)
def test_a_session_is_as_long_as_it_may_be(messages: int, length: int, kept: int) -> None:
    is_cut = kept < messages + 2

    assert _told(messages, length) == (kept, ["R105"] if is_cut else [])
