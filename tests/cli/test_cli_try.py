"""`whorl try`: one step or one iteration, with values of a run, typed ones and pinned results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


def tried(whorl: Whorl, *words: str) -> dict[str, Any]:
    done = whorl("try", "polish.yaml", *words, "--json")
    assert done.code == 0, done.err
    shown = whorl("show", done.json["run"], "--json", "--deep").json
    return {record["address"]: record for record in shown["records"]}


def test_the_body_of_a_loop_runs_once_from_typed_values(whorl: Whorl, project: Path) -> None:
    records = tried(whorl, "--at", "polish", "-i", "task=bees", "--value", "polish/hint=a draft")

    assert records["polish[1]/write"]["inputs"]["prompt"] == "Write bees after a draft"
    assert records["polish[1]/review"]["output"]["score"] == 0.41
    assert "polish[2]" not in records
    assert "report" not in records


def test_an_iteration_gets_the_values_of_a_run(whorl: Whorl, project: Path) -> None:
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


def test_tries_are_left_out_of_lists_and_costs(whorl: Whorl, project: Path) -> None:
    tried(whorl, "--at", "polish", "-i", "task=bees")

    assert whorl("ls", "--json").json == []
    assert [row["key"][:4] for row in whorl("ls", "--all", "--json").json] == ["try:"]
    assert whorl("cost", "--json").json["lines"] == []
    assert whorl("cost", "--json", "--by", "step").json["lines"] == []
    assert whorl("cost", "--all", "--json").json["total"]["calls"] == 2
    [listed] = whorl("ls", "--all", "--json").json
    assert whorl("cost", listed["run"], "--json").json["total"]["calls"] == 2


def test_a_pinned_step_is_not_run_until_it_is_stale(whorl: Whorl, project: Path) -> None:
    pin = json.dumps({"approved": True, "score": 1})
    words = ("--at", "polish", "-i", "task=bees")
    first = tried(whorl, *words, "--pin", f"review:={pin}", "--keep-pins")
    again = tried(whorl, *words)
    file = project / "polish.yaml"
    file.write_text(file.read_text().replace("score: number}", "score: number, why: string}"))
    stale = whorl("try", "polish.yaml", *words, "--json")

    assert first["polish[1]/review"]["kind"] == again["polish[1]/review"]["kind"] == "compute"
    assert again["polish[1]/review"]["output"]["score"] == 1
    assert "pin" not in file.read_text()
    assert "the pin of polish/review is stale" in stale.err
    shown = whorl("show", f"{stale.json['run']}/polish[1]/review", "--json").json
    assert shown["records"][0]["kind"] == "ask"


def test_what_a_try_does_outside_is_asked_about(whorl: Whorl, project: Path) -> None:
    (project / "c.yaml").write_text("whorl: 1\nsteps:\n  a: {run: 'touch made'}\n")
    (project / "whorl.toml").write_text("[allow]\ncommands = true\n")

    refused = whorl("try", "c.yaml", "--at", "a")
    done = whorl("try", "c.yaml", "--at", "a", "--yes")

    assert refused.code == 2
    assert "C113" in refused.err
    assert "touch" in refused.err
    assert done.code == 0
    assert (project / "made").exists()
    assert "did you mean" in whorl("try", "polish.yaml", "--at", "review").err


def test_the_result_of_the_tried_step_is_shown(whorl: Whorl, project: Path) -> None:
    (project / "d.yaml").write_text("whorl: 1\nsteps:\n  my-step: {value: '{{ 1 + 2 }}'}\n")
    words = ("try", "polish.yaml", "--at", "polish/write", "-i", "task=bees")

    assert whorl(*words).out == "draft one\n"
    assert whorl(*words, "--json").json["output"] == "draft one"
    assert whorl("try", "d.yaml", "--at", "my-step").out == "3\n"
    body = whorl("try", "polish.yaml", "--at", "polish", "-i", "task=bees", "--json").json["output"]
    assert body["write"] == "draft one"
    assert body["review"]["score"] == 0.41


def test_the_result_of_a_secure_step_stays_hidden(whorl: Whorl, project: Path) -> None:
    text = "whorl: 1\nsteps:\n  a: {ask: Write, secure: true}\n"
    (project / "s.yaml").write_text(text)
    done = whorl("try", "s.yaml", "--at", "a")

    assert done.code == 0, done.err
    assert "draft one" not in done.out


def test_names_that_are_not_there_are_refused(whorl: Whorl, project: Path) -> None:
    words = ("try", "polish.yaml", "--at", "polish", "-i", "task=bees")
    wrong = {
        ("--value", "hnt=x"): "did you mean 'hint'?",
        ("--value", "polsh/hint=x"): "there is no value 'polsh/hint'",
        ("--pin", "reviw=x"): "did you mean 'polish/review'?",
        ("--pin", "reviw=x", "--keep-pins"): "did you mean 'polish/review'?",
        ("-i", "tsk=x"): "did you mean 'task'?",
    }
    for options, message in wrong.items():
        refused = whorl(*words, *options)
        assert refused.code == 2, options
        assert message in refused.err

    assert whorl("ls", "--all", "--json").json == []


def test_an_input_that_the_step_reads_is_asked_for(whorl: Whorl, project: Path) -> None:
    refused = whorl("try", "polish.yaml", "--at", "polish/write")
    alone = whorl("try", "polish.yaml", "--at", "polish/review", "--value", "write=A draft.")

    assert refused.code == 2
    assert "`-i task=VALUE`" in refused.err
    assert alone.code == 0, alone.err


@pytest.mark.parametrize(
    ("file", "code", "words"),
    [
        ("none.yaml", "W016", "file 'none.yaml' does not exist"),
        (".", "W016", "is a folder"),
        ("flows:essay", "W900", "'flows:essay' is written in Python"),
    ],
)
def test_what_has_no_text_is_refused(
    whorl: Whorl, project: Path, file: str, code: str, words: str
) -> None:
    done = whorl("try", file, "--at", "s")

    assert done.code == 2
    assert f"error[{code}]" in done.err
    assert words in done.err
