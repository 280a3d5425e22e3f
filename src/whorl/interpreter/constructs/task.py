"""Tasks: asked for, accounted for, sent, answered; repaired and retried where that may help.

A reply with `calls` is not the end of a task. Each call becomes a task of its own at `node/:tool1`,
`node/:tool2`, ...; then the task runs again at `node/:turn2`, its input `turns` longer by what the
model `said` and by the results. So the journal has every call of a model and of a tool.
"""

from __future__ import annotations

import hashlib
import json
from math import inf
from typing import TYPE_CHECKING, Any

from whorl.interpreter import budget, frames
from whorl.interpreter.evaluation import OverlayScope, call_address, value_of
from whorl.interpreter.events import Perform, SetTimer, attempted, inner
from whorl.interpreter.frames import discard, failed, is_failure, language_failure
from whorl.interpreter.plan import TOOL_KINDS, tool_key, unsubscribe_key
from whorl.interpreter.state import Behaviour
from whorl.ir import Constant, Loop, Retry, Task
from whorl.ir.worst_case import TURNS, USUAL_RETRIES, USUALLY_RETRIED
from whorl.language import LanguageError, to_text
from whorl.lazily import regex

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Error, Outcome, TaskFrame, Values
    from whorl.interpreter.state import State
    from whorl.language import Json


# In an address: iterations, items, attempts, and which one of a name it is.
_NUMBERS = regex(r"\[[0-9]+\]|[#~][0-9]+")

# Callback addresses of tasks, and how they are removed when the run no longer waits for a call.
#
# That is a task of its own, right below the run: what gave the address away has ended by then, or
# was cancelled. A run ends only after all of its addresses are taken back, or cannot be.

ENDING = "the run is about to end: it removes its webhook subscriptions"
_NOT_REMOVED = "a webhook subscription was not removed"


def keep_subscription(machine: State, frame: TaskFrame, node: Task, reply: Json) -> None:
    """Computes how the address is removed, now that the other side has returned what it made."""
    assert node.unsubscribe is not None
    scope = machine.scope(frame)
    try:
        outputs = reply
        if node.shape is not None:
            outputs = value_of(node.shape, OverlayScope({"it": reply}, scope))
        record: Json = {"name": node.name, "outputs": outputs}
        undo: Any = value_of(node.unsubscribe, OverlayScope({"$action": record}, scope))
    except LanguageError as fault:
        machine.warn(frame["address"], "R116", f"{node.name!r}: {_NOT_REMOVED}: {fault}")
        return
    if isinstance(undo, dict):
        frame["unsubscribe"] = undo.get("inputs") or {}


def unsubscribe(machine: State, frame: TaskFrame) -> None:
    root = machine.state["root"]
    address = inner(frame["base"], "unsubscribe")
    fields: Values = {"node": unsubscribe_key(frame["node"]), "base": address, "address": address}
    fields |= {"name": frame["name"], "attempt": 1, "extra": frame.pop("unsubscribe")}
    scope = machine.frames[root]["own_scope"]
    child = machine.new_frame("task", parent=root, scope=scope, **fields)
    machine.plain_frames[root].setdefault("unsubscribing", {})[child] = 1
    machine.enter(child)


def has_unsubscribed(machine: State, child: str, outcome: Outcome) -> bool:
    """Checks whether an ended frame was such a removal; its failure does not fail the run."""
    root = machine.plain_frames[machine.state["root"]]
    if root.get("unsubscribing", {}).pop(child, None) is None:
        return False
    if is_failure(outcome):
        frame = machine.frames[child]
        cause = outcome["error"].get("cause", outcome["error"])["message"]
        machine.warn(frame["address"], "R116", f"{frame['name']!r}: {_NOT_REMOVED}: {cause}")
    return True


def is_unsubscribing(machine: State) -> bool:
    root = machine.plain_frames.get(machine.state["root"])
    return root is not None and bool(root.get("unsubscribing"))


