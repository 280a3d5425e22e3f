"""People who ask for anything at any time: the right things, the wrong things, twice, too late."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from simulation.runs import check_step
from simulation.world import World
from whorl.interpreter.events import Event
from whorl.interpreter.requests import is_known, objection, short_loop

if TYPE_CHECKING:
    from random import Random

    from whorl.interpreter.plan import Plan
    from whorl.language import Json

_WORDS = ("paused", "resumed", "cancelled", "continued", "accepted", "decided", "fired", "twice")
_WEIGHTS = (4, 4, 1, 4, 3, 3, 1, 2)
_UNTOUCHED = ("at", "notes", "warned", "requests")


def pestered(plan: Plan, seed: int, random: Random) -> World:
    """A run in which people ask for things all the time; in the end they let it come to rest."""
    world = World(plan, seed)
    world.start()
    for _ in range(random.randrange(30)):
        if not world.machine.done and random.random() < 0.1:
            world.crash(from_snapshot=False)
        elif random.random() < 0.35 or world.is_at_rest():
            ask(world, random)
        else:
            world.happen(random.choice(world.choices()))
        check_step(world)
    settle(world)
    return world


def settle(world: World) -> None:
    """Lets a run come to its end."""
    while not world.machine.done:
        if world.is_at_rest():
            world.feed(with_more_money(world))
        else:
            world.happen(world.choices()[0])
        check_step(world)


def with_more_money(world: World) -> Event:
    """What lets a run go on that is paused: for its own budget, or for that of a loop."""
    more: dict[str, Json] = {"cost_usd": 50, "tokens": 50_000, "calls": 500}
    short = short_loop(world.machine)
    if short:
        return Event("run.continued", "", world.now, more | {"at": short})
    return Event("run.resumed", "", world.now, more)


def ask(world: World, random: Random) -> None:
    """Makes a random request, once or twice; one that is refused must change nothing.

    Nor may one that has a name, when it comes again.
    """
    event = _event(world, random)
    if random.random() < 0.5 and event.kind != "timer.fired":
        named: dict[str, Json] = {"request": f"r-{len(world.fed)}"}
        event = Event(event.kind, event.address, event.at, event.body | named)
    for _ in range(random.choice((1, 1, 2))):
        refused = is_known(world.machine, event) or (
            event.kind.startswith("run.") and objection(world.machine, event)
        )
        before = _touched(world)
        ended = world.machine.status if world.machine.done else ""
        world.feed(event)
        if refused:
            assert before == _touched(world), f"{event} was refused ({refused}) but had an effect"
        if ended == "cancelled":
            assert world.machine.status == "cancelled", f"{event} brought a cancelled run back"


def _event(world: World, random: Random) -> Event:
    word = random.choices(_WORDS, _WEIGHTS)[0]
    machine = world.machine
    addresses = list(machine.pending) or [""]
    loops = [f["address"] for f in machine.frames.values() if f["kind"] == "loop"] or ["n1"]
    at = random.choice((None, random.choice(loops)))
    match word:
        case "continued":
            body: dict[str, Any] = {"at": at, "iterations": random.randrange(3)}
            return Event("run.continued", "", world.now, body | {"cost_usd": 0.25})
        case "accepted":
            accepted: dict[str, Any] = {"at": at, "iteration": random.randrange(4), "results": {}}
            return Event("run.accepted", "", world.now, accepted)
        case "decided":
            approved = {"approved": random.random() < 0.5}
            return Event("gate.decided", random.choice(addresses), world.now, dict(approved))
        case "fired":
            return Event("timer.fired", "nowhere/:retry", world.now)
        case "twice":
            return _told_before(world, random)
    return Event(f"run.{word}", "", world.now)


def _told_before(world: World, random: Random) -> Event:
    """A decision or the end of a wait that was told before; nothing waits for it any more."""
    kinds = ("timer.fired", "gate.decided")
    told = [e for e in world.fed if e.kind in kinds and e.address not in world.machine.pending]
    return random.choice(told) if told else Event("run.paused", "", world.now)


def _touched(world: World) -> str:
    state = {k: v for k, v in world.machine.state.items() if k not in _UNTOUCHED}
    return json.dumps(state)
