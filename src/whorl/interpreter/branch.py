"""Branches and groups: one block inside a node."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from whorl.interpreter.block import new_block, results
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.outcomes import failed as failure
from whorl.interpreter.outcomes import is_failure, language_failure, succeeded
from whorl.interpreter.plan import inner_key
from whorl.ir import Branch
from whorl.language import LanguageError, truth

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import BranchFrame, Outcome
    from whorl.interpreter.state import State
    from whorl.ir import Case
    from whorl.language import Json, Scope


class GroupBehaviour:
    """The behaviour of a block as a node; its value is the results by name."""

    def enter(self, machine: State, key: str) -> None:
        """Starts the block."""
        _start_block(machine, key, "body")

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        """The block has ended."""
        if is_failure(outcome):
            machine.finish(key, outcome)
            return
        found = results(machine, machine.block_frames[child])
        machine.finish(key, succeeded(self._value(machine, key, found)))

    def receive(self, machine: State, key: str, event: Event) -> None:
        """A group waits for nothing itself."""

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """A group sends nothing itself."""

    def revive(self, machine: State, key: str) -> None:
        """Tries again what failed in the block."""
        body = machine.frames[key].get("body")
        if body is None:
            machine.enter(key)
        else:
            machine.revive(body)

    def _value(self, machine: State, key: str, found: dict[str, Json]) -> Json:
        return found


class BranchBehaviour(GroupBehaviour):
    """The behaviour of a branch; its value is the results, and the name of the branch taken."""

    def enter(self, machine: State, key: str) -> None:
        """Takes the first case that fits."""
        frame = cast("BranchFrame", machine.frames[key])
        node = machine.node(frame)
        assert isinstance(node, Branch)
        try:
            taken = _choose(node, machine.scope(frame))
        except LanguageError as fault:
            machine.finish(key, failure(language_failure(fault, frame["address"])))
            return
        if taken is None:
            machine.finish(key, succeeded({"branch": None}))
            return
        slot, frame["branch"] = taken
        machine.note("node.finished", frame["address"], {"branch": frame["branch"]})
        _start_block(machine, key, slot)

    def _value(self, machine: State, key: str, found: dict[str, Json]) -> Json:
        frame = cast("BranchFrame", machine.frames[key])
        return {"branch": frame["branch"]} | found


def _start_block(machine: State, key: str, slot: str) -> None:
    frame = machine.frames[key]
    block = inner_key(frame["node"], slot)
    plan = machine.plan.blocks[block]
    scope = frame["scope"]
    if not plan.block.open:
        scope = machine.new_scope({}, scope)
        frame["own_scope"] = scope
    frame["body"] = new_block(machine, block, parent=key, scope=scope, address=frame["address"])


def _choose(node: Branch, scope: Scope) -> tuple[str, str] | None:
    subject = value_of(node.subject, scope) if node.subject is not None else None
    for case in node.cases:
        if _fits(case, subject, scope):
            return f"case.{case.name}", case.name
    return ("default", node.default.name) if node.default is not None else None


def _fits(case: Case, subject: Json, scope: Scope) -> bool:
    if case.when is not None and not truth(case.when, scope):
        return False
    if case.equals is None:
        return case.when is not None
    wanted = value_of(case.equals, scope)
    return wanted == subject and isinstance(wanted, bool) == isinstance(subject, bool)
