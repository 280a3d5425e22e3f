"""Tasks: asked for, accounted for, sent, answered; repaired and retried where that may help."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import admission, budget, conversation, retrying, task_clock, turns
from whorl.interpreter.address import attempted, inner
from whorl.interpreter.commands import Perform
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.outcomes import error, failed, language_failure, succeeded
from whorl.interpreter.retrying import TIMEOUTS, may_help, pause
from whorl.ir import Loop, Retry, Task
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import TaskFrame
    from whorl.interpreter.state import State
    from whorl.language import Json

# What a provider calls retryable is tried again this often where the author says nothing.
_USUAL_RETRY = Retry(times=3, wait_s=1.0, backoff=2.0, wait_max_s=30.0)
_USUALLY_RETRIED = frozenset({"ask", "judge"})
_REPAIRABLE = "P105"
# How often the other side may say that its answer comes later.
LATER_MAX = 10_000
# A call that is in doubt more often than this may be what brings the process down.
DOUBTS_MAX = 100
_REPLY = ("status", "headers", "body")
_USAGE = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt")


class TaskBehaviour:
    """The behaviour of task frames."""

    def enter(self, machine: State, key: str) -> None:
        """Computes the inputs and asks for the task."""
        frame = machine.task_frames[key]
        node = machine.plan.tasks[frame["node"]]
        try:
            inputs = conversation.recall(machine, frame, node, _inputs(machine, frame, node))
        except LanguageError as fault:
            machine.finish(key, failed(language_failure(fault, frame["address"])))
            return
        if _keeps_inputs(node):
            frame["inputs"] = inputs
            retrying.take_key(machine, frame, inputs)
        ask(machine, key)

    def child_left(self, machine: State, key: str, child: str, outcome: dict[str, Any]) -> None:
        """A tool that the task wanted has ended."""
        if turns.collect(machine, key, child, outcome):
            ask(machine, key)

    def receive(self, machine: State, key: str, event: Event) -> None:
        """The intent, the reply, a fault, a doubt, the end of a wait, or a person's word."""
        _take(machine, key, event, machine.plan.tasks[machine.task_frames[key]["node"]])

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """Wants the task that was not sent yet."""
        _want(machine, key)

    def revive(self, machine: State, key: str) -> None:
        """A task that failed leaves no frame; its block starts it anew."""


def ask(machine: State, key: str) -> None:
    """Asks for the frame's task at its present attempt."""
    frame = machine.task_frames[key]
    frame["address"] = attempted(frame["base"], _attempt(frame))
    frame.pop("doubts", None)
    machine.expect(frame["address"], key, "task")
    _want(machine, key)


def _want(machine: State, key: str) -> None:
    """Wants the task done, whose answer is waited for."""
    if task_clock.is_over(machine, machine.task_frames[key]):
        return
    try:
        machine.command(_perform(machine, key))
    except LanguageError as fault:
        # Inputs that are computed anew for an attempt may read what has changed since.
        address = machine.task_frames[key]["address"]
        machine.finish(key, failed(language_failure(fault, address)))


def _take(machine: State, key: str, event: Event, node: Task) -> None:
    frame = machine.task_frames[key]
    match event.kind:
        case "task.started":
            if not task_clock.is_over(machine, frame):
                admission.admit(machine, key, event)
        case "task.finished":
            frame.pop("cap", None)
            _account(machine, frame, event)
            machine.settle(event.address)
            frame.pop("key", None)
            _warn(machine, event)
            if "later" in event.body:
                _ask_later(machine, key, event, node)
                return
            if event.body.get("session") and (session := _session(machine, frame, node)):
                machine.state["sessions"][session] = event.body["session"]
            calls = turns.wanted(node, event)
            if not calls:
                conversation.keep(machine, frame, node, event.body.get("value"))
                outcome = succeeded(event.body.get("value"))
                outcome["usage"] = event.body.get("usage")
                machine.finish(key, outcome)
            elif turns.begin(machine, key, calls, event.body.get("said")):
                ask(machine, key)
        case "task.failed":
            _account(machine, frame, event)
            machine.settle(event.address)
            _fail(machine, key, event, node)
        case "task.in_doubt":
            _doubt(machine, key, event, node)
        case "timer.fired":
            machine.settle(event.address)
            ask(machine, key)
        case "gate.decided":
            _decided(machine, key, event)


