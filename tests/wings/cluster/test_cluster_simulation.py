"""Whatever comes together, and in whatever order: the history gives the workflow's own journal."""

from __future__ import annotations

from importlib import import_module
from random import Random
from typing import Any

import pytest

import whorl
from campaign import seeds
from cluster.simulated import TURNS_MAX, Simulated
from simulation.programs import Programs
from simulation.world import World
from whorl.errors import UsageError
from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import Event
from whorl.interpreter.plan import Plan
from whorl.ir import content_hash, to_json
from whorl.providers.registry import KINDS
from whorl.providers.settings import TemporalSettings
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.start_options import Start
from whorl.wings.cluster.messages import EFFECTS, Beginning, event_to_json, new_beginning

PROGRAMS = seeds(100, 2_000)
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


@pytest.mark.campaign
def test_a_history_gives_the_journal_of_the_workflow() -> None:
    ended = continued = 0
    for seed in PROGRAMS:
        beginning, plan = _beginning(seed)
        random, world, now = Random(seed), World(plan, seed), 1_700_000_000.0
        simulated = Simulated(beginning, random, world, now)
        for _ in range(TURNS_MAX):
            simulated.turn()
            mine, theirs = simulated.pilot, simulated.decoder.pilot
            assert (mine.seq, mine.digest) == (theirs.seq, theirs.digest), seed
            assert mine.machine.snapshot() == theirs.machine.snapshot(), seed
            if simulated.after is not None:
                continued += 1
                beginning = Beginning.from_json(simulated.after)
                simulated = Simulated(beginning, random, world, simulated.now)
            elif simulated.is_ended:
                ended += 1
                break
    assert ended > len(PROGRAMS) // 2
    assert continued > 0


def test_all_kinds_that_always_have_effects_are_known_with_their_calls() -> None:
    """Whether `use` has one depends on the function that it names."""
    places = {name: place.split(":") for name, place in KINDS.items() if name != "use"}
    # A format brings this one.
    places["javascript"] = ["whorl.formats.loom.code", "JavaScript"]
    kinds = {name: getattr(import_module(at), kind) for name, (at, kind) in places.items()}

    assert {name: k.calls for name, k in kinds.items() if k.effect != "none"} == EFFECTS


def test_a_workflow_function_is_refused() -> None:
    @whorl.workflow
    async def greet() -> str:
        return await whorl.ask("Say hello")

    given: Any = {"redacted": lambda value: value, "url": "", "origin": "server"}

    with pytest.raises(UsageError, match="no code of a workflow function"):
        new_beginning(RunId("r"), greet.workflow.ir, Start(), SETTINGS, **given)


def test_a_workflow_that_limits_how_many_of_its_runs_run_at_once_is_refused() -> None:
    workflow = Programs(Random(1), budgets=False, deliveries=False).workflow()
    given: Any = {"redacted": lambda value: value, "url": "", "origin": "server"}

    with pytest.raises(UsageError, match="how many runs of a workflow run at once") as caught:
        new_beginning(RunId("r"), workflow, Start(at_once=1), SETTINGS, **given)

    assert caught.value.code == "W920"
