"""The history of a run in Azure's own shape: a record for each action, with its repetitions.

Actions are known by their names, wherever they stand. One that lies in a loop has only what its
repetitions have in common; the items of a Foreach are its `scopeRepetitions`, the iterations of an
Until are its `repetitions`.
"""

from __future__ import annotations

import hashlib
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from whorl import ir
from whorl.formats.loom.records.records import code_of, status_of, written
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.language import Json


_SKIPS = {
    "order": "ActionConditionFailed",
    "end": "Terminated",
    "condition": "ActionBranchingConditionNotSatisfied",
    "branch": "ActionBranchingConditionNotSatisfied",
    "around": "ActionBranchingConditionNotSatisfied",
}
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
        "startTime": written(run["started_at"]),
        **({"endTime": written(run["ended_at"])} if run["ended_at"] is not None else {}),
        "status": status_of(run["status"]),
        "correlation": {"clientTrackingId": name},
        "workflow": {"id": f"/workflows/{run['workflow']}", "name": run["workflow"]},
        "trigger": {"name": trigger_of(workflow), "status": "Succeeded", "outputs": run["input"]},
        "outputs": {key: {"value": value} for key, value in run["outputs"].items()},
        "actions": actions,
    }
    if run["error"] is not None:
        code = _ended_by(run["error"])
        properties |= {"code": "Terminated" if code else "ActionFailed"}
        properties["error"] = _error(code or "ActionFailed", run["error"])
    return {"id": base, "name": name, "type": "workflows/runs", "properties": properties}


def _ended_by(error: Mapping[str, Any]) -> str:
    """The code of the action that ended the run; empty where a failure did."""
    if error.get("code") != _STOPPED:
        return ""
    own = (error.get("detail") or {}).get("code")
    return str(own) if own else "Terminated"


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
            if isinstance(node, ir.Loop):
                action["iterationCount"] = record.get("repetitions", 0)
            elif isinstance(node, ir.ForEach):
                action["repetitionCount"] = record.get("repetitions", 0)
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
        fields: dict[str, Any] = {"name": record["name"], "status": status}
        fields["code"] = _code(status, record)
        for key, at in (("startTime", "started_at"), ("endTime", "ended_at")):
            if record[at] is not None:
                fields[key] = written(record[at])
        fields["trackingId"] = _tracking_id(self._run, record["address"])
        fields["clientTrackingId"] = self._run
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
        facts, reason = record.get("because") or {}, record.get("reason")
        code = _SKIPS.get(str(reason), "ActionConditionFailed")
        if reason == "order" and facts.get("status") == "skipped":
            code = "ActionDependencyFailed"
        if reason != "order":
            return {"code": code}
        wanted = ", ".join(map(status_of, facts["wanted"]))
        words = f"{facts['step']!r} was to be {wanted}, and is {status_of(facts['status'])}"
        return {"code": code, "message": f"{record['name']!r} was skipped: {words}"}
    if record["error"] is None:
        return None
    return _error(_code(status, record), record["error"])


def _error(code: str, error: Mapping[str, Any]) -> dict[str, Json]:
    return {"code": code, "message": error.get("message")}


def _try(attempt: Mapping[str, Any]) -> dict[str, Json]:
    error = attempt["error"] or {}
    status = (error.get("detail") or {}).get("status")
    code = (
        _STATUS_PHRASES.get(status, "ActionFailed") if isinstance(status, int) else "ActionFailed"
    )
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
    """The name of the trigger, which the reader has put into the workflow's own variables."""
    fields = dict(workflow.variables).get("$trigger")
    entries = dict(fields.entries) if isinstance(fields, ir.Fields) else {}
    name = entries.get("name")
    return str(name.value) if isinstance(name, ir.Constant) else "manual"


def _tracking_id(run: str, address: str) -> str:
    """A text of the form of a GUID that is the same whenever it is asked for."""
    digits = hashlib.sha256(f"{run} {address}".encode()).hexdigest()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
