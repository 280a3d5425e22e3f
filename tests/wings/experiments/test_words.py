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


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("grade", "said"),
    [
        (GRADE, "grade: grade (expression), solved: grade >= 0.5"),
        (GRADE + 'solved: "grade > 0.3"\n', "grade: grade (expression), solved: grade > 0.3"),
        (
            'grade: {good: {judge: "It is short", of: "{{ outputs.text }}", votes: 3}}\n',
            "grade: good (judge, 3 votes), solved: good >= 0.5",
        ),
        (
            'grade: {good: {judge: "It is short", of: "{{ outputs.text }}"}}\n',
            "grade: good (judge, 1 vote), solved: good >= 0.5",
        ),
    ],
)
def test_the_title_of_a_report_says_who_grades_and_what_is_solved(grade: str, said: str) -> None:
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, grade + "grade_iterations: returned\n"))
    configure(SHORT_YES)

    shown = whorl("experiment", "run", FILE).stdout

    assert shown.splitlines()[0] == HEAD + said


def test_a_report_says_which_cases_differ_and_what_to_ask_next() -> None:
    shown = whorl("experiment", "run", FILE).stdout

    cases = pasted(shown, "longer against base: 12 better, 0 the same, 0 worse (margin 0.02): ")
    asked = pasted(shown, "next: ")
    assert shown.splitlines()[-1].startswith("next: ")
    assert cases[2:] == ["experiment", "report", FILE, "--cases", "longer"]
    assert asked[2:] == ["what-if", FILE]
    assert whorl(*cases).stdout.count("+0.20") >= 12
    title = whorl(*asked).stdout.splitlines()[0]
    assert title.startswith("guess: loop polish of base, 12 exploring runs of up to 5 iterations; ")


def test_nobody_is_sent_to_what_if_where_it_has_no_answer() -> None:
    """Steps after the loop decide what is graded; and a workflow without a loop has no rule."""
    flow = Path("guess.yaml").read_text()
    later = '  tell: {ask: "Guess {{ polish.write }}"}\noutputs: {text: "{{ tell }}"}'
    changed = flow.replace('outputs: {text: "{{ polish.write }}"}', later)
    assert changed != flow
    Path("guess.yaml").write_text(changed)
    behind = whorl("experiment", "run", FILE)
    flat = 'whorl: 1\nname: flat\ninputs: {n: integer}\nsteps: {tell: {ask: "Guess {{ n }}"}}\n'
    Path("flat.yaml").write_text(flat + 'outputs: {text: "{{ tell }}"}\n')
    file = f"experiment: 1\nname: flat\nworkflow: flat.yaml\ncases: cases.csv\n{GRADE}"
    Path("flat.experiment.yaml").write_text(file)
    without = whorl("experiment", "run", "flat.experiment.yaml")

    assert behind.exit_code == without.exit_code == 0
    assert "next: " not in behind.stdout + without.stdout


def test_another_variant_and_runs_that_were_not_explored_are_told_in_the_title() -> None:
    Path(FILE).write_text(PLAIN)
    run_json("experiment", "run", FILE)

    title = whorl("what-if", FILE, "--variant", "longer").stdout.splitlines()[0]

    assert title.startswith("guess: loop polish of longer, 12 runs; ")


def test_the_picture_of_grades_ends_at_1_where_all_of_them_are_1() -> None:
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, 'grade: "1"\n'))
    run_json("experiment", "run", FILE)

    done = whorl("what-if", FILE, "--svg", "rules.svg")

    assert done.exit_code == 0
    picture = Path("rules.svg").read_text()
    marks = [float(text) for text in re.findall(r'text-anchor="end">([0-9.]+)<', picture)]
    assert len(marks) == 10
    assert max(marks) == 1


