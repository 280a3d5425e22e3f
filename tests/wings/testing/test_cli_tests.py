"""`whorl test` with test files: mocks by name, expectations, coverage, tests made from runs."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

TESTS = """\
whorl_tests: 1
inputs: {task: a haiku}
mocks:
  write: {sequence: [one, two], then: repeat}
  report: the report
tests:
  it stops when the review approves:
    mocks:
      review:
        - outputs: {approved: false, score: 0.4}
        - outputs: {approved: true, score: 0.9}
    expect:
      outputs: {text: the report, draft: two}
      loops: {polish: {iterations: 2, exit_reason: condition_met, stopped_by: expression}}
      steps:
        review: {calls: 2}
        polish[2]/write: {inputs: {prompt: {contains: after one}}}
        length: {output: 3, status: succeeded, calls: 2}
"""
NEVER = """\
  it gives up:
    mocks: {review: {outputs: {approved: false, score: 0.1}}}
    max_iterations: 2
    expect: {loops: {polish: {exit_reason: max_iterations, mark: limit}}}
  the review is down:
    mocks: {review: {error: {code: P103, message: it is down}}}
    expect:
      error: {code: P103, message: it is down}
      steps: {report: {status: skipped, calls: 0}, review: {error: down}}
  models answer by rules:
    mocks: {}
    models: [{match: Review, replies: [{json: {approved: true, score: 1}}]}]
    expect: {output: the report, usage: {calls: 3}, seconds: 0}
