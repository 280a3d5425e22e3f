"""What is folded from a journal says the same as the machine: iterations, ends, and the status."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from simulation.runs import plan_of
from simulation.world import World
from whorl.interfaces.progress import Progress
from whorl.interpreter.events import Event
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.simulated import AllLoops, loop_rows
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.rows import RunRecord

if TYPE_CHECKING:
    from pathlib import Path

MORE = {"cost_usd": 0.25, "tokens": 80, "calls": 4}


class Listed:
    """A world whose journal is folded as it grows."""

    def __init__(self, seed: int) -> None:
        self.world = World(plan_of(seed, budgets=True), seed)
        self.all, self.row, self.shown = AllLoops(), RunRecord(), Progress()
        self.held = 0
        self.steps: list[list[Event]] = []

    def check(self, fed: int, noted: int) -> None:
        """Folds what is new, the events first that led to the notes."""
        self.steps.append([*self.world.fed[fed:], *self.world.notes[noted:]])
        for event in self.steps[-1]:
            self.all.take(event)
            self.row.take(event)
            self.shown.take(event)
        machine = self.world.machine
        for frame in machine.frames.values():
            if frame["kind"] == "loop" and "count" in frame:
                loop = self.all.loops[frame["address"]]
                # A loop that has ended says by itself how many of its iterations count.
                assert loop.is_over or loop.number == self.begun(frame), frame["address"]
                if self.row.shown.address == loop.address:
                    assert self.row.shown.number == loop.number
        assert self.all.status == self.row.status == self.shown.status
        self.check_money()
        self.check_shown()

    def check_shown(self) -> None:
        """What a live view keeps of the past says the same."""
        for name in ("calls", "tokens", "cost_usd", "in_doubt", "budget_usd"):
            assert getattr(self.shown, name) == getattr(self.row, name), name
        for address, loop in self.shown.loops.items():
            for name in ("number", "limit", "exit_reason", "stopped_by", "returned", "is_over"):
                assert getattr(loop, name) == getattr(self.all.loops[address], name), name
            rows = [row.address for row in loop.iterations]
            assert len(set(rows)) == len(rows), address
            assert "not_begun" not in {row.status for row in loop.iterations}

    def check_money(self) -> None:
        """What is kept by hour, loop and model adds up to what the machine has counted."""
        kept, used = self.row.spending.values(), self.world.machine.state["usage"]
        for name in ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt"):
            total = sum(getattr(spent, name) for spent in kept)
            assert total == pytest.approx(used.get(name, 0)), name
            assert total == pytest.approx(getattr(self.row, name)), name
        assert sum(spent.unpriced_calls for spent in kept) == used.get("unpriced", 0)

    def begun(self, frame: dict[str, Any]) -> int:
        """How many iterations of a loop have begun."""
        is_short = self.world.machine.state.get("paused_by") == "budget"
        held = frame["phase"] == "body" and not frame["begun"] and not frame.get("retries")
        self.held += is_short and held
        return int(frame["count"]) - (is_short and held)


def run(seed: int) -> Listed:
    listed = Listed(seed)
    world = listed.world
    fed, noted = 0, 0
    world.start(limits={"calls": seed % 4})
    for more in range(4):
        while not world.is_at_rest():
            listed.check(fed, noted)
            fed, noted = len(world.fed), len(world.notes)
            world.happen(world.choices()[0])
        listed.check(fed, noted)
        fed, noted = len(world.fed), len(world.notes)
        if world.machine.status != "paused":
            break
        kind = "run.cancelled" if more > seed % 5 else "run.resumed"
        body: dict[str, Any] = {} if kind == "run.cancelled" else {**MORE}
        world.feed(Event(kind, "", world.now, body | {"request": f"r-{more}"}))
    return listed


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(0, 400, 40))
def test_lists_and_the_machine_count_the_same_iterations(seed: int) -> None:
    for one in range(seed, seed + 40):
        run(one)


def test_some_iterations_are_held_back() -> None:
    """Otherwise the test above would show nothing about them."""
    assert sum(run(seed).held for seed in range(120)) > 10


def test_the_store_gives_the_loops_that_its_journal_tells(tmp_path: Path) -> None:
    async def compare(store: SqliteStore, seed: int) -> None:
        steps = run(seed).steps
        name, _ = await store.create(NewRun(RunId(f"r-{seed}"), {}, "h", "n", ""), steps[0].pop(0))
        owner = await store.claim(name)
        for events in steps:
            await store.append(name, owner, events)
            assert store.loops(name) == loop_rows(store.read(name))

    store = SqliteStore(tmp_path / "runs.db")
    for seed in range(12):
        asyncio.run(compare(store, seed))
    store.close()
