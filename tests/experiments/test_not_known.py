"""What is not known is said, with the reason; beside each such rule stands one that is answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from experiments.guess import EXPERIMENT, folder, run_json
from experiments.guess import whorl as command
from experiments.programs import Answers, loop_in, run
from whorl.interpreter.events import Event
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime
from whorl.services.experiments.variants import find_loop
from whorl.services.experiments.what_if.facts import atoms_in
from whorl.services.experiments.what_if.folding import facts_of
from whorl.services.experiments.what_if.rules import Answer, own_rule
from whorl.services.experiments.what_if.walking import answer

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
        (
            made([SCORE, AFTER], write=BEST, check="before"),
            made([SCORE, "iteration >= 2"], write=BEST, check="before"),
            made([SCORE, AFTER], 2, write=BEST, check="before"),
            "X106",
            "see best, which another condition would have changed",
        ),
        (
            made(AFTER, on_limit="pause"),
            made(AFTER, 2, on_limit="pause"),
            made("iteration >= 2", on_limit="pause"),
            "",
            "a person would have been asked at the limit",
        ),
        (
            made(AFTER, check="before", wait="1s"),
            made(AFTER, {"iterations": 4, "time": "2s"}, check="before", wait="1s"),
            made("iteration >= 2", check="before", wait="1s"),
            "",
            "is checked after a pause, so that a time limit cannot be answered",
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
    ids=["limit", "best", "ahead", "person", "time", "too short", "judge", "overlap"],
)
def test_a_rule_that_the_record_does_not_answer_says_why(
    recorded: Workflow, unknown: Workflow, known: Workflow, code: str, words: str
) -> None:
    refused, answered = asked(recorded, unknown), asked(recorded, known)

    assert not refused.exact
    assert refused.code == code
    assert words in refused.why
    assert answered.exact, answered.why


@pytest.mark.slow
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


BEHIND = {
    "computed from it": (
        '  tell: {value: "{{ polish.write }}{{ n }}"}\noutputs: {text: "{{ tell }}"}',
        [2, 3, 4, 5],
    ),
    "asked something else that is always the same": (
        '  sign: {ask: "Guess {{ n }} now"}\noutputs: {text: "{{ polish.write }}{{ sign }}"}',
        [2, 3, 4, 5],
    ),
    "asked beside it": (
        '  tell: {ask: "Guess {{ n }} now", after: polish}\noutputs: {text: "{{ polish.write }}"}',
        [1, 2, 3, 4],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BEHIND)
def test_outputs_are_known_where_no_later_step_is_asked_something_else(
    folder: Path, name: str
) -> None:
    later, lengths = BEHIND[name]
    flow = (folder / "guess.yaml").read_text()
    flow = flow.replace('outputs: {text: "{{ polish.write }}"}', later)
    (folder / "guess.yaml").write_text(flow)
    cases = "n\n" + "7\n" * 12
    (folder / "cases.csv").write_text(cases)
    run_json("experiment", "run", "guess.experiment.yaml")

    for number, length in enumerate(lengths, 1):
        found = run_json("what-if", "guess.experiment.yaml", "--at-most", str(number))
        grades = {row["at_most"]: row["grade"] for row in found["rules"]}
        assert grades[number] == pytest.approx(length / 10)


def test_outputs_that_depend_on_how_many_iterations_there_were_are_not_known(
    folder: Path,
) -> None:
    flow = (folder / "guess.yaml").read_text()
    later = '  tell: {value: "{{ polish.loop.iterations }}"}\noutputs: {text: "{{ tell }}"}'
    flow = flow.replace('outputs: {text: "{{ polish.write }}"}', later)
    (folder / "guess.yaml").write_text(flow)
    text = EXPERIMENT.replace("(outputs.text | length) / 10", "outputs.text == 2")
    (folder / "guess.experiment.yaml").write_text(text)
    run_json("experiment", "run", "guess.experiment.yaml")

    refused = command("what-if", "guess.experiment.yaml")

    assert refused.exit_code == 2
    assert "X108" in refused.stderr


def test_a_later_step_that_was_asked_something_else_gives_no_outputs(folder: Path) -> None:
    flow = (folder / "guess.yaml").read_text()
    later = '  tell: {ask: "Guess {{ polish.write }}"}\noutputs: {text: "{{ tell }}"}'
    flow = flow.replace('outputs: {text: "{{ polish.write }}"}', later)
    (folder / "guess.yaml").write_text(flow)
    run = run_json("run", "guess.yaml", "-i", "n:=1")["run"]

    (other,) = run_json("what-if", run, "--at-most", "1", "--check", "1")
    (same,) = run_json("what-if", run, "--at-most", "2")

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


def test_loops_inside_another_loop_are_answered_each_as_it_began() -> None:
    inner = {"repeat": {"until": AFTER, "at_most": 4, "steps": {"write": {"ask": "Write"}}}}
    outer = {"repeat": {"at_most": 2, "steps": {"inner": inner}}}
    workflow = whorl.build("nested", {"outer": outer}, inputs={"task": "string"}).ir
    runtime, name = run(workflow, Answers(7))
    loop = find_loop(workflow, "inner")
    rule = own_rule(loop)
    assert rule is not None

    found = facts_of(runtime.journal, name, atoms_in([loop.until]), loop="inner")
    answers = [answer(facts, loop, replace(rule, at_most=2)) for facts in found]

    assert [facts.address for facts in found] == ["outer[1]/inner", "outer[2]/inner"]
    assert [(each.exact, each.iterations) for each in answers] == [(True, 2), (True, 2)]


def test_limits_are_asked_for_as_a_file_has_them(folder: Path) -> None:
    run = run_json("run", "guess.yaml", "-i", "n:=1")["run"]

    (found,) = run_json("what-if", run, "--at-most", "{iterations: 2, time: 60s, calls: 3}")
    shown = command("what-if", run, "--at-most", "{iterations: 2, time: 60s}")
    wrong = command("what-if", run, "--at-most", "{iteration: 2}")

    assert (found["answer"]["iterations"], found["answer"]["exit_reason"]) == (2, "budget")
    assert found["answer"]["by_clock"]
    assert "by the recorded clock" in shown.stdout
    assert wrong.exit_code == 2
    assert "did you mean 'iterations'" in wrong.stderr


def test_loops_inside_another_one_are_told_each_by_itself(folder: Path) -> None:
    inner = "inner: {repeat: {at_most: 3, steps: {write: {value: '{{ iteration }}'}}}}"
    flow = f"whorl: 1\nsteps:\n  outer: {{repeat: {{at_most: 2, steps: {{{inner}}}}}}}\n"
    (folder / "nested.yaml").write_text(flow)
    run = run_json("run", "nested.yaml")["run"]

    shown = command("what-if", run, "--loop", "inner", "--at-most", "2").stdout
    found = run_json("what-if", run, "--loop", "inner", "--at-most", "2")

    assert [one["loop"] for one in found] == ["outer[1]/inner", "outer[2]/inner"]
    assert [one["answer"]["iterations"] for one in found] == [2, 2]
    assert [one["outputs"] for one in found] == [None, None]
    assert "each of the 2 loops is answered as it began" in shown


def test_runs_that_remember_each_other_are_no_sample(folder: Path) -> None:
    steps = "steps: {write: {value: '{{ iteration }}'}}"
    memory = "memory: {record: {text: '{{ write }}'}, across_runs: true}"
    loop = f"polish: {{repeat: {{at_most: 3, {memory}, {steps}}}}}"
    (folder / "memo.yaml").write_text(f"whorl: 1\nname: memo\nsteps: {{{loop}}}\n")
    runs = [run_json("run", "memo.yaml")["run"] for _ in range(2)]

    one = command("what-if", runs[0], "--at-most", "2").stdout
    both = command("what-if", *runs, "--at-most", "2").stdout

    assert "2 iterations, returned 2" in one
    assert "X106" not in one
    assert "X106" in both
    assert "on average" not in both


def test_an_iteration_that_was_cut_answers_only_rules_that_end_before() -> None:
    recorded = made("iteration >= 9", {"iterations": 4, "calls": 5})
    assert "iteration 3 was cut" in asked(recorded, made("iteration >= 9", 3)).why
    assert asked(recorded, made("iteration >= 9", 2)).iterations == 2


def test_a_call_in_doubt_counts_as_reserved_and_is_marked() -> None:
    """A crash between a call and its reply; what it used nobody knows."""
    workflow = made("iteration >= 9", 2)
    journal, crashed = MemoryJournal(), []

    def strike(when: str, run: Any) -> None:
        last = list(journal.read(run))[-1].event
        if when == "before" and not crashed and last.kind == "task.started":
            crashed.append(run)
            raise Crash

    runtime = SimulatedRuntime(Answers(7), journal)
    name = runtime.start(workflow, {"task": "a poem"}, run="r")
    journal.crash_hook = strike
    with pytest.raises(Crash):
        runtime.resume(name)
    runtime.resume(name)
    loop = loop_in(workflow)
    rule = own_rule(loop)
    assert rule is not None

    found = answer(facts_of(journal, name, atoms_in([loop.until]))[0], loop, rule)

    kinds = frozenset({"task.in_doubt", "loop.finished"})
    said = [entry.event for entry in journal.read(name, kinds=kinds)]
    doubts = [event for event in said if event.kind == "task.in_doubt"]
    assert found.in_doubt == len(doubts) == 1
    used: Any = said[-1].body["usage"]
    assert found.usage["cost_usd"] == pytest.approx(used["cost_usd"])


class Crash(BaseException):
    """The process is gone."""
