"""edit, try and convert: changes of a file, a step alone, and another form."""

from __future__ import annotations

import json
import os
from textwrap import dedent
from typing import TYPE_CHECKING, Any

from whorl.dialects.native import writing
from whorl.services.project import find_project
from whorl.wings.editor.single_step import save_pins

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from command_line import Whorl

FILE = "whorl: 1\nbudget: 1\nsteps:\n  # first\n  a: {ask: 'x'}\n  b: {ask: \"{{ a }}\"}\n"


def test_operations_change_a_file_and_keep_its_mode(whorl: Whorl, project: Path) -> None:
    file = project / "e.yaml"
    file.write_text(FILE)
    file.chmod(0o600)

    listed = whorl("file edit e.yaml").prints("a  (ask)")
    shown = whorl("file edit e.yaml rename a first --diff").prints('+  b: {ask: "{{ first }}"}')
    done = whorl("file", "edit", "e.yaml", "wrap", "a", "--name", "l", "--until", "a == 'x'")
    also = whorl("file", "edit", "e.yaml", "set", "l", "repeat.at_most:=2")

    assert [listed.code, shown.code, done.code, also.code] == [0, 0, 0, 0]
    assert '+  b: {ask: "{{ l.a }}"}' in done.out
    assert "rewired: b ask" in done.err
    assert "at_most: 2\n" in file.read_text()
    assert "        # first\n        a: {ask: 'x'}\n" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600
    assert whorl("validate", "e.yaml").code == 0
    assert "did you mean 'l/a'?" in whorl("file", "edit", "e.yaml", "rename", "a", "first").err


def test_a_list_of_operations_is_applied_whole_or_not_at_all(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE)
    operations = [
        {"operation": "set", "at": "a", "field": ["ask"], "value": "y"},
        {"operation": "remove", "at": "a"},
    ]
    (project / "list.json").write_text(json.dumps(operations))

    refused = whorl("file edit e.yaml --operations list.json --json").ends(2)
    left = whorl("file edit e.yaml --operations list.json --readers leave --json").ends(0)

    assert refused.json["error"]["code"] == "C106"
    assert refused.json["error"]["operation"] == 1
    assert left.json["patches"]
    assert (project / "e.yaml").read_text() == left.json["text"]


def test_wrong_words_say_what_is_meant(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE)

    assert "did you mean 'rename'?" in whorl("file", "edit", "e.yaml", "renam", "a", "b").err
    assert "STEP NAME" in whorl("file", "edit", "e.yaml", "rename", "a").err
    assert "W005" in whorl("file", "edit", "e.yaml", "remove", "c").err
    assert (project / "e.yaml").read_text() == FILE


def test_new_files_are_listed_empty_or_copied(whorl: Whorl, project: Path) -> None:
    (project / "e.yaml").write_text(FILE)

    listed = whorl("new").prints("native, studio", "--empty shodan")
    empty = whorl("new", "--empty", "studio")
    whorl("new --from e.yaml").ends(0)
    whorl("new --from e.yaml e-copy.yaml").ends(2)

    assert listed.out.startswith("self-refine")
    assert empty.says("next: whorl file edit new.json").out == "created new.json (empty, studio)\n"
    assert whorl("validate", "new.json").code == 0
    assert (project / "e-copy.yaml").read_text() == FILE
    assert "known: native" in whorl("new", "--empty", "orka").err


def test_an_unknown_field_is_refused(whorl: Whorl, project: Path) -> None:
    file = project / "e.yaml"
    file.write_text(FILE)

    refused = whorl("file", "edit", "e.yaml", "set", "a", "modle", "x")
    document = whorl("file", "edit", "e.yaml", "set", "a", "modle", "x", "--json")

    assert (refused.code, document.code) == (2, 2)
    assert "error[W004]: step 'a' has no field 'modle'" in refused.err
    assert "did you mean 'model'?" in refused.err
    assert document.json["error"]["code"] == "W004"
    assert file.read_text() == FILE


def test_a_field_that_was_wrong_before_blocks_no_edit(whorl: Whorl, project: Path) -> None:
    file = project / "e.yaml"
    file.write_text(FILE.replace("{ask: 'x'}", "{ask: 'x', modle: m}"))

    whorl("file edit e.yaml set b model m").ends(
        0, "the file has 1 mistake now; see `whorl validate`"
    )


def tried(whorl: Whorl, *words: str) -> dict[str, Any]:
    done = whorl("try", "polish.yaml", *words, "--json").ends(0)
    shown = whorl("show", done.json["run"], "--json", "--deep").json
    return {record["address"]: record for record in shown["records"]}


