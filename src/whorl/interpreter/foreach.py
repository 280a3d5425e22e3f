"""For-each: the body for each item, several at once; results in the order of the items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter import records
from whorl.interpreter.address import attempted, inner, numbered
from whorl.interpreter.block import new_block, results
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.outcomes import error, failed, is_failure, language_failure, succeeded
from whorl.interpreter.plan import inner_key
from whorl.ir import ForEach
from whorl.language import LanguageError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import ForEachFrame, Outcome
    from whorl.interpreter.state import State
    from whorl.language import Json


class ForEachBehaviour:
    """The behaviour of for-each frames. All items are run, also after one has failed."""

    def enter(self, machine: State, key: str) -> None:
        """Takes the items and starts as many as may run at once."""
        frame = machine.foreach_frames[key]
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

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        """An item is done."""
        frame = machine.foreach_frames[key]
        index = machine.block_frames[child]["index"]
        alarm = inner(machine.frames[child]["address"], "time")
        if alarm in machine.pending:
            machine.forget(alarm)
        if machine.plan.records:
            records.keep_item(machine, frame, machine.block_frames[child])
        if is_failure(outcome):
            _item_failed(machine, key, index, outcome["error"])
            return
        frame["results"][index] = results(machine, machine.block_frames[child])
        if frame["node"] not in machine.plan.keeping:
            del frame["children"][str(index)]
            machine.drop(child)
        _item_left(machine, key)

    def receive(self, machine: State, key: str, event: Event) -> None:
        """The time of an item is over."""
        frame = machine.foreach_frames[key]
        index = machine.pending[event.address]["index"]
        machine.settle(event.address)
        machine.drop(frame["children"].pop(str(index)))
        message = f"item {index + 1} of {frame['name']!r} took longer than its time"
        _item_failed(machine, key, index, error("R101", message, event.address))

    def ask_again(self, machine: State, key: str, address: str) -> None:
        """A for-each sends nothing itself."""

    def revive(self, machine: State, key: str) -> None:
        """Tries the items again that failed."""
        frame = machine.foreach_frames[key]
        if "items" not in frame:
            machine.enter(key)
            return
        lost = [*frame["failures"], *frame.get("lost", ())]
        frame["left"] += len(frame["failures"])
        frame["failures"] = {}
        at_once = _node(machine, key).concurrency
        frame["lost"] = lost[at_once:]
        for index in lost[:at_once]:
            _try_again(machine, key, index)


def reopen(machine: State, key: str, child: str) -> None:
    """An item goes on after it was done."""
    frame = machine.foreach_frames[key]
    index = machine.block_frames[child]["index"]
    frame["failures"].pop(str(index), None)
    frame["results"][index] = None
    if str(index) in frame.get("lost", ()):
        # It was to be tried again anyhow, and counts as one that is left.
        frame["lost"].remove(str(index))
    else:
        frame["left"] += 1
    _arm(machine, key, index)


def _item_failed(machine: State, key: str, index: int, cause: dict[str, Any]) -> None:
    machine.foreach_frames[key]["failures"][str(index)] = cause
    _item_left(machine, key)


def _item_left(machine: State, key: str) -> None:
    frame = machine.foreach_frames[key]
    frame["left"] -= 1
    if frame["failures"] and _node(machine, key).on_item_failure == "halt":
        if frame["left"] == len(frame["items"]) - frame["next"] + len(frame.get("lost", ())):
            machine.finish(key, _outcome(machine, key))
    elif frame.get("lost"):
        _try_again(machine, key, frame["lost"].pop(0))
    elif frame["next"] < len(frame["items"]):
        _start_next(machine, key)
    elif frame["left"] == 0:
        machine.finish(key, _outcome(machine, key))


def _try_again(machine: State, key: str, index: str) -> None:
    """An item that failed goes on where it failed; one that ran out of time begins anew."""
    frame = machine.foreach_frames[key]
    if index in frame["children"]:
        _arm(machine, key, int(index))
        machine.revive(frame["children"][index])
    else:
        _start(machine, key, int(index))


def _start_next(machine: State, key: str) -> None:
    frame = machine.foreach_frames[key]
    frame["next"] += 1
    _start(machine, key, frame["next"] - 1)


def _start(machine: State, key: str, index: int) -> None:
    frame = machine.foreach_frames[key]
    node = _node(machine, key)
    values: dict[str, Json] = {node.item_name: frame["items"][index]}
    if node.index_name:
        values[node.index_name] = index
    if machine.plan.records:
        values |= records.item_values(machine, frame, node, index)
    scope = machine.new_scope(values, frame["scope"])
    tries = frame.setdefault("tries", {})
    attempt = tries.get(str(index), 0) + 1
    if node.item_timeout_s is not None:
        tries[str(index)] = attempt
    child = new_block(
        machine,
        inner_key(frame["node"], "body"),
        parent=key,
        scope=scope,
        address=attempted(numbered(frame["address"], index + 1), attempt),
    )
    machine.block_frames[child].update({"index": index, "own_scope": scope})
    frame["children"][str(index)] = child
    _arm(machine, key, index)


def _arm(machine: State, key: str, index: int) -> None:
    seconds = _node(machine, key).item_timeout_s
    if seconds is not None:
        child = machine.frames[machine.foreach_frames[key]["children"][str(index)]]
        alarm = inner(child["address"], "time")
        machine.expect(alarm, key, "alarm", due=machine.now + seconds, index=index)


def _outcome(machine: State, key: str) -> Outcome:
    frame = machine.foreach_frames[key]
    found = frame["results"]
    if machine.plan.records:
        records.join_items(machine, frame)
    # One division is exact where the rate is written so; a difference of two rates is not.
    well = len(found) - len(frame["failures"])
    node = _node(machine, key)
    rate, wanted = well / len(found), node.min_success_rate
    if well == len(found):
        return succeeded(found)
    cause = _first_failure(frame)
    if rate >= wanted:
        whom = "it" if well == len(found) - 1 else "them"
        words = f"{cause['message']}; the run went on without {whom}"
        machine.warn(frame["address"], cause["code"], words)
        return succeeded(found)
    if wanted * node.items_max < 1:
        cause["message"] += f"; none of {len(found)} items succeeded"
    elif wanted < 1:
        cause["message"] += f"; {well} of {len(found)} items succeeded ({rate:.3g}), "
        cause["message"] += f"and min_success_rate is {wanted:g}"
    return failed(cause, value=found)


def _first_failure(frame: ForEachFrame) -> dict[str, Any]:
    """The error of the first item that failed; its message tells how many more there are."""
    first = min(frame["failures"], key=int)
    cause = dict(frame["failures"][first])
    cause["message"] = f"item {int(first) + 1} of {frame['name']!r}: {cause['message']}"
    many = len(frame["failures"])
    if many > 1:
        cause["message"] += f" (and {many - 1} more)"
    return cause


def _node(machine: State, key: str) -> ForEach:
    node = machine.node(machine.foreach_frames[key])
    assert isinstance(node, ForEach)
    return node


def _kind(value: Json) -> str:
    names = {dict: "an object", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