@pytest.mark.slow
def test_the_titles_say_which_judge_and_which_run_and_progress_what_was_graded() -> None:
    graders = """grade:
  right: "outputs.text == 'ab'"
  good: {judge: "It is short", of: "{{ outputs.text }}"}
  taste: {person: "Would you send this?", show: "{{ outputs.text }}"}
grade_iterations: returned
"""
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, graders))
    configure(SHORT_YES)
    run = run_json("run", "guess.yaml", "-i", "n=1")["run"]

    first, again = whorl("experiment", "run", FILE), whorl("experiment", "run", FILE)
    judged = whorl("judge", FILE, "good", "--against", "right").stdout
    asked = whorl("what-if", run, "--at-most", "1").stdout

    for done in (first, again):
        last = [line for line in done.stderr.splitlines() if "24 of 24 trials" in line][-1]
        assert last.startswith("  24 of 24 trials, 24 graded, 24 wait for a person, $")
    assert judged.startswith("judge of grader good, 'It is short': 24 results of 12 cases")
    assert asked.startswith(f"run {run} of guess, loop polish\n")


@pytest.mark.parametrize("level", [0.95, 0.975, 0.99])
@pytest.mark.parametrize(
    "pairs",
    [
        [1.0, 1.0] + [0.0] * 10,
        [1.0, 1.0, 1.0, -1.0] + [0.0] * 16,
        [0.3, -0.2, 0.1, 0.0, 0.4, -0.1, 0.2, 0.0, 0.1, -0.3],
    ],
)
def test_what_could_have_been_seen_would_be_seen(pairs: list[float], level: float) -> None:
    least = statistics.detectable(pairs, level=level)
    if statistics.is_yes_or_no(pairs, None):
        lost = [pair for pair in pairs if pair < 0]
        won = int(least * len(pairs)) + len(lost)
        seen = [*lost, *[1.0] * won, *[0.0] * (len(pairs) - won - len(lost))]
    else:
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
    assert before["variants"]["longer"]["cases"] == 12

    assert whorl("accept", row["run"], "--iteration", "1").exit_code == 0
    after = run_json("experiment", "report", FILE)

    assert f"1 trial was steered by a person and is left out: {row['run']}" in after["notes"]
    assert row["run"] not in [each["run"] for each in after["rows"]]
    assert after["is_complete"]
    assert after["variants"]["longer"]["cases"] == 11
    assert after["variants"]["longer"]["grade"]["value"] == pytest.approx(0.4)
    assert f"is left out: {row['run']}" in whorl("experiment", "report", FILE).stdout
    asked = run_json("what-if", FILE, "--variant", "longer")
    assert any(row["run"] in words for words in asked["words"])


def test_a_trial_that_a_person_pauses_is_left_out_until_it_goes_on() -> None:
    text = Path("guess.yaml").read_text()
    gate = "outputs:"
    ask = '  gate: {approve: {message: "Good?", show: "{{ polish.write }}"}}\noutputs:'
    Path("guess.yaml").write_text(text.replace(gate, ask))
    whorl("experiment", "run", FILE)
    trial = run_json("ls", "--all", "--status", "waiting", "-n", "1")[0]["run"]

    whorl("pause", trial)
    paused = run_json("experiment", "report", FILE)
    whorl("resume", trial)
    resumed = run_json("experiment", "report", FILE)

    assert f"1 trial was steered by a person and is left out: {trial}" in paused["notes"]
    assert not any("steered" in words for words in resumed["notes"])

    assert whorl("approve", trial, "--value", "a good one").exit_code == 0
    answered = run_json("experiment", "report", FILE)

    assert f"1 trial was steered by a person and is left out: {trial}" in answered["notes"]


SCORES = ("0.1", "0.3", "0.5", "0.8", "0.95")


def _score(*scores: str) -> None:
    """Has the review give these scores, one in each iteration."""
    text = Path("whorl.toml").read_text()
    for old, new in zip(SCORES, scores, strict=True):
        text = text.replace(f"score = {old}}}", f"score = {new}}}")
    Path("whorl.toml").write_text(text)