def leave_subscriptions(machine: State) -> None:
    """Leaves the callback addresses to the other run that gave them away and removes them."""
    for frame in machine.task_frames.values():
        if frame["kind"] == "task":
            discard(frame, "unsubscribe")
    for child in machine.plain_frames[machine.state["root"]].pop("unsubscribing", {}):
        machine.drop(child)


# Attempts at a node: whether another one may help, when, by which key, and how much time is left.
#
# An attempt that was not answered may have been carried out, so the next one carries the same key;
# after an answer, also a bad one, the next attempt is another call. The clock of a task that has
# one time for all its attempts, with the waits between them, is an alarm like that of any other
# node.

TIMEOUTS = frozenset({"P108", "R101"})
# Tasks that failed without an answer and could be tried again by a person; the oldest ones go.
_UNANSWERED_MAX = 1_000


def is_answered(fault: Error) -> bool:
    """Checks whether the other side has replied; if not, it may still have done the work."""
    return bool(fault.get("answered", fault.get("code") not in TIMEOUTS))


def leave_key(machine: State, frame: TaskFrame) -> None:
    """Keeps the key of a task that failed without an answer, so that a retry sends the same key."""
    if "key" in frame and "inputs" in frame:
        unanswered = machine.state["unanswered"]
        unanswered[frame["base"]] = [frame["key"], _mark(frame["inputs"]), frame.get("cap")]
        if len(unanswered) > _UNANSWERED_MAX:
            del unanswered[next(iter(unanswered))]


def _mark(inputs: Values) -> str:
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:16]


def may_help(policy: Retry, fault: Error) -> bool:
    """Checks whether the policy retries after this fault."""
    if not policy.on:
        return bool(fault.get("retryable"))
    words = {"*"}
    for facts in (fault, fault.get("detail"), fault.get("cause")):
        if isinstance(facts, dict):
            words |= {str(facts[name]) for name in ("code", "status", "type") if name in facts}
    if words & TIMEOUTS:
        words.add("timeout")
    if any(len(word) == 3 and word[0] == "5" and word.isdecimal() for word in words):
        words.add("5xx")
    return any(word in words for word in policy.on)


def pause(machine: State, address: str, policy: Retry, number: int, asked: object = None) -> float:
    """Returns the wait before retry `number` (from 1); at least as long as the other side asks."""
    try:
        wait: float = policy.wait_s * policy.backoff ** (number - 1)
    except OverflowError:
        wait = policy.wait_max_s if policy.wait_s else 0.0
    if policy.drawn:
        least = max(policy.wait_min_s, wait / policy.backoff if number > 1 else 0.0)
        most = min(wait, policy.wait_max_s)
        wait = min(least, most) + chance(machine, address) * max(0.0, most - least)
    elif policy.jitter:
        wait *= 1 + policy.jitter * (chance(machine, address) * 2 - 1)
    wait = max(policy.wait_min_s, min(wait, policy.wait_max_s))
    return max(wait, float(asked)) if isinstance(asked, int | float) else wait


