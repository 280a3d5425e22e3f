"""The gate decides by one rule: what it says, what its tests say, and how many cases would do."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from experiments.guess import EXPERIMENT, FILE, VARIANTS, advised, change, run_json, whorl
from experiments.served import SERVED


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


def test_tests_fail_where_the_gate_does() -> None:
    gate = ("experiment", "gate", FILE, "--junit", "tests.xml")
    # Repeated runs of a case are one test.
    Path(FILE).write_text(Path(FILE).read_text() + "repeat: 2\n")

    failed = whorl(*gate, "--variant", "base", "--against", "longer")
    tests = _tests(Path("tests.xml"))
    passed = whorl(*gate, "--variant", "longer", "--against", "base")

    assert (failed.exit_code, passed.exit_code) == (1, 0)
    assert tests.pop("gate") == (
        "fail, over 12 cases: the grade is worse by 0.20, the margin is 0.02"
    )
    assert tests == dict.fromkeys(map(str, range(1, 13)), "grade 0.20, before 0.40")
    assert set(_tests(Path("tests.xml")).values()) == {""}


def test_a_baseline_of_other_cases_is_an_error_before_anything_runs() -> None:
    cases = {"x": {"grades": [1], "costs": [0], "runs": ["r"], "failed": 0}}
    saved = {"baseline": 1, "experiment": "guess", "cases": cases}
    Path("baseline.json").write_text(json.dumps(saved))

    done = whorl("experiment", "gate", FILE, "--against", "baseline.json")

    assert done.exit_code == 2
    assert "X114" in done.stderr
    assert "no case of 'guess' is in 'baseline.json'" in done.stderr
    assert "its cases: x" in done.stderr
    assert not Path(".whorl/whorl.db").exists()


def test_grades_are_compared_with_those_of_the_same_grader() -> None:
    """The same runs pass; where it was not saved who graded, lower grades fail."""
    gate = ("experiment", "gate", FILE, "--against")
    text = Path(FILE).read_text().replace("name: guess", "name: other")
    Path("other.experiment.yaml").write_text(text.replace("/ 10", "/ 20"))
    for file in (FILE, "other.experiment.yaml"):
        assert whorl("experiment", "run", file).exit_code == 0
    assert whorl("experiment", "report", FILE, "--save", "baseline.json").exit_code == 0
    saved = json.loads(Path("baseline.json").read_text())

    same = whorl(*gate, "baseline.json", "--strict")
    others = [whorl(*gate, "other.experiment.yaml")]
    change("/ 10", "/ 20", FILE)
    others.append(whorl(*gate, "baseline.json"))
    del saved["grader"]
    Path("baseline.json").write_text(json.dumps(saved))
    lower = whorl(*gate, "baseline.json")

    assert same.exit_code == 0
    assert "nothing has changed: these are the same runs" in same.stdout
    for file, refused in zip(("other.experiment.yaml", "baseline.json"), others, strict=True):
        assert refused.exit_code == 2
        assert "X113" in refused.stderr
        assert f"'{file}' was graded by another grader than 'guess' has" in refused.stderr
    assert lower.exit_code == 1
    assert "the grade is worse by 0.10" in lower.stdout
    assert "these are the same runs, graded differently" in lower.stdout


def test_a_gate_that_its_budget_stopped_has_not_passed() -> None:
    gate = ("experiment", "gate", FILE, "--variant", "longer", "--against", "base")
    Path(FILE).write_text(EXPERIMENT + "trial_budget: 0.2\nbudget: 0.23\n")

    done = whorl(*gate)

    assert done.exit_code == 5
    assert "gate: undecided" in done.stdout
    assert " of 24 trials done; the budget allows no more" in done.stdout
    assert "pass" not in done.stdout
    *again, budget = advised(done.stderr)
    assert again == ["--config", "whorl.toml", "experiment", "run", FILE, "--budget"]
    assert float(budget) > 0


def test_a_variant_is_not_compared_with_itself() -> None:
    """Nothing is run for it; where there is no other one, a saved report can be compared with."""
    two = whorl("experiment", "gate", FILE, "--against", "base")
    change(VARIANTS, "", FILE)
    one = whorl("experiment", "gate", FILE, "--against", "base")

    for done, advice in ((two, "name one with --variant: longer"), (one, "--save baseline.json")):
        assert done.exit_code == 2
        assert "'base' cannot be compared with itself" in done.stderr
        assert advice in done.stderr
    assert whorl("experiment", "ls").stdout == ""


def test_a_difference_within_the_margin_is_reported_as_such() -> None:
    Path(FILE).write_text(EXPERIMENT + "margin: 0.3\n")

    found = run_json("experiment", "run", FILE)
    told = whorl("experiment", "report", FILE).stdout
    for_people = whorl("experiment", "report", FILE, "--markdown").stdout

    longer = found["variants"]["longer"]
    assert found["margin"] == 0.3
    assert (longer["wins"], longer["ties"], longer["losses"]) == (0, 12, 0)
    assert (longer["words"], longer["within_margin"]) == ("better", True)
    assert "better, within the margin of 0.3" in told
    assert "0 better, 12 the same, 0 worse (margin 0.3)" in told
    assert "better, within the margin of 0.3" in for_people


@pytest.mark.slow
def test_intervals_for_all_variants_together_are_named_so(model: str) -> None:
    two = "  shorter: {loops: {polish: {at_most: 1}}}\n"
    text = EXPERIMENT.replace("variants:\n", f"variants:\n{two}")
    Path("whorl.toml").write_text(SERVED.format(url=model))
    Path(FILE).write_text(text)

    found = run_json("experiment", "run", FILE)["variants"]
    gate = run_json("experiment", "gate", FILE, "--variant", "longer", "--against", "base")
    told = whorl("experiment", "report", FILE).stdout

    wide, narrow = found["longer"]["difference"], gate["difference"]
    assert found["base"]["level"] is None
    assert (found["longer"]["level"], gate["level"]) == (0.975, 0.95)
    assert wide["value"] == narrow["value"]
    assert wide["low"] < narrow["low"] <= narrow["high"] < wide["high"]
    assert "differences of 2 variants hold together at 95 %, each at 97.5 %" in told
