"""resume, continue, accept, fork, approve, reject, pause, cancel: each has one effect."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from command_line import POLISH, Whorl

if TYPE_CHECKING:
    from pathlib import Path


def test_resume_tries_again_only_what_failed(whorl: Whorl, project: Path) -> None:
    whorl("run", "failing.yaml")
    config = project / "whorl.toml"
    config.write_text(
        config.read_text().replace('{status = 400, text = "no such model"}', '"fine"')
    )

    done = whorl("resume", "last", "--json")

    assert done.code == 0
    assert done.json["status"] == "succeeded"
    assert done.json["usage"]["calls"] == 3
    sent = whorl("show", "last/first", "--json").json["entries"]
    assert [entry["kind"] for entry in sent] == ["task.started", "task.finished"]


def test_resume_of_a_run_that_ended(whorl: Whorl) -> None:
    first = whorl("run", "polish.yaml", "x", "--json")

    done = whorl("resume", first.json["run"][:-2], "--json")

    assert done.code == 0
    assert "has succeeded already" in done.err
    assert done.json == first.json


def test_unknown_run_and_no_runs(whorl: Whorl) -> None:
    assert "there are no runs yet" in whorl("resume", "last").err
    whorl("run", "polish.yaml", "x")
    done = whorl("resume", "nope")

    assert done.code == 2
    assert "error[W902]: there is no run 'nope'" in done.err


def test_run_that_spent_its_budget_outside_a_loop_pauses_and_goes_on_with_more(
    whorl: Whorl, project: Path
) -> None:
    (project / "two.yaml").write_text(
        "whorl: 1\nsteps:\n"
        "  a: {ask: 'Write', max_tokens: 2}\n"
        "  b: {ask: 'Report', max_tokens: 2}\n"
    )

    first = whorl("run", "two.yaml", "--budget", "0.0003", "--json")

    assert first.code == 5
    assert first.json["status"] == "paused"
    assert [warning["code"] for warning in first.json["warnings"]] == ["R103"]
    assert "--budget +" in whorl("status", "last").out
    more = whorl("resume", "last", "--budget", "+1", "--json")
    assert more.code == 0
    assert more.json["output"] == "the report"


def test_added_budget_needs_its_plus(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    done = whorl("resume", "last", "--budget", "0.50")

    assert done.code == 2
    assert "write +0.50" in done.err


def test_continue_keeps_the_history_and_runs_what_follows_again(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x", "--max-iterations", "2")

    done = whorl("continue", "last", "--iterations", "3", "--json")

    assert done.code == 0
    assert done.json["loops"][0]["iterations"] == 3
    assert done.json["loops"][0]["exit_reason"] == "condition_met"
    assert done.json["outputs"]["draft"] == "draft three"
    assert whorl("show", "last/report#2").code == 0


def test_continue_needs_to_know_how_much_and_where(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    assert "--iterations N" in whorl("continue", "last").err
    wrong = whorl("continue", "last", "--iterations", "1", "--at", "polsh")
    assert wrong.code == 2
    assert "did you mean 'polish'?" in wrong.err


def test_accept_takes_an_earlier_iteration_once(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    done = whorl("accept", "last", "--iteration", "2", "--json")

    assert done.code == 0
    assert done.json["outputs"]["draft"] == "draft two\nwith two lines"
    loop = done.json["loops"][0]
    assert (loop["exit_reason"], loop["returned_iteration"]) == ("accepted", 2)
    assert loop["score"] == 0.63
    again = whorl("accept", "last", "--iteration", "2", "--json")
    assert "accepted already" in again.err
    assert again.json == done.json
    missing = whorl("accept", "last", "--iteration", "9")
    assert missing.code == 2
    assert "it has 1, 2, 3" in missing.err


def test_fork_keeps_the_iterations_before_and_the_old_run(whorl: Whorl) -> None:
    old = whorl("run", "polish.yaml", "x", "--json").json

    done = whorl("fork", "last", "--at", "polish[2]", "--set", "hint=other", "--json")

    assert done.code == 0
    assert done.json["run"] != old["run"]
    assert done.json["usage"]["calls"] == 5
    shown = whorl("show", "last/polish[2]/write")
    assert "Write x after other" in shown.out
    assert whorl("show", old["run"], "--json").json["output"] == "the report"
    assert f"fork of {old['run']}" in whorl("show", "last").out


def test_fork_with_another_file(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x")
    (project / "other.yaml").write_text(POLISH.replace("Report on", "Report about"))

    done = whorl("fork", "last", "--at", "polish[3]", "--file", "other.yaml")

    assert done.code == 0
    assert "Report about draft three" in whorl("show", "last/report").out
    calls = [whorl("cost", *which, "--json").json["total"]["calls"] for which in ([], ["last"])]
    assert calls == [7 + 3, 3]


def test_the_iterations_that_a_fork_with_another_file_keeps_are_its_own(
    whorl: Whorl, project: Path
) -> None:
    whorl("run", "polish.yaml", "x")
    longer = POLISH.replace("  report:", '  extra: {value: "{{ polish.write }}"}\n  report:')
    (project / "other.yaml").write_text(longer)
    whorl("fork", "last", "--at", "polish[3]", "--file", "other.yaml")

    compared = whorl("diff", "last", "1", "3")
    accepted = whorl("accept", "last", "--iteration", "1", "--json")

    assert "+draft three" in compared.out
    assert (accepted.code, accepted.json["loops"][0]["returned_iteration"]) == (0, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--at", "polish[9]"), "'polish' has no iteration 9"),
        (("--at", "polish"), "say which iteration"),
        (("--at", "polish[2]", "--set", "hnt=x"), "did you mean 'hint'?"),
    ],
)
def test_fork_refuses_what_makes_no_sense(
    whorl: Whorl, words: tuple[str, ...], message: str
) -> None:
    whorl("run", "polish.yaml", "x")

    done = whorl("fork", "last", *words)

    assert done.code == 2
    assert message in done.err
    assert len(whorl("ls", "--json").json) == 1


@pytest.mark.parametrize(("verb", "is_approved"), [("approve", True), ("reject", False)])
def test_gate_waits_for_one_decision(whorl: Whorl, verb: str, is_approved: bool) -> None:
    waiting = whorl("run", "gated.yaml")
    assert waiting.code == 4
    assert "check asks: Publish it?" in waiting.err
    assert "next: whorl approve" in waiting.err
    assert whorl("resume", "last").code == 4

    done = whorl(verb, "last", "--feedback", "my words", "--json")

    assert done.code == 0
    assert done.json["outputs"] == {"ok": is_approved, "words": "my words"}
    again = whorl(verb, "last")
    assert again.code == 2
    assert f"was {'approved' if is_approved else 'rejected'} already" in again.err


def test_several_gates_need_an_address(whorl: Whorl, project: Path) -> None:
    (project / "two.yaml").write_text(
        """
