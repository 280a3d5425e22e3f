"""Forks of random programs keep the past, redo one iteration, and end whatever happens."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from campaign import seeds
from simulation.forks import check_notes, check_results, forked, journal_of, stored_as_it_went
from simulation.requests import pestered, settle
from simulation.runs import check_end, check_step, plan_of, result, told
from simulation.world import World

if TYPE_CHECKING:
    from simulation.forks import Forked
    from whorl.interpreter.plan import Plan

SEEDS = seeds(150, 1_000)


def _source(plan: Plan, seed: int, random: Random) -> World:
    """A run that has ended, was stopped, or was steered by people."""
    if random.random() < 0.4:
        return pestered(plan, seed, random)
    world = World(plan, seed)
    world.start()
    left = random.choice((1_000, random.randrange(12)))
    while left and not world.is_at_rest():
        world.happen(world.choices()[0])
        left -= 1
    return world


def _driven(found: Forked, seed: int, crashes: Random | None) -> World:
    world = found.world(seed)
    while not world.machine.done:
        if crashes is not None and crashes.random() < 0.2:
            world.crash(from_snapshot=True)
        elif world.is_at_rest():
            settle(world)
        else:
            world.happen(world.choices()[0])
        check_step(world)
    check_end(world)
    check_notes(world.notes)
    return world


def _fork(seed: int, *, budgets: bool) -> int:
    """Forks a run, and that fork again; gives the number of forks."""
    plan = plan_of(seed, budgets=budgets, deliveries=budgets)
    random = Random(seed)
    world = _source(plan, seed, random)
    journal, run = journal_of(world, plan)
    for count in range(2):
        check_results(journal, run)
        now = world.now + random.choice((0.0, 100_000.0))
        found = forked(journal, run, plan, now, random)
        if found is None:
            return count
        world = _driven(found, seed, None)
        crashed = _driven(found, seed, Random(seed))
        if not budgets:
            assert result(world) == result(crashed)
            assert set(world.performed) == set(crashed.performed)
            assert told(world.notes) == told(crashed.notes)
        journal, run = stored_as_it_went(found, world)
    return 2


@pytest.mark.sample(9)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_a_fork_redoes_one_iteration_and_ends(seed: int) -> None:
    _fork(seed, budgets=False)


@pytest.mark.sample(7)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_a_fork_has_a_budget_of_its_own(seed: int) -> None:
    _fork(seed, budgets=True)


@pytest.mark.slow
def test_many_of_these_programs_have_iterations() -> None:
    """Otherwise the tests above would show nothing."""
    assert sum(_fork(seed, budgets=False) for seed in range(50)) > 25
