"""What a person is asked, what it is about, what they answered, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

LOOP = """
whorl: 1
name: letter
steps:
  letter:
    repeat:
      until: write == "never"
      at_most: 2
      RULE
      steps:
        write: {ask: "Write {{ person.feedback | default('it') }}"}
outputs: {letter: "{{ letter.write }}"}
"""

NAPS = """
whorl: 1
name: naps
steps:
  round:
    repeat:
      at_most: 1
      steps:
        nap: {wait: 10ms}
        both:
          together:
            one: {ask: "Write it"}
            pause: {wait: 10ms}
  last: {wait: 10ms}
"""

EDITED = """
whorl: 1
name: edited
steps:
  check: {approve: {message: "Publish?", show: "a draft"}}
outputs: {text: "{{ check.value }}"}
"""

REJECTING = """
whorl: 1
name: rejecting
steps:
  check: {approve: {message: "Publish?", on_reject: fail}}
"""


def loop(project: Path, rule: str) -> str:
    (project / "letter.yaml").write_text(LOOP.replace("RULE", rule))
    return "letter.yaml"


def test_a_person_sees_once_what_a_gate_is_about(whorl: Whorl) -> None:
    said = whorl("run", "gated.yaml").err

    assert said.count("Publish it?") == 1
    assert "check asks: Publish it?\n      draft one" in said
    for looking in ("status", "show", "why"):
        text = whorl(looking).out
        assert "check asks: Publish it?" in text
        assert "draft one" in text


def test_a_person_sees_what_an_iteration_made(whorl: Whorl, project: Path) -> None:
    said = whorl("run", loop(project, "ask_person: each")).err

    assert "letter[1] asks: iteration 1" in said
    assert "write:\n      draft one" in said
    assert "/:ask" not in said


def test_a_program_is_told_what_is_asked(whorl: Whorl) -> None:
    done = whorl("run", "gated.yaml", "--json")

    assert done.code == 4
    assert done.json["waiting_for"] == [
        {"address": "check", "reason": "gate", "message": "Publish it?", "show": "draft one"}
    ]


def test_the_words_of_a_rejection_are_shown(whorl: Whorl) -> None:
    whorl("run", "gated.yaml")
    whorl("reject", "last", "--feedback", "too wet")

    assert "✗ check" in whorl("show").out
    assert "rejected: too wet" in whorl("show").out
    assert "check was rejected: too wet" in whorl("why").out
    place = whorl("show", "last/check").out
    assert "check asks: Publish it?" in place
    assert "check was rejected: too wet" in place
    assert "{" not in place


def test_the_words_to_an_iteration_are_shown(whorl: Whorl, project: Path) -> None:
    whorl("run", loop(project, "ask_person: each"))
    whorl("reject", "last", "--at", "letter[1]", "--feedback", "too wet")

    assert "letter[1] was rejected: too wet" in whorl("why").out
    assert "letter[1] was rejected: too wet" in whorl("show").out


def test_a_limit_that_fails_is_no_circle(whorl: Whorl, project: Path) -> None:
    done = whorl("run", loop(project, "on_limit: fail"), "--json")
    run = done.json["run"]

    assert done.code == 1
    assert f"next: whorl continue {run} --iterations 3" in whorl("show").out
    assert whorl("continue", run, "--iterations", "1").code == 1
    assert "letter was continued with 1 more iteration" in whorl("why").out


def test_a_limit_that_asks_may_be_continued(whorl: Whorl, project: Path) -> None:
    said = whorl("run", loop(project, "ask_person: at_limit")).err

    assert "letter asks: loop 'letter' reached its limit" in said
    assert "whorl continue" in said
    rejected = whorl("reject", "last", "--feedback", "no").err
    assert "error[R108]" in rejected
    assert "next: whorl continue" in rejected


def test_a_gate_that_failed_is_asked_again(whorl: Whorl, project: Path) -> None:
    (project / "rejecting.yaml").write_text(REJECTING)
    whorl("run", "rejecting.yaml")

    assert "# asks again" in whorl("reject", "last").err


def test_a_loop_without_money_says_so(whorl: Whorl) -> None:
    done = whorl("run", "polish.yaml", "x", "--budget", "0.00001")

    assert done.code == 5
    assert "polish: not begun" in done.err
    assert "next: whorl resume" in whorl("show").out


def test_why_a_run_is_paused(whorl: Whorl) -> None:
    done = whorl("run", "failing.yaml", "--budget", "0.00001", "--json")

    assert done.json["status"] == "paused"
    assert done.json["paused_by"] == "budget"
    for looking in ("why", "status", "show"):
        text = whorl(looking).out
        assert "the cost budget of the run does not allow 'first'" in text
        assert "whorl resume" in text


def test_a_person_who_paused_is_named(whorl: Whorl) -> None:
    whorl("run", "gated.yaml")
    whorl("pause", "last")

    assert "a person paused it" in whorl("why").out


def test_show_does_not_advise_show(whorl: Whorl) -> None:
    whorl("run", "gated.yaml")
    whorl("approve", "last")

    assert "next:" not in whorl("show").out


def test_the_code_of_the_cause_is_told(whorl: Whorl) -> None:
    done = whorl("run", "failing.yaml")

    assert "error[R100]" in done.err
    code = whorl("show", "--json").json["error"]["cause"]["code"]
    assert f"it comes from {code}: `whorl explain {code}`" in done.err
    assert f"whorl explain {code}" in whorl("why").out
    assert f"whorl explain {code}" in whorl("status").out


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("last", "✓ last"),
        ("last/round[1]", "✓ round[1]/nap"),
        ("last/round[1]", "✓ round[1]/both/pause"),
        ("last/round[1]/nap", "the wait was over"),
    ],
)
def test_waits_are_shown(whorl: Whorl, project: Path, place: str, said: str) -> None:
    (project / "naps.yaml").write_text(NAPS)
    whorl("run", "naps.yaml")

    assert said in whorl("show", place).out


def test_a_fork_says_where_it_comes_from(whorl: Whorl) -> None:
    first = whorl("run", "polish.yaml", "x", "--json").json

    fork = whorl("fork", "last", "--at", "polish[3]", "--json").json

    assert first["parent"] is None
    assert fork["parent"] == first["run"]


@pytest.mark.slow
@pytest.mark.parametrize("by", ["model", "run", "iteration"])
def test_calls_of_a_fork_are_counted_once(whorl: Whorl, by: str) -> None:
    whorl("run", "polish.yaml", "x")
    whorl("fork", "last", "--at", "polish[3]")
    whorl("fork", "last", "--at", "polish[3]")

    rows = whorl("ls", "--json").json
    total = whorl("cost", "--by", by, "--json").json["total"]

    assert total["calls"] == sum(row["calls"] for row in rows) == 7 + 3 + 3
    assert total["cost_usd"] == pytest.approx(sum(row["cost_usd"] for row in rows))
    assert whorl("cost", "last", "--json").json["total"]["calls"] == 3


def test_a_person_takes_what_they_have_edited(whorl: Whorl, project: Path) -> None:
    (project / "edited.yaml").write_text(EDITED)
    (project / "better.md").write_text("by hand\n")
    whorl("run", "edited.yaml")
    both = whorl("approve", "last", "--value", "x", "--set", "a=b")
    taken = whorl("approve", "last", "--value", "@better.md", "--json")
    whorl("run", loop(project, "ask_person: each"))
    wrong = whorl("approve", "last", "--set", "wrte=x")
    done = whorl("approve", "last", "--set", "write=by hand", "--json")

    assert "--set for results of a loop" in both.err
    assert taken.json["output"] == "by hand\n"
    assert "has no result 'wrte'" in wrong.err
    assert done.json["output"] == "by hand"
    assert "was approved with edits" in whorl("why").out


def test_a_loop_is_stopped_from_the_terminal(whorl: Whorl, project: Path) -> None:
    whorl("run", loop(project, "ask_person: each"))
    stopped = whorl("stop", "last", "--json")

    assert stopped.json["status"] == "succeeded"
    assert stopped.json["loops"][0]["exit_reason"] == "accepted"
    assert "has ended already" in whorl("stop", "last").err
    why = whorl("why").out
    assert "it ended because a person stopped it: accepted" in why
    assert "a person accepted" not in why
    accepted = whorl("accept", "last", "--iteration", "1")
    assert accepted.code == 0, accepted.err
    assert "a person accepted an iteration" in whorl("why").out
