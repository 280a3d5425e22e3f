"""Records of actions: the names by which expressions read nodes that have ended.

Mocks of tests have words of their own for them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects.mocking import STATUSES, MockWords
from whorl.formats.loom.forms import STATUS_CODES
from whorl.ir import Branch
from whorl.ir.walk import blocks_of, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir import ForEach, Node, Workflow
    from whorl.language import Json


_NOT_TAKEN = "ActionBranchingConditionNotSatisfied"


# The scope of a workflow holds `$actions` (a record of each node that has ended) and `$variables`
# (its variables as one object, replaced and never changed). Each item of a for-each has records of
# its own; after it they are lists over the items.


class ActionRecords:
    """Keeps the records of actions in a table by name."""

    table = "$actions"
    variables = "$variables"
    items = "$items"

    def begin(self, workflow: Workflow, run: str) -> dict[str, Json]:
        """Returns the names that a workflow begins with."""
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
        """Records that a node has ended; `others` are the ends of the nodes beside it.

        The facts are `now`, `started`, `inputs`, `value` and the chosen branch, `taken`.
        """
        now = written(facts["now"])
        if end["status"] == "skipped":
            _skip(table, (node,), now)
            # The unmet dependencies of the node; if all were met, its own condition.
            for after in node.after:
                actual = others.get(after.node, {}).get("status", "succeeded")
                if actual not in after.statuses and "passed" not in after.statuses:
                    wanted, reached = map(status_of, after.statuses), status_of(actual)
                    words = f"{after.node!r} was to be {', '.join(wanted)}, and is {reached}"
                    code = "Dependency" if actual == "skipped" else "Condition"
                    message = f"{node.name!r} was skipped: {words}"
                    table[node.name]["error"] = {"code": f"Action{code}Failed", "message": message}
                    break
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
        """Returns the names that an item of a for-each begins with, beside its own."""
        if node.item_name != "$item":
            # The items are not those of a for-each of the file.
            return {"$actions": dict(table)}
        around = items if isinstance(items, dict) else {}
        return {"$actions": dict(table), "$item": item, "$items": around | {node.name: item}}

    def item_ended(self, table: dict[str, Any], node: ForEach) -> dict[str, Any]:
        """Returns the records of the inner nodes when an item of a for-each is done."""
        return {n.name: table[n.name] for _, n in walk(node.body) if table.get(n.name) is not None}

    def items_ended(
        self, table: dict[str, Any], node: ForEach, rows: list[dict[str, Any]], now: float
    ) -> None:
        """Gives the inner nodes lists as outputs, in the items' order, when all items are done."""
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
    """Returns how an action has ended, for an engine's word such as `timed_out`."""
    return word.title().replace("_", "")


def _record(name: str, status: str) -> dict[str, Json]:
    code = "OK" if status == "Succeeded" else f"Action{status}"
    return {"name": name, "status": status, "code": code}


def _skip(table: dict[str, Any], nodes: tuple[Node, ...], now: str) -> None:
    for node in nodes:
        times: dict[str, Json] = {"startTime": now, "endTime": now, "error": {"code": _NOT_TAKEN}}
        table[node.name] = _record(node.name, "Skipped") | times
        for _, block in blocks_of(node):
            _skip(table, block.nodes, now)


# Several actions often end at the same moment, so the last texts are cached.
@lru_cache(maxsize=16)
def written(seconds: float) -> str:
    """Returns a time as Azure writes it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}0Z"


# The answer of a web service, a connector or a called workflow.
_ANSWERING = ("http", "connector")
_PARTS = ("body", "headers", "queries", "relativePathParameters")


class ActionWords(MockWords):
    """The words of mocks: `Succeeded` or `Failed`, and a `statusCode` for calls."""

    statuses = MockWords.statuses | {status_of(word): word for word in STATUSES}

    def answer(self, node: ir.Node, fields: dict[str, Any]) -> dict[str, Any]:
        """Returns an answer; a status code of 400 or more fails unless the mock sets a status."""
        calls = isinstance(node, ir.Call) or (isinstance(node, ir.Task) and node.kind in _ANSWERING)
        outputs = fields.get("outputs")
        if not calls or "function" in fields or not isinstance(outputs, dict | None):
            return fields
        # A status code may be written by its name.
        named = str((outputs or {}).get("statusCode")).lower()
        code = int(named) if named.isdecimal() else STATUS_CODES.get(named)
        status = str(fields.get("status", ""))
        is_failed = "error" in fields or status.lower() == "failed"
        is_failed = is_failed or (not status and code is not None and code >= 400)
        code = code or (500 if is_failed else 200)
        whole = {"statusCode": code, "headers": {}, **(outputs or {})} | {"statusCode": code}
        if not is_failed:
            return {**fields, "outputs": whole}
        error = fields.get("error", {})
        error = {"message": error} if isinstance(error, str) else error
        error = {"status": code, "message": f"status {code}", **error}
        return {"status": "failed", **fields, "error": error, "outputs": whole}

    def given(self, node: ir.Node, inputs: Json) -> Json:
        """Returns the inputs as the action writes them; for a connector those under `input`."""
        if not isinstance(node, ir.Task) or not isinstance(inputs, dict):
            return inputs
        if node.kind == "connector":
            return inputs.get("input")
        own = {"uri": inputs.get("url"), **inputs} if node.kind == "http" else inputs
        return {key: value for key, value in own.items() if key not in ("url", "poll", "pages")}

    def trigger(self, workflow: ir.Workflow) -> str:
        return "manual" if workflow.trigger is None else workflow.trigger.name

    def inputs(self, workflow: ir.Workflow, fields: dict[str, Any]) -> dict[str, Json]:
        """Returns the outputs of a trigger that a run receives: body, headers, queries."""
        outputs = fields.get("outputs")
        if not isinstance(outputs, dict) or not set(outputs) & set(_PARTS):
            outputs = {"body": outputs}
        names = {port.name for port in workflow.inputs}
        return {name: value for name, value in outputs.items() if name in names}


WORDS = ActionWords()
