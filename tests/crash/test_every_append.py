"""A crash before and after every append of every case: nothing paid for is lost or done twice."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from campaign import SEED, amount
from conformance.literate import load_cases
from conformance.person import during
from crash.in_memory import CrashingCase
from crash.promise import broken

if TYPE_CHECKING:
    from conformance.literate import Case

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


@pytest.mark.parametrize("case", _PARAMS)
def test_a_crash_at_any_append_changes_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing = CrashingCase(case)
    tried: set[int] = set()
    for waiting in _WAITING:
        monkeypatch.setattr("whorl.runtimes.journal.ENTRIES_MAX", waiting)
        clean = crashing.run()
        # With as many appends as before nothing has waited, and all of them have been tried.
        points = range(1, 1 if crashing.struck in tried else crashing.struck + 1)
        tried.add(crashing.struck)
        for point in points:
            # Every other run is folded from a snapshot, too.
            monkeypatch.setattr("whorl.runtimes.driver.SNAPSHOT_EVERY", 3 if point % 2 else 256)
            crashed = crashing.run(frozenset({point}))

            found = broken(
                clean, crashed, crashes=crashing.crashes, comparable="crash" not in case.options
            )
            assert found == [], f"{case.file}: a crash at {point}, {waiting} may wait"


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("case", _PARAMS)
def test_a_crash_while_recovering_changes_nothing(case: Case) -> None:
    crashing = CrashingCase(case)
    clean = crashing.run()
    random = Random(f"{SEED} {case.id}")
    # Each crash has been tried alone, so that every other one is followed by a second.
    for first in range(random.randint(1, 2), crashing.struck + 1, amount(2, 1)):
        for distance in random.sample((1, 2, 3, 5, 8), amount(1, 4)):
            second = first + distance
            crashed = crashing.run(frozenset({first, second}))

            found = broken(
                clean, crashed, crashes=crashing.crashes, comparable="crash" not in case.options
            )
            assert found == [], f"{case.file}: crashes at {first} and {second}"
