"""The run as a whole: how it ends, what it waits for, and replies that come too late."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import budget
from whorl.interpreter.address import inner
from whorl.interpreter.outcomes import HIDDEN, error, failed, is_failure

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome
    from whorl.interpreter.state import State


def end(machine: State, outcome: Outcome) -> None:
    """The run has ended."""
    state = machine.state
    for address in list(machine.frames[state["root"]].get("waits", ())):
        machine.forget(address)
    status = outcome["status"]
    state["status"] = "failed" if status == "timed_out" else status
    cause = dict(outcome["error"]) if is_failure(outcome) and outcome.get("error") else None
    outputs: dict[str, Any] = {} if is_failure(outcome) else outcome["value"]
    hidden = machine.plan.workflow.hidden_outputs
    if hidden:
        outputs = {name: HIDDEN if name in hidden else outputs[name] for name in outputs}
    main = next(iter(outputs.values()), None)
    result: dict[str, Any] = {
        "status": state["status"],
        "output": main,
        "outputs": outputs,
        "error": cause,
        "usage": dict(state["usage"]),
    }
    state["result"] = result
    machine.note("run.finished", "", dict(result))


def end_now(machine: State, outcome: Outcome) -> None:
    """Ends the run from inside: what is under way is cancelled."""
    root = machine.state["root"]
    frame = machine.frames[root]
    machine.drop_body(frame)
    frame["ended"] = outcome["status"]
    end(machine, outcome)


def stop_endless(machine: State, steps: int) -> None:
    """Ends a run that computes for ever."""
    message = f"the run took {steps:,} steps without waiting for anything, the most there may be"
    message += "; give its loops lower limits, or let them `wait` for a second now and then"
    machine.clear_agenda()
    end_now(machine, failed(error("R105", message, "")))


def arm(machine: State) -> None:
    """Sets the clock that ends the run, where it has a time limit."""
    seconds = machine.plan.workflow.limits.time_s
    address = inner("", "time")
    if seconds is not None and address not in machine.pending:
        machine.expect(address, machine.state["root"], "alarm", due=machine.now + seconds)


def settle_status(machine: State) -> None:
    """A run that only a person can move is waiting; one that moves again is running."""
    state = machine.state
    if state["status"] not in ("running", "waiting"):
        return
    waits = machine.only_people_can_move_it()
    if waits and state["status"] == "running":
        state["status"] = "waiting"
        machine.note("run.waiting", "")
    elif not waits and state["status"] == "waiting":
        state["status"] = "running"


def account_for_late(machine: State, event: Event) -> None:
    """A reply that nobody waits for any more was paid for all the same."""
    usage = event.body.get("usage")
    if event.kind == "task.in_doubt":
        budget.add_late_doubt(machine, event.address)
    if event.kind in ("task.finished", "task.failed") and isinstance(usage, dict):
        budget.add_late_usage(machine, event.address, usage)
