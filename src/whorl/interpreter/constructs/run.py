"""Runs of workflows: the run itself and calls of others, their inputs, outputs and ends."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from whorl.errors import did_you_mean
from whorl.interpreter import frames
from whorl.interpreter.constructs import task
from whorl.interpreter.constructs.block import new_block
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import inner
from whorl.interpreter.frames import discard
from whorl.interpreter.state import Behaviour
from whorl.language import LanguageError
from whorl.language.chunked_json import refuse_constant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, Values
    from whorl.interpreter.state import State
    from whorl.ir import Call, Port, Workflow
    from whorl.language import Json

# What a value of each type is to Python, and to people; anything else fits any value.
_TYPES: dict[str, tuple[Any, str]] = {
    "string": (str, "a text"),
    "file": (str, "the path of a file"),
    "boolean": (bool, "true or false"),
    "integer": (int, "a whole number"),
    "number": (int | float, "a number"),
    "list": (list, "a list"),
    "files": (list, "a list of paths"),
}

_LOOSE_LENGTH_MIN = 8
_NUMBER_LENGTH_MIN = 4


class RunBehaviour(Behaviour):
    """The outermost frame."""

    stays = True

    def enter(self, machine: State, key: str) -> None:
        start_workflow(machine, key, machine.plan.workflow, machine.plain_frames[key]["input"])

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        if child == key:
            end(machine, outcome)
            return
        if task.has_unsubscribed(machine, child, outcome):
            if "ending" in machine.state:
                end(machine, machine.state.pop("ending"))
            return
        machine.finish(key, end_workflow(machine, key, machine.plan.workflow, outcome))

    def receive(self, machine: State, key: str, event: Event) -> None:
        """Ends the run when its own time is over."""
        machine.settle(event.address)
        error = frames.error_at("", "R101", "the run reached its time limit")
        end_now(machine, frames.failed(error))


class CallBehaviour(RunBehaviour):
    """A call of another workflow; its value is that one's outputs by name."""

    def enter(self, machine: State, key: str) -> None:
        frame = machine.frames[key]
        node: Call = machine.node(frame)
        given: Any = value_of(node.inputs, machine.scope(frame))
        start_workflow(machine, key, machine.plan.workflows[node.workflow], given, node.workflow)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        called = machine.plan.workflows[machine.node(machine.frames[key]).workflow]
        end_call(machine, key, called, end_workflow(machine, key, called, outcome))


def start_workflow(
    machine: State, key: str, workflow: Workflow, given: Values, block: str = ""
) -> None:
    frame = machine.frames[key]
    address = frame["address"]
    try:
        values = check_inputs(workflow, given, written=not block, is_blind=machine.is_blind)
    except InputError as fault:
        facts: Json = {"input": fault.missing} if fault.missing else {}
        machine.fail(key, "R111", str(fault), facts=facts)
        return
    keep_secrets(machine, workflow, values)
    if recorder := machine.plan.recorders.get(workflow.recorder):
        values |= recorder.begin(workflow, machine.state["run"])
    frame["own_scope"] = machine.new_scope(values, None)
    scope = machine.scope_at(frame["own_scope"])
    for name, value in workflow.variables:
        values[name] = value_of(value, scope)
    frame["body"] = new_block(
        machine, f"{block}:", parent=key, scope=frame["own_scope"], address=address
    )


def end_workflow(machine: State, key: str, workflow: Workflow, outcome: Outcome) -> Outcome:
    if frames.is_failure(outcome):
        return outcome
    frame = machine.frames[key]
    scope = machine.scope_at(frame["own_scope"])
    try:
        outputs = {name: value_of(value, scope) for name, value in workflow.outputs}
        return frames.succeeded(outputs)
    except LanguageError as fault:
        return frames.failed(frames.language_failure(fault, frame["address"]))


