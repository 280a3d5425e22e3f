"""Whatever comes together, and in whatever order: the history gives the workflow's own journal."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from importlib import import_module
from random import Random
from typing import Any

import pytest

import whorl
from campaign import seeds
from cluster.simulated import TURNS_MAX, Simulated
from crash.test_programs import CASES, anything
from simulation.programs import Programs
from simulation.world import World
from whorl.errors import UsageError
from whorl.interfaces.python import loading
from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import Event
from whorl.interpreter.plan import Plan
from whorl.ir import content_hash, to_json
from whorl.providers.registry import KINDS
from whorl.providers.settings import TemporalSettings
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.start_options import Start
from whorl.wings.cluster import messages
from whorl.wings.cluster.messages import EFFECTS, Beginning, event_to_json, new_beginning

PROGRAMS = seeds(100, 2_000)
CODE = seeds(20, 2_000)
SETTINGS = TemporalSettings(address="", queue="q")


def _beginning(seed: int) -> tuple[Beginning, Plan]:
    random = Random(seed)
    program = Programs(random, budgets=random.random() < 0.5, deliveries=True).workflow()
    encoded = to_json(program)
    body = {"run": "r", "seed": "s", "input": {}}
    beginning = Beginning(
        run="r",
        workflow=encoded,
        digest=content_hash(encoded),
        name="program",
        dialect="native",
        queue="q",
        behaviour=BEHAVIOUR,
        events_max=random.choice((10, 40, 8_000)),
        effects=random.choice(({}, EFFECTS)),
        intents_max=random.choice((0, 1, 3)),
        first=[event_to_json(Event("run.started", "", 0.0, body))],
    )
    return beginning, Plan(program)


def _ended(beginning: Beginning, plan: Plan, seed: int) -> Simulated:
    """Drives a run to its end, over several executions and workers; gives the last one."""
    random, world, now = Random(seed), World(plan, seed), 1_700_000_000.0
    simulated = Simulated(beginning, random, world, now)
    for _ in range(TURNS_MAX):
        simulated.turn()
        mine, theirs = simulated.pilot, simulated.decoder.pilot
        assert (mine.seq, mine.digest) == (theirs.seq, theirs.digest), seed
        assert mine.machine.snapshot() == theirs.machine.snapshot(), seed
        if simulated.after is not None:
            beginning = Beginning.from_json(simulated.after)
            simulated = Simulated(beginning, random, world, simulated.now)
        elif simulated.is_ended:
            break
        elif random.random() < 0.1:
            simulated.move()
    return simulated


@pytest.mark.campaign
def test_a_history_gives_the_journal_of_the_workflow() -> None:
    ends = [_ended(*_beginning(seed), seed) for seed in PROGRAMS]

    assert sum(each.is_ended for each in ends) > len(ends) // 2
    assert any(each.beginning.seq for each in ends)


@pytest.mark.campaign
def test_code_gives_the_same_journal() -> None:
    """Workers end between any two steps of it, and executions continue as new."""
    statuses = Counter[str]()
    continued = 0
    for seed in CODE:
        random = Random(seed)
        function = random.choice((*CASES.values(), anything))
        built = function.build(loading.project_of(config={})).ir
        given: Any = {"redacted": lambda value: value, "url": "", "origin": ""}
        start = Start(input={"topic": str(seed)})
        beginning = new_beginning(RunId("r"), built, start, SETTINGS, **given)
        few = random.choice((10, 40, 8_000))
        beginning = replace(beginning, events_max=few, intents_max=random.choice((1, 3, 150)))
        end = _ended(beginning, Plan(built), seed)
        statuses[end.pilot.machine.status] += 1
        entries = end.decoder.pilot.take_entries()
        assert not any(each.body.get("by") == "code" for each in entries), seed
        continued += end.beginning.seq > 0
        if end.pilot.machine.status == "failed":
            # What failed is tried again, and perhaps fails again.
            first = (Event("run.resumed", "", 0.0, {}),)
            again = end.decoder.beginning.go_on(end.decoder.pilot, before="e", first=first)
            _ended(again, Plan(built), seed + 1)
    assert statuses["succeeded"] > 0, statuses
    assert statuses["running"] == 0, statuses
    assert continued > 0


def test_all_kinds_that_always_have_effects_are_known_with_their_calls() -> None:
    """Whether `use` has one depends on the function that it names."""
    places = {name: place.split(":") for name, place in KINDS.items() if name != "use"}
    # A format brings this one.
    places["javascript"] = ["whorl.formats.loom.code", "JavaScript"]
    kinds = {name: getattr(import_module(at), kind) for name, (at, kind) in places.items()}

    assert {name: k.calls for name, k in kinds.items() if k.effect != "none"} == EFFECTS


def test_a_log_that_is_too_long_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for loops that declare their state."""
    monkeypatch.setattr(messages, "LOG_MAX", 6_000)
    monkeypatch.setattr(Simulated, "_requests", lambda simulated: [])
    ends = {}
    for function in (endless, endless_with_state):
        built = function.build(loading.project_of(config={})).ir
        given: Any = {"redacted": lambda value: value, "url": "", "origin": ""}
        beginning = new_beginning(RunId("r"), built, Start(), SETTINGS, **given)
        end = _ended(replace(beginning, events_max=40), Plan(built), 5)
        [error] = [e.body["error"] for e in end.decoder.pilot.take_entries() if "outputs" in e.body]
        ends[function.name] = end.pilot.machine.status, error and error["code"]
    assert ends == {"endless": ("failed", "R105"), "endless_with_state": ("succeeded", None)}


@whorl.workflow
async def endless() -> int:
    loop = whorl.loop(int, at_most=30)
    async for turn in loop:
        await asyncio.sleep(1)
        turn.value = turn.number
    return loop.iterations


@whorl.workflow
async def endless_with_state() -> int:
    loop = whorl.loop(int, at_most=30, state=0)
    async for turn in loop:
        await asyncio.sleep(1)
        turn.value = turn.number
    return loop.iterations


def test_a_workflow_that_limits_how_many_of_its_runs_run_at_once_is_refused() -> None:
    workflow = Programs(Random(1), budgets=False, deliveries=False).workflow()
    given: Any = {"redacted": lambda value: value, "url": "", "origin": "server"}

    with pytest.raises(UsageError, match="how many runs of a workflow run at once") as caught:
        new_beginning(RunId("r"), workflow, Start(at_once=1), SETTINGS, **given)

    assert caught.value.code == "W920"
