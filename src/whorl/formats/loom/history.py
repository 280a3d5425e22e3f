"""The history of a run in Azure's own shape, and the words that tests have for its actions.

Actions are known by their names, wherever they stand. One that lies in a loop has only what its
repetitions have in common; the items of a Foreach are its `scopeRepetitions`, the iterations of an
Until are its `repetitions`.
"""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from whorl import ir
from whorl.dialects.mocking import STATUSES, MockWords
from whorl.formats.loom.external_actions import STATUS_CODES
from whorl.ir import Branch
from whorl.ir.walk import blocks_of, walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.ir import ForEach, Node, Workflow
    from whorl.language import Json


_NOT_TAKEN = "ActionBranchingConditionNotSatisfied"
# Why an action was skipped, but for one that waited for another one.
_SKIPS = {"end": "Terminated", **dict.fromkeys(("condition", "branch", "around"), _NOT_TAKEN)}
# The codes of an expression that failed, and of a run that was ended.
_EXPRESSION, _STOPPED = "R104", "R109"
# Of the repetitions of an action, the first of these is its status.
_WORST = ("Failed", "TimedOut", "Cancelled", "Running", "Waiting", "Succeeded")
# Of these only how they ended is told.
_HOLDERS = (ir.ForEach, ir.Loop, ir.Group, ir.Branch)
_STATUS_PHRASES = {s.value: s.phrase.title().replace(" ", "") for s in HTTPStatus} | {200: "OK"}


def run_history(
    run: Mapping[str, Any], records: Sequence[Mapping[str, Any]], workflow: ir.Workflow
) -> Json:
    """The run, and in `properties.actions` its actions, as Azure's API tells of them."""
    name = str(run["run"])
    base = f"/workflows/{run['workflow']}/runs/{name}"
    nodes = dict(walk(workflow.body))
    writer = _Writer(base, name, nodes)
    actions: dict[str, dict[str, Any]] = {}
    for record in records:
        # What a called workflow does is a run of its own.
        if record["path"] in nodes:
            writer.add(actions, record)
    for action in actions.values():
        for kind in ("repetitions", "scopeRepetitions"):
            if kind in action:
                action[kind].sort(key=lambda repetition: repetition["name"])
    properties: dict[str, Any] = {
        **_times(run["started_at"], run["ended_at"]),
        "status": status_of(run["status"]),
        "correlation": {"clientTrackingId": name},
        "workflow": {"id": f"/workflows/{run['workflow']}", "name": run["workflow"]},
        "trigger": {"name": trigger_of(workflow), "status": "Succeeded", "outputs": run["input"]},
        "outputs": {key: {"value": value} for key, value in run["outputs"].items()},
        "actions": actions,
    }
    if (error := run["error"]) is not None:
        # An action that ended the run has a code of its author; otherwise a failure did.
        is_ended = error.get("code") == _STOPPED
        own = (error.get("detail") or {}).get("code") or "Terminated"
        properties["code"] = "Terminated" if is_ended else "ActionFailed"
        properties["error"] = _error(str(own) if is_ended else "ActionFailed", error)
    return {"id": base, "name": name, "type": "workflows/runs", "properties": properties}


