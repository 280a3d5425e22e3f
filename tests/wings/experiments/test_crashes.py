"""Crashes while exploring and grading: nothing differs, and nothing is paid twice."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from campaign import IS_CAMPAIGN
from experiments.guess import (
    EXPERIMENT,
    FILE,
    GRADE,
    PLAIN,
    SHORT_YES,
    VARIANTS,
    configure,
    dies_at,
    run_json,
    write_cases,
)
from whorl.providers.models.wires import ScriptedWire
from whorl.runtimes.sqlite import SqliteStore

ONE_BY_ONE = PLAIN.replace("at_once: 6", "at_once: 1").replace(VARIANTS, "")
JUDGED = (
    GRADE.replace("grade:", "grade:\n  long:")
    + '  good: {judge: "It is short", of: "{{ outputs.text }}", votes: 2}\n'
)


def _in_doubt(store: str) -> int:
    kinds = frozenset({"task.in_doubt"})
    with closing(SqliteStore(Path(store, "whorl.db"))) as opened:
        rows = opened.runs(limit=1_000)
        return sum(1 for row in rows for _ in opened.read(row.id, kinds=kinds))


def _plain(report: dict[str, Any]) -> list[dict[str, Any]]:
    """What was found, without which run it was and what a call in doubt may have cost."""
    costs = ("run", "seconds", "cost_usd", "extra_usd", "in_doubt")
    return [{k: v for k, v in row.items() if k not in costs} for row in report["rows"]]


@pytest.mark.slow
@pytest.mark.campaign
def test_crashes_while_exploring_and_grading_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A command is killed at its appends, one after the other; after each it is given once more."""
    text = EXPERIMENT.replace(VARIANTS, "").replace(GRADE, JUDGED).replace("once: 6", "once: 2")
    Path(FILE).write_text(text.replace("explore: {polish: 5}", "explore: {polish: 3}"))
    write_cases(1, 3)
    configure(SHORT_YES)
    real, words = ScriptedWire.converse, ("experiment", "run", FILE, "--store")

    async def converse(self: Any, candidate: Any, conversation: Any, **options: Any) -> Any:
        with Path("calls.txt").open("a") as file:
            file.write(f"{conversation.address}\n")
        return await real(self, candidate, conversation, **options)

    def calls() -> int:
        """How many were made since it was asked last, also by what was killed."""
        made = len(Path("calls.txt").read_text().splitlines())
        Path("calls.txt").write_text("")
        return made

    monkeypatch.setattr(ScriptedWire, "converse", converse)
    wanted = _plain(run_json(*words, "whole"))
    usual, tried = calls(), 0
    for number in range(1, 1_000, 1 if IS_CAMPAIGN else 5):
        store = f"killed{number}"
        if not dies_at(number, (*words, store)):
            break
        assert _plain(run_json(*words, store)) == wanted, number
        # Only a call whose reply the crash has lost is made once more.
        assert 0 <= calls() - usual <= _in_doubt(store), number
        tried += 1
    print(f"{tried} crashes")
    assert tried > 4


JUDGING = """
whorl: 1
name: guess
inputs: {n: integer}
steps:
  polish:
    repeat:
      until: {judge: "It is short"}
      at_most: 3
      steps:
        write: {ask: "Guess {{ n }} now {{ iteration }}"}
outputs: {text: "{{ polish.write }}"}
"""


@pytest.mark.slow
@pytest.mark.threat(row="T1")
def test_a_trial_that_lacks_what_a_crash_has_charged_continues() -> None:
    """What is reserved for a call in doubt may be all that its trial_budget has left."""
    Path("guess.yaml").write_text(JUDGING)
    configure(SHORT_YES.replace("YES", "NO"))
    write_cases(1, 2)
    Path(FILE).write_text(ONE_BY_ONE + "trial_budget: 0.3\n")
    words, names = ("experiment", "run", FILE), ("status", "grades", "iterations", "exit_reason")
    (wanted,) = run_json(*words, "--store", "whole")["rows"]
    assert wanted["iterations"] == 3

    in_doubt = 0
    for number in range(1, 16):
        store = f"killed-{number}"
        if not dies_at(number, (*words, "--store", store)):
            break
        (found,) = run_json(*words, "--store", store)["rows"]
        in_doubt += found["in_doubt"]
        assert [found[name] for name in names] == [wanted[name] for name in names], number
    assert in_doubt


DOUBT = "costs contain the amounts that are reserved for calls in doubt: 1 call of 1 trial"
OPEN = "the process of 1 run stopped; costs do not include calls that were open"


def test_a_report_right_after_a_crash_tells_that_costs_are_missing() -> None:
    write_cases(1, 2)
    Path(FILE).write_text(ONE_BY_ONE)
    seen = 0

    for at in range(2, 6):
        words = ("experiment", "run", FILE, "--store", f"s{at}")
        assert dies_at(at, words)
        before = run_json("experiment", "report", FILE, "--store", f"s{at}")["notes"]
        after = run_json(*words)["notes"]
        assert OPEN not in after
        assert OPEN in before or DOUBT not in after
        seen += DOUBT in after

    assert seen
