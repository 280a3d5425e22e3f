"""resume, continue, accept, fork, approve, reject, pause, cancel: each has one effect, and says so.

What a person is asked, and what they answered, is shown; a file that has changed since is told.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest
from command_line import FAILING, POLISH, Whorl

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SAYS = "has changed since this run began"
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


@pytest.fixture
def loop(project: Path) -> Callable[[str], str]:
    """Writes the file of a loop with a rule, and names it."""

    def write(rule: str) -> str:
        (project / "letter.yaml").write_text(LOOP.replace("RULE", rule))
        return "letter.yaml"

    return write


def advised(words: str, verb: str) -> list[str]:
    """The words of the command with this verb that a message advises, ready to be pasted."""
    commands = re.findall(r"`(whorl [^`]*)`", words)
    commands += re.findall(r"next: (whorl .*)", words)
    found = [shlex.split(command, comments=True)[1:] for command in commands]
    return next(command for command in found if command[0] == verb)


def test_fork_keeps_the_iterations_before_and_the_old_run(whorl: Whorl) -> None:
    old = whorl("run polish.yaml x --json").json

    done = whorl("fork last --at polish[2] --set hint=other --json").ends(0).json

    assert done["run"] != old["run"]
    assert (old["parent"], done["parent"]) == (None, old["run"])
    assert done["usage"]["calls"] == 5
    whorl("show last/polish[2]/write").prints("Write x after other")
    assert whorl("show", old["run"], "--json").json["output"] == "the report"
    whorl("show last").prints(f"fork of:    {old['run']}")


def test_loop_that_was_explored_continues_in_a_fork(whorl: Whorl, project: Path) -> None:
    (project / "count.yaml").write_text(
        "whorl: 1\nsteps:\n  count:\n    repeat:\n      until: add > 1\n      at_most: 3\n"
        '      carry: {n: "{{ add }}"}\n'
        '      steps: {add: {value: "{{ (n | default(0)) + 1 }}"}}\n'
        'outputs: {n: "{{ count.add }}"}\n'
    )
    run = whorl("run count.yaml --explore count=5 --json").json["run"]

    for command in ("show", "why"):
        whorl(command, run).prints("3 to 5 were explored after the loop had ended")
    refused = whorl(f"continue {run} --iterations 1")
    refused.ends(2, f"whorl fork {run} --at 'count[3]'")
    forked = whorl(f"fork {run} --at count[3] --json").json
    assert (forked["output"], forked["loops"][0]["iterations"]) == (3, 3)
    whorl(f"fork {run} --at count[6]").ends(2)
    assert whorl(f"accept {run} --iteration 5 --json").json["output"] == 5
    more = whorl(f"continue {run} --iterations 1 --json").json
    assert (more["output"], more["loops"][0]["iterations"]) == (6, 6)


def test_a_gate_is_shown_waits_for_one_decision_and_keeps_the_words(whorl: Whorl) -> None:
    asked = whorl("run gated.yaml").ends(4, "next: whorl runs approve")
    asked.says("check asks: Publish it?\n      draft one")
    assert asked.err.count("Publish it?") == 1
    for looking in ("show --brief", "show", "why"):
        whorl(looking).prints("check asks: Publish it?", "draft one")
    again = whorl("resume last --json").ends(4).json
    assert again["waiting_for"] == [
        {"address": "check", "reason": "gate", "message": "Publish it?", "show": "draft one"}
    ]

    done = whorl("runs reject last --feedback 'too wet' --json").ends(0).json

    assert done["outputs"] == {"ok": False, "words": "too wet"}
    whorl("runs reject last").ends(2, "has no open question; it has succeeded")
    whorl("show").prints("✗ check", "rejected: too wet")
    whorl("why").prints("check was rejected: too wet")
    place = whorl("show last/check").prints(
        "check asks: Publish it?", "check was rejected: too wet"
    )
    assert "{" not in place.out

    whorl("run gated.yaml")
    done = whorl("runs approve last --feedback 'my words' --json").ends(0).json
    assert done["outputs"] == {"ok": True, "words": "my words"}
    # Nothing is left to do.
    assert "next:" not in whorl("show").out


def test_several_gates_need_an_address(whorl: Whorl, project: Path) -> None:
    gates = '{one: {approve: {message: "One?"}}, two: {approve: {message: "Two?"}}}'
    text = f"whorl: 1\nsteps: {{both: {{together: {{steps: {gates}}}}}}}\n"
    (project / "two.yaml").write_text(text)
    whorl("run two.yaml").ends(4)

    whorl("runs approve last").ends(2, "both/one", "both/two")
    whorl("runs approve last --at both/tow").says("open now: both/one, both/two")
    whorl("runs approve last --at both/two").ends(4)
    told = whorl("runs reject last --at both/two")
    told.ends(2, "it is answered already", "open now: both/one")
    whorl("runs approve last").ends(0)


def test_pause_and_cancel_of_a_waiting_run_have_one_effect(whorl: Whorl) -> None:
    whorl("run gated.yaml")

    whorl("runs pause last").prints("is paused").says("next: whorl resume")
    whorl("why").prints("a person paused it")
    assert "is paused already" in str(whorl("runs pause last"))
    whorl("resume last").ends(4)
    assert whorl("runs cancel last --reason wrong --json").json["status"] == "cancelled"
    assert "was cancelled already" in str(whorl("runs cancel last"))
    whorl("runs approve last").ends(2)
    whorl("resume last").ends(5)


def test_a_person_sees_what_is_asked_and_said(whorl: Whorl, loop: Callable[[str], str]) -> None:
    said = whorl("run", loop("ask_person: each")).says("letter[1] asks: iteration 1")
    said.says("write:\n      draft one")
    assert "/:ask" not in said.err
    whorl("runs reject last --at letter[1] --feedback 'too wet'")

    for looking in ("why", "show"):
        whorl(looking).prints("letter[1] was rejected: too wet")


def test_what_failed_at_a_limit_or_a_gate_may_continue(
    whorl: Whorl, project: Path, loop: Callable[[str], str]
) -> None:
    run = whorl("run", loop("on_limit: fail"), "--json").ends(1).json["run"]
    whorl("show").says(f"next: whorl continue {run} --iterations 3")
    whorl(f"continue {run} --iterations 1").ends(1)
    whorl("why").prints("letter was continued with 1 more iteration")

    asked = whorl("run", loop("ask_person: at_limit"))
    asked.says("letter asks: loop 'letter' reached its limit", "next: whorl runs approve")
    whorl("runs reject last --feedback no").says("error[R108]", "next: whorl continue")

    gate = "check: {approve: {message: 'Publish?', on_reject: fail}}"
    (project / "rejecting.yaml").write_text(f"whorl: 1\nname: rejecting\nsteps: {{{gate}}}\n")
    whorl("run rejecting.yaml")
    whorl("runs reject last").says("next: whorl resume")


def test_waits_are_shown(whorl: Whorl, project: Path) -> None:
    both = "{together: {one: {ask: 'Write it'}, pause: {wait: 10ms}}}"
    steps = f"{{nap: {{wait: 10ms}}, both: {both}}}"
    looped = f"round: {{repeat: {{at_most: 1, steps: {steps}}}}}"
    (project / "naps.yaml").write_text(f"whorl: 1\nsteps: {{{looped}, last: {{wait: 10ms}}}}\n")
    whorl("run naps.yaml")

    whorl("show last").prints("✓ last")
    whorl("show last/round[1]").prints("✓ round[1]/nap", "✓ round[1]/both/pause")
    whorl("show last/round[1]/nap").prints("the wait was over")


def test_results_may_be_edited(whorl: Whorl, project: Path, loop: Callable[[str], str]) -> None:
    (project / "better.md").write_text("by hand\n")
    gate = "{check: {approve: {message: 'Publish?', show: a draft}}}"
    text = f"whorl: 1\nsteps: {gate}\noutputs: {{text: '{{{{ check.value }}}}'}}\n"
    (project / "edited.yaml").write_text(text)
    whorl("run edited.yaml")
    whorl("runs approve last --value x --set a=b").says("--set for results of a loop")
    assert whorl("runs approve last --value @better.md --json").json["output"] == "by hand\n"
    whorl("run", loop("ask_person: each"))
    whorl("runs approve last --set wrte=x").says("there are: write")
    assert whorl("runs approve last --set 'write=by hand' --json").json["output"] == "by hand"
    whorl("why").prints("was approved with edits")


def test_a_loop_is_stopped_from_the_terminal(whorl: Whorl, loop: Callable[[str], str]) -> None:
    whorl("run", loop("ask_person: each"))
    stopped = whorl("runs stop last --json").json

    assert stopped["status"] == "succeeded"
    assert stopped["loops"][0]["exit_reason"] == "accepted"
    whorl("runs stop last").says("has ended already")
    why = whorl("why").prints("after 1 of 2 iterations: a person stopped it").out
    assert "a person accepted" not in why
    whorl("accept last --iteration 1").ends(0)
    whorl("why").prints("a person accepted an iteration")


def test_resume_says_that_the_file_has_changed(whorl: Whorl, project: Path) -> None:
    text = FAILING.replace("steps:", "inputs: {task: string, n: number, tags: list}\nsteps:")
    (project / "failing.yaml").write_text(text)
    given = ("task=it's @ rain", "n:=2", 'tags:=["a"]')
    whorl("run", "failing.yaml", *(word for each in given for word in ("-i", each)))
    assert SAYS not in whorl("resume last").err
    (project / "failing.yaml").write_text(text.replace("Fail please", "Report {{ task }}"))

    done = whorl("resume last")
    done.ends(1, f"failing.yaml {SAYS}; the run keeps the old version")

    words = ["run", "failing.yaml", "-i", "task=VALUE", "-i", "n=VALUE", "-i", "tags=VALUE"]
    for told in (done.err, whorl("show last").err, whorl("show last --brief").err):
        assert advised(told, "run") == words


def test_a_fork_that_is_advised_uses_the_new_file(whorl: Whorl, project: Path) -> None:
    whorl("run polish.yaml x --max-iterations 2 --budget 3")
    (project / "polish.yaml").write_text(POLISH.replace("Report on", "Report about"))

    more = whorl("continue last --iterations 3")
    plain = whorl("fork last --at polish[2]")

    for done in (more, plain):
        assert (done.code, done.err.count(f"polish.yaml {SAYS}")) == (0, 1)
    whorl("show last/report").prints("Report on")
    assert advised(more.err, "fork")[2:] == ["--at", "polish[2]", "--file", "polish.yaml"]
    again = whorl(*advised(plain.err, "fork"))
    assert SAYS not in again.err
    whorl("show last/report").prints("Report about draft three")
