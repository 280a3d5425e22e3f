"""A run goes on with the files with which it began, and says so where they have changed since."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

from command_line import FAILING, GATED, POLISH, Whorl

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SAYS = "has changed since this run began"


def advised(words: str, verb: str) -> list[str]:
    """The words of the command with this verb that a message advises, ready to be pasted."""
    commands = re.findall(r"`(whorl [^`]*)`", words)
    commands += re.findall(r"next: (whorl .*)", words)
    found = [shlex.split(command, comments=True)[1:] for command in commands]
    return next(command for command in found if command[0] == verb)


def test_resume_says_that_the_file_has_changed_and_how_the_new_one_is_run(
    whorl: Whorl, project: Path
) -> None:
    text = FAILING.replace("steps:", "inputs: {task: string, n: number, tags: list}\nsteps:")
    (project / "failing.yaml").write_text(text)
    given = ("task=it's @ rain", "n:=2", 'tags:=["a"]')
    whorl("run", "failing.yaml", *(word for each in given for word in ("-i", each)))
    assert SAYS not in whorl("resume", "last").err
    (project / "failing.yaml").write_text(text.replace("Fail please", "Report {{ task }}"))

    done = whorl("resume", "last")

    assert done.code == 1
    assert f"failing.yaml {SAYS}; it goes on with the version it began with" in done.err
    new = whorl(*advised(done.err, "run"), "--json")
    assert (new.code, new.json["output"]) == (0, "the report")
    assert new.json["run"] != whorl("ls", "--json").json[1]["run"]


def test_what_to_do_next_about_a_failed_run_is_to_run_the_file_as_it_is_now(
    whorl: Whorl, project: Path
) -> None:
    whorl("run", "failing.yaml")
    (project / "failing.yaml").write_text(FAILING.replace("Fail please", "Report"))

    after = [whorl("resume", "last").err, whorl("show", "last").out, whorl("status", "last").out]

    for words in after:
        assert re.search(r"(next:?|next) +whorl run failing.yaml", words), words
    assert whorl(*advised(after[0], "run")).code == 0


def test_continue_and_fork_say_it_and_the_fork_that_is_advised_uses_the_new_file(
    whorl: Whorl, project: Path
) -> None:
    whorl("run", "polish.yaml", "x", "--max-iterations", "2", "--budget", "3")
    (project / "polish.yaml").write_text(POLISH.replace("Report on", "Report about"))

    more = whorl("continue", "last", "--iterations", "3")
    plain = whorl("fork", "last", "--at", "polish[2]")

    for done in (more, plain):
        assert (done.code, done.err.count(f"polish.yaml {SAYS}")) == (0, 1)
    assert "Report on" in whorl("show", "last/report").out
    words = ["run", "polish.yaml", "-i", "task=x", "--budget", "3", "--max-iterations", "2"]
    assert advised(more.err, "run") == words
    again = whorl(*advised(plain.err, "fork"))
    assert SAYS not in again.err
    assert "Report about draft two" in whorl("show", "last/report").out


def test_a_fork_keeps_its_other_words_in_what_is_advised(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x")
    (project / "polish.yaml").write_text(POLISH.replace("Report on", "Report about"))

    done = whorl("fork", "last", "--at", "polish[2]", "--set", "hint=it's other")

    words = advised(done.err, "fork")
    assert words[2:] == ["--at", "polish[2]", "--set", "hint=it's other", "--file", "polish.yaml"]
    assert whorl(*words).code == 0


def test_answers_say_it_too(whorl: Whorl, project: Path) -> None:
    whorl("run", "gated.yaml")
    (project / "gated.yaml").write_text(GATED.replace("Publish", "Print"))

    assert f"gated.yaml {SAYS}" in whorl("approve", "last").err


def test_a_prompt_in_a_file_counts_and_is_found_from_every_folder(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "flows").mkdir()
    (project / "prompts").mkdir()
    (project / "prompts" / "second.md").write_text("Fail please")
    text = FAILING.replace('"Fail please"', "{file: ../prompts/second.md}")
    (project / "flows" / "failing.yaml").write_text(text)
    monkeypatch.chdir(project / "flows")
    whorl("run", "failing.yaml")
    assert SAYS not in whorl("resume", "last").err
    (project / "prompts" / "second.md").write_text("Report")
    monkeypatch.chdir(project / "prompts")

    done = whorl("resume", "last")

    assert f"second.md {SAYS}" in done.err
    assert advised(done.err, "run")[1] == "../flows/failing.yaml"
    assert whorl(*advised(done.err, "run")).code == 0


def test_long_inputs_are_not_repeated_and_secrets_never(whorl: Whorl, project: Path) -> None:
    inputs = "inputs: {task: string, pin: {type: string, secret: true}}\nsteps:"
    text = FAILING.replace("steps:", inputs)
    (project / "failing.yaml").write_text(text)
    whorl("run", "failing.yaml", "-i", f"task={'long ' * 200}", "-i", "pin=sesame-1234")
    (project / "failing.yaml").write_text(text.replace("Fail please", "Report"))

    done = whorl("resume", "last")

    assert "long long" not in done.err
    assert "sesame" not in done.err
    assert "`whorl run failing.yaml` with the same inputs" in done.err


def test_a_secret_that_stands_in_the_file_is_no_change(whorl: Whorl, project: Path) -> None:
    pin = "inputs: {pin: {type: string, secret: true, default: sesame-1234}}\nsteps:"
    (project / "failing.yaml").write_text(FAILING.replace("steps:", pin))
    whorl("run", "failing.yaml")

    assert SAYS not in whorl("resume", "last").err


def test_a_file_that_is_gone_or_cannot_be_read_says_nothing_wrong(
    whorl: Whorl, project: Path
) -> None:
    whorl("run", "failing.yaml")
    (project / "failing.yaml").unlink()

    done = whorl("resume", "last")

    assert SAYS not in done.err
    assert "next: whorl resume" in done.err


def test_one_of_several_workflows_of_a_file_is_named_in_what_is_advised(
    whorl: Whorl, project: Path
) -> None:
    def write(name: str, address: str) -> None:
        call = {"type": "Http", "inputs": {"method": "GET", "uri": address}}
        until = {"type": "Until", "expression": "@equals(1, 1)", "limit": {"count": 3}}
        definitions = [{"actions": {"Say": {"type": "Compose", "inputs": "a"}}}]
        definitions.append({"actions": {"Again": until | {"actions": {"Call": call}}}})
        kind = "Microsoft.Logic/workflows"
        resources = [
            {"type": kind, "name": name, "properties": {"definition": definition}}
            for name, definition in zip(("first", name), definitions, strict=True)
        ]
        template = {"$schema": "deploymentTemplate.json#", "resources": resources}
        (project / "template.json").write_text(json.dumps(template))

    write("the second", "@concat('http://127.0.0.1:9', '/a')")
    assert whorl("run", "template.json", "--workflow", "the second").code != 0
    write("the second", "@concat('http://127.0.0.1:9', '/b')")

    done = whorl("resume", "last")

    assert advised(done.err, "run") == ["run", "template.json", "--workflow", "the second"]
    assert advised(done.err, "fork")[-4:] == ["--file", "template.json", "--workflow", "the second"]


def test_a_test_without_a_run_names_the_workflow_that_it_is_of(whorl: Whorl, project: Path) -> None:
    said = {"actions": {"Say": {"type": "Compose", "inputs": "a"}}}
    kind = "Microsoft.Logic/workflows"
    resources = [
        {"type": kind, "name": name, "properties": {"definition": said}} for name in ("one", "two")
    ]
    template = {"$schema": "deploymentTemplate.json#", "resources": resources}
    (project / "template.json").write_text(json.dumps(template))

    done = whorl("test", "template.json", "--workflow", "two")

    assert advised(done.err, "run") == ["run", "template.json", "--workflow", "two"]
