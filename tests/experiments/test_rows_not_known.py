"""More rows of what a record does not answer: each with a workflow that triggers it, and one beside
it that does not. Those of `test_not_known` are the plain ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from experiments.guess import EXPERIMENT, folder, run_json
from experiments.guess import whorl as command
from experiments.programs import loop_in
from experiments.test_not_known import AFTER, OTHER, SCORE, asked, made

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.ir import Workflow

__all__ = ["folder"]

FILE = "guess.experiment.yaml"
MORE = "iteration >= 2"
LIMIT = "are told their limit, so another at_most would have changed them"
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


def nested(until: Any, at_most: int = 4) -> Workflow:
    """The limit is handed to a loop inside the loop."""
    inner = {
        "repeat": {"at_most": 1, "steps": {"write": {"ask": "Write {{ task }} {{ iteration }}"}}}
    }
    review = {"ask": "Review", "returns": {"score": "number"}}
    steps = {"inner": inner, "review": review}
    outer = {"repeat": {"until": until, "at_most": at_most, "steps": steps}}
    workflow = whorl.build("polish", {"polish": outer}, inputs={"task": "string"}).ir
    loop = loop_in(workflow)
    inside = replace(loop.body.nodes[0], facts=())  # type: ignore[call-arg]
    body = replace(loop.body, nodes=(inside, *loop.body.nodes[1:]))
    loop = replace(loop, body=body, facts=(("iteration", "limit"),))
    return replace(workflow, body=replace(workflow.body, nodes=(loop,)))


NEVER, ONCE = "review.score > 2", "review.score > 0.5"
TOP = {"top": {"best": "{{ write }}"}}


@pytest.mark.parametrize(
    ("recorded", "unknown", "known", "words"),
    [
        (carried(NEVER), carried(NEVER, 2), carried(ONCE), LIMIT),
        (nested(NEVER), nested(NEVER, 2), nested(ONCE), LIMIT),
        (
            seeing("score", [SCORE, NEVER]),
            seeing("score", [OTHER, NEVER]),
            seeing("score", [SCORE, ONCE]),
            f"see score, {RANKED}",
        ),
        (
            made([SCORE, AFTER], collect=TOP),
            made([OTHER, AFTER], collect=TOP),
            made([SCORE, MORE], collect=TOP),
            f"see best, {RANKED}",
        ),
    ],
    ids=["limit carried", "limit in a loop inside", "score", "collect the best"],
)
def test_what_iterations_see_of_the_rule_is_found_wherever_they_see_it(
    recorded: Workflow, unknown: Workflow, known: Workflow, words: str
) -> None:
    refused, answered = asked(recorded, unknown), asked(recorded, known)

    assert (refused.exact, refused.code) == (False, "X106")
    assert words in refused.why
    assert answered.exact, answered.why


def test_more_votes_than_were_cast_are_not_known_and_fewer_are() -> None:
    def judged(votes: int, at_most: int = 4) -> Workflow:
        return made({"judge": {"question": "Is it good?", "of": "write", "votes": votes}}, at_most)

    more, fewer = asked(judged(3), judged(5)), asked(judged(3), judged(3, 1))

    assert not more.exact
    assert "votes in iteration 1, not 5" in more.why
    assert fewer.exact


def test_a_rule_that_not_all_runs_answer_is_below_the_line_with_a_bound(folder: Path) -> None:
    """Grades of 0.1 to 0.5 that nobody has seen may be anything from 0 to 1."""
    (folder / FILE).write_text(EXPERIMENT.replace("explore: {polish: 5}\n", ""))
    run_json("experiment", "run", FILE)

    found = run_json("what-if", FILE, "--at-most", "4", "--return", "last")
    shown = command("what-if", FILE, "--at-most", "4", "--return", "last").stdout

    (row,) = [row for row in found["not_ranked"] if row["at_most"] == 4]
    assert (row["unknown"], row["bounds"]) == (12, [0, 1])
    assert row["why"] == "would have gone on after iteration 2"
    assert not row["is_frontier"]
    assert "12 of 12: would have gone on after iteration 2; grade between 0.00 and 1.00" in shown
    assert all(row["unknown"] == 0 for row in found["rules"])


def slow(at_most: int, seconds: str = "2s") -> Workflow:
    """The second iteration rests for an hour, on a clock that does not keep anybody waiting."""
    steps = {"write": {"ask": "Write"}, "rest": {"wait": "{{ '1h' if iteration == 2 else '0s' }}"}}
    limits = {"iterations": at_most, "each_time": seconds}
    loop = {"repeat": {"at_most": limits, "on_failure": "continue", "steps": steps}}
    return whorl.build("polish", {"polish": loop}, inputs={"task": "string"}).ir


def test_an_iteration_that_timed_out_answers_only_rules_that_end_before() -> None:
    refused, answered = asked(slow(3), slow(2)), asked(slow(3), slow(1))
    whole = asked(slow(3, "2h"), slow(2, "2h"))

    assert (refused.exact, refused.why) == (False, "iteration 2 timed out")
    assert (answered.exact, answered.iterations) == (True, 1)
    assert (whole.exact, whole.iterations) == (True, 2)


@pytest.mark.slow
def test_a_variable_that_the_body_sets_is_known_behind_the_loop_of_a_run(folder: Path) -> None:
    """One run is played with the rule; grades by iteration do not know how many there were."""
    flow = (folder / "guess.yaml").read_text()
    count = '        count: {set: {seen: "{{ seen + 1 }}"}}\n        review:'
    flow = flow.replace("steps:\n  polish:", "variables: {seen: 0}\nsteps:\n  polish:", 1)
    flow = flow.replace("        review:", count).replace("{{ polish.write }}", "{{ seen }}")
    (folder / "guess.yaml").write_text(flow)
    text = EXPERIMENT.replace("(outputs.text | length) / 10", "outputs.text == 2")
    (folder / FILE).write_text(text)
    run = run_json("run", "guess.yaml", "-i", "n:=1", "--explore", "polish=4")["run"]
    run_json("experiment", "run", FILE)

    for number in (1, 3, 4):
        (found,) = run_json("what-if", run, "--at-most", str(number), "--return", "first")
        assert (found["answer"]["returned"], found["outputs"]) == (1, {"text": number})
    refused = command("what-if", FILE)
    assert "X108" in refused.stderr
    (folder / FILE).write_text(EXPERIMENT.replace("outputs.text", "results.write"))
    assert run_json("what-if", FILE)["runs"] == 12


def test_a_rule_that_no_run_answers_has_no_answer_that_is_checked(folder: Path) -> None:
    (folder / FILE).write_text(EXPERIMENT.replace("explore: {polish: 5}\n", ""))
    run_json("experiment", "run", FILE)

    unknown = command("what-if", FILE, "--at-most", "4", "--check", "3").stderr
    known = command("what-if", FILE, "--at-most", "1", "--check", "3").stderr

    words = "no answer of this rule could be checked: not known in any of 3 runs that were tried"
    assert words in unknown
    assert "all the same" not in unknown
    assert "3 answers replayed through the engine: all the same" in known