def test_the_best_iteration_is_told_by_the_score_of_the_file() -> None:
    _score("0.1", "0.3", "0.5", "0.8", "0.7")
    run = run_json("experiment", "run", FILE)["rows"][0]["run"]
    rule = ("--until", "review.score > 1", "--at-most", "5")

    (best,) = run_json("what-if", run, *rule, "--return", "best", "--check", "1")
    (last,) = run_json("what-if", run, *rule, "--return", "last", "--check", "1")

    assert (best["answer"]["returned"], last["answer"]["returned"]) == (4, 5)


@pytest.mark.slow
def test_a_plateau_watches_the_score_of_the_file() -> None:
    _score("0.1", "0.3", "0.2", "0.8", "0.7")
    run_json("experiment", "run", FILE)
    swept = {row["rule"]: row for row in run_json("what-if", FILE)["rules"]}
    rule = ("--until", "{plateau: {patience: 1}}", "--at-most", "5", "--return", "best")

    done = whorl("what-if", FILE, *rule, "--check", "12")
    asked = {row["rule"]: row for row in run_json("what-if", FILE, *rule)["rules"]}

    name = "plateau 1, at_most 5, best"
    assert "12 answers replayed through the engine: all the same" in done.stderr
    facts = ("grade", "iterations", "cost_usd", "asked")
    assert [asked[name][fact] for fact in facts] == [swept[name][fact] for fact in facts]
    assert asked[name]["iterations"] == 3


def test_what_is_recommended_can_be_pasted() -> None:
    _score("0.1", "0.3", "0.5", "0.8", "0.7")
    run_json("experiment", "run", FILE)
    rule = ("--until", "review.score > 0.6", "--at-most", "5", "--return", "best")

    lines = re.findall("to use it: (.*)", whorl("what-if", FILE, *rule).stdout)
    indented = "\n      ".join(lines)
    Path("guess.yaml").write_text(FLOW.replace("      at_most: 2\n", "").replace(SCORE, indented))

    assert [line.partition(":")[0] for line in lines] == ["until", "at_most", "return"]
    assert whorl("validate", "guess.yaml").exit_code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (("--return", "best"), "returns the best iteration, but nothing in it has a score"),
        (("--until", "{plateau: {patience: 1}}"), "watches the score, but there is none"),
    ],
)
def test_a_loop_without_a_score_has_no_best_iteration(rule: tuple[str, ...], words: str) -> None:
    Path("guess.yaml").write_text(FLOW.replace(SCORE, 'until: "review.score > 0.9"'))
    text = Path(FILE).read_text().replace(", return: best", "")
    Path(FILE).write_text(text)
    run_json("experiment", "run", FILE)

    done = whorl("what-if", FILE, "--at-most", "3", *rule)

    assert done.exit_code == 2
    assert "W013" in done.stderr
    assert words in done.stderr


def test_a_variant_without_a_score_has_no_best_iteration() -> None:
    change("{at_most: 4,", '{until: "review.score > 0.9",', FILE)

    done = whorl("validate", FILE)

    assert done.exit_code == 2
    assert "W013" in done.stderr + done.stdout


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
    # Half of the cases are better and half are worse: no share of the rest would be enough.
    half = 'grade: "(case.n | int > 5) == (outputs.text | length > 2)"\n'
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, half))
    longer = run_json("experiment", "run", FILE)["variants"]["longer"]
    assert (longer["words"], longer["could_see"]) == ("no difference seen", None)
    # Four of twelve are better: at 95 % that is seen, and not at what two variants share.
    four = 'grade: "case.n | int > 3 or outputs.text | length > 2"\n'
    change(half, four, FILE)
    change("variants:\n", "variants:\n  same: {loops: {polish: {at_most: 2}}}\n", FILE)
    longer = run_json("experiment", "run", FILE)["variants"]["longer"]
    assert longer["difference"]["value"] == pytest.approx(1 / 3)
    assert longer["difference"]["low"] <= 0
    assert longer["words"] == "no difference seen"
    assert longer["could_see"] > 1 / 3
