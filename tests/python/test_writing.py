"""Workflows that are written as functions: what they become, what they give, what is refused."""

from __future__ import annotations

import asyncio
import enum
import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypedDict

import pydantic
import pytest

import whorl
from whorl import testing

pytestmark = pytest.mark.usefixtures("place")


@dataclass
class Draft:
    text: str = ""
    feedback: str = "none"


@dataclass
class Grade:
    score: float
    feedback: str


class Mood(enum.Enum):
    GLAD = "glad"
    SAD = "sad"


class Point(TypedDict):
    x: int


class Person(pydantic.BaseModel):
    name: str
    age: int = pydantic.Field(default=1, ge=0)


@whorl.step
def extend(draft: Draft, by: str) -> str:
    assert isinstance(draft, Draft)
    return draft.text + by


@whorl.step(retry=2, timeout=60)
async def grade(text: str) -> Grade:
    await asyncio.sleep(0)
    return Grade(len(text) / 5, f"{len(text)} letters")


@whorl.step(pure=True)
def double(number: int) -> int:
    return 2 * number


@whorl.workflow
def polish_text(letter: str = "a") -> dict[str, object]:
    with whorl.loop(Draft(), at_most=9, best=True) as polish:
        polish.state.text = extend(polish.state, letter)
        review = grade(polish.state.text)
        polish.state.feedback = review.feedback
        polish.score(review.score, at_least=0.8)
    words = f"{polish.state.text}: {review.score}"
    return {"words": words, "feedback": polish.state.feedback, "why": polish.facts.exit_reason}


def test_a_loop_carries_its_typed_state_and_gives_the_best_iteration() -> None:
    result = whorl.run_sync(polish_text, {"letter": "b"})

    wanted = {"words": "bbbb: 0.8", "feedback": "4 letters", "why": "condition_met"}
    assert (result.status, result.outputs) == ("succeeded", wanted)
    assert [(loop.path, loop.iterations) for loop in result.loops] == [("polish", 4)]


def test_it_is_the_same_as_a_file_of_the_native_format() -> None:
    text = next(iter(polish_text.workflow.sources.values()))

    assert polish_text.workflow.ir.dialect == "native"
    assert list(json.loads(text)["steps"]["polish"]["repeat"]["steps"]) == ["extend", "grade"]


def test_steps_are_named_after_what_they_are_assigned_to() -> None:
    @whorl.workflow
    def named() -> None:
        answer = whorl.ask("a")
        with whorl.loop({"words": ""}, at_most=2) as turns:
            turns.state["words"] = whorl.ask(f"b {answer}")
        whorl.ask("c", name="last")

    steps = json.loads(next(iter(named.workflow.sources.values())))["steps"]

    assert list(steps) == ["answer", "turns", "last"]


@pytest.mark.parametrize("number", [1, 9])
def test_branches_lists_and_side_by_side(number: int) -> None:
    @whorl.workflow
    def all_of_it(number: int, many: list[int]) -> dict[str, object]:
        twice = whorl.each(double, many, at_once=2)
        more = whorl.each(lambda each: double(double(each)) + number, many)
        with whorl.when(number > 5):
            large = double(100)
        with whorl.otherwise():
            small = double(number)
        with whorl.together():
            a = double(10)
            b = double(20)
        return {"twice": twice, "more": more, "large": large, "small": small, "sum": a + b}

    outputs = whorl.run_sync(all_of_it, {"number": number, "many": [1, 2]}).outputs

    large, small = (200, None) if number > 5 else (None, 2)
    assert outputs["twice"] == [2, 4]
    assert outputs["more"] == [4 + number, 8 + number]
    assert (outputs["large"], outputs["small"], outputs["sum"]) == (large, small, 60)


def test_a_workflow_calls_another_one() -> None:
    @whorl.workflow
    def inner(number: int) -> int:
        return double(number)

    @whorl.workflow
    def outer(number: int) -> int:
        return inner(inner(number))

    assert whorl.run_sync(outer, {"number": 3}).output == 12
    with pytest.raises(whorl.UsageError, match="is a workflow, not a function"):
        outer(number=3)


