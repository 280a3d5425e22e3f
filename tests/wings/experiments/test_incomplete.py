"""A rule is recommended for what all trials tell: those that are missing must not change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from experiments.guess import (
    EXPERIMENT,
    FILE,
    FLOW,
    GRADE,
    SCORE,
    SHORT_YES,
    VARIANTS,
    configure,
    paste,
    reply_first,
    run_json,
    whorl,
    write_cases,
)

RUN = "whorl --config whorl.toml experiment run guess.experiment.yaml"


@pytest.mark.slow
def test_nothing_is_recommended_before_all_trials_have_ended() -> None:
    run_json("experiment", "run", FILE)
    write_cases(15)

    found, told = (
        run_json("experiment", "what-if", FILE),
        whorl("experiment", "what-if", FILE).stdout,
    )
    run_json("experiment", "run", FILE)
    whole = run_json("experiment", "what-if", FILE)

    why = f"no rule is recommended before all trials have ended: {RUN}"
    assert (found["recommended"], found["honest"], found["use"]) == (None, None, [])
    assert (found["runs"], found["trials"]) == (12, 15)
    assert found["not_recommended"] == why
    assert found["not_recommended"] in told
    assert "12 of 15 trials are in these numbers: 3 have not ended" in told
    assert "to use it" not in told
    assert whole["recommended"]


@pytest.mark.slow
def test_a_trial_that_the_provider_failed_is_left_out_and_counted() -> None:
    run_json("experiment", "run", FILE)
    write_cases(13)
    reply_first("Guess 12 ", "{status = 404}")
    run_json("experiment", "run", FILE)

    found = run_json("experiment", "what-if", FILE)

    assert (
        "12 of 13 trials are in these numbers: 1 failed because of the provider" in found["words"]
    )
    assert found["recommended"]


def test_in_a_folder_that_is_not_trusted_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its models are others there, and so would be its trials."""
    write_cases(1)
    run_json("experiment", "run", FILE)
    configure('\n[providers.other]\nkind = "openai"\nbase_url = "http://127.0.0.1:1/v1"\n')
    monkeypatch.delenv("WHORL_TRUST")

    for words in (("experiment", "report", FILE), ("experiment", "what-if", FILE)):
        refused = paste(*words)
        assert (refused.exit_code, "error[W908]" in refused.stderr) == (2, True)


ROWS = ("no loop at all", "the judge is always right", "the best that was made")
GOOD = 'grade: {good: {judge: "It is short", of: "{{ outputs.text }}"}}\n'


def paid(rule: str, more: str = "grade_iterations: returned\n") -> None:
    """A paid grader of what each run returned; the loop's rule says after which iteration."""
    flow = FLOW.replace(SCORE, f"until: {rule}")
    Path("guess.yaml").write_text(flow)
    Path(FILE).write_text(EXPERIMENT.replace(GRADE, GOOD + more).replace(VARIANTS, ""))
    configure(SHORT_YES)
    run_json("experiment", "run", FILE)


def figures(found: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    return {name: (row["grade"], row["iterations"]) for name, row in found["ideal"].items()}


def test_rows_that_nobody_can_run_are_not_known_without_the_grades_they_need() -> None:
    """In 3 of 12 cases the first iteration is returned, in the others the second one."""
    paid('"n < 3"')

    found = run_json("experiment", "what-if", FILE)
    shown = whorl("experiment", "what-if", FILE).stdout

    assert found["curve"] == {"last": [None], "best that was made": [None]}
    assert found["bands"] == {}
    words = "12 of 12 runs have iterations without a grade: what needs one is not known"
    assert words in found["words"]
    assert words in shown
    (last,) = [line for line in shown.splitlines() if line.startswith("  last ")]
    assert last.split() == ["last", "-"]
    assert "nan" not in shown
    assert figures(found) == {ROWS[0]: (None, 1), ROWS[1]: (None, None), ROWS[2]: (None, 5)}
    (first,) = [row for row in found["not_ranked"] if row["at_most"] == 1][:1]
    assert first["unknown"] == 9
    assert 0 < found["ideal"][ROWS[0]]["cost_usd"] < found["rules"][0]["cost_usd"]
    lines = [line for line in shown.splitlines() if line.strip().startswith(ROWS)]
    assert [line.count("not known") for line in lines] == [1, 3, 1]


@pytest.mark.slow
def test_with_all_grades_everything_is_known() -> None:
    paid('"n < 3"', more="")

    found = run_json("experiment", "what-if", FILE)

    assert figures(found) == {ROWS[0]: (1, 1), ROWS[1]: (1, 1), ROWS[2]: (1, 5)}
    assert found["curve"]["last"] == [1] * 5
    assert not any("without a grade" in words for words in found["words"])
