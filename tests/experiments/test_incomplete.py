"""A rule is recommended for what all trials tell: those that are missing must not change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import CONFIG, EXPERIMENT, FLOW, folder, run_json, whorl
from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely
from whorl.services.experiments.reporting.standing import could_change

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
RUN = "whorl --config whorl.toml experiment run guess.experiment.yaml"


def _cases(folder: Path, numbers: range) -> None:
    (folder / "cases.csv").write_text("n\n" + "".join(f"{n}\n" for n in numbers))


@pytest.mark.slow
def test_a_recommendation_says_how_many_trials_stand_behind_it(folder: Path) -> None:
    run_json("experiment", "run", FILE)

    found, told = run_json("what-if", FILE), whorl("what-if", FILE).stdout

    assert found["recommended"]
    assert (found["runs"], found["trials"]) == (12, 12)
    assert "12 of 12 trials stand behind it" in told


@pytest.mark.slow
def test_nothing_is_recommended_that_trials_which_have_not_run_could_change(folder: Path) -> None:
    run_json("experiment", "run", FILE)
    _cases(folder, range(15))

    found, told = run_json("what-if", FILE), whorl("what-if", FILE).stdout
    run_json("experiment", "run", FILE)
    whole = run_json("what-if", FILE)

    why = "no rule is recommended: 12 of 15 trials stand behind the choice, and the 3 others could "
    assert (found["recommended"], found["honest"], found["use"]) == (None, None, [])
    assert (found["runs"], found["trials"]) == (12, 15)
    assert found["not_recommended"] == f"{why}change it; complete them: {RUN}"
    assert found["not_recommended"] in told
    assert "12 of 15 trials are in these numbers: 3 have not ended" in told
    assert "to use it" not in told
    assert whole["recommended"]


@pytest.mark.slow
def test_a_trial_that_the_provider_failed_is_missing(folder: Path) -> None:
    run_json("experiment", "run", FILE)
    _cases(folder, range(13))
    first = CONFIG.index("[[providers.demo.replies]]")
    rule = '[[providers.demo.replies]]\nmatch = "Guess 12 "\nreplies = [{status = 404}]\n'
    (folder / "whorl.toml").write_text(CONFIG[:first] + rule + CONFIG[first:])
    run_json("experiment", "run", FILE)

    found = run_json("what-if", FILE)

    assert (
        "12 of 13 trials are in these numbers: 1 failed because of the provider" in found["words"]
    )
    assert found["recommended"] is None
    assert "`whorl --config whorl.toml resume " in found["not_recommended"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 20])
def test_rules_that_trials_which_were_cut_do_not_answer_could_be_better(
    folder: Path, count: int
) -> None:
    short = FLOW.replace('iteration }}"}', 'iteration }}", max_tokens: 100}')
    short = short if count == 1 else short.replace("at_most: 2", "at_most: 1")
    (folder / "guess.yaml").write_text(short.replace("returns:", "max_tokens: 100, returns:"))
    run_json("experiment", "run", FILE)
    _cases(folder, range(12 + count))
    (folder / FILE).write_text(EXPERIMENT + "trial_budget: 0.0115\n")
    run_json("experiment", "run", FILE)

    found = run_json("what-if", FILE)

    assert found["recommended"] is None
    one, many = "and 1 of 13 runs does not answer it", "20 of 32 runs were cut before"
    assert (one if count == 1 else many) in found["not_recommended"]
    were = "1 of 13 trials was" if count == 1 else "20 of 32 trials were"
    advice = f"raise trial_budget, then run all anew: {RUN} --fresh"
    assert f"{were} cut by the budget of the run: {advice}" in found["words"]


@pytest.mark.parametrize(
    ("others", "missing", "wanted"),
    [
        ({}, 0, False),
        ({"other": 0.5}, 1, False),
        ({"other": 0.5}, 60, True),
        ({"other": 0.79}, 1, False),
        ({"other": 0.79}, 4, True),
        ({"own": 0.799}, 1, True),
        ({"own": 0.7}, 1, False),
    ],
)
def test_missing_trials_are_taken_as_bad_as_they_can_be(
    others: dict[str, float], missing: int, wanted: bool
) -> None:
    """Of 100 trials that have a grade of 0.8; the margin is 0.02."""
    rules: dict[str, Any] = {name: [grade] * 100 for name, grade in others.items()}

    assert could_change([0.8] * 100, rules.get("own"), rules.values(), missing, 0.02) is wanted


@pytest.mark.parametrize("command", [("experiment", "report"), ("what-if",)])
def test_in_a_folder_that_is_not_trusted_that_is_said(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
) -> None:
    """Its models are others there, and so would be its trials."""
    (folder / "cases.csv").write_text("n\n1\n")
    run_json("experiment", "run", FILE)
    config = (folder / "whorl.toml").read_text()
    rights = '\n[providers.other]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n'
    (folder / "whorl.toml").write_text(config + rights)
    monkeypatch.delenv("WHORL_TRUST")

    assert run_safely(build_group(COMMANDS), [*command, FILE]) == 2
    assert "error[W908]" in capsys.readouterr().err