def test_functions_are_given_their_types_and_give_them() -> None:
    seen: list[object] = []

    @whorl.step
    def look(person: Person, point: Point, mood: Mood, many: list[Draft]) -> Person:
        seen.extend([person, point, mood, many])
        return Person(name=person.name.upper())

    @whorl.workflow
    def typed(who: Person, mood: Mood) -> dict[str, object]:
        made = look(who, {"x": 1}, mood, [Draft("a"), Draft("b")])
        return {"name": made.name, "age": made.age}

    result = whorl.run_sync(typed, {"who": Person(name="ann", age=7), "mood": Mood.SAD})

    assert result.outputs == {"name": "ANN", "age": 1}
    assert seen == [Person(name="ann", age=7), {"x": 1}, Mood.SAD, [Draft("a"), Draft("b")]]


def test_the_answer_of_a_model_is_typed() -> None:
    @whorl.workflow
    def asking(topic: str) -> str:
        expert = whorl.ask(f"Who knows {topic}?", returns=Person, temperature=0.5)
        return expert.name

    outcome = testing.run(
        asking, {"topic": "x"}, mocks={"expert": {"outputs": {"name": "ann", "age": 3}}}
    )

    assert outcome.output == "ann"
    given: Any = [call.inputs for call in outcome.calls("expert")]
    assert [each["prompt"] for each in given] == ["Who knows x?"]


@pytest.mark.parametrize("kind", ["expression", "text", "lambda", "step"])
def test_a_loop_stops_by_an_expression_a_text_or_a_function(kind: str) -> None:
    @whorl.step(pure=True)
    def is_long(text: str) -> bool:
        return len(text) > 2

    @whorl.workflow
    def growing() -> int:
        with whorl.loop(Draft(), at_most=9) as turns:
            turns.state.text = extend(turns.state, "x")
            conditions: dict[str, Any] = {
                "expression": lambda: turns.iteration >= 3,
                "text": lambda: "iteration >= 3",
                "lambda": lambda: lambda state: len(state.text) > 2,
                "step": lambda: is_long(turns.state.text),
            }
            turns.until(conditions[kind]())
        return turns.facts.iterations  # type: ignore[no-any-return]

    assert whorl.run_sync(growing).output == 3


def test_a_call_has_a_key_and_counts_what_it_used() -> None:
    calls: list[whorl.Call] = []

    @whorl.step(retry={"times": 1, "wait": "1ms"})
    def pay(amount: int) -> int:
        call = whorl.current_call()
        calls.append(call)
        call.used(10, 5, 0.25)
        if call.attempt == 1:
            raise ConnectionError("reset")
        return amount

    @whorl.workflow
    def paying() -> int:
        return pay(3)

    result = whorl.run_sync(paying)

    assert [call.attempt for call in calls] == [1, 2]
    assert len({call.key for call in calls if call.key}) == 2
    assert (result.output, result.usage.cost_usd, result.usage.output_tokens) == (3, 0.5, 10)


def test_agents_and_runnables_of_other_packages_are_steps() -> None:
    """They are known by their methods, so that these stand for those of any version."""

    class Used:
        input_tokens, output_tokens = 7, 2

    class Given:
        output, usage = Draft("hello"), Used()

    class Agent:
        async def run(self, prompt: str) -> Given:
            assert prompt == "say 3"
            return Given()

        def run_sync(self, prompt: str) -> Given:
            raise AssertionError

    class Runnable:
        async def ainvoke(self, given: dict[str, int]) -> dict[str, int]:
            return {"number": given["number"] + 1}

    agent, graph = whorl.step(Agent(), name="agent"), whorl.step(Runnable(), name="graph")

    @whorl.workflow
    def using(number: int) -> dict[str, object]:
        return {"text": agent(f"say {number}").text, "next": graph({"number": number}).number}

    result = whorl.run_sync(using, {"number": 3})

    assert result.outputs == {"text": "hello", "next": 4}
    assert (result.usage.input_tokens, result.usage.unpriced_calls) == (7, 1)
    with pytest.raises(whorl.UsageError, match="is not a step"):
        whorl.step(object())  # type: ignore[arg-type, call-overload]