def _warn(machine: State, event: Event) -> None:
    """Passes on what a provider says that a person should know of its reply."""
    warnings = event.body.get("warnings")
    for found in warnings if isinstance(warnings, list) else ():
        if isinstance(found, dict) and "code" in found and "message" in found:
            machine.warn(event.address, str(found["code"]), str(found["message"]))


def _inputs(machine: State, frame: TaskFrame, node: Task) -> dict[str, Json]:
    scope = machine.scope(frame)
    inputs: dict[str, Json] = {}
    for kind, fields in machine.plan.workflow_of(frame["node"]).defaults:
        if kind == node.kind:
            inputs |= _object(value_of(fields, scope))
    for name, value in _object(value_of(node.inputs, scope)).items():
        if value is not None:
            inputs[name] = value
    if "extra" in frame:
        inputs |= frame["extra"]
    return inputs


def _keeps_inputs(node: Task) -> bool:
    """What is secure stays out of the state: it is computed anew for each attempt.

    The turns of a model with tools are added to its inputs, so those are kept.
    """
    return not node.secure or node.kind == "ask"


def _object(value: Json) -> dict[str, Json]:
    assert isinstance(value, dict)
    return value


def _perform(machine: State, key: str) -> Perform:
    frame = machine.task_frames[key]
    node = machine.plan.tasks[frame["node"]]
    sessions = machine.state["sessions"]
    inputs = frame["inputs"] if _keeps_inputs(node) else _inputs(machine, frame, node)
    return Perform(
        frame["address"],
        node.kind,
        inputs | frame["later"] if "later" in frame else inputs,
        attempt=_attempt(frame),
        timeout_s=task_clock.attempt_time(machine, frame, node),
        returns=node.returns,
        session=sessions.get(_session(machine, frame, node), "") if sessions else "",
        repair=frame.get("repair"),
        key=str(frame.get("key", frame["address"])),
        secure=node.secure or "secure" in frame,
        secure_outputs=node.secure_outputs,
    )


def _attempt(frame: TaskFrame) -> int:
    """Which attempt it is, of the task or of its present turn."""
    return int(frame["attempt"] - frame.get("attempts_before", 0))


def _session(machine: State, frame: TaskFrame, node: Task) -> str:
    """Where a conversation is kept: with the loop that continues it, or with its iteration."""
    loop = frame["loop"]
    if loop is None:
        return f"run {node.session}" if node.session else ""
    owner = machine.node(machine.frames[loop])
    continues = isinstance(owner, Loop) and owner.session == "continue"
    name = node.session or (node.name if continues else "")
    return f"{loop} {name}" if name else ""


def _account(machine: State, frame: TaskFrame, event: Event) -> None:
    if "reserve" in frame:
        budget.release(machine, frame)
    usage = event.body.get("usage")
    told = {name: usage.get(name) for name in _USAGE} if usage and isinstance(usage, dict) else {}
    budget.add_usage(machine, frame["loop"], told)
    if told:
        admission.note_excess(machine, frame["loop"])


