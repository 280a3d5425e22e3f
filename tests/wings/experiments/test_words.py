"""What reports and sweeps print beside their numbers; each command in them works when pasted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.guess import EXPERIMENT, FILE, FLOW, GRADE, SCORE, change, run_json, whorl


@pytest.mark.slow
def test_a_trial_that_a_person_steers_is_left_out_and_named() -> None:
    Path("own.yaml").write_text("whorl: 1\nname: own\nsteps: {w: {ask: Guess}}\n")
    own = run_json("run", "own.yaml")["run"]
    before = run_json("experiment", "run", FILE)
    assert run_json("show", "last")["run"] == own
    row = next(row for row in before["rows"] if row["variant"] == "longer")

    assert whorl("accept", row["run"], "--iteration", "1").exit_code == 0
    after = run_json("experiment", "report", FILE)

    words = f"1 trial changed by a person, and left out: {row['run']}"
    assert words in after["notes"]
    assert words in whorl("experiment", "report", FILE).stdout.splitlines()
    assert words in run_json("experiment", "what-if", FILE, "--variant", "longer")["words"]
    assert row["run"] not in [each["run"] for each in after["rows"]]
    assert after["is_complete"]
    assert [one["variants"]["longer"]["cases"] for one in (before, after)] == [12, 11]
    assert after["variants"]["longer"]["grade"]["value"] == pytest.approx(0.4)


SCORES = ("0.1", "0.3", "0.5", "0.8", "0.95")


def _score(*scores: str) -> None:
    """Has the review give these scores, one in each iteration."""
    for old, new in zip(SCORES, scores, strict=True):
        change(f"score = {old}}}", f"score = {new}}}", "whorl.toml")


def test_the_best_iteration_is_found_by_the_score_of_the_file_and_rules_can_be_pasted() -> None:
    _score("0.1", "0.3", "0.5", "0.8", "0.7")
    run = run_json("experiment", "run", FILE)["rows"][0]["run"]
    rule = ("--until", "review.score > 1", "--at-most", "5")

    (best,) = run_json("experiment", "what-if", run, *rule, "--return", "best", "--check", "1")
    (last,) = run_json("experiment", "what-if", run, *rule, "--return", "last", "--check", "1")
    rule = ("--until", "review.score > 0.6", "--at-most", "5", "--return", "best")
    lines = re.findall("to use it: (.*)", whorl("experiment", "what-if", FILE, *rule).stdout)
    indented = "\n      ".join(lines)
    Path("guess.yaml").write_text(FLOW.replace("      at_most: 2\n", "").replace(SCORE, indented))

    assert (best["answer"]["returned"], last["answer"]["returned"]) == (4, 5)
    assert [line.partition(":")[0] for line in lines] == ["until", "at_most", "return"]
    assert whorl("validate", "guess.yaml").exit_code == 0


RHO = "the score that the loop sees, and the grade: rho"
# Two cases have no grade under one variant, and a third one has none under both.
BAD = "case.n == '2' or (case.n | int < 2 and outputs.text | length > 2)"
# What a grader makes a report of the same runs say.
GRADED = {
    "(outputs.text | length) / 10": [f"{RHO} 1.00"],
    "1 - (outputs.text | length) / 10": [f"{RHO} -1.00"],
    "(case.n | int) / 20": [f"{RHO} 0.00"],
    f"7 if {BAD} else 0.5": [
        "base: 11 of 12 cases have a grade\n",
        "longer: 9 of 12 cases have a grade\n",
    ],
    "7 if case.n == '2' and outputs.text | length < 3 else 0.5": [
        "base: 11 of 12 cases have a grade\n",
        "longer: 12 of 12 cases have a grade, 11 of them also under base\n",
    ],
}


def test_what_a_report_says_follows_the_grades() -> None:
    """The runs are made once: each grader gives other words."""
    Path("cases.csv").write_text("n,g\n" + "".join(f"{n},{n % 5}\n" for n in range(12)))
    for grade, words in GRADED.items():
        Path(FILE).write_text(EXPERIMENT.replace(GRADE, f'grade: "{grade}"\n'))
        told = whorl("experiment", "run", FILE).stdout
        assert [part for part in words if f"\n{part}" not in told] == [], told
        if BAD in grade:
            table = whorl("experiment", "report", FILE, "--markdown").stdout
            assert all(f"\n- {line}" in table for line in words)
    Path(FILE).write_text(EXPERIMENT + "group: g\n")
    assert "5 groups are too few to say" in whorl("experiment", "run", FILE).stdout
    # Half of the cases are better and half are worse.
    half = 'grade: "(case.n | int > 5) == (outputs.text | length > 2)"\n'
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, half))
    longer = run_json("experiment", "run", FILE)["variants"]["longer"]
    assert (longer["words"], longer["could_see"] > 0.5) == ("no difference seen", True)
    # Four of twelve are better: at 95 % that is seen, and not at what two variants share.
    change(half, 'grade: "case.n | int > 3 or outputs.text | length > 2"\n', FILE)
    change("variants:\n", "variants:\n  same: {loops: {polish: {at_most: 2}}}\n", FILE)
    longer = run_json("experiment", "run", FILE)["variants"]["longer"]
    assert longer["difference"]["value"] == pytest.approx(1 / 3)
    assert longer["difference"]["low"] <= 0
    assert longer["words"] == "no difference seen"
    assert longer["could_see"] > 1 / 3
