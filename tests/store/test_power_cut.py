"""The power may go at any moment: the file is whole, and nothing that was acknowledged is lost."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from journal_makers import event, iteration, started
from power_cut import FATES, Platter, RecordingDisk

from campaign import seeds
from threats import tally
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.language import Json

pytestmark = pytest.mark.threat(row="T2")


RUNS = ("one", "two", "three")


@dataclass(slots=True)
class Recording:
    """A disk, and how many entries of each run were acknowledged after how many operations."""

    disk: RecordingDisk
    acknowledged: list[tuple[int, Counter[str]]] = field(default_factory=list)

    def hook(self, point: str, run: str, events: Sequence[Event]) -> None:
        if point == "after":
            known = self.acknowledged[-1][1] if self.acknowledged else Counter()
            self.acknowledged.append(
                (len(self.disk.operations), known + Counter({run: len(events)}))
            )


async def work(store: SqliteStore, rounds: int, seed: int) -> None:
    """All kinds of writes, alone and together, with values small and large."""
    source = random.Random(seed)
    owners = {run: (await started(store, run))[1] for run in RUNS}
    for number in range(1, rounds + 1):
        chosen = source.sample(RUNS, source.randint(1, len(RUNS)))
        letter = await store.post(RunId(chosen[0]), event("run.paused")) if number % 5 == 0 else 0
        value = source.randbytes(source.choice((20, 900, 9000))).hex()
        kept: Json = {"key": "key", "record": {"number": number}, "keep": 3}
        last = await asyncio.gather(
            *(
                store.append(
                    RunId(run),
                    owners[run],
                    iteration(number, value, remember=kept),
                    messages=[letter] if letter and run == chosen[0] else [],
                )
                for run in chosen
            )
        )
        if number % 4 == 0:
            await store.snapshot(RunId(chosen[0]), owners[chosen[0]], last[0], {"at": number})


def record(folder: Path, rounds: int, seed: int) -> Recording:
    folder.mkdir()
    recording = Recording(RecordingDisk(folder))
    store = SqliteStore(
        folder / "runs.db",
        vfs=recording.disk.name,
        exclusive=True,
        checkpoint_pages=25,
        crash_hook=recording.hook,
    )
    asyncio.run(work(store, rounds, seed))
    store.close()
    return recording


def examine(folder: Path, files: dict[str, bytes], expected: Counter[str]) -> None:
    """Opens what the disk may hold, as the next process would."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    store = SqliteStore(folder / "runs.db")
    try:
        assert store.check() == []
        found = {row.id: row.last_seq for row in store.runs()}
        for run, acknowledged in expected.items():
            assert found.get(RunId(run), 0) >= acknowledged
        for run, last in found.items():
            assert [entry.seq for entry in store.read(run)] == list(range(1, last + 1))
            snapshot = store.last_snapshot(run)
            assert snapshot is None or snapshot[0] <= last
    finally:
        store.close()
        for file in folder.iterdir():
            file.unlink()


def cut_everywhere(tmp_path: Path, rounds: int, seed: int) -> int:
    """Examines a power cut after every operation, with every fate of what was not synced."""
    recording = record(tmp_path / f"recorded-{seed}", rounds, seed)
    platter = Platter(seed)
    folder = tmp_path / f"image-{seed}"
    folder.mkdir()
    acknowledged = iter([*recording.acknowledged, (10**9, Counter())])
    expected: Counter[str] = Counter()
    due, following = next(acknowledged)
    seen: set[int] = set()
    for count, operation in enumerate(recording.disk.operations, 1):
        platter.take(operation)
        while due <= count:
            expected = following
            due, following = next(acknowledged)
        for fate in FATES:
            files = platter.image(fate)
            print_of_it = hash((expected.total(), tuple(sorted(files.items()))))
            if print_of_it not in seen:
                seen.add(print_of_it)
                examine(folder, files, expected)
    assert sum(expected.values()) > rounds
    tally("images of the disk", len(seen))
    return len(seen)


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_nothing_acknowledged_is_lost_in_thousands_of_power_cuts(tmp_path: Path, seed: int) -> None:
    assert cut_everywhere(tmp_path, rounds=16, seed=seed + 2) >= 1_000
