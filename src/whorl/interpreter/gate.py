"""Gates: a person decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.evaluation import text_of, value_of
from whorl.interpreter.outcomes import error, failed, language_failure, succeeded
from whorl.ir import Gate
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.state import State
    from whorl.language import Json


class GateBehaviour:
    """The behaviour of gate frames."""

    def enter(self, machine: State, key: str) -> None:
        """Asks."""
        frame = machine.frames[key]
        node = _node(machine, key)
        scope = machine.scope(frame)
        try:
            message, show = text_of(node.message, scope), value_of(node.show, scope)
        except LanguageError as fault:
            machine.finish(key, failed(language_failure(fault, frame["address"])))
            return
        machine.expect(frame["address"], key, "gate")
        body: dict[str, Json] = {"reason": "gate", "message": message, "show": show}
        machine.note("gate.waiting", frame["address"], body)

    def child_left(self, machine: State, key: str, child: str, outcome: dict[str, Any]) -> None:
        """A gate has no frames below it."""

    def receive(self, machine: State, key: str, event: Event) -> None:
        """A person has decided."""
        machine.settle(event.address)
        decide(machine, key, bool(event.body.get("approved")), event.body.get("feedback"))

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """A gate sends nothing."""

    def revive(self, machine: State, key: str) -> None:
        """A gate that failed leaves no frame."""


def timed_out(machine: State, key: str) -> None:
    """Nobody has decided in time."""
    frame = machine.frames[key]
    node = _node(machine, key)
    machine.forget(frame["address"])
    if node.on_timeout == "fail":
        message = f"nobody decided {frame['name']!r} in time"
        machine.finish(key, failed(error("R101", message, frame["address"]), status="timed_out"))
    else:
        decide(machine, key, node.on_timeout == "approve", "nobody decided in time")


def decide(machine: State, key: str, approved: bool, feedback: Json) -> None:
    """The gate opens, or it does not."""
    frame = machine.frames[key]
    if not approved and _node(machine, key).on_reject == "fail":
        message = f"{frame['name']!r} was rejected: {feedback or 'no reason given'}"
        machine.finish(key, failed(error("R108", message, frame["address"])))
        return
    machine.finish(key, succeeded({"approved": approved, "feedback": feedback or ""}))


def _node(machine: State, key: str) -> Gate:
    node = machine.node(machine.frames[key])
    assert isinstance(node, Gate)
    return node
