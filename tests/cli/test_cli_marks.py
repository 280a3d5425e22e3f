"""Runs that succeeded with a loop that did not: they are marked wherever they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from retelling import retold

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

    from whorl.interpreter.events import Event
    from whorl.language import Json


def at_limit(event: Event) -> dict[str, Json]:
    return {"mark": "limit"} if event.kind == "loop.finished" else {}


def at_budget(event: Event) -> dict[str, Json]:
    ended: dict[str, Json] = {"mark": "budget", "exit_reason": "budget"}
    return ended if event.kind == "loop.finished" else {}


@pytest.fixture
def limited(whorl: Whorl, project: Path) -> str:
    """A run whose loop ended at its limit of iterations."""
    whorl("run", "polish.yaml", "x", "--max-iterations", "2")
    return retold(project, at_limit)


def test_a_run_that_ended_at_a_limit_is_no_plain_success(whorl: Whorl, limited: str) -> None:
    assert whorl("ls").out.splitlines()[1].startswith("! limit  ")
    assert "status:     ! limit\n" in whorl("status", limited).out
    shown = whorl("show", limited).out
    assert "! polish  2/2  max_iterations" in shown
    assert "! limit  polish  " in shown
    assert whorl("why", limited).out.startswith("run retold of polish has succeeded: ! limit\n")
    ended = whorl("resume", limited)
    assert (ended.code, "✓" in ended.err) == (0, False)
    assert "! limit  polish  " in ended.err


def test_programs_are_told_the_mark(whorl: Whorl, project: Path, limited: str) -> None:
    budget = retold(project, at_budget, "second")

    assert [row["mark"] for row in whorl("ls", "--json").json[:2]] == ["budget", "limit"]
    assert whorl("status", limited, "--json").json["mark"] == "limit"
    assert whorl("ls").out.splitlines()[1].startswith("! budget  ")
    assert whorl("ls", "--status", "succeeded", "--json").json[0]["run"] == budget


def test_a_loop_that_met_its_condition_leaves_no_mark(whorl: Whorl) -> None:
    whorl("run", "polish.yaml", "x")

    assert whorl("ls").out.splitlines()[1].startswith("✓ succeeded  ")
    assert whorl("ls", "--json").json[0]["mark"] is None


def test_a_mark_goes_when_its_loop_goes_on(whorl: Whorl, limited: str) -> None:
    whorl("continue", limited, "--iterations", "1")

    assert whorl("ls", "--json").json[0]["mark"] is None


def outside(event: Event) -> dict[str, Json]:
    """The second score is given on a scale from 1 to 10."""
    if event.kind != "iteration.finished" or not event.address.endswith("[2]"):
        return {}
    bounds: dict[str, Json] = {"low": 0.0, "high": 1.0}
    fact: dict[str, Json] = {"by": "score", "met": None, "score": None, "at_least": 0.95}
    said: dict[str, Json] = {"by": "expression", "met": False, "expression": "review.approved"}
    facts: Json = [said, fact | bounds | {"outside": 9.0}]
    return {"score": None, "outside": bounds | {"score": 9.0}, "facts": facts}


def test_a_score_outside_its_range_is_told_as_such(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x")
    run = retold(project, outside)
    words = "score 9 is outside 0..1"

    for looking in (("show", run), ("why", run), ("show", f"{run}/polish[2]")):
        assert words in whorl(*looking).out
    assert words in whorl("diff", run, "1", "2").out
    table = whorl("show", run).out
    assert any(row.split()[:2] == ["2", "9!"] for row in table.splitlines())


def close(event: Event) -> dict[str, Json]:
    """Scores that differ from each other and from what is wanted by very little."""
    if event.kind != "iteration.finished":
        return {}
    scores = {1: 0.9499, 2: 0.94996, 3: 0.95}
    number = scores[int(str(event.body["number"]))]
    fact: Json = {"by": "score", "met": number >= 0.95, "score": number, "at_least": 0.95}
    return {"score": number, "facts": [fact]}


def test_what_differs_reads_differently(whorl: Whorl, project: Path) -> None:
    whorl("run", "polish.yaml", "x")
    run = retold(project, close)

    why = whorl("why", run).out
    assert "score 0.94996 < 0.95" in why
    assert "score 0.95 ≥ 0.95" in why
    assert "0.95 < 0.95" not in why
    assert "+.00006" in whorl("show", run).out
    assert "score 0.9499 → 0.94996 +.00006" in whorl("diff", run, "1", "2").out
