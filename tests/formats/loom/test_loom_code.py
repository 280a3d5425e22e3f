"""Actions that run code of the file: JavaScript on Node, and maps of XML, as a user runs them."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from loom_project import Finished, run_in

if TYPE_CHECKING:
    from pathlib import Path

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
needs_lxml = pytest.mark.skipif(
    importlib.util.find_spec("lxml") is None, reason="the extra `xslt` is not installed"
)
ALLOWED = '[allow]\ncommands = ["node"]\n'
XSL = (
    '<xsl:stylesheet version="{version}" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">'
    "{output}<xsl:template match='/'>{body}</xsl:template></xsl:stylesheet>"
)
SCRIPT = "<m:script xmlns:m='u' language='C#'>x</m:script>"
GREETING = "<hello><xsl:value-of select='/a/@name'/></hello>"


def came_to(ran: Finished) -> Any:
    """What a run gave, or why it failed."""
    return ran.output if ran.document["error"] is None else ran.document["error"]["message"]


def run_code(folder: Path, code: str, config: str = ALLOWED, **more: Any) -> Any:
    actions = {
        "List it": {"type": "Compose", "inputs": [1, 2]},
        "Run": {"type": "JavaScriptCode", "inputs": {"code": code, **more},
         "runAfter": {"List it": ["Succeeded"]}},
    }  # fmt: skip
    definition = {
        "triggers": {"manual": {"type": "Request", "kind": "Http"}},
        "actions": actions,
        "outputs": {"done": {"value": "@coalesce(outputs('Run')?['field'], body('Run'))"}},
    }
    environment = {"PATH": os.environ["PATH"], "SECRET_OF_OURS": "hidden"}
    more = {"given": {"body": {"n": 3}}, "environment": environment}
    return came_to(run_in(folder, {"definition": definition}, config=config, **more))


@needs_node
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("return workflowContext.actions['List it'].outputs.map((n) => n * 2)", [2, 4]),
        ("return { n: workflowContext.trigger.outputs.body.n }", {"n": 3}),
        ("return workflowContext.workflow.run.type", "runs"),
        ("return { field: 'an output' }", "an output"),
        ("throw 0", "a function failed: 0"),
        ("let x = ;", "Unexpected token ';'"),
        ("return typeof process + typeof require + typeof fetch", "undefined" * 3),
        ("return this.constructor.constructor('return process')()", "disallowed"),
        ("try { await import('node:fs') } catch (e) "
         "{ return e.constructor.constructor('return process')() }", "disallowed"),
        ("return await new Promise(() => {})", "it waits for something that never happens"),
    ],
)  # fmt: skip
def test_code_sees_what_it_names_and_nothing_else(tmp_path: Path, code: str, expected: Any) -> None:
    done = run_code(tmp_path, code)

    if isinstance(expected, str) and expected != done:
        assert expected in done
    else:
        assert done == expected


@needs_node
def test_code_has_a_time_and_a_memory(tmp_path: Path) -> None:
    big = "const all = []; while (true) all.push(new Array(1e6).fill(0))"

    assert "more than 128 MB" in run_code(tmp_path, big)


@needs_node
def test_code_may_name_what_it_needs_in_another_way(tmp_path: Path) -> None:
    needs = {"actions": ["List it"], "includeTrigger": True}
    code = "const { actions, trigger } = workflowContext; "
    code += "return [actions['List it'].status, trigger.name]"

    done = run_code(tmp_path, code, explicitDependencies=needs)
    assert done == ["Succeeded", "manual"]


def test_code_needs_permission(tmp_path: Path) -> None:
    assert "commands are not allowed" in run_code(tmp_path, "return 1", "")


def run_map(folder: Path, sheet: str, content: str = '<a name="world"/>') -> Any:
    maps = folder / "Artifacts" / "Maps"
    maps.mkdir(parents=True)
    (maps / "Greet.xslt").write_text(sheet)
    given = {"content": f"@concat('{content}', '')", "map": {"name": "Greet"}}
    action = {"type": "Xslt", "kind": "DataMapper", "inputs": given}
    return came_to(run_in(folder, {"definition": {"actions": {"Turn": action}}}))


@needs_lxml
@pytest.mark.parametrize(
    ("sheet", "expected"),
    [
        (XSL.format(version="1.0", output="", body=GREETING),
         {"$content-type": "application/xml; charset=utf-8"}),
        (XSL.format(version="1.0", output="<xsl:output method='text'/>", body=GREETING), "world"),
        (XSL.format(version="1.0", output="",
         body="<xsl:copy-of select=\"document('/etc/passwd')\"/>"), "failed"),
        (XSL.format(version="1.0", output="<xsl:include href='/etc/x.xslt'/>", body=GREETING),
         "failed"),
        (XSL.format(version="1.0", output="", body="<xsl:apply-templates select='/'/>"), "failed"),
        ("<no", "failed"),
        ("<!DOCTYPE x [<!ENTITY e 'e'>]><x/>", "document type"),
    ],
)  # fmt: skip
def test_a_map_of_the_project_transforms_xml(tmp_path: Path, sheet: str, expected: Any) -> None:
    it = run_map(tmp_path, sheet)

    if isinstance(expected, dict):
        assert expected.items() <= it.items()
    else:
        assert expected in it


@pytest.mark.parametrize(
    ("kind", "sheet", "why"),
    [
        ("Xslt", XSL.format(version="3.0", output="", body=GREETING), "XSLT 2.0 and 3.0"),
        ("Xslt", XSL.format(version="1.0", body="", output=SCRIPT), "scripts"),
        *(("Xslt", "", "Artifacts/Maps"), ("Liquid", "", "is not configured")),
    ],
)
def test_what_only_azure_has_says_what_is_missing(
    tmp_path: Path, kind: str, sheet: str, why: str
) -> None:
    definition = {"definition": {"actions": {"Do": {"type": kind, "inputs": {}}}}}
    message = run_map(tmp_path, sheet) if sheet else came_to(run_in(tmp_path, definition))

    assert why in message
    assert "connector '" in message
    assert "below [connectors]" in message
