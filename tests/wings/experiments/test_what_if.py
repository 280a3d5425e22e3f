"""What-if equals the run: random programs and rules, answered from one recorded run."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from campaign import seeds
from experiments.programs import (
    EVERYTHING,
    Answers,
    draw_rule,
    draw_shape,
    drawn,
    loop_in,
    notes,
    program,
    run,
)
from whorl.services.replay import recording_from_run
from whorl.wings.experiments.what_if.evaluate import Answer, answer, own_rule
from whorl.wings.experiments.what_if.loop_facts import atoms_in, facts_of
from whorl.wings.experiments.what_if.query import played

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.runtimes.simulated import SimulatedRuntime


RULES = 6
_NOTHING: dict[str, Any] = {"status": "", "outputs": {}, "loops": [], "error": None}


class _Recorded:
    """The journal of a run in virtual time, asked as a store is."""

    def __init__(self, runtime: SimulatedRuntime) -> None:
        self.read = runtime.journal.read

    def run(self, run: str) -> Any:
        return SimpleNamespace(name="polish")


def _said(answered: Answer) -> dict[str, Any]:
    return {
        "iterations": answered.iterations,
        "exit_reason": answered.exit_reason,
        "stopped_by": answered.stopped_by or None,
        "returned_iteration": answered.returned,
        "cost": round(answered.usage.get("cost_usd", 0), 6),
        "calls": answered.usage.get("calls", 0),
    }


def _done(note: dict[str, Any]) -> dict[str, Any]:
    names = ("iterations", "exit_reason", "stopped_by", "returned_iteration")
    used = note["usage"]
    facts = {name: note[name] for name in names}
    return facts | {"cost": round(used.get("cost_usd", 0), 6), "calls": used.get("calls", 0)}


def _compare(seed: int, recorded: dict[str, Any], **options: Any) -> Counter[str]:
    """Answers rules from one recorded run, and holds each to a run with that rule."""
    r = drawn("program", seed)
    shape = draw_shape(r)
    answers = Answers(seed, shape.failing)
    file = program(shape, recorded)
    rules = [draw_rule(drawn("rule", seed, number)) for number in range(RULES)]
    for rule in rules:
        rule["at_most"] = rule["at_most"]["iterations"]
    workflows: list[Workflow] = [program(shape, rule) for rule in rules]
    runtime, name = run(file, answers, **options)
    atoms = atoms_in(loop_in(each).until for each in (file, *workflows))
    names = {n: fact for each in workflows for n, fact in loop_in(each).facts}
    facts = facts_of(runtime.journal, name, atoms, names=names)[0]
    counts: Counter[str] = Counter()
    recording = recording_from_run(_Recorded(runtime), name, _NOTHING)  # type: ignore[arg-type]
    for workflow in workflows:
        rule = own_rule(loop_in(workflow))
        assert rule is not None
        answered = answer(facts, loop_in(file), rule)
        if not answered.exact:
            assert answered.why
            counts["not known"] += 1
            continue
        counts["answered"] += 1
        real, real_name = run(workflow, answers)
        assert _said(answered) == _done(notes(real, real_name, "loop.finished")[-1]), (seed, rule)
        found = played(file, loop_in(file), rule, recording)
        ended = notes(real, real_name, "run.finished")[-1]
        assert not found.misses
        assert found.result["status"] == ended["status"], (seed, rule)
        assert found.result["outputs"] == ended.get("outputs", {}), (seed, rule)
    return counts


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("kind", ["exploring", "ordinary"])
def test_what_if_equals_the_run(kind: str) -> None:
    """Of a run that explored, and of one under some rule."""
    everything = {"until": EVERYTHING, "at_most": 4, "return": "last"}
    counts: Counter[str] = Counter()
    for seed in seeds(40, 300):
        rule = draw_rule(drawn("recorded", seed))
        if kind == "exploring":
            counts += _compare(seed, everything, explore={"polish": 9})
        else:
            counts += _compare(seed, rule)

    print(f"rules that equal a run with them: {dict(counts)}")
    answered, unknown = counts["answered"], counts["not known"]
    assert answered > unknown if kind == "exploring" else min(answered, unknown) > 20


@pytest.mark.slow
@pytest.mark.campaign
def test_exploring_changes_no_result() -> None:
    """Neither what the loop returns nor how it ended, nor what comes after it."""
    for seed in seeds(60, 300):
        r = drawn("program", seed)
        shape, rule = draw_shape(r), draw_rule(drawn("exploring", seed))
        rule["at_most"] = rule["at_most"]["iterations"]
        workflow, answers = program(shape, rule), Answers(seed, shape.failing)
        plain, name = run(workflow, answers)
        long, long_name = run(workflow, answers, explore={"polish": 8})
        wanted, found = (
            {"loop": notes(each, run_name, "loop.finished")[-1]}
            | {"end": notes(each, run_name, "run.finished")[-1]}
            for each, run_name in ((plain, name), (long, long_name))
        )
        explored = found["loop"].pop("explored")
        for each in (wanted, found):
            del each["loop"]["seconds"], each["end"]["usage"]
            usage = each["loop"].pop("usage")
            each["spent"] = {n: round(amount, 6) for n, amount in usage.items()}

        assert found == wanted, (seed, shape, rule)
        assert explored >= wanted["loop"]["iterations"]
