"""What is not known is said, with the reason; beside each such rule stands one that is answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from experiments.guess import EXPERIMENT, folder, run_json
from experiments.guess import whorl as command
from experiments.programs import Answers, loop_in, run
from whorl.services.experiments.what_if.facts import atoms_in, facts_of
from whorl.services.experiments.what_if.rules import Answer, answer, own_rule

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.ir import Workflow

__all__ = ["folder"]

SCORE = {"score": {"from": "{{ review.score }}", "low": 0, "high": 1}}
OTHER = {"score": {"from": "{{ 1 - review.score }}", "low": 0, "high": 1}}
JUDGE = {"judge": {"question": "Is it good?", "of": "write"}}
AFTER = "iteration >= 3"


def made(until: Any, at_most: Any = 4, write: str = "Write {{ task }}", **repeat: Any) -> Workflow:
    returned = {"score": "number", "approved": "boolean", "feedback": "string"}
    review = {"ask": "Review {{ write }}", "returns": returned}
    steps: dict[str, Any] = {"write": {"ask": write}, "review": review}
    if repeat.pop("together", False):
        pair = {"one": {"ask": "Facts on {{ write }}"}, "two": {"ask": "More on {{ write }}"}}
        steps["both"] = {"together": pair}
    node = {"polish": {"repeat": {"until": until, "at_most": at_most, "steps": steps, **repeat}}}
    return whorl.build("polish", node, inputs={"task": "string"}).ir


def asked(recorded: Workflow, other: Workflow) -> Answer:
    """What the rule of another workflow would have done in a run of the recorded one."""
    runtime, name = run(recorded, Answers(7))
    rule = own_rule(loop_in(other))
    assert rule is not None
    atoms = atoms_in([loop_in(recorded).until, rule.until])
    names = dict(loop_in(other).facts)
    facts = facts_of(runtime.journal, name, atoms, names=names)[0]
    return answer(facts, loop_in(recorded), rule)


def told(until: Any, at_most: int = 4) -> Workflow:
    """A loop whose iterations are told how many there may be, as some dialects do."""
    workflow = made(until, at_most, write="Write {{ task }} within {{ iteration }}")
    loop = replace(loop_in(workflow), facts=(("iteration", "limit"),))
    return replace(workflow, body=replace(workflow.body, nodes=(loop,)))


BEST = "Write {{ task }} {% if best is defined and best %}{{ best.write }}{% endif %}"


@pytest.mark.parametrize(
    ("recorded", "unknown", "known", "code", "words"),
    [
        (
            told("review.score > 2"),
            told("review.score > 2", 2),
            told("review.score > 0.5"),
            "X106",
            "are told their limit, so another at_most would have changed them",
        ),
        (
            made([SCORE, AFTER], write=BEST),
            made([OTHER, AFTER], write=BEST),
            made([SCORE, "iteration >= 2"], write=BEST),
            "X106",
            "see best, which another score would have changed",
        ),
        (made(AFTER), made("iteration >= 4"), made(AFTER, 2), "", "gone on after iteration 3"),
        (
            made(["iteration >= 1", JUDGE]),
            made([AFTER, JUDGE]),
            made(["iteration >= 1", JUDGE], 2),
            "",
            "the judge was not asked in iteration 1",
        ),
        (
            made(AFTER, together=True),
            made(AFTER, {"iterations": 4, "cost": 0.01}, together=True),
            made(AFTER, 2, together=True),
            "X105",
            "calls of iteration 1 overlap",
        ),
    ],
    ids=["limit", "best", "too short", "judge", "overlap"],
)
def test_a_rule_that_the_record_does_not_answer_says_why(
    recorded: Workflow, unknown: Workflow, known: Workflow, code: str, words: str
) -> None:
    refused, answered = asked(recorded, unknown), asked(recorded, known)

    assert not refused.exact
    assert refused.code == code
    assert words in refused.why
    assert answered.exact, answered.why


def test_outputs_that_later_steps_decide_are_not_graded(folder: Path) -> None:
    flow = (folder / "guess.yaml").read_text()
    later = '  tell: {ask: "Guess {{ polish.write }}"}\noutputs: {text: "{{ tell }}"}'
    flow = flow.replace('outputs: {text: "{{ polish.write }}"}', later)
    (folder / "guess.yaml").write_text(flow)
    run_json("experiment", "run", "guess.experiment.yaml")

    refused = command("what-if", "guess.experiment.yaml")
    text = EXPERIMENT.replace("outputs.text", "results.write")
    (folder / "guess.experiment.yaml").write_text(text)
    answered = run_json("what-if", "guess.experiment.yaml")

    assert refused.exit_code == 2
    assert "X108" in refused.stderr
    assert answered["runs"] == 12