def end_call(machine: State, key: str, called: Workflow, outcome: Outcome) -> None:
    """Ends a call; one that had answered before it failed counts as succeeded for its caller."""
    early = _early_outputs(machine, key, called) if frames.is_failure(outcome) else {}
    if early:
        cause = outcome["error"]
        words = f"workflow {called.name!r} failed after its response: {cause['message']}"
        machine.warn(machine.frames[key]["address"], cause["code"], words)
        outcome = frames.succeeded(early)
    machine.finish(key, outcome)


def end(machine: State, outcome: Outcome) -> None:
    state = machine.state
    root = machine.plain_frames[state["root"]]
    machine.forget_if_pending(*root.get("waits", ()))
    if task.is_unsubscribing(machine):
        state |= {"ending": outcome, "status": "running"}
        discard(state, "paused_by", "paused_at", "short_loop")
        return
    status, is_failure = outcome["status"], frames.is_failure(outcome)
    state["status"] = "failed" if status == "timed_out" else status
    cause = dict(outcome["error"]) if is_failure and outcome.get("error") else None
    outputs: dict[str, Any] = outcome["value"]
    if is_failure:
        outputs = _early_outputs(machine, state["root"], machine.plan.workflow)
    hidden = machine.plan.workflow.hidden_outputs
    if hidden:
        outputs = {name: frames.HIDDEN if name in hidden else outputs[name] for name in outputs}
    result: dict[str, Any] = {
        "status": state["status"],
        "output": next(iter(outputs.values()), None),
        "outputs": outputs,
        "error": cause,
        "usage": dict(state["usage"]),
    }
    state["result"] = result
    machine.note("run.finished", "", dict(result))


def _early_outputs(machine: State, key: str, workflow: Workflow) -> dict[str, Any]:
    """Returns the outputs that a workflow had before it failed."""
    own_scope = machine.frames[key].get("own_scope")
    if not workflow.early_outputs or own_scope is None:
        return {}
    scope = machine.scope_at(own_scope)
    early = [(name, value) for name, value in workflow.outputs if name in workflow.early_outputs]
    try:
        outputs = {name: value_of(value, scope) for name, value in early}
    except LanguageError:
        return {}
    return outputs if any(value is not None for value in outputs.values()) else {}


def end_now(machine: State, outcome: Outcome) -> None:
    """Ends the run from inside and cancels everything that is running.

    A run that is already ending keeps its outcome, and stops waiting.
    """
    frame = machine.plain_frames[machine.state["root"]]
    if "ending" in machine.state:
        outcome = machine.state.pop("ending")
        for child in frame.pop("unsubscribing", {}):
            machine.drop(child)
    machine.drop_body(frame)
    frame["ended"] = outcome["status"]
    end(machine, outcome)


def end_around(machine: State, key: str, outcome: Outcome) -> None:
    """Ends the workflow around a frame from inside, with the outputs that it has by then."""
    while machine.frames[key]["kind"] not in ("call", "run"):
        key = str(machine.frames[key]["parent"])
    frame, workflow = machine.frames[key], machine.plan.workflow
    if frame["kind"] == "call":
        workflow = machine.plan.workflows[machine.node(frame).workflow]
    outcome = end_workflow(machine, key, workflow, outcome)
    if frame["kind"] == "run":
        end_now(machine, outcome)
    else:
        machine.drop_body(frame)
        end_call(machine, key, workflow, outcome)


def arm(machine: State) -> None:
    seconds = machine.plan.workflow.limits.time_s
    machine.set_alarm(inner("", "time"), machine.state["root"], seconds)


class InputError(ValueError):
    """An input is `missing`, unknown or of another type."""

    def __init__(self, message: str, missing: str = "") -> None:
        super().__init__(message)
        self.missing = missing


