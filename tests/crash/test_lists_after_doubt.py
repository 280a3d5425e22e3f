"""Lists tell the same usage as the result of a run, also after crashes in the middle of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.literate import load_cases
from conformance.replies import Script
from crash.stored import StoredCase
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.inspecting.results import result_of

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.literate import Case

TITLES = ("Write, review, revise until it is approved", "Loops nest, and each has its own count")
CASES = [case for case in load_cases() if case.title in TITLES]
# The store's thread is meant to die.
_DEAD_THREADS = "ignore::pytest.PytestUnhandledThreadExceptionWarning"


@pytest.mark.slow
@pytest.mark.filterwarnings(_DEAD_THREADS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_row_of_a_run_agrees_with_its_result(case: Case, tmp_path: Path) -> None:
    doubts = 0
    for point in range(1, 40):
        path = tmp_path / f"{point}.db"
        StoredCase(case, Script(case.blocks.get("replies")), path).run(frozenset({point}))
        store = SqliteStore(str(path))
        try:
            [row] = store.runs()
            usage = result_of(store, row.id)["usage"]
        finally:
            store.close()
        assert isinstance(usage, dict)
        told = (row.calls, row.cost_usd, row.in_doubt)
        assert told == (usage["calls"], pytest.approx(usage["cost_usd"]), usage["in_doubt"])
        doubts += row.in_doubt
    assert doubts > 0