def _branching(number: int) -> None:
    if number > 3:
        double(number)


def _looping(many: list[int]) -> None:
    for each in many:
        double(each)


def _generating() -> None:
    @whorl.step
    def numbers() -> Any:
        yield 1

    numbers()


def _closing(number: int) -> None:
    @whorl.step
    def secret() -> int:
        return number

    secret()


def _unholdable() -> None:
    @whorl.step
    def connect() -> threading_lock:
        return threading_lock()

    connect()


class threading_lock:  # noqa: N801 - any class that JSON cannot hold
    pass


def _outside(many: list[int]) -> None:
    kept: list[int] = []
    whorl.each(lambda each: kept.append(double(each)), many)
    double(kept[0])


def _misspelt() -> None:
    grade("x").scor  # type: ignore[attr-defined]  # noqa: B018


async def _waiting() -> None:
    pass


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (_branching, "needs the value of '\\(number > 3\\)', which is known only"),
        (_looping, "a loop over it needs the value of 'many'"),
        (_generating, "is a generator"),
        (_closing, "reads 'number' from the workflow around it"),
        (_unholdable, "'threading_lock', which the journal cannot hold"),
        (_outside, "has a value for each item"),
        (_misspelt, "did you mean 'score'"),
        (_waiting, "is a coroutine function"),
    ],
)
def test_what_cannot_be_durable_is_refused_with_the_reason(function: Any, words: str) -> None:
    with pytest.raises((whorl.UsageError, AttributeError), match=words):
        _ = whorl.workflow(function).workflow


def test_a_mistake_has_the_line_of_the_program() -> None:
    @whorl.workflow
    def wrong() -> None:
        whorl.native("odd", wait="no time")

    with pytest.raises(whorl.InvalidWorkflow) as caught:
        _ = wrong.workflow
    span = caught.value.diagnostics[0].span

    assert span is not None
    assert span.file == __file__
    assert "no time" in Path(__file__).read_text().splitlines()[span.line - 1]


def test_a_step_outside_of_a_workflow_is_the_function_itself() -> None:
    assert double(4) == 8
    with pytest.raises(whorl.UsageError, match="outside of a workflow"):
        whorl.ask("hello")


_FLOWS = """
import whorl


@whorl.step
def double(number: int) -> int:
    return number * 2


@whorl.workflow
def asked(number: int) -> int:
    sure = whorl.approve("sure?")
    with whorl.when(sure.approved):
        result = double(number)
    return result
"""


def test_a_run_of_another_process_continues_with_the_functions_that_are_imported(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them it is left as it is, and the message says what to do."""
    (place / "asked_flow.py").write_text(_FLOWS)
    monkeypatch.syspath_prepend(str(place))
    flows = import_module("asked_flow")
    given = whorl.run_sync(flows.asked, {"number": 3}).run
    whorl.run_sync(flows.asked, {"number": 4})
    sys.modules.pop("asked_flow")

    async def decide(which: str = "last", tasks: whorl.Tasks | None = None) -> whorl.Result:
        async with whorl.Session(tasks=tasks) as session:
            run = session.run(which)
            await run.approve()
            return await run.result()

    with pytest.raises(whorl.UsageError, match="needs the functions of 'asked_flow:asked'"):
        asyncio.run(decide())

    assert asyncio.run(decide(given, flows.asked.workflow.tasks)).output == 6
    import_module("asked_flow")
    result = asyncio.run(decide())

    assert (result.error, result.output) == (None, 8)
    sys.modules.pop("asked_flow")
