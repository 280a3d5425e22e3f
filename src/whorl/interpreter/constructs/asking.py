"""What a task asks for: its inputs, with the session that it goes on, as a command.

A model keeps nothing itself, so the machine does: the prompts and answers of each session, with the
loop that it belongs to; the oldest are left out where they outgrow their limits.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from whorl.interpreter.constructs import attempts
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import Perform, attempted
from whorl.interpreter.outcomes import failed, language_failure
from whorl.ir import Constant, Loop
from whorl.language import LanguageError, to_text

if TYPE_CHECKING:
    from whorl.interpreter.frames import TaskFrame, Values
    from whorl.interpreter.state import State
    from whorl.ir import Task
    from whorl.language import Json


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
    left = attempts.time_left(machine, frame)
    if left <= 0:
        return
    sessions = machine.state["sessions"]
    try:
        inputs = frame["inputs"] if keeps_inputs(node) else inputs_of(machine, frame, node)
    except LanguageError as fault:
        # Inputs that are computed anew for an attempt may read what has changed since.
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
    perform.secure_model = perform.secure and _computes_model(node)
    machine.command(perform)


def _computes_model(node: Task) -> bool:
    named = (value for name, value in node.inputs.entries if name in ("model", "provider"))
    return any(not isinstance(value, Constant) for value in named)


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
    return inputs | frame["extra"] if "extra" in frame else inputs


def keeps_inputs(node: Task) -> bool:
    """What is secure stays out of the state: it is computed anew for each attempt.

    The turns of a model with tools are added to its inputs, so those are kept.
    """
    return not node.secure or node.kind == "ask"


def _attempt(frame: TaskFrame) -> int:
    """Which attempt it is, of the task or of its present turn."""
    return int(frame["attempt"] - frame.get("attempts_before", 0))


def session_of(machine: State, frame: TaskFrame, node: Task) -> str:
    """Where a conversation is kept: with the loop that continues it, or with its iteration."""
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
    earlier = machine.state.get("conversations", {}).get(_conversation_key(frame, node), [])
    if not earlier:
        return inputs
    if any(message.get("secure") for message in earlier):
        # What a step keeps out of sight stays so where another one is told of it.
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
    key = _conversation_key(frame, node)
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


def _conversation_key(frame: TaskFrame, node: Task) -> str:
    """Where a conversation is kept: with the innermost loop around it, or with the run."""
    return f"{frame['loop'] or 'run'} {node.session}"