class _Writer:
    def __init__(self, base: str, run: str, nodes: Mapping[str, ir.Node]) -> None:
        self._base, self._run, self._nodes = base, run, nodes
        self._variables: set[str] = set()

    def add(self, actions: dict[str, dict[str, Any]], record: Mapping[str, Any]) -> None:
        """Puts a record where its action has it."""
        name = record["name"]
        action = actions.setdefault(name, {"name": name})
        indexes = _indexes(record["address"])
        fields = self._fields(record)
        if not indexes:
            action |= fields
            node = self._nodes[record["path"]]
            if isinstance(node, ir.Loop | ir.ForEach):
                count = "iterationCount" if isinstance(node, ir.Loop) else "repetitionCount"
                action[count] = record.get("repetitions", 0)
            return
        kind = "scopeRepetitions" if record["kind"] == "item" else "repetitions"
        label = "-".join(f"{index['itemIndex']:06d}" for index in indexes)
        place = f"{self._base}/actions/{name}/{kind}/{label}"
        properties = {**fields, "repetitionIndexes": indexes}
        del properties["name"]
        repetition = {"id": place, "name": label, "type": f"workflows/runs/actions/{kind}"}
        action.setdefault(kind, []).append(repetition | {"properties": properties})
        if record["kind"] not in ("item", "iteration"):
            _sum_up(action, fields)

    def _fields(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What is said of an action, or of one of its repetitions."""
        node, status = self._nodes[record["path"]], status_of(record["status"])
        # A text of the form of a GUID that is the same whenever it is asked for.
        digits = hashlib.sha256(f"{self._run} {record['address']}".encode()).hexdigest()
        fields: dict[str, Any] = {
            "name": record["name"],
            "status": status,
            "code": _code(status, record),
            **_times(record["started_at"], record["ended_at"]),
            "trackingId": re.sub(r"(.{8})(.{4})(.{4})(.{4})(.{12}).*", r"\1-\2-\3-\4-\5", digits),
            "clientTrackingId": self._run,
        }
        if record["kind"] not in ("item", "iteration"):
            inputs = None if status == "Skipped" else self._inputs(node, record)
            if inputs is not None:
                fields["inputs"] = inputs
            if record["output"] is not None and not isinstance(node, _HOLDERS):
                fields["outputs"] = record["output"]
        if error := _why(status, record):
            fields["error"] = error
        if "attempts" in record:
            fields["retryHistory"] = [*map(_try, record["attempts"][:-1])]
        return fields

    def _inputs(self, node: ir.Node, record: Mapping[str, Any]) -> Json:
        given: Any = record["inputs"]
        if not isinstance(node, ir.Assign) or node.echo is not None or not isinstance(given, dict):
            return inputs_of(node, record)
        variables: list[Json] = [{"name": n, "value": value} for n, value in given.items()]
        # A variable is declared by the first action that sets it.
        is_declared = self._variables.issuperset(given)
        self._variables.update(given)
        return variables[0] if is_declared else {"variables": variables}


def _indexes(address: str) -> list[dict[str, Any]]:
    """The loops that an address lies in, and which turn of each; one that is a turn lies in it."""
    indexes = []
    for part in address.split("/"):
        name, bracket, number = part.partition("#")[0].partition("[")
        if bracket:
            indexes.append({"scopeName": unquote(name), "itemIndex": int(number.rstrip("]")) - 1})
    return indexes


def _sum_up(action: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """An action in a loop: the worst status, and the time from the first turn to the last."""
    statuses = (action.get("status"), fields["status"])
    action["status"] = next((word for word in _WORST if word in statuses), "Skipped")
    action["code"] = "NotSpecified" if action["status"] != "Skipped" else fields["code"]
    action["startTime"] = min(action.get("startTime", fields["startTime"]), fields["startTime"])
    if "endTime" in fields:
        action["endTime"] = max(action.get("endTime", ""), fields["endTime"])
    action["repetitionCount"] = len(action["repetitions"])


def _code(status: str, record: Mapping[str, Any]) -> str:
    """The code of an action; of a call, the words of its status."""
    output = record["output"]
    sent = output.get("statusCode") if isinstance(output, dict) else None
    if status in ("Succeeded", "Failed") and isinstance(sent, int):
        return _STATUS_PHRASES.get(sent, str(sent))
    if status == "Skipped" and record.get("reason") == "end":
        return "Terminated"
    if status == "Failed" and (record["error"] or {}).get("code") == _EXPRESSION:
        return "InvalidTemplate"
    return code_of(status)


def _why(status: str, record: Mapping[str, Any]) -> dict[str, Json] | None:
    if status == "Skipped":
        reason, facts = record.get("reason"), record.get("because")
        if reason == "order" and facts:
            return _unmet(record["name"], facts["step"], facts["wanted"], facts["status"])
        return {"code": _SKIPS.get(str(reason), "ActionConditionFailed")}
    return None if record["error"] is None else _error(_code(status, record), record["error"])


def _unmet(name: str, step: str, wanted: Sequence[str], status: str) -> dict[str, Json]:
    """What a skipped action waited for and did not get."""
    words = f"{step!r} was to be {', '.join(map(status_of, wanted))}, and is {status_of(status)}"
    code = f"Action{'Dependency' if status == 'skipped' else 'Condition'}Failed"
    return {"code": code, "message": f"{name!r} was skipped: {words}"}


def _error(code: str, error: Mapping[str, Any]) -> dict[str, Json]:
    return {"code": code, "message": error.get("message")}


def _try(attempt: Mapping[str, Any]) -> dict[str, Json]:
    error = attempt["error"] or {}
    status = (error.get("detail") or {}).get("status")
    code = _STATUS_PHRASES.get(status if isinstance(status, int) else 0, "ActionFailed")
    return {"endTime": written(attempt["ended_at"]), "code": code, "error": _error(code, error)}


def inputs_of(node: ir.Node, record: Mapping[str, Any]) -> Json:
    """What an action was given, as its type writes it."""
    given: Any = record["inputs"]
    match node:
        case ir.Compute() if node.over is not None and isinstance(given, dict):
            where = {} if node.keep is None else {"where": node.keep.source}
            return {"from": given.get("items"), **where}
        case ir.Compute(over=None, shape=None, echo=None):
            return record["output"]  # type: ignore[no-any-return]
        case ir.Branch() if node.subject is None:
            return {"expressionResult": record.get("branch") == node.cases[0].name}
        case ir.Branch() if isinstance(given, dict):
            return {"expression": given.get("subject")}
        case ir.Task(kind="connector") if isinstance(given, dict):
            return given.get("input")
        case ir.Task(kind="http") if isinstance(given, dict):
            own = {"uri": given.get("url")} | given
            return {key: value for key, value in own.items() if key not in ("url", "poll", "pages")}
        case ir.Stop() if isinstance(given, dict):
            error = {name: given[name] for name in ("code", "message") if given.get(name)}
            ended = {"runStatus": status_of(node.status)}
            return ended | {"runError": error} if error else ended  # type: ignore[return-value]
        case ir.ForEach() | ir.Loop() | ir.Group():
            return None
    return given  # type: ignore[no-any-return]


def trigger_of(workflow: ir.Workflow) -> str:
    return "manual" if workflow.trigger is None else workflow.trigger.name


def _times(started: float | None, ended: float | None) -> dict[str, str]:
    times = {"startTime": started, "endTime": ended}
    return {name: written(time) for name, time in times.items() if time is not None}


# Records of actions: what expressions are told about the nodes that have ended, by name.
#
# The scope of a workflow holds `$actions` (a record of each node that has ended) and `$variables`
# (its variables as one object, replaced and never changed). Each item of a for-each has records of
# its own; after it they are lists over the items.


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
            # What the node waited for and did not get; its own condition, where it got all of it.
            for after in node.after:
                actual = others.get(after.node, {}).get("status", "succeeded")
                if actual not in after.statuses and "passed" not in after.statuses:
                    error = _unmet(node.name, after.node, after.statuses, actual)
                    table[node.name]["error"] = error
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


def _skip(table: dict[str, Any], nodes: tuple[Node, ...], now: str) -> None:
    for node in nodes:
        times: dict[str, Json] = {"startTime": now, "endTime": now, "error": {"code": _NOT_TAKEN}}
        table[node.name] = _record(node.name, "Skipped") | times
        for _, block in blocks_of(node):
            _skip(table, block.nodes, now)


# What ends at one moment is written in a row.
@lru_cache(maxsize=16)
def written(seconds: float) -> str:
    """A time as Azure writes it."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}0Z"


# What a web service, a connector or a workflow that is called answers with.
_ANSWERING = ("http", "connector")
_PARTS = ("body", "headers", "queries", "relativePathParameters")


class ActionWords(MockWords):
    """An action is `Succeeded` or `Failed`, and one that calls has a `statusCode`."""

    statuses = MockWords.statuses | {status_of(word): word for word in STATUSES}

    def answer(self, node: ir.Node, fields: dict[str, Any]) -> dict[str, Any]:
        """A status code of 400 or more is a failure, unless the mock says how the action ended."""
        calls = isinstance(node, ir.Call) or (isinstance(node, ir.Task) and node.kind in _ANSWERING)
        outputs = fields.get("outputs")
        if not calls or "function" in fields or not isinstance(outputs, dict | None):
            return fields
        code = _code_of((outputs or {}).get("statusCode"))
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
        return inputs_of(node, {"inputs": inputs, "output": None})

    def trigger(self, workflow: ir.Workflow) -> str:
        return trigger_of(workflow)

    def inputs(self, workflow: ir.Workflow, fields: dict[str, Any]) -> dict[str, Json]:
        """What the outputs of a trigger give to a run: its body, its headers, its queries."""
        outputs = fields.get("outputs")
        if not isinstance(outputs, dict) or not set(outputs) & set(_PARTS):
            outputs = {"body": outputs}
        names = {port.name for port in workflow.inputs}
        return {name: value for name, value in outputs.items() if name in names}


def _code_of(written: object) -> int | None:
    """A status code, which may be written by its name."""
    if isinstance(written, int) and not isinstance(written, bool):
        return written
    text = str(written).lower()
    return int(text) if text.isdecimal() else STATUS_CODES.get(text)


WORDS = ActionWords()
