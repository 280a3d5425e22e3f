"""Blocks: retries of nodes, places of a block that runs so many at once, and work per event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import pytest

from simulation.machines import begun, fail, feed, finish, wanted
from whorl import ir
from whorl.interpreter.constructs import block as block_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.machine import Machine

NEVER = ir.Retry(0)
VARIABLE = (("v", ir.Constant(0)),)


def group(name: str, retry: ir.Retry | None = None, **fields: Any) -> ir.Group:
    task = ir.Task(name="t", kind="ask", retry=NEVER)
    return ir.Group(name=name, body=ir.Block((task,)), retry=retry, **fields)


def set_variable(machine: Machine) -> None:
    machine.root_values(machine.frames[machine.state["root"]]["own_scope"])["v"] = 1


def test_a_node_is_retried_as_often_after_a_loop_before_it_was_continued() -> None:
    ask = ir.Task(name="a", kind="ask")
    loop = ir.Loop(name="l", body=ir.Block((ask,)), limits=ir.LoopLimits(1))
    machine = begun(loop, group("g", ir.Retry(1, wait_s=1.0), after=(ir.After("l"),)))
    finish(machine, "l[1]/a")
    fail(machine, "g/t")
    feed(machine, "timer.fired", "g/:retry", 1.0)
    finish(machine, "g#2/t")
    assert machine.status == "succeeded"

    feed(machine, "run.continued", at=2.0, iterations=1)
    finish(machine, "l[2]/a", at=2.0)
    fail(machine, "g#3/t", at=2.0)

    assert machine.pending["g/:retry"]["due"] == 3.0
    feed(machine, "timer.fired", "g/:retry", 3.0)
    fail(machine, "g#4/t", at=3.0)
    assert machine.status == "failed"


def test_a_node_is_retried_as_often_after_the_run_was_resumed() -> None:
    machine = begun(group("g", ir.Retry(1, wait_s=1.0)))
    fail(machine, "g/t")
    feed(machine, "timer.fired", "g/:retry", 1.0)
    fail(machine, "g#2/t")
    assert machine.status == "failed"

    feed(machine, "run.resumed", at=2.0)
    fail(machine, "g#2/t#2", at=2.0)

    assert "g/:retry" in machine.pending


def test_a_node_asks_for_a_place_after_the_pause_before_its_retry() -> None:
    machine = begun(*(group(f"g{n}", ir.Retry(1, wait_s=5.0)) for n in range(4)), concurrency=2)
    assert wanted(machine) == ["g0/t", "g1/t"]
    fail(machine, "g0/t")
    assert wanted(machine) == ["g2/t"]
    feed(machine, "timer.fired", "g0/:retry", 6.0)
    assert wanted(machine) == []
    finish(machine, "g1/t", at=6.0)
    assert wanted(machine) == ["g3/t"]
    finish(machine, "g2/t", at=6.0)

    assert wanted(machine) == ["g0#2/t"]
    finish(machine, "g0#2/t", "g3/t", at=6.0)
    assert machine.status == "succeeded"


def test_a_retry_that_waits_for_a_place_does_not_look_at_its_condition_again() -> None:
    first = group("g0", ir.Retry(1, wait_s=5.0), when=ir.Expression("jinja", "v == 0"))
    machine = begun(first, group("g1"), group("g2"), concurrency=1, variables=VARIABLE)
    fail(machine, "g0/t")
    set_variable(machine)
    feed(machine, "timer.fired", "g0/:retry", 6.0)
    machine.poll()
    finish(machine, "g1/t", "g2/t", at=6.0)

    assert wanted(machine) == ["g0#2/t"]


def test_nodes_that_go_on_where_they_failed_ask_for_a_place() -> None:
    machine = begun(*(group(f"g{n}") for n in range(3)), concurrency=1)
    machine.poll()
    fail(machine, "g0/t", "g1/t", "g2/t")
    assert machine.status == "failed"
    feed(machine, "run.resumed", at=1.0)
    for number in range(3):
        assert wanted(machine) == [f"g{number}/t#2"]
        finish(machine, f"g{number}/t#2", at=1.0)

    assert machine.status == "succeeded"


def test_a_node_that_is_to_go_on_survives_another_halt() -> None:
    """What it did before it failed is not done again."""
    one = ir.Task(name="t", kind="ask", retry=NEVER)
    two = ir.Task(name="u", kind="ask", retry=NEVER, after=(ir.After("t"),))
    wrong = ir.Compute(name="wrong", value=ir.Expression("jinja", "{{ 1 // v }}"))
    both = ir.Group(name="g", body=ir.Block((one, two)))
    machine = begun(both, wrong, on_failure="halt", variables=VARIABLE)
    finish(machine, "g/t")
    fail(machine, "g/u")
    feed(machine, "run.resumed", at=1.0)
    assert machine.status == "failed"
    set_variable(machine)
    machine.poll()
    feed(machine, "run.resumed", at=2.0)

    assert wanted(machine) == ["g/u#2"]
    finish(machine, "g/u#2", at=2.0)
    assert machine.status == "succeeded"


def test_nothing_is_retried_in_a_block_that_was_halted() -> None:
    nodes = (group("g0"), group("g1", ir.Retry(3, wait_s=1.0)), group("g2"))
    machine = begun(*nodes, on_failure="halt")
    fail(machine, "g0/t", "g1/t")
    assert "g1/:retry" not in machine.pending
    finish(machine, "g2/t")

    assert machine.status == "failed"
    feed(machine, "run.resumed", at=1.0)
    finish(machine, "g0/t#2", "g1/t#2", at=1.0)
    assert machine.status == "succeeded"


def test_a_value_that_cannot_be_computed_halts_the_block_at_once() -> None:
    wrong = ir.Compute(name="wrong", value=ir.Expression("jinja", "{{ 1 // 0 }}"))
    machine = begun(wrong, ir.Task(name="t", kind="ask"), on_failure="halt")

    assert machine.status == "failed"
    assert wanted(machine) == []


class Watched(dict[str, Any]):
    """A dictionary that counts how much of it is gone through."""

    looked = 0

    def __iter__(self) -> Any:
        type(self).looked += len(self)
        return super().__iter__()

    def values(self) -> Any:
        type(self).looked += len(self)
        return super().values()

    def items(self) -> Any:
        type(self).looked += len(self)
        return super().items()


def _looked_at(machine: Machine, ends: Callable[[Machine, str], None], address: str) -> int:
    """How much is gone through when a task ends, and not the run with it."""
    Watched.looked = 0
    for frame in machine.frames.values():
        for name in ("children", "ends"):
            if name in frame:
                frame[name] = Watched(frame[name])
    ends(machine, address)
    return 0 if machine.done else Watched.looked


@pytest.mark.parametrize("on_failure", ["go_on", "halt", "cancel"])
@pytest.mark.parametrize("concurrency", [None, 2])
def test_the_end_of_a_node_does_not_look_at_all_others(
    on_failure: Literal["go_on", "halt", "cancel"],
    concurrency: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also not after one has failed; only the end of the block does."""
    considered: list[str] = []
    let_in = block_module._let_in

    def counted(machine: Machine, key: str, plan: Any, name: str, more: list[str]) -> None:
        considered.append(name)
        let_in(machine, key, plan, name, more)

    monkeypatch.setattr(block_module, "_let_in", counted)
    width = 120
    nodes = tuple(group(f"g{n}") for n in range(width))
    machine = begun(*nodes, on_failure=on_failure, concurrency=concurrency)
    considered.clear()

    _looked_at(machine, fail, "g0/t")
    # Whatever it ends with it, each of them once.
    assert Watched.looked <= 2 * width
    assert max(_looked_at(machine, finish, f"g{n}/t") for n in range(1, width - 1)) <= 10
    assert len(considered) <= 2 * width


def test_stopping_to_wait_does_not_look_at_all_that_is_waited_for() -> None:
    machine = begun()
    key = machine.new_frame("run", parent=None, scope="")
    for number in range(3):
        machine.expect(f"a{number}", key, "alarm", due=1.0)
    machine.settle("a1")

    assert list(machine.frames[key]["waits"]) == ["a0", "a2"]
    assert isinstance(machine.frames[key]["waits"], dict)
