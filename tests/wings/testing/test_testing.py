"""`whorl.testing`: mocks by the names of steps, in virtual time; nothing is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import whorl as package
from whorl import testing

if TYPE_CHECKING:
    from pathlib import Path

REVIEW = {
    "polish": {
        "repeat": {
            "until": "review.approved",
            "at_most": 3,
            "carry": {"feedback": "{{ review.feedback }}"},
            "steps": {
                "write": {"ask": "Write. {{ feedback | default('') }}"},
                "review": {
                    "ask": "Review {{ write }}",
                    "returns": {"approved": "boolean", "feedback": "string"},
                },
            },
        }
    }
}
NO = {"outputs": {"approved": False, "feedback": "shorter"}}
YES = {"outputs": {"approved": True, "feedback": ""}}
FETCH = {"http": {"url": "https://example.com/{{ item }}"}}


def built(steps: dict[str, Any], **more: Any) -> package.Workflow:
    return package.build("tested", steps, **more)


def test_a_sequence_answers_one_call_after_the_other(place: Path) -> None:
    outcome = testing.run(built(REVIEW), mocks={"write": "a text", "review": [NO, YES]})

    assert outcome.ok
    assert (outcome.loop().iterations, outcome.loop("polish").exit_reason) == (2, "condition_met")
    assert [call.address for call in outcome.calls("write")] == [
        "polish[1]/write",
        "polish[2]/write",
    ]
    prompt = outcome.calls("polish[2]/write")[0].inputs
    assert prompt == {"prompt": "Write. shorter"}
    assert outcome.step("polish[2]/review").output == YES["outputs"]
    assert not (place / ".whorl").exists()
    with pytest.raises(package.UsageError, match="'review' means 2 steps"):
        outcome.step("review")
    with pytest.raises(package.UsageError, match="'polsih' is not a step"):
        outcome.loop("polsih")
    with pytest.raises(package.UsageError, match="'write' means 0 loops"):
        outcome.loop("write")
    assert len(outcome.calls()) == 4
    assert "polish stopped after 2 of 3 iterations" in outcome.why()


@pytest.mark.parametrize(
    ("mock", "words"),
    [
        ({"wriet": "x"}, "'wriet' is not a step of workflow 'tested'|did you mean 'write'"),
        ({"review[2]": NO}, "'review[2]' is not a step of|steps: polish, write, review"),
        ({"polish[2]/reveiw": NO}, "is not a step|did you mean 'review'"),
        ({"review": {"output": 1}}, "has no field 'output'|did you mean 'outputs'"),
        ({"review": {"status": "succeded"}}, "no status 'succeded'|did you mean 'succeeded'"),
        ({"review": {"outputs": {"approved": 1, "feedback": ""}}}, "do not fit its `returns`|"),
        ({"review": {"error": "no", "status": "skipped"}}, "has no error|"),
        ({"review": [{"delay": "soon"}]}, "'soon' is not a duration|write 90s"),
        ({"polish[1]/review": {"status": "skipped"}}, "in all iterations, or in none|"),
        ({"review": {"sequence": [NO], "outputs": 1}}, "belongs in the answers|"),
        ({"review": {"sequence": [], "then": "repeat"}}, "is empty|"),
        ({"review": {"sequence": [NO], "then": "repaet"}}, "must be one of|did you mean 'repeat'"),
        ({"review": {"usage": {"calls": -1}}}, "is at least 0|"),
        ({"review": {"error": {"kode": "x"}}}, "has no field 'kode'|did you mean 'code'"),
    ],
)
def test_a_mistake_in_a_mock_is_found_before_the_run(
    place: Path, mock: dict[str, Any], words: str
) -> None:
    message, advice = words.split("|")
    with pytest.raises(package.UsageError) as fault:
        testing.run(built(REVIEW), mocks=mock)

    assert message in str(fault.value)
    assert advice in fault.value.help


def test_a_step_without_a_mock_sends_nothing_and_fails_the_test(place: Path) -> None:
    steps = {"fetch": {**FETCH, "on_failure": "continue"}, "rest": {"value": 1}}
    with pytest.raises(AssertionError, match=r"step 'fetch' \(http 'https://example.com/1'\)"):
        testing.run(built(steps, inputs={"item": "string"}), {"item": "1"})


def test_a_function_is_given_what_the_step_was_given(place: Path) -> None:
    def review(inputs: dict[str, Any]) -> dict[str, Any]:
        return {"approved": inputs["prompt"] == "Review third", "feedback": "again"}

    mocks = {"write": ["first", "second", "third"], "review": review}
    assert testing.run(built(REVIEW), mocks=mocks).loop().iterations == 3

    def wrong(inputs: dict[str, Any]) -> object:
        assert inputs["prompt"] == "Review this"
        return {}

    with pytest.raises(AssertionError, match="the mock of 'polish\\[1\\]/review'"):
        testing.run(built(REVIEW), mocks={**mocks, "review": wrong})

    def broken(inputs: dict[str, Any]) -> object:
        raise KeyError("missing")

    outcome = testing.run(built(REVIEW), mocks={**mocks, "review": broken})
    assert outcome.error is not None
    assert "the mock raised KeyError: 'missing'" in str(outcome.error["message"])


def test_waits_and_slow_answers_pass_in_the_time_of_the_run(place: Path) -> None:
    steps = {"wait": {"wait": "2h"}, "fetch": {**FETCH, "timeout": "1m"}}
    workflow = built(steps, inputs={"item": "string"})
    slow = {"fetch": {"outputs": "x", "delay": "2m"}}
    outcome = testing.run(workflow, {"item": "1"}, mocks=slow)

    assert outcome.step("fetch").status == "timed_out"
    assert 7200 + 60 <= outcome.seconds < 7200 + 120
    quick = {"fetch": {"outputs": "x", "delay": "10s"}}
    assert testing.run(workflow, {"item": "1"}, mocks=quick).seconds == 7210


def test_items_and_steps_of_called_workflows_have_addresses(place: Path) -> None:
    (place / "child.yaml").write_text(
        "whorl: 1\nname: child\ninputs: {n: any}\nsteps: {look: {ask: 'Look at {{ n }}'}}\n"
    )
    (place / "main.yaml").write_text(
        "whorl: 1\nname: main\nsteps:\n  all:\n    each: [5, 6]\n    steps:\n"
        "      one: {call: child.yaml, with: {n: '{{ item }}'}}\n"
        "outputs: {all: '{{ all }}'}\n"
    )
    mocks = {"look": "usual", "all[2]/one/look": "special"}
    outcome = testing.run("main.yaml", mocks=mocks)

    assert [each["one"]["look"] for each in outcome.output] == ["usual", "special"]  # type: ignore
    assert outcome.calls("all[2]/one/look")[0].inputs == {"prompt": "Look at 6"}
    outcome = testing.run("main.yaml", mocks={"one": [{"outputs": {"look": "a"}}, lambda i: i]})
    assert outcome.output == [{"one": {"look": "a"}}, {"one": {"n": 6}}]


def test_steps_that_are_no_tasks_can_be_mocked_and_some_cannot(place: Path) -> None:
    steps = {**REVIEW, "longer": {"value": "{{ polish.write }} and more"}, "set": {"set": {"a": 1}}}
    outcome = testing.run(built(steps), mocks={"polish": {"outputs": {"write": "a text"}}})

    assert outcome.step("longer").output == "a text and more"
    assert outcome.loops == ()
    assert testing.run(built(steps), mocks={"polish": {}, "longer": "x"}).ok
    with pytest.raises(package.UsageError, match="sets variables, which a mock cannot do"):
        testing.run(built(steps), mocks={"set": 1})
    with pytest.raises(package.UsageError, match="'set' is not a step of"):
        testing.run(built({"only": {"value": 1}}), mocks={"set": 1})


def test_people_and_judges_are_mocked_by_name(place: Path) -> None:
    loop = {
        "until": {"judge": "Is it good?"},
        "steps": {"ok": {"approve": "Go on?"}, "say": {"value": "{{ ok.feedback }}"}},
    }
    workflow = built({"talk": {"repeat": loop}})
    decisions = [{"outputs": {"approved": True, "feedback": "well"}}, True]
    mocks: dict[str, Any] = {"ok": decisions, "judge": [False, "YES because it is"]}
    outcome = testing.run(workflow, mocks=mocks)

    assert (outcome.loop().iterations, outcome.loop().stopped_by) == (2, "judge")
    assert outcome.step("talk[1]/say").output == "well"
    assert testing.run(workflow).status == "waiting"
    with pytest.raises(package.UsageError, match="its outputs are a decision"):
        testing.run(workflow, mocks={"ok": "yes"})
    assert testing.run(workflow, mocks={**mocks, "talk/:judge": True}).loop().iterations == 1


def test_what_a_mock_uses_counts_for_the_budget(place: Path) -> None:
    mocks = {"write": {"outputs": "x", "usage": {"cost_usd": 0.3}}, "review": NO}
    outcome = testing.run(built(REVIEW), mocks=mocks, budget=0.5)

    assert outcome.loop().exit_reason == "budget"
    assert outcome.usage.cost_usd == pytest.approx(0.3)
    outcome = testing.run(built(REVIEW), mocks=mocks, max_iterations=1)
    assert outcome.loop().exit_reason == "max_iterations"


def test_models_answer_by_rules_and_functions_are_really_called(place: Path) -> None:
    tasks = package.Tasks()

    @tasks.task
    def double(n: int) -> int:
        return n * 2

    steps = {
        "ask": {"ask": "What is 3?", "model": "openai/gpt-5"},
        "twice": {"use": "double", "with": {"n": "{{ ask | int }}"}},
    }
    rules: list[dict[str, Any]] = [{"match": "What is", "replies": ["3"], "exhaust": "error"}]
    outcome = testing.run(built(steps), models=rules, tasks=tasks)

    assert outcome.output == 6
    with pytest.raises(AssertionError, match="no rule of the scripted provider"):
        testing.run(built(steps), models=[{"match": "Who", "replies": ["3"]}], tasks=tasks)
    with pytest.raises(package.UsageError, match=r"models\[0\] needs match"):
        testing.run(built(steps), models=[{"match": "Who"}])


async def test_a_run_with_mocks_may_be_made_inside_of_an_event_loop(place: Path) -> None:
    assert (testing.run(built(REVIEW), mocks={"write": "x", "review": YES})).ok


def test_a_test_that_fails_shows_why_its_loops_ended(pytester: pytest.Pytester) -> None:
    pytester.makefile(
        ".yaml",
        flow="whorl: 1\nname: flow\nsteps:\n  go:\n    repeat:\n      until: say == 'done'\n"
        "      at_most: 2\n      steps: {say: {ask: Say it}}\n",
    )
    pytester.makepyfile(
        """
        def test_it(whorl):
            whorl.mock("say", "more")
            assert whorl.run("flow.yaml").loop().exit_reason == "condition_met"

        def test_missing(whorl):
            whorl.run("flow.yaml", mocks={"say": ["no"]})

        def test_good(whorl):
            whorl.mock("say", outputs="done")
            assert whorl.run("flow.yaml").ok
        """
    )
    pytester.makeconftest(
        """
        from whorl.wings.testing import pytest_plugin

        def pytest_configure(config):
            if not config.pluginmanager.is_registered(pytest_plugin):
                config.pluginmanager.register(pytest_plugin, "whorl")
        """
    )
    done = pytester.runpytest()

    assert done.parseoutcomes() == {"failed": 2, "passed": 1}
    done.stdout.fnmatch_lines(["*why the loops ended*", "go stopped after 2 of 2 iterations*"])
    done.stdout.fnmatch_lines(["*all answers of the mock 'say' (1) are used up*"])
