"""Calls, and the run itself: a workflow with inputs of its own, which sees nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from whorl.interpreter import records, run
from whorl.interpreter.block import new_block
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.inputs import InputError, check_inputs
from whorl.interpreter.outcomes import error, failed, is_failure, language_failure, succeeded
from whorl.ir import Call
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, RunFrame
    from whorl.interpreter.state import State
    from whorl.ir import Workflow
    from whorl.language import Json


class RunBehaviour:
    """The behaviour of the outermost frame."""

    def enter(self, machine: State, key: str) -> None:
        """Starts the workflow with the run's input."""
        frame = cast("RunFrame", machine.frames[key])
        start_workflow(machine, key, machine.plan.workflow, frame["input"])

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        """The workflow has ended, or the run itself has."""
        if child == key:
            run.end(machine, outcome)
            return
        machine.finish(key, end_workflow(machine, key, machine.plan.workflow, outcome))

    def receive(self, machine: State, key: str, event: Event) -> None:
        """The run's own time is over."""
        machine.settle(event.address)
        run.end_now(machine, failed(error("R101", "the run reached its time limit", "")))

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """A run sends nothing itself."""

    def revive(self, machine: State, key: str) -> None:
        """Tries again what failed in the workflow."""
        body = machine.frames[key].get("body")
        if body is None:
            machine.enter(key)
        else:
            machine.revive(body)


class CallBehaviour(RunBehaviour):
    """The behaviour of a call of another workflow; its value is that one's outputs by name."""

    def enter(self, machine: State, key: str) -> None:
        """Computes the inputs and starts the workflow."""
        frame = machine.frames[key]
        node = machine.node(frame)
        assert isinstance(node, Call)
        try:
            given = value_of(node.inputs, machine.scope(frame))
        except LanguageError as fault:
            machine.finish(key, failed(language_failure(fault, frame["address"])))
            return
        assert isinstance(given, dict)
        start_workflow(machine, key, machine.plan.workflows[node.workflow], given, node.workflow)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        """The called workflow has ended."""
        node = machine.node(machine.frames[key])
        assert isinstance(node, Call)
        called = machine.plan.workflows[node.workflow]
        machine.finish(key, end_workflow(machine, key, called, outcome))

    def receive(self, machine: State, key: str, event: Event) -> None:
        """A call waits for nothing itself."""


def start_workflow(
    machine: State, key: str, workflow: Workflow, given: dict[str, Json], block: str = ""
) -> None:
    """Checks the inputs, sets the variables and starts the body in a scope of its own."""
    frame = machine.frames[key]
    address = frame["address"]
    try:
        values = check_inputs(workflow, given, written=not block)
    except InputError as fault:
        machine.finish(key, failed(error("R111", str(fault), address)))
        return
    if workflow.statuses:
        values |= records.begin(machine, workflow)
    frame["own_scope"] = machine.new_scope(values, None)
    scope = machine.scope_at(frame["own_scope"])
    try:
        for name, value in workflow.variables:
            values[name] = value_of(value, scope)
    except LanguageError as fault:
        machine.finish(key, failed(language_failure(fault, address)))
        return
    frame["body"] = new_block(
        machine, f"{block}:", parent=key, scope=frame["own_scope"], address=address
    )


def end_workflow(machine: State, key: str, workflow: Workflow, outcome: Outcome) -> Outcome:
    """The outputs of a workflow whose body has ended."""
    if is_failure(outcome):
        return outcome
    frame = machine.frames[key]
    scope = machine.scope_at(frame["own_scope"])
    outputs: dict[str, Any] = {}
    try:
        for name, value in workflow.outputs:
            outputs[name] = value_of(value, scope)
    except LanguageError as fault:
        return failed(language_failure(fault, frame["address"]))
    return succeeded(outputs)
