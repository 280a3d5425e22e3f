"""Records of actions: what expressions are told about the nodes that have ended, by name.

The scope of a workflow holds `$actions` (a record of each node that has ended) and `$variables`
(its variables as one object, replaced and never changed). Each item of a for-each has records of
its own; after it they are lists over the items.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whorl.ir import Branch
from whorl.ir.walk import blocks_of, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir import ForEach, Node, Workflow
    from whorl.language import Json

_NOT_TAKEN: dict[str, Json] = {"code": "ActionBranchingConditionNotSatisfied"}


class ActionRecords:
    """Keeps the records of actions in a table by name."""

    table = "$actions"
    variables = "$variables"
    items = "$items"

    def begin(self, workflow: Workflow, run: str) -> dict[str, Json]:
        """The names that a workflow begins with."""
        facts: dict[str, Json] = {
            "id": f"/workflows/{workflow.name}",
            "name": workflow.name,
            "type": "workflows",
            "run": {"id": f"/workflows/{workflow.name}/runs/{run}", "name": run, "type": "runs"},
        }
        actions: dict[str, Json] = {node.name: None for _, node in walk(workflow.body)}
        return {"$actions": actions, "$variables": {}, "$items": {}, "$workflow": facts}

    def node_ended(
        self,
        table: dict[str, Any],
        node: Node,
        end: Mapping[str, Any],
        others: Mapping[str, Mapping[str, Any]],
        **facts: Any,
    ) -> None:
        """A node has ended; `others` are the ends of those beside it.

        The facts are `now`, `started`, `inputs`, `value` and the branch that was `taken`.
        """
        now = written(facts["now"])
        if end["status"] == "skipped":
            _skip(table, (node,), now)
            table[node.name]["error"] = _why_skipped(node, others)
            return
        record = _record(node.name, status_of(end["status"]))
        record |= {"startTime": written(facts["started"]), "endTime": now}
        if facts["inputs"] is not None:
            record["inputs"] = facts["inputs"]
        if facts["value"] is not None:
            record["outputs"] = facts["value"]
        if "error" in end:
            record["error"] = {"code": record["code"], "message": end["error"].get("message")}
        table[node.name] = record
        # The blocks of a branch that were not taken.
        cases = (*node.cases, node.default) if isinstance(node, Branch) else ()
        for case in cases:
            if case is not None and case.name != facts["taken"]:
                _skip(table, case.body.nodes, now)

    def item_values(
        self, table: dict[str, Any], node: ForEach, item: Json, items: Json
    ) -> dict[str, Json]:
        """The names that an item of a for-each begins with, beside its own."""
        if node.item_name != "$item":
            # What is gone through is none of the file's own.
            return {"$actions": dict(table)}
        around = items if isinstance(items, dict) else {}
        return {"$actions": dict(table), "$item": item, "$items": around | {node.name: item}}

    def item_ended(self, table: dict[str, Any], node: ForEach) -> dict[str, Any]:
        """The records of what is inside, when an item of a for-each is done."""
        return {n.name: table[n.name] for _, n in walk(node.body) if table.get(n.name) is not None}

    def items_ended(
        self, table: dict[str, Any], node: ForEach, rows: list[dict[str, Any]], now: float
    ) -> None:
        """All items are done: what is inside has its outputs as lists, in the items' order."""
        if not rows and node.item_name != "$item":
            return
        for _, inside in walk(node.body):
            name = inside.name
            ended = {row[name]["status"] for row in rows if name in row}
            worst = ("Failed", "TimedOut", "Succeeded")
            status = next((word for word in worst if word in ended), "Skipped")
            outputs = [row.get(name, {}).get("outputs") for row in rows]
            table[name] = _record(name, status) | {"outputs": outputs, "endTime": written(now)}


RECORDER = ActionRecords()


def status_of(word: str) -> str:
    """How an action has ended, by the engine's word such as `timed_out`."""
    return word.title().replace("_", "")


def code_of(status: str) -> str:
    return "OK" if status == "Succeeded" else f"Action{status}"


def _record(name: str, status: str) -> dict[str, Json]:
    return {"name": name, "status": status, "code": code_of(status)}


def _why_skipped(node: Node, others: Mapping[str, Mapping[str, Any]]) -> dict[str, Json]:
    """What a node waited for and did not get; its own condition, where it got all of it."""
    for after in node.after:
        actual = others.get(after.node, {}).get("status", "succeeded")
        if actual not in after.statuses and "passed" not in after.statuses:
            wanted = ", ".join(map(status_of, after.statuses))
            message = f"{node.name!r} was skipped: {after.node!r} was to be {wanted}, "
            message += f"and is {status_of(actual)}"
            cause = "Dependency" if actual == "skipped" else "Condition"
            return {"code": f"Action{cause}Failed", "message": message}
    return dict(_NOT_TAKEN)


def _skip(table: dict[str, Any], nodes: tuple[Node, ...], now: str) -> None:
    for node in nodes:
        times: dict[str, Json] = {"startTime": now, "endTime": now, "error": dict(_NOT_TAKEN)}
        table[node.name] = _record(node.name, "Skipped") | times
        for _, block in blocks_of(node):
            _skip(table, block.nodes, now)


# What ends at one moment is written in a row.
@lru_cache(maxsize=16)
def written(seconds: float) -> str:
    """A time as Azure writes it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}0Z"
