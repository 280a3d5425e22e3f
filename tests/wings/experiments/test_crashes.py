"""Crashes while exploring and grading: nothing differs, and nothing is paid twice."""

from __future__ import annotations

import re
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
    VARIANTS,
    configure,
    dies_at,
    run_json,
    whorl,
)
from experiments.served import ALONE, EACH_USD, Billed, served
from whorl.providers.models.wires import ScriptedWire
from whorl.runtimes.sqlite import SqliteStore

JUDGED = (
    GRADE.replace("grade:", "grade:\n  long:")
    + '  good: {judge: "It is short", of: "{{ outputs.text }}", votes: 2}\n'
)
REPLIES = """
[[providers.demo.replies]]
match = "It is short"
replies = ["YES"]
"""
CALLS = "calls.txt"
APPENDS_MAX = 1_000


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small experiment with a grader that is paid; every call leaves a line."""
    text = EXPERIMENT.replace("  longer: {loops: {polish: {at_most: 4, return: best}}}\n", "")
    text = (
        text.replace("variants:\n", "").replace(GRADE, JUDGED).replace("at_once: 6", "at_once: 2")
    )
    Path(FILE).write_text(text.replace("explore: {polish: 5}", "explore: {polish: 3}"))
    Path("cases.csv").write_text("n\n1\n2\n")
    configure(REPLIES)
    real = ScriptedWire.converse

    async def converse(self: Any, candidate: Any, conversation: Any, **options: Any) -> Any:
        with Path(CALLS).open("a") as file:
            file.write(f"{conversation.address}\n")
        return await real(self, candidate, conversation, **options)

    monkeypatch.setattr(ScriptedWire, "converse", converse)
    return Path()


def _calls() -> int:
    """How many calls were made since it was asked last."""
    file = Path(CALLS)
    made = len(file.read_text().splitlines()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return made


def _in_doubt(store: str) -> int:
    kinds = frozenset({"task.in_doubt"})
    with closing(SqliteStore(Path(store, "whorl.db"))) as opened:
        rows = opened.runs(limit=1_000)
        return sum(1 for row in rows for _ in opened.read(row.id, kinds=kinds))


def _plain(report: dict[str, Any]) -> list[dict[str, Any]]:
    """What was found, without which run it was and what a call in doubt may have cost."""
    costs = ("run", "seconds", "cost_usd", "extra_usd", "in_doubt")
    return [{k: v for k, v in row.items() if k not in costs} for row in report["rows"]]


def _die_everywhere(words: tuple[str, ...]) -> int:
    """Kills a command at its appends, one after the other; after each it is given once more."""
    wanted_store = ("--store", "whole")
    wanted = _plain(run_json(*words, *wanted_store))
    calls = _calls()
    tried = 0
    for number in range(1, APPENDS_MAX, 1 if IS_CAMPAIGN else 5):
        store = f"killed{number}"
        if not dies_at(number, (*words, "--store", store)):
            break
        found = run_json(*words, "--store", store)
        made = _calls()
        assert _plain(found) == wanted, number
        # Only a call whose reply the crash has lost is made once more.
        assert 0 <= made - calls <= _in_doubt(store), number
        tried += 1
    print(f"{tried} crashes")
    return tried


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.usefixtures("counted")
def test_crashes_while_exploring_and_grading_change_nothing() -> None:
    assert _die_everywhere(("experiment", "run", FILE)) > 4


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
NO = '[[providers.demo.replies]]\nmatch = "It is short"\nreplies = ["NO"]\n'
LIMITED = PLAIN.replace("at_once: 6", "at_once: 1")


@pytest.mark.slow
@pytest.mark.threat(row="T1")
def test_a_trial_that_lacks_what_a_crash_has_charged_goes_on() -> None:
    """What is reserved for a call in doubt may be all that its trial_budget has left."""
    Path("guess.yaml").write_text(JUDGING)
    configure(NO)
    Path("cases.csv").write_text("n\n1\n")
    text = LIMITED.replace(VARIANTS, "") + "trial_budget: 0.3\n"
    Path("guess.experiment.yaml").write_text(text)
    words = ("experiment", "run", "guess.experiment.yaml")
    wanted = run_json(*words, "--store", "whole")["rows"]
    assert [row["iterations"] for row in wanted] == [3]

    in_doubt = 0
    for number in range(1, 16):
        store = f"killed-{number}"
        if not dies_at(number, (*words, "--store", store)):
            break
        found = run_json(*words, "--store", store)["rows"]
        in_doubt += found[0]["in_doubt"]
        for name in ("status", "grades", "iterations", "exit_reason"):
            assert [row.get(name) for row in found] == [row.get(name) for row in wanted], number
    assert in_doubt


DOUBT = "costs contain what was reserved for calls in doubt: 1 call of 1 trial"
OPEN = "a process ended during 1 call of 1 run: nobody knows their cost, and it is not in the costs"


def test_a_report_right_after_a_crash_counts_the_calls_that_are_open() -> None:
    Path("cases.csv").write_text("n\n1\n")
    text = PLAIN.replace("at_once: 6", "at_once: 1")
    Path(FILE).write_text(text)
    seen = 0

    for at in range(2, 9):
        words = ("experiment", "run", FILE, "--store", f"s{at}")
        assert dies_at(at, words)
        before = run_json("experiment", "report", FILE, "--store", f"s{at}")["notes"]
        after = run_json(*words)["notes"]
        assert OPEN not in after
        assert (OPEN in before) == (DOUBT in after)
        seen += OPEN in before

    assert seen


@pytest.mark.parametrize("words", [("run", FILE), ("gate", FILE, "--against", "other")])
def test_what_is_paused_tells_what_is_in_doubt(billed: Billed, words: tuple[str, ...]) -> None:
    variants = "variants:\n  other: {inputs: {n: 1}}\n"
    served(billed, ALONE.replace("at_once: 6", "at_once: 1") + variants, cases=2)
    asked = ("experiment", *words, "--budget", "1")

    # The first call has begun, and its answer is not written.
    assert dies_at(3, asked)
    done = whorl(*asked)

    runs = run_json("ls", "--all")
    assert (done.exit_code, sum(run["in_doubt"] for run in runs)) == (5, 1)
    told = r"budget: .* spent, of which \$([0-9.]+) is reserved for 1 call in doubt, whose cost"
    found = re.search(told, done.stderr)
    assert found is not None, done.stderr
    # All others are counted as they were billed.
    others = sum(run["calls"] for run in runs) - 1
    spent = sum(run["cost_usd"] for run in runs)
    assert spent - float(found[1]) == pytest.approx(others * EACH_USD, abs=0.006)
