"""Conversations with models: steps with the same session see what was asked and answered before.

A model keeps nothing itself, so the machine does: the prompts and answers of each session, with the
loop that it belongs to. The oldest are left out where they outgrow their limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.language import to_text

if TYPE_CHECKING:
    from whorl.interpreter.frames import TaskFrame
    from whorl.interpreter.state import State
    from whorl.ir import Task
    from whorl.language import Json

MESSAGES_MAX = 200
CHARACTERS_MAX = 400_000


def recall(
    machine: State, frame: TaskFrame, node: Task, inputs: dict[str, Json]
) -> dict[str, Json]:
    """The inputs of a question, with all that its conversation holds so far."""
    if node.kind != "ask" or not node.session:
        return inputs
    said = machine.state.get("conversations", {}).get(_key(frame, node), [])
    if not said:
        return inputs
    if any(message.get("secure") for message in said):
        # What a step keeps out of sight stays so where another one is told of it.
        frame["secure"] = True
    own = inputs.get("messages")
    messages: list[Json] = [{"role": m["role"], "content": m["content"]} for m in said]
    return inputs | {"messages": [*messages, *(own if isinstance(own, list) else ())]}


def keep(machine: State, frame: TaskFrame, node: Task, value: Json) -> None:
    """Adds a question and its answer to their conversation."""
    if node.kind != "ask" or not node.session:
        return
    pair: list[dict[str, Any]] = [
        {"role": "user", "content": to_text(frame["inputs"].get("prompt"))},
        {"role": "assistant", "content": to_text(value)},
    ]
    if node.secure or frame.get("secure"):
        pair = [message | {"secure": True} for message in pair]
    conversations = machine.state.setdefault("conversations", {})
    key = _key(frame, node)
    said = [*conversations.get(key, ()), *pair]
    count = len(said)
    while len(said) > MESSAGES_MAX or sum(len(m["content"]) for m in said) > CHARACTERS_MAX:
        # Questions go with their answers.
        del said[:2]
    if len(said) < count:
        words = f"session {node.session!r} is longer than {MESSAGES_MAX} messages or "
        words += f"{CHARACTERS_MAX:,} characters, the most that is kept: its oldest are left out"
        machine.warn(frame["address"], "R105", words)
    conversations[key] = said


def forget(machine: State, loop: str) -> None:
    """Forgets the conversations in a loop."""
    conversations = machine.state.get("conversations")
    if conversations:
        for key in [key for key in conversations if key.startswith(f"{loop} ")]:
            del conversations[key]


def _key(frame: TaskFrame, node: Task) -> str:
    """Where a conversation is kept: with the innermost loop around it, or with the run."""
    return f"{frame['loop'] or 'run'} {node.session}"
