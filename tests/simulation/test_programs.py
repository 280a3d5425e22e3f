"""Random programs come to the same end however often they crash, and leave nothing behind."""

from __future__ import annotations

from random import Random

import pytest

from campaign import seeds
from simulation.machines import begun, error_of, feed
from simulation.runs import crashed, plan_of, result, straight, told
from whorl import ir
from whorl.interpreter import machine as machine_module

SEEDS = seeds(200, 4_000)


@pytest.mark.sample(7)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_crashes_do_not_change_the_end_of_a_program(seed: int) -> None:
    plan = plan_of(seed)
    clean = straight(plan, seed)
    for number in range(3):
        again = crashed(plan, seed, Random(seed * 10 + number))

        assert result(clean) == result(again), f"seed {seed}, crashes {number}"
        assert set(clean.performed) == set(again.performed), f"seed {seed}, crashes {number}"
        assert told(clean.notes) == told(again.notes), f"seed {seed}, crashes {number}"


@pytest.mark.sample(4)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS)
def test_budgets_hold_and_count_what_was_used(seed: int) -> None:
    """A call in doubt counts as paid for, so that crashes may end such programs earlier."""
    plan = plan_of(seed, budgets=True, deliveries=True)
    straight(plan, seed)
    for number in range(3):
        crashed(plan, seed, Random(seed * 10 + number))


@pytest.mark.slow
def test_crashes_do_lose_replies_that_can_be_had_again() -> None:
    """Otherwise the tests above would show nothing about them."""
    lost = [crashed(plan_of(seed), seed, Random(seed)).lost for seed in range(120)]

    assert sum(lost) > 30


def test_a_run_that_never_waits_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_module, "STEPS_MAX", 1_000)
    one = ir.Compute(name="one", value=ir.Constant(1))
    inner = ir.Loop(name="inner", body=ir.Block((one,)), limits=ir.LoopLimits(10**6))
    machine = begun(inner)

    assert machine.status == "failed"
    assert error_of(machine)["code"] == "R105"


def test_history_and_frames_do_not_grow_with_iterations() -> None:
    ask = ir.Task(name="ask", kind="use")
    loop = ir.Loop(name="loop", body=ir.Block((ask,)), limits=ir.LoopLimits(10**6), history_keep=5)
    machine = begun(loop)
    sizes = []
    for number in range(1, 1_001):
        machine.poll()
        feed(machine, "task.finished", f"loop[{number}]/ask", value="x" * 20)
        machine.take_notes()
        sizes.append(len(machine.snapshot()))

    assert max(sizes[500:]) <= sizes[10] + 60