def test_an_iteration_gets_the_values_of_a_run(whorl: Whorl) -> None:
    assert whorl("run", "polish.yaml", "rain").code == 0
    run = whorl("ls", "--json").json[0]["run"]
    records = tried(whorl, "--at", "polish", "--values-of", f"{run}/polish[3]")
    alone = tried(whorl, "--at", "polish/review", "--values-of", f"{run}/polish[2]")

    prompt = records["polish[1]/write"]["inputs"]["prompt"]
    assert prompt == "Write rain after draft two\nwith two lines"
    assert alone["review"]["inputs"]["prompt"] == "Review draft two\nwith two lines"
    assert set(alone) == {"review"} | {name for name in alone if alone[name]["kind"] == "compute"}
    assert (
        whorl("try", "polish.yaml", "--at", "polish", "--values-of", f"{run}/polish[9]").code == 2
    )


def test_a_pinned_step_is_not_run_until_it_is_stale(whorl: Whorl, project: Path) -> None:
    pin = json.dumps({"approved": True, "score": 1})
    words = ("--at", "polish", "-i", "task=bees")
    first = tried(whorl, *words, "--pin", f"review:={pin}")
    save_pins(find_project(os.environ), "polish.yaml", {"polish/review": json.loads(pin)}, None)
    again = tried(whorl, *words)
    file = project / "polish.yaml"
    file.write_text(file.read_text().replace("score: number}", "score: number, why: string}"))
    stale = whorl("try", "polish.yaml", *words, "--json").says("the pin of polish/review is stale")

    assert first["polish[1]/review"]["kind"] == again["polish[1]/review"]["kind"] == "compute"
    assert again["polish[1]/review"]["output"]["score"] == 1
    assert "pin" not in file.read_text()
    shown = whorl("show", f"{stale.json['run']}/polish[1]/review", "--json").json
    assert shown["records"][0]["kind"] == "ask"


def test_what_a_try_does_outside_is_asked_about(whorl: Whorl, project: Path) -> None:
    (project / "c.yaml").write_text("whorl: 1\nsteps:\n  a: {run: 'touch made'}\n")
    (project / "whorl.toml").write_text("[allow]\ncommands = true\n")

    whorl("try c.yaml --at a").ends(2, "C113", "touch")
    whorl("try c.yaml --at a --yes").ends(0)

    assert (project / "made").exists()
    assert "did you mean" in whorl("try", "polish.yaml", "--at", "review").err


def test_the_result_of_a_secure_step_stays_hidden(whorl: Whorl, project: Path) -> None:
    text = "whorl: 1\nsteps:\n  a: {ask: Write, secure: true}\n"
    (project / "s.yaml").write_text(text)
    done = whorl("try s.yaml --at a").ends(0)

    assert "draft one" not in done.out


def test_names_that_are_not_there_are_refused(whorl: Whorl) -> None:
    words = ("try", "polish.yaml", "--at", "polish", "-i", "task=bees")
    wrong = {
        ("--value", "hnt=x"): "did you mean 'hint'?",
        ("--value", "polsh/hint=x"): "there is no value 'polsh/hint'",
        ("--pin", "reviw=x"): "did you mean 'polish/review'?",
        ("-i", "tsk=x"): "did you mean 'task'?",
    }
    for options, message in wrong.items():
        whorl(*words, *options).ends(2, message)

    assert whorl("ls", "--all", "--json").json == []


def test_no_file_is_overwritten(whorl: Whorl, project: Path) -> None:
    before = (project / "polish.yaml").read_text()
    (project / "other.yaml").write_text("mine")

    own = whorl("file convert polish.yaml -o polish.yaml").says("is the file itself")
    other = whorl("file convert polish.yaml -o other.yaml").says("exists")

    assert (own.code, other.code) == (2, 2)
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
    printed = whorl("file", "convert", "Flow/workflow.json")
    done = whorl("file", "convert", "Flow/workflow.json", "-o", "flow.yaml")
    text = (project / "flow.yaml").read_text()

    assert [part for part in secrets if part in f"{printed} {done} {text}"] == []
    assert "  pk: secret\n  po: {type: json, secret: true}\n  pd: secret\n" in text
    flags = ("pk", "po", "pd", "my_api_key")
    advice = "give them to each run: " + " ".join(f"-i {name}=@FILE" for name in flags)
    assert advice in done.err
    assert advice in printed.err


def test_a_converted_workflow_runs_with_its_secrets(whorl: Whorl, project: Path) -> None:
    standard_project(project)
    (project / "key.json").write_text('{"b": 1}')
    whorl("file", "convert", "Flow/workflow.json", "-o", "flow.yaml")
    whorl("run flow.yaml -i pk=@key.json").ends(2, "'po'")
    given = [f"-i{name}=@key.json" for name in ("pk", "pd", "my_api_key")]
    done = whorl("run", "flow.yaml", *given, "-ipo:=@key.json", "--json")

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
    done = whorl("file", "convert", "outer.yaml")

    assert "GuLQ" not in f"{done}"
    assert "values of secret inputs are not written: inner.yaml: key" in done.err


def test_an_unreadable_result_is_our_fault(whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "emit_yaml", lambda _: "whorl: 1\nsteps: {a: {aks: x}}\n")
    whorl("file convert polish.yaml").ends(70, "the written file is wrong")
