"""`whorl convert`: prints or writes a workflow of any dialect as a native file."""

from __future__ import annotations

import json
from textwrap import dedent
from typing import TYPE_CHECKING

from whorl.dialects.native import writing

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from command_line import Whorl

FOREIGN = """
version: 1
metadata: {name: hello}
nodes:
  - id: say
    type: shell
    data: {nodeType: shell, label: Say, script: "echo hi"}
edges: []
"""


def test_it_prints_the_file(whorl: Whorl) -> None:
    done = whorl("convert", "polish.yaml")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("whorl: 1\nname: polish\ninputs: {task: string}\nsteps:\n")


def test_what_is_written_runs(whorl: Whorl, project: Path) -> None:
    done = whorl("convert", "polish.yaml", "-o", "new/polish.yaml")
    before = whorl("run", "polish.yaml", "a haiku", "--json").json
    after = whorl("run", "new/polish.yaml", "a haiku", "--json").json

    assert done.code == 0
    assert "wrote new/polish.yaml" in done.err
    assert before["outputs"] == after["outputs"]
    assert before["loops"] == after["loops"]


def test_a_file_of_another_dialect_keeps_its_expressions(whorl: Whorl, project: Path) -> None:
    (project / "hello.yaml").write_text(FOREIGN)

    done = whorl("convert", "hello.yaml", "-o", "new/hello.yaml")
    text = (project / "new/hello.yaml").read_text()
    valid = whorl("validate", "new/hello.yaml")

    assert (done.code, valid.code) == (0, 0)
    assert text.startswith("whorl: 1\nname: hello\ndialect: shodan\nexpressions: shodan\n")
    assert "run: echo hi\n" in text


def test_no_file_is_overwritten(whorl: Whorl, project: Path) -> None:
    before = (project / "polish.yaml").read_text()
    (project / "other.yaml").write_text("mine")

    own = whorl("convert", "polish.yaml", "-o", "polish.yaml")
    other = whorl("convert", "polish.yaml", "-o", "other.yaml")

    assert (own.code, other.code) == (2, 2)
    assert "is the file itself" in own.err
    assert "exists" in other.err
    assert (project / "polish.yaml").read_text() == before
    assert (project / "other.yaml").read_text() == "mine"


def standard_project(project: Path) -> tuple[str, ...]:
    """A project of Logic Apps whose secrets stand in files beside its workflow; these secrets."""
    secrets = ("NeSf-kUdz/VJk", "ObQO7-Za7oUX", "Wk9r-JBE6Z1N", "GuLQ-x9tHMie")
    declared = {
        "pk": {"type": "SecureString"},
        "po": {"type": "SecureObject"},
        "pd": {"type": "securestring", "defaultValue": secrets[3]},
    }
    inputs = {"a": "@parameters('pk')", "b": "@parameters('po')?['b']", "c": "@parameters('pd')"}
    inputs["d"] = "@appsetting('my_api_key')"
    definition = {
        "contentVersion": "1.0.0.0",
        "parameters": declared,
        "triggers": {"manual": {"type": "Request", "kind": "Http"}},
        "actions": {"C": {"type": "Compose", "inputs": inputs, "runAfter": {}}},
    }
    values = {
        "pk": {"type": "SecureString", "value": secrets[0]},
        "po": {"type": "SecureObject", "value": {"b": [secrets[1]]}},
    }
    settings = {"IsEncrypted": False, "Values": {"my_api_key": secrets[2]}}
    (project / "Flow").mkdir()
    for name, content in (
        ("host.json", {"version": "2.0", "extensionBundle": {}}),
        ("parameters.json", values),
        ("local.settings.json", settings),
        ("Flow/workflow.json", {"definition": definition}),
    ):
        (project / name).write_text(json.dumps(content))
    return secrets


def test_values_of_secrets_are_not_written(whorl: Whorl, project: Path) -> None:
    secrets = standard_project(project)
    printed = whorl("convert", "Flow/workflow.json")
    done = whorl("convert", "Flow/workflow.json", "-o", "flow.yaml")
    text = (project / "flow.yaml").read_text()

    assert [part for part in secrets if part in f"{printed} {done} {text}"] == []
    assert "  pk: secret\n  po: {type: json, secret: true}\n  pd: secret\n" in text
    flags = ("pk", "po", "pd", "my_api_key")
    advice = "give them to each run: " + " ".join(f"-i {name}=@FILE" for name in flags)
    assert advice in done.err
    assert advice in printed.err


def test_a_converted_workflow_needs_its_secrets_and_runs_with_them(
    whorl: Whorl, project: Path
) -> None:
    standard_project(project)
    (project / "key.json").write_text('{"b": 1}')
    whorl("convert", "Flow/workflow.json", "-o", "flow.yaml")
    refused = whorl("run", "flow.yaml", "-i", "pk=@key.json")
    given = [f"-i{name}=@key.json" for name in ("pk", "pd", "my_api_key")]
    done = whorl("run", "flow.yaml", *given, "-ipo:=@key.json", "--json")

    assert refused.code == 2
    assert "'po'" in refused.err
    assert (done.code, done.json["status"]) == (0, "succeeded")


def test_secrets_of_called_workflows_are_not_written(whorl: Whorl, project: Path) -> None:
    inner = """
    whorl: 1
    expressions: native
    inputs: {key: {type: secret, default: GuLQ-x9tHMie}}
    steps: {a: {value: "it"}}
    """
    (project / "inner.yaml").write_text(dedent(inner))
    (project / "outer.yaml").write_text("whorl: 1\nsteps: {a: {call: inner.yaml}}\n")
    done = whorl("convert", "outer.yaml")

    assert "GuLQ" not in f"{done}"
    assert "secret input 'key' of the workflow 'inner.yaml' is not written" in done.err


def test_a_wrong_file(whorl: Whorl, project: Path) -> None:
    (project / "wrong.yaml").write_text("whorl: 1\nsteps: {a: {aks: x}}\n")

    wrong = whorl("convert", "wrong.yaml")

    assert wrong.code == 2
    assert "W004" in wrong.err


def test_a_result_that_cannot_be_read_is_our_fault(
    whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "emit_yaml", lambda _: "whorl: 1\nsteps: {a: {aks: x}}\n")
    done = whorl("convert", "polish.yaml")

    assert done.code == 70
    assert "what was written is wrong" in done.err
