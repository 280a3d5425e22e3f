"""An iteration of a long run that only computes is opened from a snapshot near it, too."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest
from test_late_iterations import NEAR, _Counting, _Workers

from whorl.dialects import read_workflow
from whorl.runtimes.journal.forking import Fork, new_run_of
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.starting import Start
from whorl.services.records import records_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.threat(row="T7")

ITERATIONS = 6_000
FORKED = 3_000
_LONG = f"""
whorl: 1
steps:
  work:
    repeat:
      at_most: {ITERATIONS}
      carry: {{sum: {{first: 0, then: "{{{{ sum + iteration }}}}"}}}}
      steps:
        write: {{value: "{{{{ sum }}}} and {{{{ iteration }}}}"}}
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunId, RunId]:
    """A run, and a fork of it in the middle."""
    path = tmp_path_factory.mktemp("long") / "runs.db"

    async def work() -> tuple[RunId, RunId]:
        async with _Counting(path) as store:
            runtime = LocalRuntime(store, _Workers())
            run, _ = await runtime.start(read_workflow(_LONG, "case.yaml").workflow, Start())
            assert await runtime.drive(run) == "succeeded"
            fork, _ = await runtime.fork(run, Fork(f"work[{FORKED}]"))
            assert await runtime.drive(fork) == "succeeded"
            return run, fork

    return path, *asyncio.run(work())


@pytest.fixture
def store(runs: tuple[Path, RunId, RunId]) -> Iterator[_Counting]:
    opened = _Counting(runs[0])
    yield opened
    opened.close()


@pytest.mark.sample(3)
@pytest.mark.parametrize("number", [1, 5, 2_500, FORKED, FORKED + 1, 5_000, ITERATIONS])
@pytest.mark.parametrize("which", [1, 2], ids=["run", "fork"])
def test_an_iteration_is_read_and_not_what_follows(
    store: _Counting, runs: tuple[Path, RunId, RunId], which: int, number: int
) -> None:
    (record,) = records_of(store, runs[which], f"work[{number}]/write").records

    assert record.output == f"{sum(range(number))} and {number}"
    assert store.counted() <= 2 * NEAR


def test_a_fork_is_made_without_computing_what_it_leads_to(
    store: _Counting, runs: tuple[Path, RunId, RunId]
) -> None:
    """It is driven afterwards, in slices; whoever asks a server for it holds up nobody."""
    fork, run = Fork("work[2]"), RunId("fork")

    _, events = new_run_of(store, runs[1], fork, run=run, now=time.time())

    assert 5 <= len(events) <= 50
