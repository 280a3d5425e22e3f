"""What reports and sweeps print beside their numbers; each command in them works when pasted."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from experiments.guess import (
    EXPERIMENT,
    FILE,
    FLOW,
    GRADE,
    PLAIN,
    SCORE,
    SHORT_YES,
    change,
    configure,
    run_json,
    whorl,
)
from whorl.wings.experiments import statistics

HEAD = "guess   12 cases, 2 variants, 1 run each; "


def pasted(text: str, start: str) -> list[str]:
    """The words of the command at the end of the line that begins so."""
    line = next(line for line in text.splitlines() if line.startswith(start))
    return shlex.split(line.rpartition(": whorl ")[2])


def test_a_report_says_who_grades_which_cases_differ_and_what_to_ask_next() -> None:
    judge = 'grade: {good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}}\n'
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, judge + "grade_iterations: returned\n"))
    configure(SHORT_YES)
    judged = whorl("experiment", "run", FILE).stdout
    Path(FILE).write_text(EXPERIMENT)
    done = whorl("experiment", "run", FILE)
    shown = done.stdout

    cases = pasted(shown, "longer against base: 12 better, 0 the same, 0 worse (margin 0.02): ")
    asked = pasted(done.stderr, "next: ")
    assert judged.startswith(f"{HEAD}grade: good (judge, 3 votes), solved: good >= 0.5\n")
    assert shown.startswith(f"{HEAD}grade: grade (expression), solved: grade >= 0.5\n")
    assert cases[2:] == ["experiment", "report", FILE, "--cases", "longer"]
    assert asked[2:] == ["experiment", "what-if", FILE]
    assert whorl(*cases).stdout.count("+0.20") >= 12
    title = "guess: loop polish of base, 12 exploring runs of up to 5 iterations; "
    assert whorl(*asked).stdout.splitlines()[1].startswith(title)
    Path(FILE).write_text(PLAIN)
    run_json("experiment", "run", FILE)
    title = "guess: loop polish of longer, 12 runs; "
    found = whorl("experiment", "what-if", FILE, "--variant", "longer").stdout.splitlines()
    assert found[1].startswith(title)


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_what_could_have_been_seen_would_be_seen(level: float) -> None:
    pairs = [0.3, -0.2, 0.1, 0.0, 0.4, -0.1, 0.2, 0.0, 0.1, -0.3]
    least = statistics.detectable(pairs, level=level)
    seen = [pair - statistics.mean(pairs) + least for pair in pairs]

    found = statistics.difference_estimate(seen, seed="seen", level=level)

    assert found.low is not None
    assert found.low > 0


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


def test_the_best_iteration_is_told_by_the_score_of_the_file_and_rules_can_be_pasted() -> None:
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


@pytest.mark.slow
def test_a_plateau_watches_the_score_of_the_file() -> None:
    _score("0.1", "0.3", "0.2", "0.8", "0.7")
    run_json("experiment", "run", FILE)
    swept = {row["rule"]: row for row in run_json("experiment", "what-if", FILE)["rules"]}
    rule = ("--until", "{plateau: {patience: 1}}", "--at-most", "5", "--return", "best")

    done = whorl("experiment", "what-if", FILE, *rule, "--check", "12")
    asked = {row["rule"]: row for row in run_json("experiment", "what-if", FILE, *rule)["rules"]}

    name = "plateau 1, at_most 5, best"
    assert "12 answers replayed through the engine: all the same" in done.stderr
    facts = ("grade", "iterations", "cost_usd", "asked")
    assert [asked[name][fact] for fact in facts] == [swept[name][fact] for fact in facts]
    assert asked[name]["iterations"] == 3


def test_a_loop_without_a_score_has_no_best_iteration() -> None:
    variant = Path(FILE).read_text().replace("{at_most: 4,", '{until: "review.score > 0.9",')
    Path(FILE).write_text(variant)
    refused = [whorl("validate", FILE)]
    Path("guess.yaml").write_text(FLOW.replace(SCORE, 'until: "review.score > 0.9"'))
    Path(FILE).write_text(EXPERIMENT.replace(", return: best", ""))
    run_json("experiment", "run", FILE)
    for rule in (("--return", "best"), ("--until", "{plateau: {patience: 1}}")):
        refused.append(whorl("experiment", "what-if", FILE, "--at-most", "3", *rule))

    for done in refused:
        assert done.exit_code == 2
        assert "W013" in done.stderr + done.stdout
    assert "returns the best iteration, but nothing in it has a score" in refused[1].stderr
    assert "watches the score ('plateau'), but nothing in it has a score" in refused[2].stderr


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