def chance(machine: State, address: str) -> float:
    """Returns a number from 0 to 1 that depends on the run and the address only."""
    digest = hashlib.sha256(f"{machine.state['seed']} {address}".encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64


def time_left(machine: State, frame: TaskFrame) -> float:
    """Returns the seconds until the task's alarm; negative if it is due but was not handled yet."""
    alarm = machine.pending.get(frame.get("alarm", ""))
    return inf if alarm is None else float(alarm["due"]) - machine.now


def restart_clocks(machine: State) -> None:
    """Restarts the time limits of tasks when a paused run is resumed: the pause does not count."""
    for key, frame in list(machine.frames.items()):
        if frame["kind"] == "task" and "alarm" in frame:
            if frame["alarm"] in machine.pending:
                machine.settle(frame["alarm"])
            seconds = machine.plan.tasks[frame["node"]].total_timeout_s
            assert seconds is not None
            machine.expect(frame["alarm"], key, "alarm", due=machine.now + seconds)


def let_clocks_stand(machine: State, seconds: float) -> None:
    """Moves time limits by the time that a run was stopped; waits do not get longer by it."""
    for address, entry in machine.pending.items():
        if entry["what"] == "alarm":
            entry["due"] += seconds
            machine.command(SetTimer(address, entry["due"]))
    for frame in machine.frames.values():
        if frame["kind"] == "task" and "since" in frame:
            frame["since"] += seconds
        if frame["kind"] == "loop" and "started" in frame:
            frame["started"] += seconds
            if "iteration" in frame:
                frame["iteration"]["at"] += seconds


# The command of a task: its inputs, with the session that it continues.
#
# A model keeps nothing itself, so the machine does: the prompts and answers of each session, with
# the loop that it belongs to; the oldest are left out where they outgrow their limits.

# How much of a session is kept.
MESSAGES_MAX = 200
CHARACTERS_MAX = 400_000
# How much longer a provider may take than the time that is left.
_MORE_S = 1.0


def ask(machine: State, key: str) -> None:
    frame = machine.task_frames[key]
    frame["address"] = attempted(frame["base"], _attempt(frame))
    frame.pop("doubts", None)
    machine.expect(frame["address"], key, "task")
    want(machine, key)


def want(machine: State, key: str) -> None:
    frame, node = machine.task(key)
    left = time_left(machine, frame)
    if left <= 0:
        return
    sessions = machine.state["sessions"]
    try:
        inputs = frame["inputs"] if keeps_inputs(node) else inputs_of(machine, frame, node)
    except LanguageError as fault:
        # Inputs that are computed again for an attempt may read what has changed since.
        machine.finish(key, failed(language_failure(fault, frame["address"], node)))
        return
    perform = Perform(
        frame["address"],
        node.kind,
        inputs | frame["later"] if "later" in frame else inputs,
        attempt=_attempt(frame),
        # The alarm ends an attempt, not the provider: that has a little more time than is left.
        timeout_s=node.timeout_s if node.timeout_s is not None or left == inf else left + _MORE_S,
        returns=node.returns,
        session=sessions.get(session_of(machine, frame, node), "") if sessions else "",
        repair=frame.get("repair"),
        key=str(frame.get("key", frame["address"])),
        secure=node.secure or "secure" in frame,
        secure_outputs=node.secure_outputs,
    )
    perform.secure_model = perform.secure and any(
        name in ("model", "provider") and not isinstance(value, Constant)
        for name, value in node.inputs.entries
    )
    machine.command(perform)


def inputs_of(machine: State, frame: TaskFrame, node: Task) -> Values:
    scope = machine.scope(frame)
    inputs: dict[str, Any] = {}
    for kind, fields in machine.plan.owners[frame["node"]].defaults:
        if kind == node.kind:
            inputs |= value_of(fields, scope)  # type: ignore[arg-type]
    own: Any = value_of(node.inputs, scope)
    for name, value in own.items():
        if value is not None:
            inputs[name] = value
    if "extra" not in frame:
        return inputs
    # What code requests, with what an experiment changes in requests of this name or path.
    inputs, path = inputs | frame["extra"], _NUMBERS.sub("", frame["address"])
    for place in ("", path.rpartition("/")[2], path):
        for wanted, fields in machine.plan.owners[frame["node"]].defaults:
            if wanted == f"{node.kind}/{place}":
                inputs |= value_of(fields, scope)  # type: ignore[arg-type]
    return inputs


def keeps_inputs(node: Task) -> bool:
    """Checks whether inputs stay in the state; those of secure tasks are computed per attempt.

    The turns of a model with tools are added to its inputs, so those are kept.
    """
    return not node.secure or node.kind == "ask"


def _attempt(frame: TaskFrame) -> int:
    """Returns the number of the attempt at the task or at its present turn."""
    return int(frame["attempt"] - frame.get("attempts_before", 0))


def session_of(machine: State, frame: TaskFrame, node: Task) -> str:
    """Returns where a conversation is kept: with the innermost loop around it, or with the run."""
    loop = frame["loop"]
    if loop is None:
        return f"run {node.session}" if node.session else ""
    owner = machine.node(machine.frames[loop])
    continues = isinstance(owner, Loop) and owner.session == "continue"
    name = node.session or (node.name if continues else "")
    return f"{loop} {name}" if name else ""


def with_conversation(machine: State, frame: TaskFrame, node: Task, inputs: Values) -> Values:
    if node.kind != "ask" or not node.session:
        return inputs
    key = session_of(machine, frame, node)
    earlier = machine.state.get("conversations", {}).get(key, [])
    if not earlier:
        return inputs
    if any(message.get("secure") for message in earlier):
        # Hidden results of a step stay hidden in a step that continues its conversation.
        frame["secure"] = True
    own = inputs.get("messages")
    messages: list[Json] = [{"role": m["role"], "content": m["content"]} for m in earlier]
    return inputs | {"messages": [*messages, *(own if isinstance(own, list) else ())]}


def keep_conversation(machine: State, frame: TaskFrame, node: Task, value: Json) -> None:
    if node.kind != "ask" or not node.session:
        return
    pair: list[dict[str, Any]] = [
        {"role": "user", "content": to_text(frame["inputs"].get("prompt"))},
        {"role": "assistant", "content": to_text(value)},
    ]
    if node.secure or frame.get("secure"):
        pair = [message | {"secure": True} for message in pair]
    conversations = machine.state.setdefault("conversations", {})
    key = session_of(machine, frame, node)
    messages = [*conversations.get(key, ()), *pair]
    count = len(messages)
    while len(messages) > MESSAGES_MAX or sum(len(m["content"]) for m in messages) > CHARACTERS_MAX:
        # Questions go with their answers.
        del messages[:2]
    if len(messages) < count:
        warning = f"session {node.session!r} is longer than {MESSAGES_MAX} messages or "
        warning += f"{CHARACTERS_MAX:,} characters, the most that is kept: its oldest are left out"
        machine.warn(frame["address"], "R105", warning)
    conversations[key] = messages


# What a provider calls retryable is tried again this often where the author says nothing.
_USUAL_RETRY = Retry(times=USUAL_RETRIES, wait_s=1.0, backoff=2.0, wait_max_s=30.0)
_REPAIRABLE = "P105"
# How often the other side may say that its answer comes later.
LATER_MAX = 10_000
# A call that is in doubt more often than this may be what brings the process down.
DOUBTS_MAX = 100
_REPLY = ("status", "headers", "body")
_USAGE = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt")
# A tool that differs from the model's description of it ends the task; after any other fault of a
# tool, the model may continue in another way.
_CHANGED = "P122"
_TOO_MANY = "P124"


class TaskBehaviour(Behaviour):
    def enter(self, machine: State, key: str) -> None:
        frame, node = machine.task(key)
        inputs = with_conversation(machine, frame, node, inputs_of(machine, frame, node))
        if keeps_inputs(node):
            frame["inputs"] = inputs
            # An earlier try at the same task may have left its key; it counts for the same inputs.
            left, mark, cap = machine.state["unanswered"].pop(frame["base"], (None, "", None))
            if left is not None and mark == _mark(inputs):
                frame["key"] = left
                if cap is not None:
                    frame["cap"] = cap
        ask(machine, key)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        frame = machine.task_frames[key]
        index = next(at for at, tool in frame["children"].items() if tool == child)
        del frame["children"][index]
        result = frame["results"][int(index)]
        if not frames.is_failure(outcome):
            result["value"] = outcome["value"]
            _ask_with_results(machine, key)
            return
        fault = outcome["error"].get("cause", outcome["error"])
        code = str(fault.get("code", ""))
        if code == _CHANGED or code.startswith("R") or outcome["status"] == "cancelled":
            machine.drop_children(frame)
            machine.finish(key, frames.failed(outcome["error"], status=outcome["status"]))
            return
        result["error"] = fault["message"]
        _ask_with_results(machine, key)

    def receive(self, machine: State, key: str, event: Event) -> None:
        _RECEIVERS[event.kind](machine, key, event)

    def ask_again(self, machine: State, key: str, address: str) -> None:
        want(machine, key)

    def abandon(self, machine: State, key: str) -> None:
        """Counts the reservation of a sent call as spent.

        The callback address of the task is removed, since the run no longer waits for its call.
        """
        frame = machine.task_frames[key]
        if "unsubscribe" in frame:
            unsubscribe(machine, frame)
        if "reserve" in frame:
            facts = budget.abandon(machine, frame)
            machine.note("node.finished", frame["address"], {**facts, "status": "cancelled"})

    def time_out(self, machine: State, key: str) -> None:
        """Cancels the open call, whose reservation counts as spent, and ends the task."""
        frame = machine.task_frames[key]
        if machine.status == "paused" and "reserve" not in frame:
            return  # nothing of it may run: the clock begins anew when the run is resumed
        machine.drop_children(frame)
        total_s = machine.plan.tasks[frame["node"]].total_timeout_s
        message = f"{frame['name']!r} took longer than {total_s:g} s, "
        message += "which is its time limit for all attempts together"
        error = frames.error_at(frame["address"], "R101", message)
        facts: Values = {"status": "failed", "error": error}
        if "reserve" in frame:
            facts |= budget.abandon(machine, frame)
        for address in list(frame["waits"]):
            machine.forget(address)
        machine.note("node.finished", frame["address"], facts)
        machine.finish(key, frames.failed(error, status="timed_out") | {"noted": True})


def _started(machine: State, key: str, event: Event) -> None:
    if time_left(machine, machine.task_frames[key]) > 0:
        budget.admit(machine, key, event)


def _finished(machine: State, key: str, event: Event) -> None:
    frame, node = machine.task(key)
    discard(frame, "cap", "key")
    _account(machine, frame, event)
    machine.settle(event.address)
    warnings = event.body.get("warnings")
    for warning in warnings if isinstance(warnings, list) else ():
        if isinstance(warning, dict) and "code" in warning and "message" in warning:
            machine.warn(event.address, str(warning["code"]), str(warning["message"]))
    if "later" in event.body:
        _ask_later(machine, key, event, node)
        return
    if event.body.get("awaits_call") and node.awaits_call:
        if event.body.get("subscribed") and node.unsubscribe is not None:
            keep_subscription(machine, frame, node, event.body.get("value"))
        message = f"{_named(frame)} waits for a call of its webhook address"
        machine.ask_person(call_address(frame["base"]), key, "call", message)
        return
    if event.body.get("session") and (session := session_of(machine, frame, node)):
        machine.state["sessions"][session] = event.body["session"]
    asked = event.body.get("calls") if node.kind == "ask" else None
    calls = [call for call in asked if isinstance(call, dict)] if isinstance(asked, list) else []
    if not calls:
        keep_conversation(machine, frame, node, event.body.get("value"))
        outcome = frames.succeeded(event.body.get("value"))
        outcome["usage"] = event.body.get("usage")
        machine.finish(key, outcome)
    else:
        _begin_tools(machine, key, calls, event.body.get("said"))


def _account(machine: State, frame: TaskFrame, event: Event) -> None:
    if "reserve" in frame:
        budget.release(machine, frame)
    usage = event.body.get("usage")
    used = {name: usage.get(name) for name in _USAGE} if usage and isinstance(usage, dict) else {}
    budget.add_usage(machine, frame["loop"], used)
    if used:
        budget.note_excess(machine, frame["loop"])


def _failed(machine: State, key: str, event: Event) -> None:
    frame, node = machine.task(key)
    _account(machine, frame, event)
    machine.settle(event.address)
    fault: Any = event.body["error"]
    detail: Any = fault.get("detail") if isinstance(fault.get("detail"), dict) else {}
    if is_answered(fault):
        discard(frame, "key", "cap")
    else:
        # The next attempt has the same key and cap.
        frame.setdefault("key", frame["address"])
    # The model sees its answer again, with the errors; nothing else is asked for a better result.
    is_repairable = fault.get("code") == _REPAIRABLE and "answer" in detail
    if is_repairable and frame.get("repairs", 0) < node.repairs:
        frame["repairs"] = frame.get("repairs", 0) + 1
        frame["repair"] = fault.get("detail")
        frame["attempt"] += 1
        ask(machine, key)
        return
    policy = node.retry or (_USUAL_RETRY if node.kind in USUALLY_RETRIED else None)
    if not (detail.get("unsent") or is_answered(fault)):
        # The other side may have done what it was asked to do.
        policy = policy if node.delivery == "at_least_once" else None
    tried = frame.get("retries", 0)
    if policy is not None and tried < policy.times and may_help(policy, fault):
        asked = fault.get("retry_after_s")
        due = machine.now + pause(machine, frame["address"], policy, tried + 1, asked)
        if due < machine.now + time_left(machine, frame):
            frame["retries"] = tried + 1
            frame["attempt"] += 1
            machine.note("task.retrying", frame["address"], {"due": due, "error": fault})
            machine.expect(inner(frame["base"], "retry"), key, "timer", due=due)
            return
    leave_key(machine, frame)
    code = str(fault.get("code", "P100"))
    words = f"{_named(frame)} failed: {fault.get('message')}"
    cause = frames.error_at(frame["address"], "R100", words)
    cause["cause"] = {"code": code, "message": fault.get("message")}
    if isinstance(detail.get("status"), int):
        cause["cause"]["status"] = detail["status"]
    if code.startswith("R"):
        cause["code"] = code
    status = "timed_out" if code in TIMEOUTS else "failed"
    value = event.body.get("value")
    if value is None and all(name in detail for name in _REPLY):
        # What it gave all the same, such as the reply of a web service.
        value = {name: detail[name] for name in (*_REPLY, "encoding") if name in detail}
    machine.finish(key, frames.failed(cause, status=status, value=value))


def _ask_later(machine: State, key: str, event: Event, node: Task) -> None:
    """Asks the other side again after a durable wait, with other inputs: it is still working."""
    frame = machine.task_frames[key]
    later: Any = event.body["later"]
    since = frame.setdefault("since", machine.now)
    due = machine.now + float(later["after_s"])
    frame["asked_later"] = frame.get("asked_later", 0) + 1
    is_late = node.timeout_s is not None and due > since + node.timeout_s
    if is_late or frame["asked_later"] > LATER_MAX:
        limit = f"{LATER_MAX} times" if not is_late else f"{node.timeout_s:g} s"
        message = f"{_named(frame)} has no answer after {limit}"
        machine.fail(key, "R101", message, status="timed_out")
        return
    frame["later"] = later["inputs"]
    frame["attempt"] += 1
    machine.expect(inner(frame["base"], "later"), key, "timer", due=due)


def _named(frame: TaskFrame) -> str:
    return repr(frame.get("name") or frame["address"])


def _in_doubt(machine: State, key: str, event: Event) -> None:
    frame, node = machine.task(key)
    budget.charge_reserve(machine, frame)
    machine.pending[event.address].pop("sent", None)
    frame["doubts"] = frame.get("doubts", 0) + 1
    if node.delivery == "at_least_once" and frame["doubts"] <= DOUBTS_MAX:
        want(machine, key)
        return
    machine.settle(event.address)
    if node.delivery == "ask":
        message = f"it is not known whether {_named(frame)} was carried out; repeat it?"
        machine.ask_person(inner(frame["base"], "doubt"), key, "in_doubt", message)
        return
    if node.delivery == "at_most_once":
        message = f"{_named(frame)} was sent before a crash and may not be repeated"
        machine.fail(key, "R106", message)
        return
    message = f"{_named(frame)} was sent {frame['doubts']} times, each time before a crash"
    machine.fail(key, "R106", message, facts={"times": frame["doubts"]})


def _decided(machine: State, key: str, event: Event) -> None:
    """Handles the decision of a person on a call in doubt, or the callback that was waited for."""
    frame = machine.task_frames[key]
    if event.address != call_address(frame["base"]):
        _ask_or_fail(machine, key, event)
        return
    machine.settle(event.address)
    words = event.body.get("feedback") or ""
    if event.body.get("approved"):
        value = event.body.get("value", {"status": 200, "headers": {}, "body": words})
        machine.finish(key, frames.succeeded(value))
    else:
        machine.fail(key, "R108", f"{_named(frame)} was rejected: {words or 'no reason given'}")


def _ask_or_fail(machine: State, key: str, event: Event) -> None:
    machine.settle(event.address)
    if event.kind == "timer.fired" or event.body.get("approved"):
        ask(machine, key)
        return
    machine.fail(key, "R106", "in doubt, and not to be repeated")


def _begin_tools(machine: State, key: str, calls: list[Values], turn: Json) -> None:
    """Starts the tools that a reply wants; if it wants no tool, begins the next turn."""
    frame = machine.task_frames[key]
    turns = frame.setdefault("turns", {"root": frame["address"], "number": 1, "tools": 0})
    limit: Any = frame["inputs"].get("max_turns")
    is_count = isinstance(limit, int) and not isinstance(limit, bool) and limit > 0
    count = limit if is_count else TURNS
    if turns["number"] >= count:
        message = f"it still asked for tools in turn {count}, its last one"
        cause: Json = {"code": _TOO_MANY, "message": message}
        facts: Json = {"code": _TOO_MANY, "turns": count}
        message = f"{_named(frame)} failed: {message}"
        machine.fail(key, "R100", message, cause=cause, facts=facts)
        return
    frame["turn"] = turn
    frame["results"] = [{"role": "tool", "id": call.get("id")} for call in calls]
    frame["children"] = {}
    for index, call in enumerate(calls):
        if call.get("kind") not in TOOL_KINDS:
            frame["results"][index]["error"] = call.get("error") or "there is no such tool"
            continue
        turns["tools"] += 1
        address = inner(turns["root"], f"tool{turns['tools']}")
        fields: Values = {"node": tool_key(frame["node"], str(call["kind"])), "base": address}
        fields |= {"name": str(call.get("name") or call["kind"]), "address": address, "attempt": 1}
        fields["extra"] = call.get("inputs") or {}
        child = machine.new_frame("task", parent=key, scope=frame["scope"], **fields)
        frame["children"][str(index)] = child
        machine.enter(child)
    _ask_with_results(machine, key)


def _ask_with_results(machine: State, key: str) -> None:
    """Begins the next turn when all results are there."""
    frame = machine.task_frames[key]
    if frame["children"]:
        return
    frame["turns"]["number"] += 1
    discard(frame, "repair", "repairs", "retries")
    before: Any = frame["inputs"].get("turns") or []
    turns = [*before, frame.pop("turn"), *frame.pop("results")]
    frame["inputs"] = frame["inputs"] | {"turns": turns}
    frame["base"] = inner(frame["turns"]["root"], f"turn{frame['turns']['number']}")
    # Attempts of a node are counted through, those of a turn start again at 1.
    frame["attempts_before"] = frame["attempt"] - 1
    ask(machine, key)


_RECEIVERS = {
    "task.started": _started,
    "task.held": budget.hold,
    "task.sent": budget.hold,
    "task.finished": _finished,
    "task.failed": _failed,
    "task.in_doubt": _in_doubt,
    "timer.fired": _ask_or_fail,
    "gate.decided": _decided,
}
