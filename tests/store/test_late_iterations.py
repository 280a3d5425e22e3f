"""Any iteration of a long run is near to a snapshot: opening it reads few entries.

That holds for loops that only compute, too.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest

from conformance.person import fork_run
from crash.priced import Priced
from whorl.dialects import read_workflow
from whorl.errors import ProviderError
from whorl.providers.task import Emit, Reply, Request
from whorl.runtimes.journal.forking import Fork, look_into, moment
from whorl.runtimes.journal.journal import SNAPSHOT_EVERY, Entry, RunId
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.rows import SNAPSHOT_DISTANCE
from whorl.runtimes.start_options import Start
from whorl.services.inspecting import results
from whorl.services.inspecting.places import carried_into, costs_of, results_of
from whorl.services.records import records_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = pytest.mark.threat(row="T7")

ITERATIONS = 5_000
FAILED = 1_000
# The distance of snapshots, and what may lie between taking one and the next.
NEAR = SNAPSHOT_DISTANCE + 4 * SNAPSHOT_EVERY
_LONG = f"""
whorl: 1
steps:
  first: {{repeat: {{at_most: 2, steps: {{think: {{use: thing}}}}}}}}
  work:
    repeat:
      until: "iteration >= {ITERATIONS}"
      at_most: {ITERATIONS}
      on_failure: continue
      carry: {{text: {{first: nothing, then: "{{{{ write }}}}"}}}}
      steps:
        write: {{use: thing, with: {{text: "{{{{ text }}}}"}}}}
"""


async def _told(request: Request, emit: Emit) -> Reply:
    """Tells where it was done, and fails once."""
    if request.address == f"work[{FAILED}]/write":
        raise ProviderError("once", code="P100")
    return Reply(f"by {request.address}")


class _Counting(SqliteStore):
    """Counts the entries that are read from it."""

    entries = 0

    def _entries(self, *arguments: Any, **options: Any) -> Iterator[Entry]:
        for entry in super()._entries(*arguments, **options):
            self.entries += 1
            yield entry

    def counted(self) -> int:
        count, self.entries = self.entries, 0
        return count


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RunId]:
    path = tmp_path_factory.mktemp("long") / "runs.db"

    async def work() -> RunId:
        async with SqliteStore(path) as store:
            runtime = LocalRuntime(store, Priced(_told, "none"))
            run, _ = await runtime.start(read_workflow(_LONG, "case.yaml").workflow, Start())
            assert await runtime.drive(run) == "succeeded"
            return run

    return path, asyncio.run(work())


@pytest.fixture
def store(long_run: tuple[Path, RunId]) -> Iterator[_Counting]:
    opened = _Counting(long_run[0])
    yield opened
    opened.close()


def test_iterations_that_lie_apart_are_opened_one_by_one(
    store: _Counting, long_run: tuple[Path, RunId]
) -> None:
    wanted = (2, 3, 2_600, ITERATIONS - 1, ITERATIONS)

    given = results_of(store, long_run[1], "work", wanted)

    assert given == {number: {"write": f"by work[{number}]/write"} for number in wanted}
    assert store.counted() <= 3 * NEAR

    for number in (1, 2_500):
        carried = carried_into(store, long_run[1], "work", number)
        assert carried == {"text": "nothing" if number == 1 else f"by work[{number - 1}]/write"}
        assert store.counted() <= NEAR
    # One without a result is not looked for to the end.
    assert results_of(store, long_run[1], "work", (FAILED,)) == {}
    assert store.counted() <= NEAR


@pytest.mark.parametrize(
    ("at", "addresses"),
    [
        ("first[2]", ["first[2]", "first[2]/think"]),
        ("work[2500]", ["work[2500]", "work[2500]/write"]),
        (f"work[{FAILED}]/write", [f"work[{FAILED}]/write"]),
        (f"work[{ITERATIONS}]/write", [f"work[{ITERATIONS}]/write"]),
        ("work", ["work"]),
        ("", ["first", "work"]),
    ],
)
def test_records_are_found_from_the_snapshots_around_them(
    store: _Counting, long_run: tuple[Path, RunId], at: str, addresses: list[str]
) -> None:
    found = records_of(store, long_run[1], at).records

    assert [record.address for record in found] == addresses
    assert {record.status for record in found} == {"failed" if str(FAILED) in at else "succeeded"}
    assert all(record.repetitions in (2, ITERATIONS) for record in found if record.kind == "loop")
    assert store.counted() <= 2 * NEAR


def test_requests_and_costs_of_an_iteration_read_no_others(
    store: _Counting, long_run: tuple[Path, RunId]
) -> None:
    assert results.requests_of(store, long_run[1]) == []
    costs_of(store, "model", run=long_run[1], at=f"work[{ITERATIONS - 3}]")

    assert store.counted() <= 10


def test_a_fork_has_the_snapshots_of_what_it_was_made_of(
    store: _Counting, long_run: tuple[Path, RunId]
) -> None:
    run, at = long_run[1], ITERATIONS - 2

    async def fork() -> RunId:
        fork = Fork(f"work[{at}]")
        made, _ = await fork_run(store, run, fork, run=RunId("fork"), now=time.time())
        return made

    made = asyncio.run(fork())
    store.counted()

    for number in (3, ITERATIONS - 10):
        found = look_into(store, made, frozenset({f"work[{number}]"}))
        assert found == look_into(store, run, frozenset({f"work[{number}]"}))
        machine = moment(store, made, f"work[{number}]")
        assert machine is not None
        assert store.counted() <= 4 * NEAR


TURNS = 6_000
FORKED = 3_000
_COMPUTED = f"""
whorl: 1
steps:
  work:
    repeat:
      at_most: {TURNS}
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
            runtime = LocalRuntime(store, Priced(_told, "none"))
            run, _ = await runtime.start(read_workflow(_COMPUTED, "case.yaml").workflow, Start())
            assert await runtime.drive(run) == "succeeded"
            fork, _ = await runtime.fork(run, Fork(f"work[{FORKED}]"))
            assert await runtime.drive(fork) == "succeeded"
            return run, fork

    return path, *asyncio.run(work())


@pytest.fixture
def counting(runs: tuple[Path, RunId, RunId]) -> Iterator[_Counting]:
    opened = _Counting(runs[0])
    yield opened
    opened.close()


@pytest.mark.sample(3)
@pytest.mark.parametrize("number", [1, 5, 2_500, FORKED, FORKED + 1, 5_000, TURNS])
@pytest.mark.parametrize("which", [1, 2], ids=["run", "fork"])
def test_an_iteration_is_read_and_not_what_follows(
    counting: _Counting, runs: tuple[Path, RunId, RunId], which: int, number: int
) -> None:
    (record,) = records_of(counting, runs[which], f"work[{number}]/write").records

    assert record.output == f"{sum(range(number))} and {number}"
    assert counting.counted() <= 2 * NEAR
