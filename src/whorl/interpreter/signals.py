"""Stop, break and continue: nodes that end something around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import loop, run
from whorl.interpreter.evaluation import text_of, value_of
from whorl.interpreter.outcomes import error, failed, language_failure, succeeded
from whorl.ir import Break, Continue, Stop
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.state import State


class SignalBehaviour:
    """The behaviour of frames that end a loop's iteration, a loop or the run."""

    def enter(self, machine: State, key: str) -> None:
        """Ends it."""
        node = machine.node(machine.frames[key])
        if isinstance(node, Stop):
            _stop(machine, key, node)
            return
        assert isinstance(node, Break | Continue)
        target = _loop_around(machine, key, node.loop)
        loop.interrupt(machine, target, "break" if isinstance(node, Break) else "continue")

    def child_left(self, machine: State, key: str, child: str, outcome: dict[str, Any]) -> None:
        """Nothing is below."""

    def receive(self, machine: State, key: str, event: Event) -> None:
        """Nothing is waited for."""

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """Nothing is sent."""

    def revive(self, machine: State, key: str) -> None:
        """Nothing is left to try again."""


def _loop_around(machine: State, key: str, name: str) -> str:
    here = machine.frames[key]["loop"]
    while here is not None and machine.frames[here]["name"] != name:
        here = machine.frames[here]["loop"]
    assert here is not None, f"no loop {name!r} around (the checks refuse this)"
    return str(here)


def _stop(machine: State, key: str, node: Stop) -> None:
    frame = machine.frames[key]
    scope = machine.scope(frame)
    try:
        message = text_of(node.message, scope)
        output = value_of(node.output, scope) if node.output is not None else None
    except LanguageError as fault:
        machine.finish(key, failed(language_failure(fault, frame["address"])))
        return
    if node.status == "succeeded":
        outcome = succeeded({"message": message} if output is None else {"output": output})
    else:
        words = message or f"stopped by {frame['name']!r}"
        outcome = failed(error("R109", words, frame["address"]), status=node.status)
    run.end_now(machine, outcome)
