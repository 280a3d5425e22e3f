"""Every public file of another system runs to what is expected of it, or is listed with a reason.

The files are not part of the project: without them the written page is looked at alone.
"""

from __future__ import annotations

from functools import cache

import pytest

from public_files.page import PAGE, WRITTEN_DOWN, expected, outcomes_of, page_of
from public_files.systems import CORPORA, LISTED, SYSTEMS, Row, rows_of

needs_files = pytest.mark.skipif(
    not CORPORA.exists(), reason="the corpora are not beside the project"
)
WELL = ("succeeded", "refused", "as recorded")


@cache
def rows(system: str) -> list[Row]:
    return rows_of(system)


@needs_files
@pytest.mark.parametrize("system", WRITTEN_DOWN)
def test_files_run_to_the_result_that_is_expected(system: str) -> None:
    outcomes = outcomes_of(rows(system))

    assert outcomes == expected()[system]
    ran = [row for row in rows(system) if "status" in row.outcome and row.form != LISTED]
    assert [row.file for row in ran if row.outcome["status"] not in WELL] == []
    assert [row.file for row in ran if "failed" in row.outcome] == []
    assert [row.file for row in ran if row.outcome.get("output") in ("null", '""')] == []


@needs_files
def test_the_page_says_what_is_so() -> None:
    assert PAGE.read_text() == page_of({system: rows(system) for system in SYSTEMS})