whorl: 1
steps:
  both:
    together:
      steps:
        one: {approve: {message: "One?"}}
        two: {approve: {message: "Two?"}}
"""
    )
    assert whorl("run", "two.yaml").code == 4

    unclear = whorl("approve", "last")

    assert unclear.code == 2
    assert "both/one" in unclear.err
    assert "both/two" in unclear.err
    wrong = whorl("approve", "last", "--at", "both/tow")
    assert "did you mean 'both/two'?" in wrong.err
    assert whorl("approve", "last", "--at", "both/two").code == 4
    twice = whorl("reject", "last", "--at", "both/two")
    assert twice.code == 2
    assert "'both/two' was approved already" in twice.err
    assert "open now: both/one" in twice.err
    assert whorl("approve", "last").code == 0


def test_gate_that_nobody_asked(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    done = whorl("approve", "last")

    assert done.code == 2
    assert "has no open question; it has succeeded" in done.err


def test_pause_and_cancel_of_a_waiting_run_have_one_effect(whorl: Whorl) -> None:
    whorl("run", "gated.yaml")

    assert "is paused; go on with" in whorl("pause", "last").out
    assert "is paused already" in whorl("pause", "last").out
    assert whorl("resume", "last").code == 4
    assert whorl("cancel", "last", "--feedback", "wrong", "--json").json["status"] == "cancelled"
    assert "was cancelled already" in whorl("cancel", "last").out
    late = whorl("approve", "last")
    assert late.code == 2
    assert whorl("resume", "last").code == 5


def test_pause_of_a_run_that_ended(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    done = whorl("pause", "last")

    assert done.code == 2
    assert "has succeeded already" in done.err


def test_a_fork_takes_one_of_several_workflows_of_a_file(whorl: Whorl, project: Path) -> None:
    def resource(name: str, word: str) -> dict[str, object]:
        said = {"Say": {"type": "Compose", "inputs": word}}
        until = {"type": "Until", "expression": "@equals(1, 1)", "limit": {"count": 3}}
        definition = {"actions": {"Again": until | {"actions": said}}}
        kind = "Microsoft.Logic/workflows"
        return {"type": kind, "name": name, "properties": {"definition": definition}}

    def write(word: str) -> None:
        resources = [resource("first", "x"), resource("second", word)]
        template = {"$schema": "deploymentTemplate.json#", "resources": resources}
        (project / "template.json").write_text(json.dumps(template))

    write("a")
    assert whorl("run", "template.json", "--workflow", "second").code == 0
    write("b")
    forked = ("fork", "last", "--at", "Again[1]", "--file", "template.json")

    assert "--workflow" in whorl(*forked).err
    assert whorl(*forked, "--workflow", "second", "--json").json["output"] == "b"


def test_who_continues_without_the_models_of_a_run_is_told_that_a_toy_answers(
    whorl: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "whorl.toml").rename(project / "own.toml")
    run = whorl("run", "polish.yaml", "-i", "task=x", "--config", "own.toml", "--json").json["run"]
    # It is not installed, so that nobody has to wait for it.
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    for words in (("continue", run, "-n", "1"), ("fork", run, "--at", "polish[2]")):
        told = whorl(*words).err

        assert "no provider is configured, so the embedded toy model answers" in told
        assert "--config names the configuration" in told


def test_loop_that_was_explored_is_shown_so_and_goes_on_in_a_fork(
    whorl: Whorl, project: Path
) -> None:
    (project / "count.yaml").write_text(
        "whorl: 1\nsteps:\n  count:\n    repeat:\n      until: add > 1\n      at_most: 3\n"
        '      carry: {n: "{{ add }}"}\n'
        '      steps: {add: {value: "{{ (n | default(0)) + 1 }}"}}\n'
        'outputs: {n: "{{ count.add }}"}\n'
    )
    run = whorl("run", "count.yaml", "--explore", "count=5", "--json").json["run"]

    for command in ("show", "why"):
        assert "3 to 5 were explored after the loop had ended" in whorl(command, run).out
    refused = whorl("continue", run, "--iterations", "1")
    assert refused.code == 2
    assert "goes on after" not in refused.err
    assert f"whorl fork {run} --at 'count[3]'" in refused.err
    forked = whorl("fork", run, "--at", "count[3]", "--json").json
    assert (forked["output"], forked["loops"][0]["iterations"]) == (3, 3)
    assert whorl("fork", run, "--at", "count[6]").code == 2

    accepted = whorl("accept", run, "--iteration", "5", "--json").json

    assert accepted["output"] == 5
    more = whorl("continue", run, "--iterations", "1", "--json").json
    assert (more["output"], more["loops"][0]["iterations"]) == (6, 6)