def _fail(machine: State, key: str, event: Event, node: Task) -> None:
    frame = machine.task_frames[key]
    fault = event.body["error"]
    assert isinstance(fault, dict)
    retrying.keep_key(frame, fault)
    if fault.get("code") == _REPAIRABLE and frame.get("repairs", 0) < node.repairs:
        frame["repairs"] = frame.get("repairs", 0) + 1
        frame["repair"] = fault.get("detail")
        frame["attempt"] += 1
        ask(machine, key)
        return
    policy = node.retry or (_USUAL_RETRY if node.kind in _USUALLY_RETRIED else None)
    if retrying.is_doubtful(fault) and node.delivery != "at_least_once":
        policy = None
    tried = frame.get("retries", 0)
    if policy is not None and tried < policy.times and may_help(policy, fault):
        asked = fault.get("retry_after_s")
        due = machine.now + pause(machine, frame["address"], policy, tried + 1, asked)
        if task_clock.has_time(machine, frame, due):
            frame["retries"] = tried + 1
            frame["attempt"] += 1
            machine.note("task.retrying", frame["address"], {"due": due, "error": fault})
            machine.expect(inner(frame["base"], "retry"), key, "timer", due=due)
            return
    retrying.leave_key(machine, frame)
    code = str(fault.get("code", "P100"))
    cause = error("R100", f"{_named(frame)} failed: {fault.get('message')}", frame["address"])
    cause["cause"] = {"code": code, "message": fault.get("message")}
    detail = fault.get("detail")
    if isinstance(detail, dict) and isinstance(detail.get("status"), int):
        cause["cause"]["status"] = detail["status"]
    if code.startswith("R"):
        cause["code"] = code
    status = "timed_out" if code in TIMEOUTS else "failed"
    machine.finish(key, failed(cause, status=status, value=_given(event, fault)))


def _ask_later(machine: State, key: str, event: Event, node: Task) -> None:
    """The other side works on it: after a durable wait it is asked again, with other inputs."""
    frame = machine.task_frames[key]
    later = event.body["later"]
    assert isinstance(later, dict)
    since = frame.setdefault("since", machine.now)
    due = machine.now + float(later["after_s"])  # type: ignore[arg-type]
    frame["asked_later"] = frame.get("asked_later", 0) + 1
    is_late = node.timeout_s is not None and due > since + node.timeout_s
    if is_late or frame["asked_later"] > LATER_MAX:
        limit = f"{LATER_MAX} times" if not is_late else f"{node.timeout_s:g} s"
        cause = error("R101", f"{_named(frame)} has no answer after {limit}", frame["address"])
        machine.finish(key, failed(cause, status="timed_out"))
        return
    frame["later"] = _object(later["inputs"])
    frame["attempt"] += 1
    machine.expect(inner(frame["base"], "later"), key, "timer", due=due)


def _given(event: Event, fault: dict[str, Any]) -> Json:
    """What a task that failed gave all the same, such as the reply of a web service."""
    value = event.body.get("value")
    detail = fault.get("detail")
    if value is None and isinstance(detail, dict) and all(name in detail for name in _REPLY):
        return {name: detail[name] for name in (*_REPLY, "encoding") if name in detail}
    return value


def _named(frame: TaskFrame) -> str:
    return repr(frame.get("name") or frame["address"])


def _doubt(machine: State, key: str, event: Event, node: Task) -> None:
    frame = machine.task_frames[key]
    budget.charge_reserve(machine, frame, in_doubt=True)
    machine.pending[event.address].pop("sent", None)
    address = frame["address"]
    frame["doubts"] = frame.get("doubts", 0) + 1
    if node.delivery == "at_least_once" and frame["doubts"] <= DOUBTS_MAX:
        _want(machine, key)
    elif node.delivery == "ask":
        machine.settle(event.address)
        doubt = inner(frame["base"], "doubt")
        message = f"nobody knows whether {_named(frame)} was carried out; repeat it?"
        machine.expect(doubt, key, "gate")
        machine.note("gate.waiting", doubt, {"reason": "in_doubt", "message": message})
    else:
        machine.settle(event.address)
        message = f"{_named(frame)} was sent before a crash and may not be repeated"
        if node.delivery == "at_least_once":
            message = f"{_named(frame)} was sent {DOUBTS_MAX + 1} times, each time before a crash"
            message += "; see why, then `whorl resume RUN` tries it again"
        machine.finish(key, failed(error("R106", message, address)))


def _decided(machine: State, key: str, event: Event) -> None:
    machine.settle(event.address)
    if event.body.get("approved"):
        ask(machine, key)
        return
    address = machine.task_frames[key]["address"]
    machine.finish(key, failed(error("R106", "in doubt, and not to be repeated", address)))
