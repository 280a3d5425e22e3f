"""Runs of random programs, with and without crashes, checked at every step."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from simulation.programs import Programs
from simulation.soundness import crowded, unsound
from simulation.world import USAGE_NAMES, World
from whorl.interpreter.plan import Plan

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow

_TIMES = ("seconds", "usage", "due")


def program(seed: int, *, budgets: bool = False, deliveries: bool = False) -> Workflow:
    """The program that a seed names; most tasks of every other program have no effect."""
    kinds = ("ask", "use", "use", "use") if seed % 2 else ("ask", "ask", "use")
    programs = Programs(
        Random(seed), budgets=budgets, deliveries=deliveries, foreign=True, kinds=kinds
    )
    return programs.workflow()


def straight(plan: Plan, seed: int) -> World:
    """A run without crashes."""
    world = World(plan, seed)
    world.start()
    while not world.is_at_rest():
        world.happen(world.choices()[0])
        check_step(world)
    check_end(world)
    return world


def crashed(plan: Plan, seed: int, random: Random, share: float = 0.15) -> World:
    """The same run with crashes at random places, folded from snapshots or from the start."""
    world = World(plan, seed)
    world.start()
    while not world.is_at_rest():
        if random.random() < (0.3 if world.has_unwritten else share):
            lossy = random.random() < 0.5
            world.crash(from_snapshot=random.random() < 0.9, before_writing=lossy)
            check_step(world)
            continue
        if random.random() < 0.5 and not world.has_unwritten:
            world.keep()
        world.happen(world.choices()[0])
        check_step(world)
    live = world.machine.snapshot()
    world.crash(from_snapshot=True)
    assert live == world.machine.snapshot(), "the order of the state is not that of the live one"
    check_end(world)
    return world


def check_end(world: World) -> None:
    """What must hold when a run has come to rest."""
    usage = world.machine.state["usage"]
    for name in USAGE_NAMES:
        told, counted = usage.get(name, 0), world.spent.get(name, 0)
        assert abs(told - counted) < 1e-9, f"{name}: {told} are told, {counted} were used"
    check_limits(world)


def check_limits(world: World) -> None:
    """No budget is overspent, since no call uses more than was reserved for it."""
    machine = world.machine
    loops = [f for f in machine.frames.values() if f["kind"] == "loop" and "usage" in f]
    for scope in (machine.state, *loops):
        used, held, limits = scope["usage"], scope["reserved"], scope["limits"]
        tokens = used.get("input_tokens", 0) + used.get("output_tokens", 0)
        spent = {
            "tokens": tokens,
            "calls": used.get("calls", 0),
            "cost_usd": used.get("cost_usd", 0),
        }
        for name, amount in spent.items():
            total = amount + held.get(name, 0)
            # A call in doubt or given up counts at most once more than it used.
            assert total <= limits.get(name, 1e9) + 1e-9, f"{name}: {total} of {limits}"


def told(notes: list[Event]) -> dict[str, list[tuple[str, Any]]]:
    """What was said, by address, without times and amounts."""
    found: dict[str, list[tuple[str, Any]]] = {}
    for note in notes:
        if note.kind == "run.waiting":
            # Said anew after every event, and crashes make some more of them.
            continue
        body = {key: value for key, value in note.body.items() if key not in _TIMES}
        found.setdefault(note.address, []).append((note.kind, body))
    return found


def result(world: World) -> Any:
    """How a run ended, without what it used."""
    ended = world.machine.state["result"]
    kept = {k: v for k, v in ended.items() if k != "usage"} if ended else None
    return world.machine.status, kept


def plan_of(seed: int, **options: bool) -> Plan:
    """The plan of the program that a seed names."""
    return Plan(program(seed, **options))


def check_step(world: World) -> None:
    """The state of the machine is sound."""
    wrong = unsound(world.machine)
    assert not wrong, wrong
    # A person who continues a loop, or accepts one, asks nobody for a place.
    asked = ("run.continued", "run.accepted")
    full = crowded(world.machine)
    assert not full or any(event.kind in asked for event in world.fed), full
