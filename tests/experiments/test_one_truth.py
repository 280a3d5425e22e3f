"""One comparison has one interval and one margin, whichever command is asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import EXPERIMENT, folder, run_json, whorl
from experiments.served import SERVED, model

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder", "model"]

FILE = "guess.experiment.yaml"


def _gate(*more: str) -> dict[str, Any]:
    done: dict[str, Any] = run_json("experiment", "gate", FILE, *more)
    return done


def _served(folder: Path, url: str, more: str = "") -> dict[str, Any]:
    """Runs cases whose grades vary; gives the report."""
    (folder / "whorl.toml").write_text(SERVED.format(url=url))
    text = EXPERIMENT.replace("explore: {polish: 5}\n", more)
    (folder / FILE).write_text(text.replace("variants:\n", "gate: {margin: 0.9}\nvariants:\n"))
    found: dict[str, Any] = run_json("experiment", "run", FILE)
    return found


def test_a_difference_within_the_margin_is_told_to_be_so(folder: Path) -> None:
    (folder / FILE).write_text(EXPERIMENT + "margin: 0.3\n")

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


def test_a_difference_above_the_margin_is_told_without_it(folder: Path) -> None:
    found = run_json("experiment", "run", FILE)
    told = whorl("experiment", "report", FILE).stdout

    longer = found["variants"]["longer"]
    assert (longer["wins"], longer["words"], longer["within_margin"]) == (12, "better", False)
    assert "within the margin" not in told
    assert "12 better, 0 the same, 0 worse (margin 0.02)" in told


@pytest.mark.slow
def test_the_report_and_the_gate_show_the_same_interval(folder: Path, model: str) -> None:
    found = _served(folder, model)["variants"]["longer"]
    assert found["difference"]["low"] < found["difference"]["value"] < found["difference"]["high"]
    whorl("experiment", "report", FILE, "--save", "baseline.json")

    for against in ("base", "baseline.json"):
        gate = _gate("--variant", "longer", "--against", against)
        assert gate["difference"] == found["difference"]
        assert (gate["level"], found["level"]) == (0.95, 0.95)
    told = whorl("experiment", "gate", FILE, "--variant", "longer", "--against", "base").stdout
    low, high = (f"{found['difference'][name]:+.2f}" for name in ("low", "high"))
    assert f"({low} to {high}), at 95 %" in told
    assert f"({low} to {high})" in whorl("experiment", "report", FILE).stdout


@pytest.mark.slow
def test_a_comparison_the_other_way_round_is_the_same_one(folder: Path, model: str) -> None:
    found = _served(folder, model)["variants"]["longer"]["difference"]

    turned = _gate("--variant", "base", "--against", "longer")["difference"]

    assert turned["value"] == pytest.approx(-found["value"])
    assert (turned["low"], turned["high"]) == pytest.approx((-found["high"], -found["low"]))


@pytest.mark.slow
def test_intervals_for_all_variants_together_are_named_so(folder: Path, model: str) -> None:
    two = "  shorter: {loops: {polish: {at_most: 1}}}\n"
    text = EXPERIMENT.replace("variants:\n", f"variants:\n{two}")
    (folder / "whorl.toml").write_text(SERVED.format(url=model))
    (folder / FILE).write_text(text)

    found = run_json("experiment", "run", FILE)["variants"]
    gate = _gate("--variant", "longer", "--against", "base")
    told = whorl("experiment", "report", FILE).stdout

    wide, narrow = found["longer"]["difference"], gate["difference"]
    assert found["base"]["level"] is None
    assert (found["longer"]["level"], gate["level"]) == (0.975, 0.95)
    assert wide["value"] == narrow["value"]
    assert wide["low"] < narrow["low"] <= narrow["high"] < wide["high"]
    words = "differences to base hold for 2 variants together at 95 %, each at 97.5 %"
    assert f"{words}; the gate compares one, at 95 %" in told


def test_costs_of_calls_in_doubt_fail_no_gate(folder: Path, model: str) -> None:
    _served(folder, model)
    text = (folder / FILE).read_text()
    (folder / FILE).write_text(text.replace("{margin: 0.9}", "{margin: 0.9, cost: 1.5}"))
    whorl("experiment", "report", FILE, "--save", "baseline.json")
    saved = json.loads((folder / "baseline.json").read_text())
    verdicts = {}
    for doubtful in (0, 1, len(saved["cases"])):
        for number, kept in enumerate(saved["cases"].values()):
            kept["in_doubt"] = int(number < doubtful)
            kept["costs"], kept["runs"] = [0.000001], []
        (folder / "baseline.json").write_text(json.dumps(saved))
        done = whorl("experiment", "gate", FILE, "--against", "baseline.json", "--json")
        verdicts[doubtful] = json.loads(done.stdout)

    none, one, every = verdicts.values()
    assert (none["verdict"], one["verdict"], every["verdict"]) == ("fail", "fail", "undecided")
    assert every["cost_ratio"] is None
    assert "the costs of 1 case are not compared: calls of them are in doubt" in one["reasons"]
    assert not [reason for reason in every["reasons"] if "times as much" in reason]


@pytest.mark.slow
def test_exploring_that_variants_share_is_counted_once(folder: Path, model: str) -> None:
    found = _served(folder, model, "explore: {polish: 5}\n")
    text = (folder / FILE).read_text()
    (folder / FILE).write_text(text.replace("variants:\n", "variants:\n  same: {}\n"))
    again = run_json("experiment", "run", FILE)

    assert found["extra_usd"] > 0
    assert (again["extra_usd"], again["rho"]) == (found["extra_usd"], found["rho"])
    assert again["spent_usd"] == found["spent_usd"]
