"""What is not meant so: files that are no workflows, names that are nearly right, and the words."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

N8N = {"name": "n", "nodes": [{"name": "Form", "type": "n8n-nodes-base.x"}], "connections": {}}


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("n.json", json.dumps(N8N), ("this is an export of n8n", "`whorl new` writes a loop")),
        ("n.json", json.dumps([N8N]), ("this is an export of n8n", "`whorl new` writes a loop")),
        ("whorl.toml", "[limits]\n", ("this is a configuration", "`whorl doctor` checks")),
        ("flow.py", "import whorl\n", ("this is a program", "`whorl run MODULE:NAME`")),
        ("a.test.yaml", "whorl_tests: 1\ntests: {}\n", ("this is a file of tests", "`whorl test")),
        (
            "e.yaml",
            "experiment: 1\nworkflow: a.yaml\n",
            ("this is an experiment", "experiment run"),
        ),
    ],
)
def test_a_file_that_is_no_workflow_is_told_what_it_is(
    whorl: Whorl, project: Path, name: str, text: str, words: tuple[str, str]
) -> None:
    what, advice = words
    (project / name).write_text(text)

    for command in ("run", "graph"):
        done = whorl(command, name)
        assert done.code == 2
        assert f"error[W018]: {what}" in done.err
        assert advice in done.err


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("polsh.yaml", "polish.yaml"),
        ("texts/tone.txt", "texts/tone.md"),
        ("text/tone.md", "texts/tone.md"),
        ("tone.md", "texts/tone.md"),
    ],
)
def test_a_file_that_is_missing_has_its_near_name_with_the_folder(
    whorl: Whorl, project: Path, name: str, meant: str
) -> None:
    (project / "texts").mkdir()
    (project / "texts" / "tone.md").write_text("calm")
    (project / "asking.yaml").write_text(f"whorl: 1\nsteps:\n  a: {{ask: {{file: {name}}}}}\n")

    assert f"did you mean '{meant}'?" in whorl("validate", "asking.yaml").err
    assert f"did you mean '{meant}'?" in whorl("run", name).err


def test_a_prompt_that_is_the_name_of_a_file_is_suspicious(whorl: Whorl, project: Path) -> None:
    (project / "prompts").mkdir()
    (project / "prompts" / "tone.md").write_text("calm")
    (project / "a.yaml").write_text(
        "whorl: 1\nsteps:\n  a: {ask: prompts/tone.md}\n  b: {ask: prompts/none.md}\n"
    )
    done = whorl("validate", "a.yaml")

    assert done.code == 0
    assert done.err.count("warning[W023]") == 1
    assert "write `ask: {file: prompts/tone.md}`" in done.err


@pytest.mark.parametrize(
    ("word", "advice"),
    [
        ("W4", "did you mean 'W004'?"),
        ("W04", "did you mean 'W004'?"),
        ("W0044", "did you mean 'W004'?"),
        (
            "trusted",
            "did you mean W908 (the folder's whorl.toml is not trusted, or its store is",
        ),
        ("xyzzy", "such as W004"),
    ],
)
def test_an_unknown_code_leads_to_a_known_one(whorl: Whorl, word: str, advice: str) -> None:
    done = whorl("explain", word)

    assert done.code == 2
    assert advice in done.err


def test_only_formats_that_can_be_empty_are_listed(whorl: Whorl, project: Path) -> None:
    refused = whorl("new", "--empty", "nativ").err
    known = refused.partition("known: ")[2].split(". ")[0].strip().split(", ")

    assert "there is no empty file of the dialect 'nativ'" in refused
    for number, name in enumerate(known):
        made = whorl("new", "--empty", name, f"e{number}.txt")
        assert made.code == 0, made.err


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        (("explain",), "name the code that is to be explained: a message has it"),
        (("completion",), "missing argument '{bash|zsh|fish}'. Choose from: bash, zsh, fish"),
        (("new",), "`whorl new --list` lists them"),
        (("new", "--empty", "nativ"), "known: native, "),
    ],
)
def test_a_missing_argument_is_told_with_what_it_may_be(
    whorl: Whorl, words: tuple[str, ...], advice: str
) -> None:
    done = whorl(*words)

    assert done.code == 2
    assert advice in done.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("whorl: 2\nsteps: {a: {value: 1}}\n", "'whorl' of the workflow must be 1, not 2"),
        (
            "whorl: 1\nsteps: {l: {repeat: {until: 'false', at_most: 1, "
            "steps: {a: {value: 1}}}}}\n",
            "reached its limit of 1 iteration before it was done",
        ),
    ],
)
def test_one_thing_is_told_in_the_singular(
    whorl: Whorl, project: Path, text: str, words: str
) -> None:
    (project / "one.yaml").write_text(text)

    assert words in whorl("run", "one.yaml").err


def test_no_budget_is_an_amount_above_nothing(whorl: Whorl) -> None:
    refused = whorl("run", "polish.yaml", "x", "--budget", "0")

    assert "'0' is not an amount of dollars above 0, such as 0.50" in refused.err


def test_a_reason_that_no_loop_ends_for_is_told_with_the_near_one(
    whorl: Whorl, project: Path
) -> None:
    assert "did you mean 'budget'?" in whorl("ls", "--exit", "budjet").err
    for reason in ("budget", "limit", "accepted"):
        assert whorl("ls", "--exit", reason).code == 0


def test_a_value_that_is_not_json_is_told_in_plain_words(whorl: Whorl, project: Path) -> None:
    refused = whorl("edit", "polish.yaml", "set", "report", "ask:=abc").err

    assert "'abc' is not JSON" in refused
    assert "ask=TEXT" in refused
    assert "Expecting" not in refused


def test_a_section_without_its_bracket_is_told_how_it_is_written(
    whorl: Whorl, project: Path
) -> None:
    (project / "whorl.toml").write_text("[allow\ncommands = true\n")
    refused = whorl("run", "commanding.yaml").err

    assert "such as [allow]" in refused
    assert "base_url" not in refused


@pytest.mark.parametrize(("command", "is_shell"), [("'touch a'", True), ("[touch, a]", False)])
def test_the_shell_that_is_not_allowed_is_told_where_it_comes_from(
    whorl: Whorl, project: Path, command: str, is_shell: bool
) -> None:
    (project / "c.yaml").write_text(f"whorl: 1\nsteps:\n  a: {{run: {command}}}\n")
    refused = whorl("run", "c.yaml").err

    assert "R110" in refused
    assert ("a command that is one text is run by the shell" in refused) == is_shell


def test_a_page_about_an_error_is_named_once(whorl: Whorl, project: Path) -> None:
    whorl("run", "failing.yaml")

    assert whorl("why", "last").out.count("`whorl explain ") == 1


@pytest.mark.parametrize(
    ("kind", "inputs", "returns"),
    [
        *((kind, True, True) for kind in ("string", "number?", "integer", "json", "list", "any")),
        *((kind, True, False) for kind in ("secret", "file", "files")),
        *((kind, False, True) for kind in ("[string]", "{enum: [a, b]}", "{a: string}")),
    ],
)
def test_types_of_inputs_and_of_answers_are_those_of_the_reference(
    whorl: Whorl, project: Path, kind: str, inputs: bool, returns: bool
) -> None:
    (project / "i.yaml").write_text(f"whorl: 1\ninputs: {{x: {kind}}}\nsteps:\n  a: {{value: 1}}\n")
    (project / "r.yaml").write_text(
        f"whorl: 1\nsteps:\n  a: {{ask: Write, returns: {{x: {kind}}}}}\n"
    )

    assert (whorl("validate", "i.yaml").code == 0) == inputs
    assert (whorl("validate", "r.yaml").code == 0) == returns


def test_a_workflow_of_a_logic_apps_project_has_its_near_name(whorl: Whorl, project: Path) -> None:
    (project / "host.json").write_text('{"version": "2.0"}')
    definition = {
        "definition": {
            "$schema": "https://schema.management.azure.com/providers/Microsoft.Logic/schemas/"
            "2016-06-01/workflowdefinition.json#",
            "contentVersion": "1.0.0.0",
            "triggers": {},
            "actions": {"a": {"type": "Compose", "inputs": 1, "runAfter": {}}},
            "outputs": {},
        },
        "kind": "Stateful",
    }
    (project / "Order").mkdir()
    (project / "Order" / "workflow.json").write_text(json.dumps(definition))

    assert whorl("validate", "Order").code == 0
    for command in ("run", "validate"):
        refused = whorl(command, "Ordr")
        assert refused.code == 2
        assert "did you mean 'Order'?" in refused.err
