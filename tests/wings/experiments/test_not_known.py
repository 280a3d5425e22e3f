"""What is not known is said, with the reason; beside each such rule stands one that is answered."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from experiments.guess import EXPERIMENT, FILE, GRADE, PLAIN, change, run_json
from experiments.guess import whorl as command
from experiments.programs import Answers, loop_in, run
from whorl.errors import UsageError
from whorl.interpreter.events import Event
from whorl.wings.experiments.what_if.evaluate import Answer, answer, own_rule
from whorl.wings.experiments.what_if.loop_facts import atoms_in, facts_of

if TYPE_CHECKING:
    from whorl.ir import Workflow


SCORE = {"score": {"from": "{{ review.score }}", "low": 0, "high": 1}}
OTHER = {"score": {"from": "{{ 1 - review.score }}", "low": 0, "high": 1}}
JUDGE = {"judge": {"question": "Is it good?", "of": "write"}}
AFTER = "iteration >= 3"


def made(until: Any, at_most: Any = 4, write: str = "Write {{ task }}", **repeat: Any) -> Workflow:
    returned = {"score": "number", "approved": "boolean", "feedback": "string"}
    review = {"ask": "Review {{ write }}", "returns": returned}
    steps: dict[str, Any] = {"write": {"ask": write}, "review": review}
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


OUTPUTS = 'outputs: {text: "{{ polish.write }}"}'


@pytest.mark.parametrize(
    ("later", "grade"),
    [
        ('{ask: "Guess {{ polish.write }}"}', GRADE),
        ('{value: "{{ polish.loop.iterations }}"}', 'grade: "outputs.text == 2"\n'),
    ],
    ids=["asked something else", "how many iterations"],
)
def test_outputs_that_later_steps_decide_are_not_graded(later: str, grade: str) -> None:
    change(OUTPUTS, f'  tell: {later}\noutputs: {{text: "{{{{ tell }}}}"}}')
    change(GRADE, grade, FILE)
    run_json("experiment", "run", FILE)

    refused = command("experiment", "what-if", FILE)
    change(grade, GRADE.replace("outputs.text", "results.write"), FILE)
    answered = run_json("experiment", "what-if", FILE)

    assert (refused.exit_code, answered["runs"]) == (2, 12)
    assert "X106" in refused.stderr
    if grade is GRADE:
        run = run_json("run", "guess.yaml", "-i", "n:=1")["run"]
        (other,) = run_json("experiment", "what-if", run, "--at-most", "1", "--check", "1")
        (same,) = run_json("experiment", "what-if", run, "--at-most", "2")
        assert other["answer"]["returned"] == 1
        assert other["outputs"] is None
        assert same["outputs"] == {"text": "a"}


def test_a_run_that_a_person_steered_is_not_answered_and_the_same_run_before_that_is() -> None:
    workflow = made("iteration >= 9", 3)
    runtime, name = run(workflow, Answers(7))
    loop = loop_in(workflow)
    rule = own_rule(loop_in(made("iteration >= 9", 2)))
    assert rule is not None
    before = answer(facts_of(runtime.journal, name, atoms_in([loop.until]))[0], loop, rule)

    more = {"at": "polish", "iterations": 1, "request": "more"}
    runtime.resume(name, (Event("run.continued", "", runtime.now(), more),))
    after = answer(facts_of(runtime.journal, name, atoms_in([loop.until]))[0], loop, rule)

    assert (before.exact, before.iterations) == (True, 2)
    assert (after.exact, after.why) == (False, "a person has continued the run")


def test_limits_beside_iterations_are_left_out_and_said_to_be() -> None:
    change("at_most: 2", "at_most: {iterations: 4, calls: 3, time: 60s}")
    run = run_json("run", "guess.yaml", "-i", "n:=1")["run"]

    (same,) = run_json("experiment", "what-if", run, "--return", "last")
    shown = command("experiment", "what-if", run, "--at-most", "1").stdout
    with pytest.raises(UsageError, match="no limit of cost, tokens, calls or time") as caught:
        whorl.what_if(run, at_most={"iterations": 2, "cost": 1}, config="whorl.toml")  # type: ignore[arg-type]

    words = "rules are answered as if no limit of calls or time was reached"
    assert same["without"] == words
    assert not same["answer"]["exact"]
    assert words in shown
    assert "what if     1 iteration, returned 1, max_iterations" in shown
    assert caught.value.code == "X106"


MORE = "iteration >= 2"
RANKED = "which another score would have changed"


def seeing(fact: Any, until: Any, at_most: int = 4, **repeat: Any) -> Workflow:
    """A loop whose iterations are told a fact about it by the name `iteration`."""
    write = repeat.pop("write", "Write {{ task }} {{ iteration }}")
    workflow = made(until, at_most, write=write, **repeat)
    loop = replace(loop_in(workflow), facts=(("iteration", fact),))
    return replace(workflow, body=replace(workflow.body, nodes=(loop,)))


def carried(until: Any, at_most: int = 4) -> Workflow:
    """The limit reaches an iteration through a value that is carried."""
    carry = {"left": "{{ iteration }}"}
    return seeing("limit", until, at_most, write="Write {{ task }} {{ left }}", carry=carry)


NEVER, ONCE, LAST = "review.score > 2", "review.score > 0.5", "iteration >= 9"
TOP = {"top": {"best": "{{ write }}"}}


def slow(at_most: int) -> Workflow:
    """The second iteration rests for an hour, on a clock that does not keep anybody waiting."""
    steps = {"write": {"ask": "Write"}, "rest": {"wait": "{{ '1h' if iteration == 2 else '0s' }}"}}
    limits = {"iterations": at_most, "each_time": "2s"}
    loop = {"repeat": {"at_most": limits, "on_failure": "continue", "steps": steps}}
    return whorl.build("polish", {"polish": loop}, inputs={"task": "string"}).ir


@pytest.mark.slow
def test_a_variable_that_the_body_sets_is_known_behind_the_loop_of_a_run() -> None:
    """One run is played with the rule; grades by iteration do not know how many there were."""
    flow = Path("guess.yaml").read_text()
    count = '        count: {set: {seen: "{{ seen + 1 }}"}}\n        review:'
    flow = flow.replace("steps:\n  polish:", "variables: {seen: 0}\nsteps:\n  polish:", 1)
    flow = flow.replace("        review:", count).replace("{{ polish.write }}", "{{ seen }}")
    Path("guess.yaml").write_text(flow)
    text = EXPERIMENT.replace("(outputs.text | length) / 10", "outputs.text == 2")
    Path(FILE).write_text(text)
    run = run_json("run", "guess.yaml", "-i", "n:=1", "--explore", "polish=4")["run"]
    run_json("experiment", "run", FILE)

    for number in (1, 3, 4):
        (found,) = run_json(
            "experiment", "what-if", run, "--at-most", str(number), "--return", "first"
        )
        assert (found["answer"]["returned"], found["outputs"]) == (1, {"text": number})
    refused = command("experiment", "what-if", FILE)
    assert "X106" in refused.stderr
    Path(FILE).write_text(EXPERIMENT.replace("outputs.text", "results.write"))
    assert run_json("experiment", "what-if", FILE)["runs"] == 12


def test_a_rule_that_no_run_answers_has_no_answer_that_is_checked() -> None:
    Path(FILE).write_text(PLAIN)
    run_json("experiment", "run", FILE)

    unknown = command("experiment", "what-if", FILE, "--at-most", "4", "--check", "3").stderr
    known = command("experiment", "what-if", FILE, "--at-most", "1", "--check", "3").stderr

    words = "no answer of this rule could be checked: not known in any of 3 runs that were tried"
    assert words in unknown
    assert "all the same" not in unknown
    assert "3 answers replayed through the engine: all the same" in known


def judged(votes: int, at_most: int = 4) -> Workflow:
    return made({"judge": {"question": "Is it good?", "of": "write", "votes": votes}}, at_most)


SEEN = {"write": "Write {{ task }} {% if best is defined and best %}{{ best.write }}{% endif %}"}
AHEAD = {**SEEN, "check": "before"}
CALLS = {"iterations": 4, "calls": 5}
LIMITED = "read the loop's limit, so another at_most would have changed them"
ASKED = ["iteration >= 1", JUDGE]
# What was recorded, a rule that it does not answer, and one that it does; a code, and why.
ROWS = {
    "limit": (told(NEVER), told(NEVER, 2), told(ONCE), "X106", LIMITED),
    "limit carried": (carried(NEVER), carried(NEVER, 2), carried(ONCE), "X106", LIMITED),
    "score": (
        *(seeing("score", [SCORE, NEVER]), seeing("score", [OTHER, NEVER])),
        *(seeing("score", [SCORE, ONCE]), "X106", f"see score, {RANKED}"),
    ),
    "collect the best": (
        *(made([SCORE, AFTER], collect=TOP), made([OTHER, AFTER], collect=TOP)),
        *(made([SCORE, MORE], collect=TOP), "X106", f"see best, {RANKED}"),
    ),
    "best": (
        *(made([SCORE, AFTER], **SEEN), made([OTHER, AFTER], **SEEN)),
        *(made([SCORE, MORE], **SEEN), "X106", f"see best, {RANKED}"),
    ),
    "ahead": (
        *(made([SCORE, AFTER], **AHEAD), made([SCORE, MORE], **AHEAD)),
        *(made([SCORE, AFTER], 2, **AHEAD), "X106"),
        "see best, which another condition would have changed",
    ),
    "person": (
        *(made(AFTER, on_limit="pause"), made(AFTER, 2, on_limit="pause")),
        *(made(MORE, on_limit="pause"), "", "a person would have been asked at the limit"),
    ),
    "too short": (
        *(made(AFTER), made("iteration >= 4"), made(AFTER, 2)),
        *("", "continued after iteration 3"),
    ),
    "judge": (
        *(made(ASKED), made([AFTER, JUDGE]), made(ASKED, 2)),
        *("", "the judge was not asked in iteration 1"),
    ),
    "votes": (judged(3), judged(5), judged(3, 1), "", "votes in iteration 1, not 5"),
    "cut": (made(LAST, CALLS), made(LAST, 3), made(LAST, 2), "", "iteration 3 was cut"),
    "timed out": (slow(3), slow(2), slow(1), "", "iteration 2 timed out"),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_rule_that_the_record_does_not_answer_says_why(row: str) -> None:
    recorded, unknown, known, code, words = ROWS[row]
    refused, answered = asked(recorded, unknown), asked(recorded, known)

    assert (refused.exact, refused.code) == (False, code)
    assert words in refused.why
    assert answered.exact, answered.why
