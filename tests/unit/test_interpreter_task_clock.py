"""The clock of a task whose time is for all attempts: crashes, pauses and late replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from simulation import machines
from simulation.machines import error_of, feed, performs, restored, sent
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


def send(machine: Machine, address: str, at: float) -> None:
    feed(machine, "task.started", address, at, **RESERVE)
    assert sent(machine) == [address]


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


@pytest.mark.parametrize("is_told", [False, True], ids=["asleep", "awake"])
def test_the_time_that_a_run_is_paused_is_no_time_of_its_tasks(is_told: bool) -> None:
    """Whether somebody looked at the clock meanwhile or not."""
    machine = begun()
    feed(machine, "run.paused", "", 1.0)
    if is_told:
        feed(machine, "timer.fired", ALARM, 10.0)
    feed(machine, "run.resumed", "", 3_600.0)

    assert [c.timeout_s for c in performs(machine)] == [11.0]
    assert machine.pending[ALARM]["due"] == 3_610.0


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
