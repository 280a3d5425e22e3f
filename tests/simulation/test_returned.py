"""What a loop returns is allowed by its rules, whatever its verdicts, scores and failures are.

The oracle below knows the rules only: which iterations were approved, which have a score, which
failed. It is written without a look at how the engine goes about it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest

from campaign import seeds
from whorl import ir
from whorl.interpreter.events import Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan

ENDS = {"approved", "not approved", "failed"}
LIMIT = 6
LOW, HIGH = 0.0, 1.0


@dataclass(frozen=True, slots=True)
class Turn:
    """What happens in one iteration."""

    good: bool
    score: float | None
    text: str
    verdict: str
    fails: bool = False

    @property
    def value(self) -> dict[str, Any]:
        return {"good": self.good, "score": self.score, "text": self.text}

    @property
    def counted(self) -> float | None:
        """The score, where it is in its range."""
        is_there = self.score is not None and LOW <= self.score <= HIGH
        return self.score if is_there else None


def _turns(random: Random) -> list[Turn]:
    return [
        Turn(
            good=random.random() < 0.3,
            score=random.choice((None, 9.0, 0.1, 0.3, 0.5, 0.5, 0.7, 0.95)),
            text=random.choice("abc"),
            verdict=random.choice(("met", "not_met", "not_met")),
            fails=random.random() < 0.2,
        )
        for _ in range(LIMIT)
    ]


def _read(source: str) -> ir.Expression:
    return ir.Expression("jinja", f"{{{{ {source} }}}}")


def _leaf(random: Random) -> ir.Condition:
    leaves: tuple[ir.Condition, ...] = (
        ir.When(ir.Expression("jinja", "work.good")),
        ir.Score(_read("work.score"), at_least=0.9, low=LOW, high=HIGH),
        ir.Judge(ir.Constant("good?"), _read("work.text")),
        ir.Stable(_read("work.text"), 1.0),
        ir.Plateau(2),
    )
    return random.choice(leaves)


def _tree(random: Random, depth: int) -> ir.Condition:
    if depth == 0 or random.random() < 0.4:
        return _leaf(random)
    parts = tuple(_tree(random, depth - 1) for _ in range(random.randrange(1, 4)))
    return random.choice((ir.AnyOf, ir.AllOf))(parts)


def _approves(condition: ir.Condition, turn: Turn, asked: list[bool]) -> bool | None:
    """Whether a condition finds a turn good; None: it says nothing about that.

    `asked` says of each judge, in the order in which they are written, whether it was asked.
    """
    match condition:
        case ir.AnyOf():
            found = [_approves(part, turn, asked) for part in condition.conditions]
            return any(found)
        case ir.AllOf():
            told = [_approves(part, turn, asked) for part in condition.conditions]
            known = [one for one in told if one is not None]
            return all(known) if known else None
        case ir.When():
            return turn.good
        case ir.Score():
            if condition.at_least is None:
                return None
            return turn.counted is not None and turn.counted >= condition.at_least
        case ir.Judge():
            return asked.pop(0) and turn.verdict == "met"
    return None


def _loop(random: Random) -> ir.Loop:
    measured = ir.Score(_read("work.score"), low=LOW, high=HIGH)
    until = ir.AnyOf((measured, _tree(random, 2)))
    return ir.Loop(
        name="loop",
        body=ir.Block((ir.Task(name="work", kind="use", retry=ir.Retry(0)),)),
        until=until,
        limits=ir.LoopLimits(LIMIT),
        returns=random.choice(("best", "best", "best", "last", "first")),
        collect=(ir.Collect("kept", "best", _read("work")),),
        on_iteration_failure=ir.IterationFailure("continue"),
    )


def _run(loop: ir.Loop, turns: list[Turn]) -> tuple[Machine, set[str]]:
    """Runs the loop; gives the addresses of the judges that were asked."""
    outputs = (("kept", _read("loop.kept")), ("work", _read("loop.work")))
    workflow = ir.Workflow(name="w", body=ir.Block((loop,)), outputs=outputs)
    machine = Machine(Plan(workflow))
    machine.feed(Event("run.started", "", 0.0, {}))
    asked: set[str] = set()
    while not machine.done:
        for command in machine.poll():
            address = getattr(command, "address", "")
            number = int(address.partition("[")[2].partition("]")[0])
            turn = turns[number - 1]
            body: dict[str, Any] = {"value": turn.value}
            if ":judge" in address:
                asked.add(address)
                body = {"value": {"verdict": turn.verdict, "answer": "so"}}
            if turn.fails and ":judge" not in address:
                fault = {"code": "P101", "message": "no", "retryable": False}
                machine.feed(Event("task.failed", address, 0.0, {"error": fault}))
            else:
                machine.feed(Event("task.finished", address, 0.0, body))
    return machine, asked


def _judges(asked: set[str], number: int) -> list[bool]:
    names = ("judge", *(f"judge{index}" for index in range(2, 20)))
    return [f"loop[{number}]/:{name}" in asked for name in names]


def _check(seed: int) -> str:
    random = Random(seed)
    loop, turns = _loop(random), _turns(random)
    machine, asked = _run(loop, turns)
    notes = [note for note in machine.take_notes() if note.kind == "loop.finished"]
    summary: Any = notes[-1].body
    count = summary["iterations"]
    done = {n: turns[n - 1] for n in range(1, count + 1) if not turns[n - 1].fails}
    if not done:
        assert machine.status == "failed"
        return "failed"
    assert loop.until is not None
    approved = {n: bool(_approves(loop.until, t, _judges(asked, n))) for n, t in done.items()}
    ranked = [(approved[n], -1.0 if t.counted is None else t.counted, -n) for n, t in done.items()]
    best = [one for one in ranked if one[0] or one[1] >= 0]
    expected_best = -max(best)[2] if best else None
    returned = {"last": max(done), "first": min(done), "best": expected_best or max(done)}

    assert summary["best_iteration"] == expected_best, (turns[:count], approved)
    assert summary["returned_iteration"] == returned[loop.returns]
    outputs = machine.state["result"]["outputs"]
    assert outputs["work"] == done[returned[loop.returns]].value
    assert outputs["kept"] == (done[expected_best].value if expected_best else None)
    return "approved" if any(approved.values()) else "not approved"


@pytest.mark.sample(3)
@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(600, 6_000))
def test_what_is_returned_is_allowed(seed: int) -> None:
    assert _check(seed) in ENDS


def test_some_of_these_loops_approve_and_some_do_not() -> None:
    assert {_check(seed) for seed in range(200)} >= ENDS - {"failed"}
