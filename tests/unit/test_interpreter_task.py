"""Tasks: calls in doubt, and how long a session may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from simulation.machines import RESERVE, begun, error_of, feed, restored, sent, wanted
from whorl import ir
from whorl.interpreter.constructs.task import CHARACTERS_MAX, DOUBTS_MAX, MESSAGES_MAX

if TYPE_CHECKING:
    from whorl.interpreter.machine import Machine


def secure() -> Machine:
    """A paused run with a call that was not sent and whose inputs can no longer be computed."""
    url = ir.Expression("jinja", "{{ 10 // v }}")
    task = ir.Task(name="t", kind="http", secure=True, inputs=ir.Fields((("url", url),)))
    gate = ir.Gate(name="g", message=ir.Constant("?"))
    zero = ir.Assign(name="a", sets=(("v", ir.Constant(0)),), after=(ir.After("g"),))
    return begun(task, gate, zero, variables=(("v", ir.Constant(2)),))


def decide(machine: Machine) -> None:
    feed(machine, "gate.decided", "g", 1.0, approved=True)


def test_a_call_in_doubt_fails_of_inputs_that_can_no_longer_be_computed() -> None:
    machine = secure()
    feed(machine, "task.started", "t", 0.0, **RESERVE)
    decide(machine)
    feed(machine, "task.in_doubt", "t", 2.0)

    assert (machine.status, error_of(machine)["code"]) == ("failed", "R104")
    assert machine.state["usage"]["in_doubt"] == 1


def _crash(machine: Machine) -> tuple[Machine, int]:
    """What was sent is in doubt; gives how often it is sent then."""
    machine = restored(machine)
    feed(machine, "task.in_doubt", "a", 1.0)
    for address in wanted(machine):
        feed(machine, "task.started", address, 1.0, **RESERVE)
    return machine, len(sent(machine))


def test_a_call_in_doubt_is_repeated_once_after_each_crash_up_to_a_limit() -> None:
    machine = begun(ir.Task(name="a", kind="http"))
    feed(machine, "task.started", "a", 0.0, **RESERVE)
    for count in (*(1,) * DOUBTS_MAX, 0):
        machine, repeated = _crash(machine)
        assert repeated == count

    assert (machine.status, error_of(machine)["code"]) == ("failed", "R106")
    assert f"sent {DOUBTS_MAX + 1} times" in error_of(machine)["message"]
    feed(machine, "run.resumed", "", 2.0)
    assert wanted(machine) == ["a#2"]


def _told(messages: int, length: int) -> tuple[int, list[str]]:
    """How many messages a session keeps that had so many before a long pair, and what is said."""
    machine = begun(ir.Task(name="a", kind="ask", session="s"))
    old = [{"role": "user", "content": ""} for _ in range(messages)]
    machine.state["conversations"] = {"run s": old}
    feed(machine, "task.started", "a", 0.0, **RESERVE)
    feed(machine, "task.finished", "a", 1.0, value="x" * length)
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
