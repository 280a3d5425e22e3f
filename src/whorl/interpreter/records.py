"""Records: what a workflow that asks for them is told about the nodes that have ended, by name.

Where `Workflow.statuses` has words, the scope of the workflow holds `$actions` (a record of each
node that has ended) and `$variables` (its variables as one object, replaced and never changed).
Each item of a for-each has records of its own; after it they are lists over the items.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whorl.interpreter.evaluation import value_of
from whorl.interpreter.plan import inner_key
from whorl.ir import Branch
from whorl.ir.walk import blocks_of, walk
from whorl.language import EvaluationError, LanguageError, to_text

if TYPE_CHECKING:
    from whorl.interpreter.frames import BlockFrame, ForEachFrame, Frame
    from whorl.interpreter.state import State
    from whorl.ir import Assign, ForEach, Node, Workflow
    from whorl.language import Json

ITEMS_MAX = 100_000
_CODES = {
    "succeeded": "OK",
    "failed": "ActionFailed",
    "timed_out": "ActionTimedOut",
    "cancelled": "ActionCancelled",
    "skipped": "ActionSkipped",
}


_NOT_TAKEN: dict[str, Json] = {"code": "ActionBranchingConditionNotSatisfied"}


def begin(machine: State, workflow: Workflow) -> dict[str, Json]:
    """The names that a workflow with records begins with."""
    run = str(machine.state["run"])
    known: dict[str, Json] = {
        "id": f"/workflows/{workflow.name}",
        "name": workflow.name,
        "type": "workflows",
        "run": {"id": f"/workflows/{workflow.name}/runs/{run}", "name": run, "type": "runs"},
    }
    actions: dict[str, Json] = {node.name: None for _, node in walk(workflow.body)}
    return {"$actions": actions, "$variables": {}, "$items": {}, "$workflow": known}


def keep(
    machine: State, frame: BlockFrame, name: str, end: dict[str, Any], value: Json = None
) -> None:
    """A node has ended."""
    table = _nearest(machine, frame["scope"])
    if table is None:
        return
    key = machine.plan.blocks[frame["block"]].node_key(name)
    child: Any = machine.frames.get(frame["children"].get(name, ""), {})
    words = dict(machine.plan.workflow_of(key).statuses)
    node = machine.plan.nodes[key]
    status = end["status"]
    now = _written(machine.now)
    if status == "skipped":
        _skip(machine, table, key, words, now)
        table[name]["error"] = _why_skipped(machine, frame, name, words)
        return
    record: dict[str, Json] = {"name": name, "status": words[status], "code": _CODES[status]}
    record["startTime"] = _written(end.pop("at", machine.now))
    record["endTime"] = now
    inputs = end.pop("inputs", None)
    if inputs is not None:
        record["inputs"] = inputs
    if value is not None:
        record["outputs"] = value
    if "error" in end:
        cause = end["error"]
        record["error"] = {"code": _CODES[status], "message": cause.get("message")}
    table[name] = record
    for slot in _slots_left_out(node, child.get("branch")):
        _skip_block(machine, table, inner_key(key, slot), words, now)


def echo(machine: State, frame: Frame, node: Node) -> Json:
    """What a node's record tells as its inputs; nothing where they cannot be computed."""
    if node.echo is None:
        return None
    try:
        return value_of(node.echo, machine.scope(frame))
    except LanguageError:
        # The node itself fails of it, and says why.
        return None


def item_values(machine: State, frame: ForEachFrame, node: ForEach, index: int) -> dict[str, Json]:
    """The names that an item of a for-each begins with, beside its own."""
    table = _nearest(machine, frame["scope"])
    if table is None:
        return {}
    item = frame["items"][index]
    around = machine.scope(frame).lookup("$items")
    items: dict[str, Json] = around if isinstance(around, dict) else {}
    return {"$actions": dict(table), "$item": item, "$items": items | {node.name: item}}


def keep_item(machine: State, frame: ForEachFrame, child: BlockFrame) -> None:
    """An item of a for-each is done: remembers the records of what is inside."""
    table = machine.state["scopes"][child["own_scope"]]["values"].get("$actions")
    if not isinstance(table, dict):
        return
    names = _names_inside(machine, frame["node"])
    frame.setdefault("kept", {})[str(child["index"])] = {
        name: table[name] for name in names if table.get(name) is not None
    }