"""


@pytest.fixture
def tests(project: Path) -> Path:
    path = project / "polish.test.yaml"
    path.write_text(TESTS + NEVER)
    return path


def test_they_may_lie_in_a_folder_or_name_a_workflow(tests: Path, whorl: Whorl) -> None:
    (tests.parent / "tests").mkdir()
    inside = tests.rename(tests.parent / "tests" / "polish.test.yaml")
    assert whorl("test", "polish.yaml").code == 0
    named = inside.rename(inside.with_name("other.test.yaml"))
    assert "there is no workflow 'other' beside" in whorl("test", str(named)).err
    named.write_text("workflow: ../polish.yaml\n" + named.read_text())

    assert whorl("test", str(named)).code == 0
    named.write_text(named.read_text().replace("../polish", "../../polish"))
    assert "outside of the project" in whorl("test", str(named)).err


def test_a_test_that_fails_says_what_differs_and_why(tests: Path, whorl: Whorl) -> None:
    text = TESTS.replace("draft: two", "draft: three").replace("calls: 2", "calls: 3")
    text = text.replace("after one", "after two").replace("iterations: 2", "iterations: 9")
    tests.write_text(text.replace("output: 3", "output: 4"))
    whorl("test polish.yaml").ends(1).prints(
        'outputs.draft: expected "three", got "two"',
        "steps.review.calls: expected 3, got 2",
        'steps.polish[2]/write.inputs.prompt: expected in it "after two", got "Write a',
        "loops.polish.iterations: expected 9, got 2",
        "steps.polish[1]/length.output: expected 4, got 3",
        "polish.test.yaml: 1 of 1 failed\n",
        "| polish stopped after 2 of 5 iterations: review.approved is true",
    )

    told = json.loads(whorl("test", "polish.yaml", "--json").out)
    assert (told["ok"], len(told["tests"][0]["failures"])) == (False, 7)


def test_a_step_without_a_mock_fails_the_test(tests: Path, whorl: Whorl) -> None:
    tests.write_text(TESTS.replace("  report: the report\n", ""))
    whorl("test polish.yaml").ends(1).prints(
        "nothing is called in a test: the step 'report' (ask 'Report on two') has no mock"
    )


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ("whorl_tests: 1|whorl_tests: 2", "1:14", "must be 1, not 2"),
        ("    review: {calls: 2}|    reveiw: {calls: 2}", "16:9", "did you mean 'review'"),
        ("      review:\n|      reviewer:\n", "9:7", "'reviewer' is not a step of workflow"),
        ("outputs: {approved: true|output: {approved: true", "11:11", "has no field 'output'"),
        ("{calls: 2}|{calls: two}", "16:25", "must be a whole number, not a text"),
        ("loops: {polish:|loops: {write:", "14:15", "'write' is not a loop"),
        ("approved: true|approved: 7", "11:20", "do not fit its `returns`"),
        ("then: repeat|then: again", "4:39", "must be one of error, repeat"),
        ("    expect:\n|    expects:\n", "12:5", "did you mean 'expect'"),
        ("inputs: {task: a haiku}|inputs: [1]", "2:9", "must be an object, not a list"),
        ("report: the|report: !!python/object:os.system the", "5:11", "W001"),
    ],
)
def test_mistakes_have_a_line_and_a_column(
    tests: Path, whorl: Whorl, change: str, place: str, words: str
) -> None:
    before, after = change.split("|")
    assert before in TESTS
    tests.write_text(TESTS.replace(before, after))
    whorl("test polish.yaml").ends(2, f"polish.test.yaml:{place}\n", words)


def test_inputs_that_do_not_fit_fail_the_test(tests: Path, whorl: Whorl) -> None:
    tests.write_text(TESTS.replace("task: a haiku", "tsak: a haiku"))
    whorl("test polish.yaml").ends(1).prints("task")


def test_coverage_lists_the_steps_that_no_test_reaches(tests: Path, whorl: Whorl) -> None:
    (tests.parent / "choosing.yaml").write_text(
        "whorl: 1\nname: choosing\ninputs: {n: number}\nsteps:\n  pick:\n    if: n > 1\n"
        "    then: {big: {value: 1}}\n    else: {small: {value: 2}}\n"
    )
    done = whorl("test", "polish.yaml", "choosing.yaml", "--coverage")

    assert done.code == 0
    assert "polish.yaml: 5 of 5 steps reached (100 %)\n" in done.out
    assert "choosing.yaml: 0 of 3 steps reached (0 %)" in done.out
    assert "  not reached  choosing.yaml:7  pick/then/big\n" in done.out
    (tests.parent / "choosing.test.yaml").write_text(
        "whorl_tests: 1\ntests:\n  big: {inputs: {n: 2}, expect: {output: {big: 1}}}\n"
    )
    done = whorl("test", "choosing.yaml", "--coverage", "--fail-under", "70")
    assert done.code == 1, done.out
    assert "choosing.yaml: 2 of 3 steps reached (67 %)" in done.out
    assert "not reached  choosing.yaml:8  pick/else/small" in done.out
    assert "reached 67 %, which is less than 70 %" in done.out
    assert whorl("test", "choosing.yaml", "--fail-under", "60").code == 0
    told = json.loads(whorl("test", "choosing.yaml", "--coverage", "--json").out)
    assert told["coverage"][0]["missed"] == [{"path": "pick@default/small", "line": 8}]


def test_a_run_becomes_a_test(project: Path, whorl: Whorl) -> None:
    assert whorl("run", "polish.yaml", "a haiku").code == 0
    done = whorl("test", "polish.yaml", "--save", "polish.test.yaml")
    assert done.ends(0).err == "next: whorl test polish.test.yaml\n"
    path = project / "polish.test.yaml"
    text = path.read_text()

    assert "outputs: |-\n            draft two\n            with two lines" in text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    done = whorl("test", "polish.yaml")
    assert done.ends(0).out.splitlines()[0] == "polish.test.yaml: 1 passed"
    assert whorl("test", "polish.yaml", "--save", "polish.test.yaml").code == 2
    (project / "polish.yaml").write_text(
        (project / "polish.yaml").read_text().replace("review.approved", "review.score > 2")
    )
    assert "all answers of the mock 'write' (3) are used up" in whorl("test", "polish.yaml").out


def test_decisions_judges_and_failures_are_saved(project: Path, whorl: Whorl) -> None:
    (project / "all.yaml").write_text(
        "whorl: 1\nname: all\nsteps:\n  each:\n    each: [1, 2]\n    steps: {w: {ask: Write it}}\n"
        "  bad: {ask: Fail now, on_failure: continue}\n"
        "  ok: {approve: Go on?}\n"
        "  again:\n    repeat: {until: {judge: Write?}, at_most: 2, steps: {w: {ask: Report}}}\n"
        "outputs: {x: '{{ again.w }}'}\n"
    )
    assert whorl("run", "all.yaml").code == 4
    assert whorl("runs", "approve", "last").code == 0
    whorl("test all.yaml --run last --save saved.test.yaml").ends(0)
    text = (project / "saved.test.yaml").read_text()

    for words in ("each[2]/w", "again/w:", "bad:", "no such model", "approved: true", ":judge"):
        assert words in text
    whorl("test saved.test.yaml").ends(0)
