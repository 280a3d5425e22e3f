"""Conformance cases on a real server of Temporal mean what they mean everywhere else."""

from __future__ import annotations

import asyncio
import os
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import pytest

from cluster.cases import CaseWorkers, tried
from cluster.skipping_time import RATE
from conformance.literate import load_cases
from waiting import PATIENCE_S
from whorl.providers.redaction import Secret
from whorl.wings.cluster.messages import OF_FOLDERS

if TYPE_CHECKING:
    from pathlib import Path

    from cluster.cluster import Server
    from conformance.literate import Case
    from whorl.wings.cluster.runtime import TemporalRuntime

# On a busy machine more of them only wait longer.
AT_ONCE = 4
# Most runs are continued as new.
EVENTS_MAX = 60
VIRTUAL_MAX = 20
CASES = [
    case for case in load_cases() if "outcome" in case.blocks and "not_yet" not in case.options
]
VIRTUAL = [case for case in CASES if "clock" in case.options]
TRIED = [case for case in CASES if case not in VIRTUAL]
# Every twentieth case in all runs of the tests; all of them where WHORL_CASES is "all".
IS_ALL = os.environ.get("WHORL_CASES") == "all"
PARTS = 20


@pytest.mark.parametrize("part", range(PARTS if IS_ALL else 1))
def test_cases_mean_the_same(part: int, server: Server, tmp_path: Path) -> None:
    cases = TRIED[part::PARTS]
    places, workers = asyncio.Semaphore(AT_ONCE), CaseWorkers()
    found: dict[str, list[str]] = {}

    async def attempt(runtime: TemporalRuntime, case: Case) -> None:
        async with places, asyncio.timeout(PATIENCE_S * 4):
            _, found[case.id] = await tried(case, runtime, workers)

    async def attempt_all() -> None:
        mirror, skipping = tmp_path / f"cases-{part}.db", workers.skipping
        more: dict[str, Any] = {"events_max": EVENTS_MAX, "rate": RATE, "changed": skipping.of}
        # A worker that is silent for this long has never heard of the call.
        more["heartbeat_s"] = 60.0
        more |= {
            "queues": dict.fromkeys((*OF_FOLDERS, "ask"), mirror.name),
            "encrypt_with": Secret(token_urlsafe()),
        }
        async with server.runtime(mirror, workers, **more) as runtime:
            await asyncio.gather(*(attempt(runtime, case) for case in cases))

    asyncio.run(attempt_all())

    assert {case: faults for case, faults in found.items() if faults} == {}
    assert len(found) == len(cases) > 0


def test_few_cases_need_a_clock_that_tests_set() -> None:
    """They are not tried here: no server has a time at which nothing happens."""
    assert 0 < len(VIRTUAL) <= VIRTUAL_MAX
    assert all(case.options["clock"] == "virtual" for case in VIRTUAL)
