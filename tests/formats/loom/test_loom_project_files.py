"""The files of a project around its workflows: connections, limits of the host, names by folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from whorl import ir
from whorl.dialects import ProjectFiles, read_workflow
from whorl.ir.walk import walk

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.dialects import Reading

MANAGED = {
    "connectionRuntimeUrl": "https://hub.example.com/apim/chat/",
    "authentication": {"type": "Raw", "scheme": "Key", "parameter": "@appsetting('CHAT_KEY')"},
}
FUNCTION = {
    "triggerUrl": "https://fn.example.com/api/f",
    "authentication": {"type": "QueryString", "name": "Code", "value": "@appsetting('FN_KEY')"},
}


def _read(tmp_path: Path, actions: dict[str, Any], **files: Any) -> Reading:
    folder = tmp_path / "Orders"
    folder.mkdir()
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    path = folder / "workflow.json"
    path.write_text(json.dumps({"definition": {"actions": actions}, "kind": "Stateful"}))
    return read_workflow(path.read_text(), str(path), ProjectFiles(str(tmp_path)))


def _call(reading: Reading, name: str) -> dict[str, Any]:
    task = next(node for _, node in walk(reading.workflow.body) if node.name == name)
    assert isinstance(task, ir.Task)
    # Keys are in it, so that nothing of it is stored.
    assert task.secure
    call = dict(task.inputs.entries)["call"]
    assert isinstance(call, ir.Fields)
    return {str(key): value for key, value in call.entries}


def test_connections_say_what_is_called(tmp_path: Path) -> None:
    host = {"connection": {"referenceName": "chat"}}
    actions = {
        "Post": {"type": "ApiConnection", "inputs": {"host": host, "method": "get", "path": "/a"}},
        "F": {"type": "Function", "inputs": {"function": {"connectionName": "fn"}, "body": 1}},
    }
    connections = {
        "managedApiConnections": {"chat": MANAGED},
        "functionConnections": {"fn": FUNCTION},
    }
    reading = _read(tmp_path, actions, connections=connections)

    post, function = _call(reading, "Post"), _call(reading, "F")
    assert post["url"].source == "@concat('https://hub.example.com/apim/chat', '/a')"
    assert post["method"] == ir.Constant("get")
    assert function["url"] == ir.Constant("https://fn.example.com/api/f")
    assert dict(function["query"].entries)["Code"].source == "@appsetting('FN_KEY')"
    ports = {port.name: port for port in reading.workflow.inputs}
    assert ports["CHAT_KEY"].secret
    assert ports["CHAT_KEY"].required
    assert ports["FN_KEY"].secret


def test_a_connection_that_is_not_there_is_said(tmp_path: Path) -> None:
    host = {"connection": {"referenceName": "chatt"}}
    actions = {"Post": {"type": "ApiConnection", "inputs": {"host": host, "path": "/a"}}}
    reading = _read(tmp_path, actions, connections={"managedApiConnections": {"chat": MANAGED}})

    assert [w.code for w in reading.warnings if "did you mean 'chat'" in w.help] == ["W005"]


def test_the_host_limits_runs(tmp_path: Path) -> None:
    settings = {
        "Runtime.Backend.FlowRunTimeout": "1.00:00:10",
        "Runtime.Backend.FlowDefaultForeachItemsLimit": "7",
        "Runtime.Backend.ForeachDefaultDegreeOfParallelism": 3,
        "Runtime.Backend.HttpOperation.RequestTimeout": "00:00:05",
        "Runtime.Backend.Unheard": "1",
    }
    inner = {"Get": {"type": "Http", "inputs": {"method": "GET", "uri": "https://a.example"}}}
    actions = {"Each": {"type": "Foreach", "foreach": [1], "actions": inner}}
    host = {"extensions": {"workflow": {"settings": settings}}}
    reading = _read(tmp_path, actions, host=host)

    workflow = reading.workflow
    each = workflow.body.nodes[0]
    assert isinstance(each, ir.ForEach)
    assert workflow.limits.time_s == 86_410
    assert (each.items_max, each.concurrency) == (7, 3)
    assert each.body.nodes[0].timeout_s == 5
    assert any("Unheard" in warning.message for warning in reading.warnings)
