"""Long work is done in slices: wherever they end, its outcome and its journal are the same."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from crash.priced import Priced
from simulation.machines import error_of
from simulation.turns import JumpingTurns
from whorl.dialects.reader import read_workflow
from whorl.interpreter.events import FED_KINDS, Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.interpreter.state import ENDLESS, OutOfTurn
from whorl.runtimes.driver import CLOCK, TICK_S, Driver
from whorl.runtimes.journal.folding import STEPS_AT_END, Replay, fold
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.simulated import EPOCH, MemoryJournal, SimulatedRuntime, VirtualLoop
from whorl.runtimes.time_slices import SLICE_STEPS

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.runtimes.journal.journal import Entry

COUNTING = """
whorl: 1
name: counting
steps:
  many:
    repeat:
      until: "false"
      at_most: {iterations: 2000%s}
      steps:
        a: {value: "{{ range(3) | list }}"}
  after: {value: "{{ many.a }}"}
"""
ITEMS = """
whorl: 1
name: items
steps:
  many:
    each: "{{ range(3000) }}"
    as: i
    steps: {a: {value: "{{ i }}"}, b: {value: "{{ a + 1 }}"}}
"""


class World:
    """A run whose slices take virtual time."""

    def __init__(self, source: str) -> None:
        self.workflow = read_workflow(source, "test.whorl.yaml").workflow
        self.runtime = SimulatedRuntime(Priced())
        self.journal: MemoryJournal = self.runtime.journal
        self.run = self.runtime.start(self.workflow, {})
        self.driver: Driver | None = None

    def drive(self, turns: JumpingTurns, *, cpu_max_s: float = 1e9) -> str:
        loop = VirtualLoop()
        folded = fold(self.journal, self.run, to_drive=True)
        loop.jump(max(0.0, folded.machine.now - loop.now()))

        async def work() -> str:
            owner = await self.journal.claim(self.run)
            about = (self.run, folded, owner, self.journal, Priced(), loop.now)
            self.driver = Driver(*about, turns=turns, cpu_max_s=cpu_max_s)  # type: ignore[arg-type]
            return await self.driver.drive()

        with closing(loop):
            return loop.run_until_complete(work())

    def at_slice(self, number: int, act: Callable[[Driver], None]) -> Callable[[int], None]:
        """What is done after so many slices."""

        def between(count: int) -> None:
            if count == number:
                assert self.driver is not None
                act(self.driver)

        return between

    def asked(self, kind: str) -> Callable[[Driver], None]:
        return lambda driver: driver.deliver(Event(kind, "", self.runtime.now() + 9, {}))

    def ended(self, kind: str) -> list[Event]:
        return [entry.event for entry in self.entries() if entry.event.kind == kind]

    def entries(self) -> list[Entry]:
        return list(self.journal.read(self.run))

    def kinds(self) -> list[str]:
        return [entry.event.kind for entry in self.entries()]

    def check_replay(self) -> Machine:
        """From its start the journal leads to the same notes, and to where snapshots lead."""
        replay = Replay(self.journal, self.run)
        for entry in self.entries():
            replay.take(entry)
        replay.finish()
        said = [entry.event for entry in self.entries() if entry.event.kind not in FED_KINDS]
        assert said == replay.folded.unsaid
        machine = fold(self.journal, self.run).machine
        machine.advance()
        assert machine.snapshot() == replay.folded.machine.snapshot()
        return machine


def _sliced(plan: Plan, events: list[Event], random: Random) -> tuple[list[Event], str]:
    machine = Machine(plan)
    for event in events:
        machine.take(event)
        while machine.is_busy:
            machine.advance(steps=random.randint(2, 6), fuel=random.choice((1, 40, 10_000)))
    return machine.take_notes(), machine.snapshot()


def test_between_two_slices_others_have_their_turn() -> None:
    world = World(ITEMS)
    ticks: list[int] = []
    turns = JumpingTurns(0.001, ticks.append)

    assert world.drive(turns) == "succeeded"
    # Each item is a block that is entered and left, with two nodes in it.
    assert turns.count >= (3 * 3000 - STEPS_AT_END) // SLICE_STEPS
    world.check_replay()


def test_a_time_limit_ends_a_loop_that_only_computes() -> None:
    world = World(COUNTING % ", time: 2s")
    assert world.drive(JumpingTurns(0.5)) == "succeeded"

    assert world.ended("timer.fired")[0].body["step"]
    [ended] = world.ended("loop.finished")
    assert ended.body["exit_reason"] == "timeout"
    assert 0 < ended.body["iterations"] < 2000  # type: ignore[operator]
    assert world.check_replay().status == "succeeded"


def test_time_passes_in_a_run_that_only_computes() -> None:
    """Each iteration takes as long as its slices, and whoever replays the run computes the same."""
    world = World(COUNTING % "")
    turns = JumpingTurns(0.5)
    assert world.drive(turns) == "succeeded"

    took = [event.body["seconds"] for event in world.ended("iteration.finished")]
    ended_s = world.entries()[-1].event.at - EPOCH
    # The last slice is not over when the run is, and what it leaves is sealed and stored behind it.
    assert ended_s > 10
    assert turns.count * 0.5 - ended_s <= 4 * 0.5
    assert sum(took) == ended_s  # type: ignore[arg-type]
    world.check_replay()


def test_what_is_computed_in_no_time_has_no_entries_for_it() -> None:
    world = World(COUNTING % "")
    turns = JumpingTurns(TICK_S / 10)
    assert world.drive(turns) == "succeeded"

    assert 0 < sum(e.event.address == CLOCK for e in world.entries()) <= turns.count // 10
    world.check_replay()


def test_a_wait_behind_long_work_begins_when_the_work_is_done() -> None:
    world = World(COUNTING.replace('after: {value: "{{ many.a }}"}', "after: {wait: 5s}") % "")
    assert world.drive(JumpingTurns(0.5)) == "succeeded"

    *_, worked, over = (event.at for event in world.ended("timer.fired"))
    assert worked - EPOCH > 10
    assert over - worked == 5
    world.check_replay()


def test_an_iteration_that_only_computes_has_a_time_too() -> None:
    steps = "".join(f"        s{n}: {{value: '{{{{ range(9) | list }}}}'}}\n" for n in range(900))
    world = World(COUNTING.replace("%s", ", each_time: 1s").replace("  after", steps + "  after"))
    assert world.drive(JumpingTurns(0.6)) == "failed"
    assert error_of(world.check_replay())["code"] == "R101"


def test_a_computing_run_is_cancelled_at_once() -> None:
    world = World(COUNTING % "")
    turns = JumpingTurns(0.001, world.at_slice(3, world.asked("run.cancelled")))
    assert world.drive(turns) == "cancelled"
    assert turns.count <= 6
    assert world.check_replay().status == "cancelled"


def test_a_computing_run_is_paused_and_continues_where_it_was() -> None:
    world = World(COUNTING % "")
    turns = JumpingTurns(0.001, world.at_slice(3, world.asked("run.paused")))
    assert world.drive(turns) == "paused"
    begun = world.kinds().count("iteration.started")
    assert 0 < begun < 2000
    world.runtime.resume(world.run, (Event("run.resumed", "", 2e9, {}),))
    assert world.kinds().count("iteration.started") == 2000
    assert world.check_replay().status == "succeeded"


def test_a_run_that_has_computed_too_long_fails_and_says_what_raises_the_limit() -> None:
    world = World(COUNTING % "")
    assert world.drive(JumpingTurns(1.0), cpu_max_s=3.0) == "failed"

    assert "run.exhausted" in world.kinds()
    error = error_of(world.check_replay())
    assert (error["code"], error["facts"]) == ("R105", {"cpu_s": 3.0})


def test_snapshots_in_the_midst_of_work_lead_to_the_same_end() -> None:
    world = World(COUNTING % "")
    taken: list[bool] = []
    snapshot = world.journal.snapshot

    async def noted(run: RunId, owner: int, seq: int, state: Any) -> None:
        assert world.driver is not None
        taken.append(world.driver.machine.is_busy)
        await snapshot(run, owner, seq, state)

    world.journal.snapshot = noted  # type: ignore[method-assign]
    lives = 0
    while world.drive(JumpingTurns(0.001, world.at_slice(4, Driver.stop))) == "stopped":
        lives += 1
        assert lives < 100
    assert lives > 2
    assert any(taken)
    assert world.kinds().count("iteration.started") == 2000
    world.check_replay()


def test_what_is_half_computed_is_in_no_snapshot() -> None:
    plan = Plan(read_workflow(COUNTING % "", "test.whorl.yaml").workflow)
    machine = Machine(plan)
    machine.feed(Event("run.started", "", 5.0, {"run": "r", "seed": "s"}))

    def items() -> Any:
        for _ in range(9):
            yield
        return ["done"]

    machine.steps_end = machine.steps + 2
    with pytest.raises(OutOfTurn):
        machine.collect("x", items)
    assert not machine.is_whole
    machine.steps_end = ENDLESS
    assert machine.snapshot(in_pieces=True) == machine.snapshot()
    assert machine.collect("x", items) == ["done"]
    assert machine.is_whole


def test_golden_journals_are_the_same_in_slices() -> None:
    from journals.recorded import read

    folder = Path(__file__).parents[1] / "journals" / "v1"
    for file in sorted(folder.glob("*.json")):
        recorded = read(file.read_text(encoding="utf-8"))
        journal, run = recorded.journal(), RunId(recorded.run)
        events = [entry.event for entry in journal.read(run) if entry.event.kind in FED_KINDS]
        if any(event.kind == "run.forked" or "step" in event.body for event in events):
            continue
        plan = fold(journal, run).machine.plan
        whole = Machine(plan)
        for event in events:
            whole.feed(event)
        assert _sliced(plan, events, Random(1)) == (whole.take_notes(), whole.snapshot())
