"""A report says of each comparison over how many units it is, and what it could have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from experiments.guess import EXPERIMENT, folder, run_json, whorl
from whorl.services.experiments.reporting import figures

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
GRADE = 'grade: "(outputs.text | length) / 10"\n'
SAME = "variants:\n  same: {loops: {polish: {at_most: 2}}}\n"


def line_of(shown: str, start: str) -> str:
    return next(line for line in shown.splitlines() if line.startswith(start))


def write(folder: Path, grade: str, *changes: tuple[str, str]) -> None:
    text = EXPERIMENT.replace(GRADE, f'grade: "{grade}"\n')
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / FILE).write_text(text)


def test_the_words_follow_the_interval_beside_them(folder: Path) -> None:
    """Four of twelve cases are better: at 95 % that is seen, and not at what two variants share."""
    write(folder, "case.n | int > 3 or outputs.text | length > 2", ("variants:\n", SAME))

    found = run_json("experiment", "run", FILE)["variants"]["longer"]

    assert found["difference"]["value"] == pytest.approx(1 / 3)
    assert found["difference"]["low"] <= 0
    assert found["words"] == "no difference seen"
    assert found["could_see"] > 1 / 3


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
    least = figures.detectable(pairs, level=level)
    if figures.is_yes_or_no(pairs, None):
        lost = [pair for pair in pairs if pair < 0]
        won = int(least * len(pairs)) + len(lost)
        seen = [*lost, *[1.0] * won, *[0.0] * (len(pairs) - won - len(lost))]
    else:
        seen = [pair - figures.mean(pairs) + least for pair in pairs]

    found = figures.difference_estimate(seen, seed="seen", level=level)

    assert found.low is not None
    assert found.low > 0


def test_no_number_is_named_where_no_difference_could_have_been_seen(folder: Path) -> None:
    """Half of the cases are better and half are worse: no share of the rest would be enough."""
    write(folder, "(case.n | int > 5) == (outputs.text | length > 2)")

    found = run_json("experiment", "run", FILE)["variants"]["longer"]

    assert (found["words"], found["could_see"]) == ("no difference seen", None)


def test_too_few_groups_are_called_groups(folder: Path) -> None:
    rows = "".join(f"{n},{n % 5}\n" for n in range(12))
    (folder / "cases.csv").write_text(f"n,g\n{rows}")
    write(folder, "(outputs.text | length) / 10", ("at_once: 6", "group: g"))

    shown = whorl("experiment", "run", FILE).stdout

    assert "5 groups are too few to say" in line_of(shown, "longer ")


def test_rows_over_fewer_cases_than_the_title_say_so(folder: Path) -> None:
    """Two cases have no grade under one variant, and a third one has none under both."""
    bad = "case.n == '2' or (case.n | int < 2 and outputs.text | length > 2)"
    write(folder, f"7 if {bad} else 0.5")

    shown = whorl("experiment", "run", FILE).stdout
    table = whorl("experiment", "report", FILE, "--markdown").stdout

    for text, start in ((shown, ""), (table, "- ")):
        lines = text.splitlines()
        assert f"{start}base: 11 of 12 cases have a grade" in lines
        assert f"{start}longer: 9 of 12 cases have a grade" in lines


def test_pairs_that_are_fewer_than_the_cases_of_a_row_are_counted(folder: Path) -> None:
    write(folder, "7 if case.n == '2' and outputs.text | length < 3 else 0.5")

    lines = whorl("experiment", "run", FILE).stdout.splitlines()

    assert "base: 11 of 12 cases have a grade" in lines
    assert "longer: 12 of 12 cases have a grade, 11 of them also under base" in lines


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("grade", "words"),
    [
        ("(outputs.text | length) / 10", "goes with the grade: rho 1.00"),
        ("1 - (outputs.text | length) / 10", "goes against the grade: rho -1.00"),
        ("(case.n | int) / 20", "does not go with the grade: rho 0.00"),
        (
            "(case.n | int) / 20 + (outputs.text | length) / 15",
            "goes only weakly with the grade: rho 0.",
        ),
    ],
)
def test_how_far_the_score_goes_with_the_grade_is_said_by_its_value(
    folder: Path, grade: str, words: str
) -> None:
    write(folder, grade)

    assert f"the score that the loop sees {words}" in whorl("experiment", "run", FILE).stdout


@pytest.mark.slow
def test_a_trial_that_a_person_steers_is_left_out_and_named(folder: Path) -> None:
    (folder / "own.yaml").write_text("whorl: 1\nname: own\nsteps: {w: {ask: Guess}}\n")
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


def test_a_trial_that_a_person_pauses_is_left_out_until_it_goes_on(folder: Path) -> None:
    text = (folder / "guess.yaml").read_text()
    gate = "outputs:"
    ask = '  gate: {approve: {message: "Good?"}}\noutputs:'
    (folder / "guess.yaml").write_text(text.replace(gate, ask))
    whorl("experiment", "run", FILE)
    trial = run_json("ls", "--all", "--status", "waiting", "-n", "1")[0]["run"]

    whorl("pause", trial)
    paused = run_json("experiment", "report", FILE)
    whorl("resume", trial)
    resumed = run_json("experiment", "report", FILE)

    assert f"1 trial was steered by a person and is left out: {trial}" in paused["notes"]
    assert not any("steered" in words for words in resumed["notes"])
