"""A crash before and after every append of every case: nothing paid for is lost or done twice."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from campaign import IS_CAMPAIGN, SEED, amount
from conformance.literate import load_cases
from conformance.person import during
from crash.in_memory import CrashingCase
from crash.promise import broken
from threats import tally

if TYPE_CHECKING:
    from conformance.literate import Case
    from crash.promise import Trace

pytestmark = pytest.mark.threat(row="T1")

CASES = [
    case
    for case in load_cases()
    if "outcome" in case.blocks
    and "not_yet" not in case.options
    and all(during(request) is None for request in case.blocks.get("requests") or [])
]
_PARAMS = [pytest.param(case, id=case.id) for case in CASES]


# How many entries that can be had again may wait to be written; 1: all are written at once.
_WAITING = (1, 64)
# After how many entries a snapshot is made: half of the runs are folded from one.
_SNAPSHOTS = (3, 256)


@pytest.mark.sample(12)
@pytest.mark.parametrize("case", _PARAMS)
def test_a_crash_at_any_append_changes_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = CrashingCase(case)
    tried: set[object] = set()
    for waiting in _WAITING:
        monkeypatch.setattr("whorl.runtimes.driver.ENTRIES_MAX", waiting)
        for part, every in enumerate(_SNAPSHOTS):
            monkeypatch.setattr("whorl.runtimes.journal.journal.SNAPSHOT_EVERY", every)
            clean, moments = crashing.run()
            for moment in moments[part :: len(_SNAPSHOTS)]:
                # What was left the same way has been tried; a campaign tries it all the same.
                if moment.left in tried and not IS_CAMPAIGN:
                    continue
                tried.add(moment.left)
                crashed = crashing.crashed(moment)
                _check(case, crashing, clean, crashed)
                if moment.is_before and waiting > 1:
                    assert _in_doubt(crashed) <= set(moment.performed), case.file


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("case", _PARAMS)
def test_a_crash_while_recovering_changes_nothing(case: Case) -> None:
    crashing = CrashingCase(case)
    clean, moments = crashing.run()
    random = Random(f"{SEED} {case.id}")
    different = list({moment.left: moment for moment in moments}.values())
    # Each crash has been tried alone, so that every other one is followed by a second.
    for first in moments if IS_CAMPAIGN else different[random.randint(0, 1) :: 2]:
        for distance in random.sample((1, 2, 3, 5, 8), amount(1, 4)):
            _check(case, crashing, clean, crashing.crashed(first, distance))


def _in_doubt(crashed: Trace) -> set[str]:
    return {e.event.address for e in crashed.entries if e.event.kind == "task.in_doubt"}


def _check(case: Case, crashing: CrashingCase, clean: Trace, crashed: Trace) -> None:
    comparable = "crash" not in case.options
    found = broken(clean, crashed, crashes=crashing.crashes, comparable=comparable)
    assert found == [], case.file
    tally("crashes", crashing.crashes)
    tally("calls in doubt, all labelled", crashed.result.document["usage"]["in_doubt"])
