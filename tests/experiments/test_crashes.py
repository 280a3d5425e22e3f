"""Crashes while exploring, grading and extending: nothing differs, and nothing is paid twice."""

from __future__ import annotations

import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from campaign import IS_CAMPAIGN
from experiments.guess import CONFIG, EXPERIMENT, dies_at, folder, run_json
from trusted import make_own
from whorl.providers.models.wires import ScriptedWire
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
GRADE = 'grade: "(outputs.text | length) / 10"\n'
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
def counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small experiment with a grader that is paid; every call leaves a line."""
    text = EXPERIMENT.replace("  longer: {loops: {polish: {at_most: 4, return: best}}}\n", "")
    text = (
        text.replace("variants:\n", "").replace(GRADE, JUDGED).replace("at_once: 6", "at_once: 2")
    )
    (folder / FILE).write_text(text.replace("explore: {polish: 5}", "explore: {polish: 3}"))
    (folder / "cases.csv").write_text("n\n1\n2\n")
    (folder / "whorl.toml").write_text(CONFIG + REPLIES)
    real = ScriptedWire.converse

    async def converse(self: Any, candidate: Any, conversation: Any, **options: Any) -> Any:
        with (folder / CALLS).open("a") as file:
            file.write(f"{conversation.address}\n")
        return await real(self, candidate, conversation, **options)

    monkeypatch.setattr(ScriptedWire, "converse", converse)
    return folder


def _calls(folder: Path) -> int:
    """How many calls were made since it was asked last."""
    file = folder / CALLS
    made = len(file.read_text().splitlines()) if file.exists() else 0
    file.unlink(missing_ok=True)
    return made


def _in_doubt(store: str, folder: Path) -> int:
    kinds = frozenset({"task.in_doubt"})
    with closing(SqliteStore(folder / store / "whorl.db")) as opened:
        rows = opened.runs(limit=1_000)
        return sum(1 for row in rows for _ in opened.read(row.id, kinds=kinds))


def _plain(report: dict[str, Any]) -> list[dict[str, Any]]:
    """What was found, without which run it was and what a call in doubt may have cost."""
    costs = ("run", "seconds", "cost_usd", "extra_usd", "in_doubt")
    return [{k: v for k, v in row.items() if k not in costs} for row in report["rows"]]


def _die_everywhere(folder: Path, words: tuple[str, ...], base: str = "") -> int:
    """Kills a command at its appends, one after the other; after each it is given once more."""
    wanted_store = ("--store", "whole")
    if base:
        shutil.copytree(folder / base, folder / "whole")
        make_own(folder / "whole" / "whorl.db")
        _calls(folder)
    whole = run_json(*words, *wanted_store)
    wanted = _plain(run_json("experiment", "run", FILE, *wanted_store))
    calls = _calls(folder)
    tried = 0
    for number in range(1, APPENDS_MAX, 1 if IS_CAMPAIGN else 5):
        store = f"killed{number}"
        if base:
            shutil.copytree(folder / base, folder / store)
            make_own(folder / store / "whorl.db")
        if not dies_at(number, (*words, "--store", store)):
            break
        again = run_json(*words, "--store", store)
        found = run_json("experiment", "run", FILE, "--store", store)
        made = _calls(folder)
        assert _plain(found) == wanted, number
        # Only a call whose reply the crash has lost is made once more.
        assert 0 <= made - calls <= _in_doubt(store, folder), number
        if "curve" in whole:
            assert (again["curve"], again["runs"]) == (whole["curve"], whole["runs"]), number
        tried += 1
    print(f"{tried} crashes")
    return tried


@pytest.mark.slow
@pytest.mark.campaign
def test_crashes_while_exploring_and_grading_change_nothing(counted: Path) -> None:
    assert _die_everywhere(counted, ("experiment", "run", FILE)) > 4


@pytest.mark.slow
@pytest.mark.campaign
def test_crashes_while_extending_change_nothing(counted: Path) -> None:
    """Two cases lack two iterations each."""
    text = (counted / FILE).read_text().replace("explore: {polish: 3}\n", "")
    (counted / FILE).write_text(text)
    run_json("experiment", "run", FILE, "--store", "before")
    rule = ("--until", "{score: {from: '{{ review.score }}', at_least: 0.9}}", "--at-most", "4")

    words = ("what-if", FILE, *rule, "--extend", "--budget", "9")
    assert _die_everywhere(counted, words, "before") > 1


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
LIMITED = EXPERIMENT.replace("explore: {polish: 5}\n", "").replace("at_once: 6", "at_once: 1")


@pytest.mark.slow
@pytest.mark.threat(row="T1")
def test_a_trial_that_lacks_what_a_crash_has_charged_goes_on(folder: Path) -> None:
    """What is reserved for a call in doubt may be all that its trial_budget has left."""
    (folder / "guess.yaml").write_text(JUDGING)
    (folder / "whorl.toml").write_text(CONFIG + NO)
    (folder / "cases.csv").write_text("n\n1\n")
    variants = "variants:\n  longer: {loops: {polish: {at_most: 4, return: best}}}\n"
    text = LIMITED.replace(variants, "") + "trial_budget: 0.3\n"
    (folder / "guess.experiment.yaml").write_text(text)
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
