"""Crashes with a real SQLite file: the writing thread dies, or the whole process is killed."""

from __future__ import annotations

from contextlib import closing
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from campaign import IS_CAMPAIGN, SEED, amount
from conformance.literate import load_cases
from conformance.person import during
from conformance.replies import Script
from crash.in_memory import CrashingCase
from crash.promise import broken
from crash.stored import KilledCase, StoredCase
from threats import tally
from whorl.runtimes.sqlite import SqliteStore, store
from whorl.services.inspecting.results import result_of

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.literate import Case

pytestmark = pytest.mark.threat(row="T1")


CASES = [
    case
    for case in load_cases()
    if "outcome" in case.blocks
    and not {"not_yet", "runs", "crash"} & set(case.options)
    and all(during(request) is None for request in case.blocks.get("requests") or [])
]
_FORKS = [case for case in CASES if any("fork" in r for r in case.blocks.get("requests") or [])]
_FIRST = {case.file: case for case in reversed(CASES)}
# The store knows nothing of cases, so those are tried that differ in what they write: the first of
# each file, and forks; and of the appends of a case, the first of each kind. In memory every case
# is tried at every append (see `test_every_append`).
_DIFFERENT = [case for case in CASES if case is _FIRST[case.file] or case in _FORKS]
_TRIED = CASES if IS_CAMPAIGN else _DIFFERENT
# The thread of a store that dies in a test does so on purpose.
_DEAD_THREADS = "ignore::pytest.PytestUnhandledThreadExceptionWarning"
_KILLED = (
    "Another workflow in a loop",
    "Continuing a run that has ended",
    "A loop for each item",
    "A fork redoes an iteration and keeps those before it",
)


def _check(case: Case, path: Path, points: list[frozenset[int]]) -> int:
    recalled = CrashingCase(case)
    clean, _ = recalled.run()
    crashes = 0
    for number, chosen in enumerate(points):
        stored = StoredCase(case, recalled.script, path / f"{number}.db")
        crashed = stored.run(chosen)
        crashes += stored.crashes
        tally("crashes", stored.crashes)

        assert broken(clean, crashed, crashes=stored.crashes, comparable=True) == [], chosen
    return crashes


def _strikes(case: Case, path: Path) -> tuple[int, list[int]]:
    """How often a store strikes without a crash, and the first strikes at each kind of append."""
    recalled = CrashingCase(case)
    recalled.run()
    stored = StoredCase(case, recalled.script, path / "clean.db")
    stored.run(frozenset())
    return stored.struck, list(stored.different.values())


@pytest.mark.sample(11)
@pytest.mark.campaign
@pytest.mark.filterwarnings(_DEAD_THREADS)
@pytest.mark.parametrize(
    ("case", "by"),
    [
        pytest.param(case, by, id=f"{case.id} by {by}")
        for by, cases in (("the loop", _TRIED), ("the thread", _TRIED[::3]))
        for case in cases
    ],
)
def test_the_store_may_die_at_any_append(
    case: Case, by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "_QUICK_S", 60.0 if by == "the loop" else -1.0)
    count, different = _strikes(case, tmp_path)
    points = range(1, count + 1) if IS_CAMPAIGN else different

    assert _check(case, tmp_path, [frozenset({point}) for point in points]) == len(points)


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.filterwarnings(_DEAD_THREADS)
@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in _TRIED])
def test_the_store_may_die_anywhere_and_again(case: Case, tmp_path: Path) -> None:
    """Some points and a second one soon after each; all have been tried alone."""
    random = Random(f"{SEED} {case.id}")
    count, _ = _strikes(case, tmp_path)
    step = amount(5, 2)
    points = range(random.randint(1, step), count + 1, step)
    pairs = [frozenset({point, point + random.randint(1, 6)}) for point in points]

    assert _check(case, tmp_path, pairs) >= len(pairs)


@pytest.mark.sample(4)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in CASES if case.title in _KILLED]
)
def test_the_process_may_be_killed(case: Case, tmp_path: Path) -> None:
    recalled = CrashingCase(case)
    clean, _ = recalled.run()
    killed = 0
    for point in range(2, 30, 4):
        crashed = KilledCase(case, recalled.script, tmp_path / f"{point}.db").killed_at(point)
        if crashed is not None:
            killed += 1
            tally("processes killed")
            assert broken(clean, crashed, crashes=1, comparable=True) == [], point
    assert killed >= 3


_LISTED = ("Write, review, revise until it is approved", "Loops nest, and each has its own count")


@pytest.mark.slow
@pytest.mark.filterwarnings(_DEAD_THREADS)
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in CASES if case.title in _LISTED]
)
def test_the_row_of_a_run_agrees_with_its_result(case: Case, tmp_path: Path) -> None:
    """Also after crashes in the middle of calls."""
    doubts = 0
    for point in range(1, 40):
        path = tmp_path / f"{point}.db"
        StoredCase(case, Script(case.blocks.get("replies")), path).run(frozenset({point}))
        with closing(SqliteStore(path)) as store:
            [row] = store.runs()
            usage: Any = result_of(store, row.id)["usage"]
        told = (row.calls, row.cost_usd, row.in_doubt)
        assert told == (usage["calls"], pytest.approx(usage["cost_usd"]), usage["in_doubt"])
        doubts += row.in_doubt
    assert doubts > 0
