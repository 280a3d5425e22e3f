"""Where iterations have no grade, whatever needs one is not known; nothing else takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from experiments.guess import CONFIG, EXPERIMENT, FLOW, folder, run_json, whorl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
ROWS = ("no loop at all", "the judge is always right", "the best that was made")
GOOD = 'grade: {good: {judge: "It is short", of: "{{ outputs.text }}"}}\n'
ANSWERS = """
[[providers.demo.replies]]
match = "It is short"
replies = ["YES"]
"""


def paid(folder: Path, rule: str, more: str = "grade_iterations: returned\n") -> None:
    """A paid grader of what each run returned; the loop's rule says after which iteration."""
    flow = FLOW.replace('[{score: {from: "{{ review.score }}", at_least: 0.9}}]', rule)
    (folder / "guess.yaml").write_text(flow)
    text = EXPERIMENT.replace('grade: "(outputs.text | length) / 10"\n', GOOD + more)
    text = text.replace("variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n", "")
    (folder / FILE).write_text(text)
    (folder / "whorl.toml").write_text(CONFIG + ANSWERS)
    run_json("experiment", "run", FILE)


def figures(found: dict[str, Any]) -> dict[str, tuple[float | None, float | None]]:
    return {name: (row["grade"], row["iterations"]) for name, row in found["ideal"].items()}


# In 3 of 12 cases the first iteration is returned, in the others the second one.
@pytest.mark.slow
@pytest.mark.parametrize("rule", ['"n < 3"', '"n > 99"'], ids=["some runs", "all runs"])
def test_rows_that_nobody_can_run_are_not_known_without_the_grades_they_need(
    folder: Path, rule: str
) -> None:
    paid(folder, rule)

    found = run_json("what-if", FILE)
    shown = whorl("what-if", FILE).stdout

    assert figures(found) == {ROWS[0]: (None, 1), ROWS[1]: (None, None), ROWS[2]: (None, 5)}
    one = found["ideal"][ROWS[0]]["cost_usd"]
    (first,) = [row for row in found["not_ranked"] if row["at_most"] == 1][:1]
    assert first["unknown"] == (9 if "3" in rule else 12)
    assert 0 < one < found["rules"][0]["cost_usd"]
    lines = [line for line in shown.splitlines() if line.strip().startswith(ROWS)]
    assert [line.count("not known") for line in lines] == [1, 3, 1]


def test_the_curve_has_no_grade_where_a_run_has_none(folder: Path) -> None:
    paid(folder, '"n < 3"')

    found = run_json("what-if", FILE)
    shown = whorl("what-if", FILE, "--svg", "sweep.svg").stdout

    assert found["curve"] == {"last": [None], "best that was made": [None]}
    assert found["bands"] == {}
    words = "12 of 12 runs have iterations without a grade: what needs one is not known"
    assert words in found["words"]
    assert words in shown
    (last,) = [line for line in shown.splitlines() if line.startswith("  last ")]
    assert last.split() == ["last", "-"]
    assert "nan" not in shown + (folder / "sweep.svg").read_text()


@pytest.mark.slow
def test_with_all_grades_everything_is_known(folder: Path) -> None:
    paid(folder, '"n < 3"', more="")

    found = run_json("what-if", FILE)

    assert figures(found) == {ROWS[0]: (1, 1), ROWS[1]: (1, 1), ROWS[2]: (1, 5)}
    assert found["curve"]["last"] == [1] * 5
    assert not any("without a grade" in words for words in found["words"])