def check_inputs(
    workflow: Workflow, given: Values, *, written: bool = True, is_blind: bool = False
) -> Values:
    """Returns the values of all inputs, with defaults filled in.

    If a person has `written` them, objects and lists may also be JSON texts. If `is_blind`, the
    caller sees stars in place of a secret of any type.
    """
    ports = {port.name: port for port in workflow.inputs}
    given = _renamed(workflow, given)
    for name in given:
        if name not in ports and not workflow.open_inputs:
            names = ", ".join(map(repr, ports)) or "none"
            hint = did_you_mean(name, list(ports))
            message = f"workflow {workflow.name!r} has no input {name!r}; it has {names}"
            raise InputError(f"{message}; {hint}" if hint else message)
    values: Values = {}
    for port in workflow.inputs:
        is_unseen = is_blind and port.secret and given.get(port.name) == frames.HIDDEN
        values[port.name] = frames.HIDDEN if is_unseen else _value(workflow, port, given, written)
    return values | {name: value for name, value in given.items() if name not in ports}


def _renamed(workflow: Workflow, given: Values) -> Values:
    renamed = dict(given)
    names = {port.name for port in workflow.inputs}
    used: set[str] = set()
    claimed = {alias for port in workflow.inputs for alias in port.aliases}
    for port in workflow.inputs:
        matches = [alias for alias in port.aliases if alias in given and alias not in names]
        if not matches and "*" in port.aliases and len(given) == 1:
            matches = [name for name in given if name not in names | claimed]
        if matches and port.name not in given:
            renamed[port.name] = given[matches[0]]
        used.update(matches)
    return {name: value for name, value in renamed.items() if name not in used}


def _value(workflow: Workflow, port: Port, given: Values, written: bool) -> Json:
    if given.get(port.name) is None:
        if port.default is not None or not port.required:
            return port.default
        message = f"workflow {workflow.name!r} needs the input {port.name!r} ({port.type})"
        raise InputError(message, port.name)
    value: Json = given[port.name]
    if isinstance(value, str):
        value = _read(port, value, written)
    wanted, words = _TYPES.get(port.type, (object, ""))
    # A boolean is not a number here, though it is one in Python.
    is_other = isinstance(value, bool) and port.type in ("integer", "number")
    is_endless = isinstance(value, float) and not math.isfinite(value) and wanted is not object
    if isinstance(value, wanted) and not is_other and not is_endless:
        return value  # type: ignore[no-any-return]
    found = f"a {type(value).__name__}" if port.secret else f"{value!r:.80}"
    raise InputError(f"the input {port.name!r} must be {words}, not {found}")


def keep_secrets(machine: State, workflow: Workflow, values: Values) -> None:
    """Remembers the secret values of these inputs, which are hidden while the run lasts."""
    if secrets := secret_values(workflow, values):
        known = machine.state.setdefault("secrets", [])
        known += [secret for secret in secrets if secret not in known]


def secret_values(workflow: Workflow, values: Values) -> list[Json]:
    """Returns the values to hide everywhere: texts, numbers as texts, whole objects and lists.

    If an input may have any type, only its longer texts are hidden everywhere. Short numbers,
    booleans and null occur too often, so they are hidden only in the input itself.
    """
    texts: list[str] = []
    wholes: list[Json] = []
    for port in workflow.inputs:
        if port.secret:
            value = values.get(port.name)
            least = _LOOSE_LENGTH_MIN if port.type == "any" else 1
            texts += [text for text in _leaves(value) if len(text) >= least]
            if isinstance(value, dict | list) and value:
                wholes.append(value)
    return [*dict.fromkeys(texts), *wholes]


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _leaves(part)
    elif isinstance(value, str):
        yield value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = json.dumps(value)
        if len(text) >= _NUMBER_LENGTH_MIN:
            yield text


def _read(port: Port, text: str, written: bool) -> Json:
    """Converts a text from a command line to the declared type of its input, if possible."""
    if port.type == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if port.type in ("number", "integer"):
        for read in (int, float):
            with suppress(ValueError):
                return read(text)
    is_json = port.type in ("json", "list", "files") and text.lstrip()[:1] in ("{", "[")
    if written and is_json:
        with suppress(ValueError, RecursionError):
            value: Json = json.loads(text, parse_constant=refuse_constant)
            return value
    return [text] if port.type == "files" else text