def join_items(machine: State, frame: ForEachFrame) -> None:
    """All items are done: what is inside has its outputs as lists, in the order of the items."""
    table = _nearest(machine, frame["scope"])
    if table is None:
        return
    kept = frame.pop("kept", {})
    rows = [kept.get(str(index), {}) for index in range(len(frame["items"]))]
    words = dict(machine.plan.workflow_of(frame["node"]).statuses)
    worst = [words[status] for status in ("failed", "timed_out", "succeeded")]
    for name in _names_inside(machine, frame["node"]):
        found = [row[name] for row in rows if name in row]
        ended = {record["status"] for record in found}
        status = next((word for word in worst if word in ended), words["skipped"])
        table[name] = {
            "name": name,
            "status": status,
            "code": _CODES[next(key for key, word in words.items() if word == status)],
            "outputs": [row.get(name, {}).get("outputs") for row in rows],
            "endTime": _written(machine.now),
        }


def assign(machine: State, frame: Frame, node: Assign) -> dict[str, Json] | None:
    """Sets variables where they are kept as one object; None where they are not."""
    root: dict[str, Any] = machine.root_values(frame["scope"])
    if "$variables" not in root:
        return None
    scope = machine.scope(frame)
    assigned: dict[str, Json] = {}
    for name, assignment in node.sets:
        value = value_of(assignment, scope)
        before = root["$variables"].get(name)
        assigned[name] = changed(node.operation, name, before, value)
        root["$variables"] = root["$variables"] | {name: assigned[name]}
    return assigned


def changed(operation: str, name: str, before: Json, value: Json) -> Json:
    """What a variable holds after it was set, appended to, or added to."""
    match operation:
        case "append":
            items = [] if before is None else before
            if not isinstance(items, list) or len(items) >= ITEMS_MAX:
                raise EvaluationError(
                    f"variable {name!r} cannot be appended to: it holds no array, "
                    f"or one of {ITEMS_MAX} items"
                )
            return [*items, value]
        case "join":
            text = "" if before is None else before
            if not isinstance(text, str):
                raise EvaluationError(f"variable {name!r} cannot be appended to: it holds no text")
            return text + to_text(value)
        case "add":
            number = 0 if before is None else before
            if not _is_number(number) or not _is_number(value):
                raise EvaluationError(f"variable {name!r} cannot be added to: both must be numbers")
            return number + value  # type: ignore[operator]
    return value


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _nearest(machine: State, scope: str | None) -> dict[str, Any] | None:
    scopes = machine.state["scopes"]
    while scope is not None:
        values: dict[str, Any] = scopes[scope]["values"]
        if "$actions" in values:
            table: dict[str, Any] = values["$actions"]
            return table
        scope = scopes[scope]["up"]
    return None


def _slots_left_out(node: Node, taken: str | None) -> list[str]:
    """The blocks of a branch that were not taken."""
    if not isinstance(node, Branch):
        return []
    slots = {f"case.{case.name}": case.name for case in node.cases}
    if node.default is not None:
        slots["default"] = node.default.name
    return [slot for slot, name in slots.items() if name != taken]


def _why_skipped(
    machine: State, frame: BlockFrame, name: str, words: dict[str, str]
) -> dict[str, Json]:
    """What a node waited for and did not get; its own condition, where it got all of it."""
    for after in machine.plan.blocks[frame["block"]].waits[name]:
        actual = frame["ends"].get(after.node, {}).get("status", "succeeded")
        if actual not in after.statuses and "passed" not in after.statuses:
            wanted = ", ".join(words[status] for status in after.statuses if status in words)
            return {
                "code": "ActionDependencyFailed"
                if actual == "skipped"
                else "ActionConditionFailed",
                "message": f"{name!r} was skipped: {after.node!r} was to be {wanted}, "
                f"and is {words[actual]}",
            }
    return dict(_NOT_TAKEN)


def _skip(machine: State, table: dict[str, Any], key: str, words: dict[str, str], now: str) -> None:
    node = machine.plan.nodes[key]
    table[node.name] = {
        "name": node.name,
        "status": words["skipped"],
        "code": _CODES["skipped"],
        "startTime": now,
        "endTime": now,
        "error": dict(_NOT_TAKEN),
    }
    for slot, _ in blocks_of(node):
        _skip_block(machine, table, inner_key(key, slot), words, now)


def _skip_block(
    machine: State, table: dict[str, Any], key: str, words: dict[str, str], now: str
) -> None:
    for name in machine.plan.blocks[key].nodes:
        _skip(machine, table, key + name, words, now)


def _names_inside(machine: State, key: str) -> list[str]:
    found: list[str] = []
    node: Node = machine.plan.nodes[key]
    for slot, _ in blocks_of(node):
        block = inner_key(key, slot)
        for name in machine.plan.blocks[block].nodes:
            found += [name, *_names_inside(machine, block + name)]
    return found


def _written(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}0Z"
