"""For-each: the body for each item, several at once; results in the order of the items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter.address import numbered
from whorl.interpreter.block import new_block, results
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.outcomes import error, failed, is_failure, language_failure, succeeded
from whorl.interpreter.plan import inner_key
from whorl.ir import ForEach
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome
    from whorl.interpreter.machine import Machine
    from whorl.language import Json


class ForEachBehaviour:
    """The behaviour of for-each frames. All items are run, also after one has failed."""

    def enter(self, machine: Machine, key: str) -> None:
        """Takes the items and starts as many as may run at once."""
        frame = machine.frames[key]
        node = _node(machine, key)
        try:
            items = value_of(node.items, machine.scope(frame))
        except LanguageError as fault:
            machine.finish(key, failed(language_failure(fault, frame["address"])))
            return
        if not isinstance(items, list) or len(items) > node.items_max:
            found = f"{len(items)} items" if isinstance(items, list) else _kind(items)
            message = f"{node.name!r} needs a list of at most {node.items_max} items, not {found}"
            machine.finish(key, failed(error("R104", message, frame["address"])))
            return
        frame |= {"items": items, "next": 0, "left": len(items), "children": {}, "failures": {}}
        frame["results"] = [None] * len(items)
        if not items:
            machine.finish(key, succeeded([]))
        for _ in range(min(node.concurrency, len(items))):
            _start_next(machine, key)

    def child_left(self, machine: Machine, key: str, child: str, outcome: Outcome) -> None:
        """An item is done."""
        frame = machine.frames[key]
        index = machine.frames[child]["index"]
        frame["left"] -= 1
        if is_failure(outcome):
            frame["failures"][str(index)] = outcome["error"]
        else:
            frame["results"][index] = results(machine, machine.frames[child])
            del frame["children"][str(index)]
            machine.drop(child)
        if frame["next"] < len(frame["items"]):
            _start_next(machine, key)
        elif frame["left"] == 0:
            machine.finish(key, _outcome(machine, key))

    def receive(self, machine: Machine, key: str, event: Event) -> None:
        """A for-each waits for nothing itself."""

    def ask_again(self, machine: Machine, key: str, address: str) -> None:
        """A for-each sends nothing itself."""

    def revive(self, machine: Machine, key: str) -> None:
        """Tries the items again that failed."""
        frame = machine.frames[key]
        lost = list(frame["failures"])
        frame["failures"] = {}
        frame["left"] += len(lost)
        for index in lost:
            machine.revive(frame["children"][index])


def _start_next(machine: Machine, key: str) -> None:
    frame = machine.frames[key]
    node = _node(machine, key)
    index = frame["next"]
    frame["next"] += 1
    values: dict[str, Json] = {node.item_name: frame["items"][index]}
    if node.index_name:
        values[node.index_name] = index
    scope = machine.new_scope(values, frame["scope"])
    child = new_block(
        machine,
        inner_key(frame["node"], "body"),
        parent=key,
        scope=scope,
        address=numbered(frame["address"], index + 1),
    )
    machine.frames[child] |= {"index": index, "own_scope": scope}
    frame["children"][str(index)] = child


def _outcome(machine: Machine, key: str) -> Outcome:
    frame = machine.frames[key]
    found = frame["results"]
    if not frame["failures"]:
        return succeeded(found)
    first = min(frame["failures"], key=int)
    cause = dict(frame["failures"][first])
    many = len(frame["failures"])
    cause["message"] = f"item {int(first) + 1} of {frame['name']!r}: {cause['message']}"
    if many > 1:
        cause["message"] += f" (and {many - 1} more)"
    return failed(cause, value=found)


def _node(machine: Machine, key: str) -> ForEach:
    node = machine.node(machine.frames[key])
    assert isinstance(node, ForEach)
    return node


def _kind(value: Json) -> str:
    names = {dict: "an object", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
