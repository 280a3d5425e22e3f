"""The gate decides by one rule: what it says, what its tests say, and how many cases would do."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import folder, whorl
from whorl.services.experiments.reporting import figures
from whorl.services.experiments.reporting.gate import would_decide

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"


def _tests(file: Path) -> dict[str, str]:
    """The message of each test that failed, by name; an empty one where it passed."""
    root = ET.fromstring(file.read_text())
    found = {}
    for test in root.iter("testcase"):
        failure = test.find("failure")
        found[test.attrib["name"]] = "" if failure is None else failure.attrib["message"]
    failed = sum(bool(message) for message in found.values())
    assert (int(root.attrib["tests"]), int(root.attrib["failures"])) == (len(found), failed)
    return found


def test_a_gate_that_fails_has_tests_that_fail(folder: Path) -> None:
    gate = ("experiment", "gate", FILE, "--variant", "base", "--against", "longer")

    failed = whorl(*gate, "--junit", "tests.xml")
    tests = _tests(folder / "tests.xml")

    assert failed.exit_code == 1
    assert tests.pop("gate") == (
        "fail, over 12 cases: the grade is worse by 0.20, the margin is 0.02"
    )
    assert tests == dict.fromkeys(map(str, range(1, 13)), "grade 0.20, before 0.40")


def test_a_gate_that_passes_has_no_test_that_fails(folder: Path) -> None:
    gate = ("experiment", "gate", FILE, "--variant", "longer", "--against", "base")

    assert whorl(*gate, "--junit", "tests.xml").exit_code == 0
    assert set(_tests(folder / "tests.xml").values()) == {""}


@pytest.mark.slow
def test_repeated_runs_of_a_case_are_one_test(folder: Path) -> None:
    (folder / FILE).write_text((folder / FILE).read_text() + "repeat: 2\n")

    whorl(*("experiment", "gate", FILE, "--against", "longer", "--junit", "tests.xml"))

    assert (folder / "tests.xml").read_text().count("<testcase") == 13


def test_a_baseline_of_other_cases_is_an_error_before_anything_runs(folder: Path) -> None:
    cases = {"x": {"grades": [1], "costs": [0], "runs": ["r"], "failed": 0}}
    saved = {"baseline": 1, "experiment": "guess", "cases": cases}
    (folder / "baseline.json").write_text(json.dumps(saved))

    done = whorl("experiment", "gate", FILE, "--against", "baseline.json")

    assert done.exit_code == 2
    assert "X109" in done.stderr
    assert "no case of 'guess' is in 'baseline.json'" in done.stderr
    assert "its cases: x" in done.stderr
    assert not (folder / ".whorl" / "whorl.db").exists()


GATE = ("experiment", "gate", FILE, "--against", "baseline.json")


def _save(folder: Path) -> dict[str, Any]:
    """Runs the experiment, and saves the grades of its baseline."""
    assert whorl("experiment", "run", FILE).exit_code == 0
    assert whorl("experiment", "report", FILE, "--save", "baseline.json").exit_code == 0
    saved: dict[str, Any] = json.loads((folder / "baseline.json").read_text())
    return saved


def _change(folder: Path, old: str, new: str, *, file: str = FILE) -> None:
    text = (folder / file).read_text()
    assert old in text
    (folder / file).write_text(text.replace(old, new))


def test_the_same_runs_with_the_same_grades_pass(folder: Path) -> None:
    _save(folder)

    done = whorl(*GATE, "--strict")

    assert done.exit_code == 0
    assert "nothing has changed: these are the same runs" in done.stdout


def test_grades_of_another_grader_are_not_compared(folder: Path) -> None:
    _save(folder)
    _change(folder, "/ 10", "/ 20")

    done = whorl(*GATE)

    assert done.exit_code == 2
    assert "X109" in done.stderr
    assert "'baseline.json' was graded by another grader than 'guess' has" in done.stderr


def test_grades_of_an_experiment_with_another_grader_are_not_compared(folder: Path) -> None:
    text = (folder / FILE).read_text().replace("name: guess", "name: other")
    (folder / "other.experiment.yaml").write_text(text.replace("/ 10", "/ 20"))
    assert whorl("experiment", "run", "other.experiment.yaml").exit_code == 0

    done = whorl("experiment", "gate", FILE, "--against", "other.experiment.yaml")

    assert done.exit_code == 2
    assert "'other.experiment.yaml' was graded by another grader" in done.stderr


def test_the_same_runs_with_lower_grades_fail_where_the_grader_was_not_saved(folder: Path) -> None:
    saved = _save(folder)
    del saved["grader"]
    (folder / "baseline.json").write_text(json.dumps(saved))
    _change(folder, "/ 10", "/ 20")

    done = whorl(*GATE)

    assert done.exit_code == 1
    assert "the grade is worse by 0.10" in done.stdout
    assert "these are the same runs, graded otherwise" in done.stdout


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("written", "margin", "verdict"),
    [
        ("", 0.02, "fail"),
        ("margin: 0.3\n", 0.3, "pass"),
        ("margin: 0.3\ngate: {cost: 9}\n", 0.3, "pass"),
        ("margin: 0.3\ngate: {margin: 0.1}\n", 0.1, "fail"),
        ("margin: 0.01\ngate: {margin: 0.3}\n", 0.3, "pass"),
    ],
)
def test_the_margin_is_that_of_the_gate_or_of_the_file(
    folder: Path, written: str, margin: float, verdict: str
) -> None:
    (folder / FILE).write_text((folder / FILE).read_text() + written)

    gate = ("experiment", "gate", FILE, "--variant", "base", "--against", "longer")
    done, found = whorl(*gate), json.loads(whorl(*gate, "--json").stdout)

    assert (found["verdict"], found["margin"]) == (verdict, margin)
    words = {"pass": "not worse by the margin,", "fail": "worse by 0.20, the margin is"}
    assert f"the grade is {words[verdict]} {margin:g}\n" in done.stdout


def test_a_gate_that_cannot_decide_says_its_margin(folder: Path) -> None:
    (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in range(7)))

    done = whorl("experiment", "gate", FILE, "--variant", "longer", "--against", "base")

    assert "7 cases do not decide with a margin of 0.02; about " in done.stdout


def test_a_gate_that_its_budget_stopped_has_not_passed(folder: Path) -> None:
    gate = ("experiment", "gate", FILE, "--variant", "longer", "--against", "base")
    (folder / FILE).write_text((folder / FILE).read_text() + "trial_budget: 0.2\n")

    done = whorl(*gate, "--budget", "0.23")

    assert done.exit_code == 5
    assert "gate: undecided" in done.stdout
    assert " of 24 trials done; the budget allows no more" in done.stdout
    assert "pass" not in done.stdout


def _decided(pairs: list[float], margin: float) -> bool:
    found = figures.difference_estimate(pairs, seed="test")
    assert found.low is not None
    assert found.high is not None
    return found.low > -margin or (found.high < 0 and found.value < -margin)


@pytest.mark.parametrize(
    ("pairs", "margin", "count"),
    [
        # Yes and no: 3 of 10 are worse, and at this share 13 decide that it is worse.
        ([-1.0] * 3 + [0.0] * 7, 0.05, 13),
        # Nothing differs, and still few cases leave room for a difference.
        ([0.0] * 5, 0.02, 96),
        ([0.4, -0.4] * 2, 0.3, 11),
        ([-0.475, 0.075] * 8, 0.3, 33),
    ],
)
def test_so_many_cases_would_decide(pairs: list[float], margin: float, count: int) -> None:
    told = would_decide(pairs, None, margin)

    assert told == f"about {count} would, if their differences are like these"


@pytest.mark.parametrize(
    ("pairs", "margin"),
    [([-1.0] * 3 + [0.0] * 7, 0.05), ([0.0] * 8, 0.02), ([0.4, -0.4] * 5, 0.2)],
)
def test_the_gate_itself_decides_with_so_many(pairs: list[float], margin: float) -> None:
    """The same pairs again and again: as often as is told, and a quarter less."""
    count = int(would_decide(pairs, None, margin).split()[1])
    enough, fewer = math.ceil(count / len(pairs)), int(0.75 * count / len(pairs))

    assert _decided(pairs * enough, margin)
    assert fewer == 0 or not _decided(pairs * fewer, margin)


def test_a_difference_of_just_the_margin_is_never_decided() -> None:
    told = would_decide([-0.5, 0.1] * 5, None, 0.2)

    assert told == "nor would more cases like these: the difference is about the margin"


def test_a_variant_is_not_compared_with_itself(folder: Path) -> None:
    """Nothing is run for it; where there is no other one, a saved report can be compared with."""
    two = whorl("experiment", "gate", FILE, "--against", "base")
    text = (folder / FILE).read_text()
    variants = "variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n"
    (folder / FILE).write_text(text.replace(variants, ""))
    one = whorl("experiment", "gate", FILE, "--against", "base")

    for done, advice in ((two, "name one with --variant: longer"), (one, "--save baseline.json")):
        assert done.exit_code == 2
        assert "'base' cannot be compared with itself" in done.stderr
        assert advice in done.stderr
    assert whorl("experiment", "ls").stdout == ""
