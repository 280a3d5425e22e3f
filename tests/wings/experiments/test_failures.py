"""Trials that fail, and files that change meanwhile: nothing is left out without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.guess import (
    CONFIG,
    EXPERIMENT,
    FILE,
    FLOW,
    SCORE,
    VARIANTS,
    advised,
    reply_first,
    run_json,
    whorl,
)
from whorl import Experiment

REVIEW = 'review: {ask: "Review {{ write }}", returns: {score: number}}'


def _add_broken(divisor: str = "0", more: str = "") -> None:
    """A variant in whose loop a step divides by something."""
    broken = FLOW.replace(REVIEW, f'{REVIEW}\n        sum: {{value: "{{{{ 1 / ({divisor}) }}}}"}}')
    assert broken != FLOW
    Path("broken.yaml").write_text(broken)
    variants = "variants:\n  broken: {workflow: broken.yaml}"
    Path(FILE).write_text(EXPERIMENT.replace("variants:", variants) + more)


@pytest.mark.slow
def test_a_variant_that_always_fails_is_graded_0_or_left_out_and_a_gate_can_refuse_it() -> None:
    _add_broken()

    found = run_json("experiment", "run", FILE)
    told = whorl("experiment", "report", FILE).stdout
    gate = ("experiment", "gate", FILE, "--variant", "broken", "--against", "base")

    broken = found["variants"]["broken"]
    assert (broken["cases"], broken["grade"]["value"], broken["solved"]) == (12, 0, 0)
    assert (broken["failed"], broken["ended"]) == ({"R104": 12}, 12)
    assert broken["words"] == "worse"
    assert found["variants"]["base"]["failed"] == {}
    # The grade of a run that failed says nothing about the score that its loop saw.
    assert found["rho"] == pytest.approx(1)
    assert "broken: 12 of 12 trials failed (R104): graded 0\n" in told
    assert "\nbase: " not in told
    assert "- broken: 12 of 12 trials" in whorl("experiment", "report", FILE, "--markdown").stdout
    assert whorl(*gate).exit_code == 1

    _add_broken(more="on_failure: leave_out\n")
    broken = run_json("experiment", "run", FILE)["variants"]["broken"]
    told = whorl("experiment", "report", FILE).stdout
    ungraded = whorl(*gate)
    _add_broken(more="on_failure: leave_out\ngate: {failures: none}\n")
    failed = whorl(*gate)

    assert (broken["cases"], broken["grade"]["value"]) == (0, None)
    assert "broken: 12 of 12 trials failed (R104): left out" in told
    # Where nothing was compared, nothing has passed.
    assert ungraded.exit_code == 1
    assert "no case has a grade in both, so nothing was compared" in ungraded.stdout
    assert "12 of 12 cases failed, and failures are left out" in ungraded.stdout
    assert failed.exit_code == 1
    assert "failed, and did not fail before: 1, 2, 3, 4, 5 and 7 more" in failed.stdout
    asked = whorl("experiment", "what-if", FILE, "--variant", "broken")
    assert "the loop would have failed, and a run that fails has no grade" in asked.stderr
    assert "record longer ones" not in asked.stderr


@pytest.mark.slow
def test_a_rule_that_reaches_a_failure_is_graded_as_a_run_that_fails() -> None:
    """The third iteration fails for half of the cases: rules that end before are not harmed."""
    _add_broken(divisor="0 if iteration == 3 and n % 2 else 1")
    run_json("experiment", "run", FILE)

    def grade(at_most: int, *more: str) -> Any:
        rule = ("--variant", "broken", "--at-most", str(at_most), "--return", "last")
        found = run_json("experiment", "what-if", FILE, *rule, *more)
        return next(r for r in found["rules"] if f"at_most {at_most}," in r["rule"])["grade"]

    # Such a variant, really run, is what the rule is held to.
    text = Path(FILE).read_text()
    loops = "broken3: {workflow: broken.yaml, loops: {polish: {at_most: 3, return: last}}}"
    Path(FILE).write_text(text.replace("variants:", f"variants:\n  {loops}"))
    real = run_json("experiment", "run", FILE)["variants"]["broken3"]

    assert grade(2) == pytest.approx(0.2)
    assert grade(3) == pytest.approx(0.15) == pytest.approx(real["grade"]["value"])
    assert real["failed"] == {"R104": 6}
    told = whorl("experiment", "what-if", FILE, "--variant", "broken")
    assert "6 of 12 runs failed in the loop: graded 0 from there on" in told.stdout
    curve = run_json("experiment", "what-if", FILE, "--variant", "broken")["curve"]
    assert curve["last"] == pytest.approx([0.1, 0.2, 0.15, 0.2, 0.25])


def test_files_that_change_while_it_runs_change_nothing_of_it() -> None:
    """An experiment is run, graded and reported as it was read."""
    Path("terse.yaml").write_text(FLOW)

    def spoils(outputs: Any) -> bool:
        Path("terse.yaml").write_text(FLOW.replace("Guess", "Guess quickly"))
        Path("guess.yaml").write_text(FLOW.replace("Guess", "Guess slowly"))
        Path("cases.csv").write_text("n\n99\n")
        return bool(outputs["text"])

    experiment = Experiment(
        "guess.yaml",
        cases="cases.csv",
        grade={"some": spoils},
        variants={"terse": {"workflow": "terse.yaml"}},
        explore={"polish": 3},
        config="whorl.toml",
    )

    report = experiment.run_sync()

    assert report.is_complete
    assert len(report.frame()) == 24
    assert report.document()["others"] == 0
    assert report.variants["terse"].grade.value == 1
    assert report.what_if("polish", "terse").runs == 12


def test_where_the_outside_failed_all_trials_that_is_said() -> None:
    Path("cases.csv").write_text("n\n1\n2\n")
    Path(FILE).write_text(EXPERIMENT.replace(VARIANTS, ""))
    reply_first("Guess", "{status = 404}")
    whorl("experiment", "run", FILE)
    report = ("experiment", "report", FILE, "--save", "baseline.json")

    for words in (("experiment", "what-if", FILE), report):
        asked = whorl(*words)
        assert asked.exit_code == 2
        words = "the provider failed 2 trials of experiment 'guess' (P127), and no other one has"
        assert f"error[P127]: {words}" in asked.stderr
        assert "404" in asked.stderr
    Path("whorl.toml").write_text(CONFIG)
    assert whorl(*advised(asked.stderr)).exit_code == 0
    assert whorl(*report).exit_code == 0


def test_runs_that_did_not_reach_the_loop_are_not_taken_for_none() -> None:
    flow = FLOW.replace("steps:\n  polish:", 'steps:\n  sum: {value: "{{ 1 / 0 }}"}\n  polish:', 1)
    Path("guess.yaml").write_text(flow)
    whorl("experiment", "run", FILE)

    asked = whorl("experiment", "what-if", FILE)

    assert "error[X109]: no run of experiment 'guess' has reached loop 'polish'" in asked.stderr


LATER = 'outputs: {text: "{{ polish.write }}"}'
BEHIND = '  sum: {value: "{{ 1 / (%s) }}"}\noutputs: {text: "{{ polish.write }}", sum: "{{ sum }}"}'


@pytest.mark.slow
def test_a_run_that_fails_behind_its_loop_is_no_fault_of_the_judge() -> None:
    """The judge says yes from the second guess on, and so does the label."""
    rule = 'until: [{judge: {question: "Is it long?", of: write}}]'
    Path("guess.yaml").write_text(FLOW.replace(LATER, BEHIND % "0").replace(SCORE, rule))
    grade = EXPERIMENT.replace("(outputs.text | length) / 10", "results.write | length > 1")
    Path(FILE).write_text(grade.replace(", return: best", ""))
    match = 'match = "Is it long"\nby = "iteration"\nreplies = ["NO", "YES"]\n'
    Path("whorl.toml").write_text(f"{CONFIG}[[providers.demo.replies]]\n{match}")
    run_json("experiment", "run", FILE)

    found = run_json("experiment", "judge", FILE, "--against", "grade")

    assert found["accuracy"]["value"] == 1
    assert found["results"] == 60
