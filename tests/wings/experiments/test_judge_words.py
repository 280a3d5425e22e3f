"""What `whorl experiment judge` says of what it cannot compare: no verdict, no label, no judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.guess import (
    EXPERIMENT,
    FILE,
    GRADE,
    SHORT_YES,
    VARIANTS,
    change,
    configure,
    run_json,
    whorl,
)
from whorl.wings.experiments.statistics import Estimate, kappa_words

RIGHT = "grade:\n  right: \"outputs.text == 'ab'\"\n"
GOOD = '  good: {judge: "It is short", of: "{{ outputs.text }}"}\n'
RUN = "whorl --config whorl.toml experiment run guess.experiment.yaml"
RETURNED = "grade_iterations: returned\n"


@pytest.fixture
def judged() -> Path:
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, RIGHT + GOOD + RETURNED))
    configure(SHORT_YES)
    return Path()


def test_verdicts_that_are_not_there_yet_are_named_with_what_gives_them(judged: Path) -> None:
    whole = (judged / FILE).read_text()
    (judged / FILE).write_text(whole.replace(GOOD, ""))
    run_json("experiment", "run", FILE)
    (judged / FILE).write_text(whole)

    nothing = whorl("experiment", "judge", FILE, "good", "--against", "right")
    run_json("experiment", "run", FILE)
    (judged / FILE).write_text(whole.replace(RETURNED, ""))
    some = whorl("experiment", "judge", FILE, "good", "--against", "right").stdout
    run_json("experiment", "run", FILE)
    every = whorl("experiment", "judge", FILE, "good", "--against", "right").stdout

    assert nothing.exit_code == 2
    assert (
        "error[X115]: no result has both a verdict and a label: "
        "24 of 24 results have no verdict of grader 'good'" in nothing.stderr
    )
    assert nothing.stderr.rstrip().endswith(f"help: {RUN}")
    # Of the five results of each case two are graded, which its two runs returned.
    assert "  72 of 120 results have no verdict of grader 'good'" in some.splitlines()
    assert "have no verdict" not in every


REFUSED = [
    ("good", "good", "", "error[W900]: grader 'good' cannot be compared with itself", "right"),
    (
        "right",
        "good",
        "",
        "error[W007]: grader 'right' is not a judge: it is an expression",
        "good",
    ),
    ("good", "", "case,label\nx,yes\n", "1 label of 1 without a result; the first is case 'x'", ""),
    (
        *("good", "", "case,label\n1,yes\n2,no\n1,no\n"),
        *("labels.csv, line 4, column 'case': '1' has a label already", ""),
    ),
]


@pytest.mark.usefixtures("judged")
def test_a_grader_is_compared_with_another_one_or_with_labels() -> None:
    """By the results of all variants, as its help says; what is no comparison is refused."""
    run_json("experiment", "run", FILE)
    asked = ("experiment", "judge", FILE, "good", "--against", "right")
    usual = run_json(*asked)
    base, longer = (run_json(*asked, "--variant", name) for name in ("base", "longer"))
    Path("labels.csv").write_text("case,iteration,label\n1,,yes\n2,2,no\n2,99,no\nx,,yes\n")
    shown = whorl("experiment", "judge", FILE, "good", "--against", "labels.csv").stdout

    assert "the baseline for a loop" in whorl("experiment", "judge", "--help").stdout
    assert (usual["results"], base["results"], longer["results"]) == (24, 12, 12)
    assert (base["accuracy"]["value"], longer["accuracy"]["value"]) == (1.0, 0.0)
    assert "2 results of 2 cases with a label" in shown
    words = "  2 labels of 4 without a result; the first is case '2', iteration 99"
    assert words in shown.splitlines()
    for judge, against, labels, words, advice in REFUSED:
        Path("labels.csv").write_text(labels)
        done = whorl("experiment", "judge", FILE, judge, "--against", against or "labels.csv")
        assert done.exit_code == 2
        assert words in done.stderr
        assert advice in done.stderr.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(
    ("behind", "results"),
    [('{ask: "Guess {{ polish.write }} now"}', 24), ('{value: "{{ polish.write }}"}', 120)],
)
def test_results_without_a_judge_lack_no_verdict(behind: str, results: int) -> None:
    """Where a step behind the loop makes a call, only the outputs that were returned are known."""
    change("outputs: ", f"  end: {behind}\noutputs: ")
    change('text: "{{ polish.write }}"', 'text: "{{ end }}"')
    change(RETURNED, "", FILE)
    run_json("experiment", "run", FILE)

    found = run_json("experiment", "judge", FILE, "good", "--against", "right")

    assert found["notes"] == []
    assert found["results"] == results


def test_kappa_has_a_word_on_either_side_of_chance() -> None:
    for kappa, words in (
        (Estimate(-0.5, -0.8, -0.2), "worse than chance"),
        (Estimate(-0.5), "not better than chance"),
        (Estimate(-0.1, -0.4, 0.2), "not better than chance"),
        (Estimate(0.3, -0.1, 0.6), "hardly better than chance"),
        (Estimate(0.5, 0.3, 0.7), "weak"),
        (Estimate(0.8, 0.7, 0.9), "fair"),
        (Estimate(0.9, 0.85, 0.95), "good"),
    ):
        assert kappa_words(kappa) == words


VOTED = 'until: [{judge: {question: "It is short", of: write}}]\n'
SCORE = 'until: [{score: {from: "{{ review.score }}", at_least: 0.9}}]\n'


def test_every_share_of_a_judge_names_what_it_is_a_share_of() -> None:
    """Three cases of five iterations; what the judge says first differs from what it says later."""
    change(SCORE, VOTED)
    Path("cases.csv").write_text("n\n1\n2\n3\n")
    Path(FILE).write_text(EXPERIMENT.replace(VARIANTS, "").replace(GRADE, RIGHT))
    configure('[[providers.demo.replies]]\nmatch = "It is short"\nreplies = ["NO", "YES"]\n')
    run_json("experiment", "run", FILE)
    asked = ("experiment", "judge", FILE, "--against", "right")

    found, told = run_json(*asked), whorl(*asked).stdout
    change("of: write}", "of: write, votes: 3}")
    run_json("experiment", "run", FILE)
    voted, voted_told = run_json(*asked), whorl(*asked).stdout

    agreed = found["agreed"]
    assert (found["results"], found["cases"], found["loop_runs"]) == (15, 3, 3)
    assert (found["verdict_votes"], found["voted"]) == (1, None)
    assert agreed == round(found["accuracy"]["value"] * 15)
    for words in (
        "15 results of 3 cases with a label, each verdict by 1 vote\n",
        f"  agrees in {agreed} of 15 results, {100 * agreed / 15:.0f} %",
        "would agree in 12, 80 %",
        "  the loop over 3 runs with ",
    ):
        assert words in told
    assert set(voted["votes"]) == {"1", "3"}
    assert voted["loop"]["1"][1] < voted["loop"]["yours"][1]
    base = voted["voted"]
    assert base == {"results": 15, "cases": 3, "votes": 3, "differing": base["differing"]}
    assert base["differing"] == round(voted["not_unanimous"] * 15)
    for words in ("any 1 of these 3 votes: accuracy ", "all 3 votes: ", "each verdict by 3 votes"):
        assert words in voted_told
