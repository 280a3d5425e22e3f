"""What is said before anything has run: each advice is a command that works when it is pasted."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.guess import (
    EXPERIMENT,
    FILE,
    GRADE,
    SHORT_YES,
    advised,
    change,
    configure,
    paste,
    run_json,
    whorl,
    write_cases,
)
from whorl import Experiment
from whorl.errors import UsageError

JUDGED = """grade:
  right: "outputs.text == 'ab'"
  good: {judge: "It is short", of: "{{ outputs.text }}"}
grade_iterations: returned
"""
ASKED = (
    ("experiment", "what-if", FILE),
    ("experiment", "what-if", "guess"),
    ("experiment", "what-if", FILE, "--at-most", "3"),
    ("experiment", "report", FILE, "--save", "baseline.json"),
    ("experiment", "report", FILE, "--cases", "longer"),
    ("experiment", "judge", FILE, "good", "--against", "right"),
)


@pytest.fixture(autouse=True)
def judged() -> None:
    text = EXPERIMENT.replace(GRADE, JUDGED)
    Path(FILE).write_text(text)
    configure(SHORT_YES)


@pytest.mark.slow
@pytest.mark.sample(14)
@pytest.mark.parametrize("has_runs", [False, True])
@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_an_early_question_is_answered_with_how_to_run_it(
    words: tuple[str, ...], *, has_runs: bool
) -> None:
    if has_runs:
        whorl("run", "guess.yaml", "-i", "n=1")

    asked = whorl(*words)

    assert asked.exit_code == 2
    assert "error[X110]: no run of experiment 'guess' has ended yet" in asked.stderr
    assert not Path("baseline.json").exists()
    pasted = advised(asked.stderr)
    # The configuration that the command was given is given again.
    file = next(word for word in words if word.startswith("guess"))
    assert pasted == ["--config", "whorl.toml", "experiment", "run", file]
    assert whorl(*pasted).exit_code == 0
    assert whorl(*words).exit_code == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("words", [words for words in ASKED if words[1] != "report"])
def test_runs_of_other_versions_are_counted(words: tuple[str, ...]) -> None:
    run_json("experiment", "run", FILE)
    change("Guess {{ n }} now", "Guess {{ n }} then")

    asked = whorl(*words)

    assert asked.exit_code == 2
    assert (
        "error[X110]: no run of experiment 'guess' has ended yet; 24 runs of other cases, variants "
        "or versions of its files do not count" in asked.stderr
    )
    assert whorl(*advised(asked.stderr)).exit_code == 0
    assert whorl(*words).exit_code == 0


def test_grades_that_are_missing_are_reported_with_what_to_do() -> None:
    """All iterations of one case have none, so no rule has a grade for all runs."""
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, "grade: \"7 if case.n == '3' else 1\"\n"))
    run_json("experiment", "run", FILE)

    asked = whorl("experiment", "what-if", FILE)

    assert asked.exit_code == 2
    assert "error[X115]: no rule is answered by all 12 runs" in asked.stderr
    assert "explore the loop and grade all iterations" in asked.stderr


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("words", "said", "pasted"),
    [
        ((), "say what to compare with", "experiment report guess --save baseline.json"),
        (
            ("--against", "old.json"),
            "is not a variant of 'guess', and there is no file of that name",
            f"experiment report {FILE} --save old.json",
        ),
        (
            ("--against", "other.experiment.yaml"),
            "no case of experiment 'other' is done",
            "experiment run other.experiment.yaml",
        ),
    ],
)
def test_a_gate_names_what_it_compares_with(words: tuple[str, ...], said: str, pasted: str) -> None:
    Path("other.experiment.yaml").write_text(EXPERIMENT.replace("name: guess", "name: other"))

    done = whorl("experiment", "gate", "guess", *words)

    assert done.exit_code == 2
    assert said in done.stderr
    assert " ".join(advised(done.stderr)) == f"--config whorl.toml {pasted}"
    if "--save" in pasted:
        run_json("experiment", "run", "guess")
    assert whorl(*advised(done.stderr)).exit_code == 0


def test_python_says_what_to_call_first() -> None:
    experiment = Experiment("guess.yaml", cases="cases.csv", grade="1", config="whorl.toml")

    with pytest.raises(UsageError, match="has ended yet") as caught:
        experiment.report()

    assert "run_sync()" in (caught.value.help or "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("experiment", "judge", FILE, "good", "--against", "rihgt"), "there is no grader 'rihgt'"),
        (("experiment", "judge", FILE, "god", "--against", "right"), "has no loop 'god'"),
        (("experiment", "judge", FILE, "--against", "right"), "name a grader that is one: good"),
        (("experiment", "judge", FILE, "good", "--against", "none.csv"), "none.csv"),
        (
            ("experiment", "judge", FILE, "good", "--against", "right", "--variant", "longr"),
            "no variant 'longr'",
        ),
        (("experiment", "what-if", FILE, "--variant", "longr"), "no variant 'longr'"),
        (("experiment", "what-if", FILE, "--at", "polsh"), "no loop 'polsh'"),
        (("experiment", "report", FILE, "--cases", "longr"), "no variant 'longr'"),
        (("experiment", "gate", FILE, "--variant", "longr", "--against", "base"), "'longr'"),
        (("experiment", "gate", FILE, "--against", "longr"), "did you mean 'longer'?"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_a_wrong_name_is_reported_before_any_run(words: tuple[str, ...], said: str) -> None:
    done = whorl(*words)

    assert done.exit_code == 2
    assert said in done.stderr
    assert "--variant" not in words or "did you mean 'longer'" in done.stderr
    assert "X109" not in done.stderr
    assert not Path(".whorl/whorl.db").exists()


def test_in_a_folder_that_is_not_trusted_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its models are others there, and so would be its trials."""
    write_cases(1)
    run_json("experiment", "run", FILE)
    configure('\n[providers.other]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n')
    monkeypatch.delenv("WHORL_TRUST")

    for words in (("experiment", "report", FILE), ("experiment", "what-if", FILE)):
        refused = paste(*words)
        assert (refused.exit_code, "error[W908]" in refused.stderr) == (2, True)
