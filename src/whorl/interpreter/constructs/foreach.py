"""For-each: the body for each item of a list, several at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import plural
from whorl.interpreter.constructs.block import new_block, results
from whorl.interpreter.evaluation import value_of
from whorl.interpreter.events import attempted, inner, numbered
from whorl.interpreter.outcomes import error_at, failed, is_failure, succeeded
from whorl.interpreter.plan import inner_key
from whorl.interpreter.state import Behaviour
from whorl.language import EvaluationError

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.interpreter.frames import Outcome, Values
    from whorl.interpreter.state import State
    from whorl.ir import ForEach


class ForEachBehaviour(Behaviour):
    """The body for each item, several at once; all items are run, also after one has failed."""

    stays = True

    def enter(self, machine: State, key: str) -> None:
        frame = machine.foreach_frames[key]
        node: ForEach = machine.node(frame)
        items = value_of(node.items, machine.scope(frame))
        if not isinstance(items, list) or len(items) > node.items_max:
            names = {dict: "an object", str: "a text", bool: "a boolean", type(None): "null"}
            kind = names.get(type(items), "a number")
            given = plural(len(items), "item") if isinstance(items, list) else kind
            limit = f"a list of at most {plural(node.items_max, 'item')}"
            raise EvaluationError(f"{node.name!r} needs {limit}, not {given}")
        frame |= {"items": items, "next": 0, "left": len(items), "children": {}, "failures": {}}
        frame["results"] = [None] * len(items)
        if not items:
            machine.finish(key, succeeded([]))
        for index in range(min(node.concurrency, len(items))):
            _start(machine, key, index)

    def child_left(self, machine: State, key: str, child: str, outcome: Outcome) -> None:
        frame = machine.foreach_frames[key]
        index = machine.block_frames[child]["index"]
        machine.forget_if_pending(inner(machine.frames[child]["address"], "time"))
        if recorder := machine.plan.recorder(frame["node"]):
            inside: Any = machine.values_at(machine.frames[child]["own_scope"])[recorder.table]
            records = recorder.item_ended(inside, machine.node(frame))
            frame.setdefault("kept", {})[str(index)] = records
        if is_failure(outcome):
            frame["failures"][str(index)] = outcome["error"]
        else:
            frame["results"][index] = results(machine, child)
            if frame["node"] not in machine.plan.keeping:
                del frame["children"][str(index)]
                machine.drop(child)
        _item_left(machine, key)

    def receive(self, machine: State, key: str, event: Event) -> None:
        frame = machine.foreach_frames[key]
        index = machine.pending[event.address]["index"]
        machine.settle(event.address)
        machine.drop(frame["children"].pop(str(index)))
        message = f"item {index + 1} of {frame['name']!r} took longer than its time limit"
        frame["failures"][str(index)] = error_at(event.address, "R101", message)
        _item_left(machine, key)

    def revive(self, machine: State, key: str) -> None:
        frame = machine.foreach_frames[key]
        if "items" not in frame:
            machine.enter(key)
            return
        lost = [*frame["failures"], *frame.get("lost", ())]
        frame["left"] += len(frame["failures"])
        frame["failures"] = {}
        at_once = machine.node(frame).concurrency
        frame["lost"] = lost[at_once:]
        for index in lost[:at_once]:
            _try_again(machine, key, index)

    def reopen(self, machine: State, key: str, child: str) -> None:
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


def _item_left(machine: State, key: str) -> None:
    frame = machine.foreach_frames[key]
    frame["left"] -= 1
    if frame["failures"] and machine.node(frame).on_item_failure == "halt":
        if frame["left"] == len(frame["items"]) - frame["next"] + len(frame.get("lost", ())):
            machine.finish(key, _outcome(machine, key))
    elif frame.get("lost"):
        _try_again(machine, key, frame["lost"].pop(0))
    elif frame["next"] < len(frame["items"]):
        _start(machine, key, frame["next"])
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


def _start(machine: State, key: str, index: int) -> None:
    frame = machine.foreach_frames[key]
    node: ForEach = machine.node(frame)
    frame["next"] = max(frame["next"], index + 1)
    values: Values = {node.item_name: frame["items"][index]}
    if node.index_name:
        values[node.index_name] = index
    if recorder := machine.plan.recorder(frame["node"]):
        around = machine.scope(frame)
        table: Any = around.lookup(recorder.table)
        items: Any = around.lookup(recorder.items)
        values |= recorder.item_values(table, node, frame["items"][index], items)
    scope = machine.new_scope(values, frame["scope"])
    tries = frame.setdefault("tries", {})
    attempt = tries.get(str(index), 0) + 1
    if node.item_timeout_s is not None:
        tries[str(index)] = attempt
    block = inner_key(frame["node"], "body")
    address = attempted(numbered(frame["address"], index + 1), attempt)
    child = new_block(machine, block, parent=key, scope=scope, address=address)
    machine.block_frames[child].update({"index": index, "own_scope": scope})
    frame["children"][str(index)] = child
    _arm(machine, key, index)


def _arm(machine: State, key: str, index: int) -> None:
    frame = machine.foreach_frames[key]
    seconds = machine.node(frame).item_timeout_s
    if seconds is not None:
        child = machine.frames[frame["children"][str(index)]]
        alarm = inner(child["address"], "time")
        machine.expect(alarm, key, "alarm", due=machine.now + seconds, index=index)


def _outcome(machine: State, key: str) -> Outcome:
    frame = machine.foreach_frames[key]
    values = frame["results"]
    node: ForEach = machine.node(frame)
    if recorder := machine.plan.recorder(frame["node"]):
        records = frame.pop("kept", {})
        rows = [records.get(str(index), {}) for index in range(len(values))]
        table: Any = machine.scope(frame).lookup(recorder.table)
        recorder.items_ended(table, node, rows, machine.now)
    # One division is exact where the rate is written so; a difference of two rates is not.
    well = len(values) - len(frame["failures"])
    rate, wanted = well / len(values), node.min_success_rate
    if well == len(values):
        return succeeded(values)
    first, more = min(frame["failures"], key=int), len(frame["failures"]) - 1
    cause = dict(frame["failures"][first])
    cause["message"] = f"item {int(first) + 1} of {frame['name']!r}: {cause['message']}"
    cause["message"] += f" (and {more} more)" if more else ""
    if rate >= wanted:
        words = f"{cause['message']}; the run went on without {'them' if more else 'it'}"
        machine.warn(frame["address"], cause["code"], words, facts=cause.get("facts"))
        return succeeded(values)
    if wanted * node.items_max < 1:
        cause["message"] += f"; none of {plural(len(values), 'item')} succeeded"
    elif wanted < 1:
        cause["message"] += f"; {well} of {len(values)} items succeeded ({rate:.3g}), "
        cause["message"] += f"and min_success_rate is {wanted:g}"
    return failed(cause, value=values)
