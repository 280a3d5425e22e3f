"""Workflows as coroutine functions: what Python does in them, what they give, what is refused."""

from __future__ import annotations

import asyncio
import enum
import random
import time
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pydantic
import pytest

import whorl
from whorl import testing

pytestmark = pytest.mark.usefixtures("place")


@dataclass
class Review:
    score: float
    feedback: str


class Mood(enum.Enum):
    GLAD = "glad"


class Person(pydantic.BaseModel):
    name: str
    age: int = 1


@whorl.step(pure=True)
async def grow(text: str, n: int = 1) -> str:
    return text + "a" * n


@whorl.step(pure=True)
def older(person: Person, mood: Mood = Mood.GLAD) -> Person:
    assert mood is Mood.GLAD
    return Person(name=person.name, age=person.age + 1)


@whorl.step
def broken(number: int) -> int:
    raise ValueError(f"not {number}")


@whorl.workflow
async def part(text: str) -> str:
    return await grow(text, 2)


def ran(workflow: Any, **inputs: Any) -> whorl.Result[Any]:
    return whorl.run_sync(workflow, inputs, config={})


def test_what_python_does_is_what_a_run_does() -> None:
    @whorl.workflow
    async def ordinary(limit: int) -> dict[str, object]:
        async def letters() -> Any:
            for _ in range(2):
                yield await grow("")

        text = "".join([letter async for letter in letters()])
        lock, queue = asyncio.Lock(), asyncio.Queue[str]()

        async def put() -> None:
            async with lock:
                await queue.put(await grow(text))

        async with asyncio.TaskGroup() as group:
            group.create_task(put())
            group.create_task(put())
        first, second = await asyncio.gather(part("x"), grow("y"))
        try:
            await broken(1)
        except whorl.RequestFailed as fault:
            code = fault.code
        try:
            async with asyncio.timeout(0.01):
                await whorl.sleep(3600)
        except TimeoutError:
            text += "!"
        done, left = await asyncio.wait(
            [asyncio.create_task(grow("z")), asyncio.create_task(whorl.sleep("1h"))],
            return_when=asyncio.FIRST_COMPLETED,
        )
        for task in left:
            task.cancel()
        return {"text": text, "size": queue.qsize(), "all": [first, second, code, len(done)]}

    result = ran(ordinary, limit=3)

    assert result.error is None
    assert result.value == {"text": "aa!", "size": 2, "all": ["xaa", "ya", "P100", 1]}


@pytest.mark.parametrize(
    ("how", "reason", "value"),
    [
        ("whole", "max_iterations", 3),
        ("break", "condition_met", 2),
        ("return", "condition_met", 7),
        ("stop", "condition_met", 2),
        ("score", "condition_met", 2),
        ("raise", "failed", 0),
    ],
)
def test_a_loop_is_left_in_each_way(how: str, reason: str, value: int) -> None:
    @whorl.workflow
    async def leaving(how: str) -> int:
        turns = whorl.loop(int, at_most=3)
        try:
            async for turn in turns:
                turn.value = turn.number
                await grow("")
                if turn.number == 2 and how == "break":
                    break
                if turn.number == 2 and how == "return":
                    return 7
                if turn.number == 2 and how == "raise":
                    raise KeyError
                if turn.number == 2 and how == "stop":
                    turn.stop("enough")
                if how == "score":
                    turn.score(turn.number / 2, at_least=1.0)
        except KeyError:
            return 0
        await grow("after")
        return turns.result

    result = ran(leaving, how=how)

    assert (result.error, result.value) == (None, value)
    assert (result.loops[0].exit_reason, result.loops[0].path) == (reason, "turns")


def test_a_loop_keeps_its_best_value_and_ends_by_its_rules() -> None:
    @whorl.workflow
    async def judged(scores: list[float]) -> dict[str, object]:
        best = whorl.loop(Review, at_most=9, keep="best", plateau=2)
        async for turn in best:
            score = scores[turn.number - 1]
            assert turn.previous is None or turn.previous.feedback == str(turn.number - 1)
            turn.value = Review(score, str(turn.number))
            turn.score(score)
        alike = whorl.loop(str, at_most=9, stable=True)
        async for turn in alike:
            turn.value = "same"
        found = best.result
        return {"best": found.feedback, "score": best.score, "turns": alike.iterations}

    result = ran(judged, scores=[0.2, 0.8, 0.5, 0.6, 0.9])

    assert (result.error, result.value) == (None, {"best": "2", "score": 0.8, "turns": 2})
    assert [loop.stopped_by for loop in result.loops] == ["plateau", "stable"]


def test_each_gives_a_list_with_addresses_of_its_items() -> None:
    @whorl.workflow
    async def listed(words: list[str]) -> list[str]:
        async def longer(word: str) -> str:
            once = await grow(word)
            return await grow(once)

        return await whorl.each(longer, words, at_once=2)

    async def main() -> tuple[list[str], list[str]]:
        async with whorl.Session(config={}) as session:
            run = await session.start(listed, {"words": ["x", "y", "z"]})
            result = await run.result()
            addresses = [record.address for record in run.records(depth=None)]
            return result.value, [at for at in addresses if at.endswith("once")]

    value, addresses = asyncio.run(main())

    assert value == ["xaa", "yaa", "zaa"]
    assert addresses == [f"listed[{n}]/once" for n in (1, 2, 3)]


def test_the_types_of_a_program_come_back() -> None:
    @whorl.workflow
    async def typed(person: Person, when: list[int]) -> Person:
        assert isinstance(person, Person)
        return await older(person)

    result = ran(typed, person=Person(name="a"), when=[1])

    assert (result.error, result.value) == (None, Person(name="a", age=2))
    assert asyncio.run(typed.run(Person(name="b"), [])) == Person(name="b", age=2)


def test_a_loop_that_its_time_ends_raises_and_keeps_its_result() -> None:
    @whorl.workflow
    async def late(x: str) -> list[object]:
        slow = whorl.loop(int, at_most=9, time=0.2)
        try:
            async for turn in slow:
                turn.value = turn.number
                await whorl.sleep(0 if turn.number == 1 else 3600)
        except whorl.LimitReached as fault:
            return [fault.limit, fault.loop, slow.result]
        return []

    assert ran(late, x="").value == ["timeout", "slow", 1]


@pytest.mark.parametrize(
    ("what", "code", "words"),
    [
        ("thread", "R140", "uses no files, sockets, threads or processes"),
        ("socket", "R140", "uses no files, sockets, threads or processes"),
        ("never", "R141", "waits for something that nothing in it can set"),
        ("bug", "R140", "KeyError: 'x' (test_workflows.py:"),
    ],
)
def test_what_a_run_could_not_repeat_fails_at_once(what: str, code: str, words: str) -> None:
    @whorl.workflow
    async def wrong(what: str) -> None:
        async for _ in whorl.loop("once", at_most=1):
            if what == "thread":
                await asyncio.to_thread(print)
            elif what == "socket":
                await asyncio.open_connection("127.0.0.1", 1)
            elif what == "never":
                await asyncio.Event().wait()
            else:
                raise KeyError("x")

    error: Any = ran(wrong, what=what).error

    assert error["code"] == code
    assert words in error["message"]


def test_the_clock_and_the_dice_are_those_of_the_run() -> None:
    @whorl.workflow
    async def odd(x: str) -> list[object]:
        found = f"{time.time()} {random.random()} {uuid.uuid4()} {datetime.now(UTC)}"
        await whorl.ask(found, name="asked")
        own = [whorl.now().isoformat(), whorl.random().random(), str(whorl.uuid())]
        return [*own, await whorl.value(lambda: 5), isinstance(datetime.now(UTC), datetime)]

    first = testing.run(odd, {"x": ""}, mocks={"asked": "a"})
    second = testing.run(odd, {"x": ""}, mocks={"asked": "a"})

    assert first.value == second.value
    assert first.value[3:] == [5, True]
    assert {warning["code"] for warning in first.warnings} == {"R145"}


def test_tasks_that_an_iteration_leaves_are_cancelled_with_a_warning() -> None:
    @whorl.workflow
    async def leaving(x: str) -> int:
        async for _ in whorl.loop("once", at_most=1):
            left = asyncio.create_task(whorl.sleep(3600), name="the one")
            await grow("")
        return int(left.cancelled() or not left.done())

    result = ran(leaving, x="")

    assert (result.value, [warning["code"] for warning in result.warnings]) == (1, ["R143"])
    assert "the one" in str(result.warnings[0]["message"])


_COUNT = [0]


def test_a_program_that_reads_what_changes_fails_its_test() -> None:
    @whorl.workflow
    async def counting(x: str) -> str:
        _COUNT[0] += 1
        return await whorl.ask(f"{_COUNT[0]}", name="asked")

    with pytest.raises(AssertionError, match="did something else when it ran again"):
        testing.run(counting, {"x": ""}, mocks={"asked": "a"})


def test_what_is_not_a_workflow_is_refused_with_what_to_write() -> None:
    with pytest.raises(whorl.UsageError, match="plain function") as plain:

        @whorl.workflow  # type: ignore[arg-type]
        def old(x: str) -> str:
            return x

    assert "async def old(...)" in plain.value.help
    with pytest.raises(whorl.UsageError, match="outside of a workflow"):
        whorl.ask("x")  # type: ignore[unused-coroutine]
    with pytest.raises(whorl.UsageError, match="does not fit"):
        part.run_sync()  # type: ignore[call-arg]


@dataclass
class Sum:
    total: int = 0
    words: list[str] = field(default_factory=list)


def test_a_declared_state_is_all_that_goes_from_turn_to_turn() -> None:
    with pytest.raises(whorl.UsageError, match="'last' goes from one iteration to the next"):

        @whorl.workflow
        async def leaking(x: str) -> str:
            last = ""
            async for turn in whorl.loop(str, state=Sum()):
                last = last + "x"
                turn.value = last
            return x

    @whorl.workflow
    async def summing(most: int) -> int:
        turns = whorl.loop(int, at_most=most, state=Sum())
        async for turn in turns:
            turn.state.total += turn.number
            turn.state.words.append(await grow(""))
            turn.value = turn.state.total
        return turns.result

    result = ran(summing, most=4)

    assert (result.error, result.value) == (None, 10)


@whorl.workflow
async def pages(topic: str) -> list[object]:
    texts = await asyncio.gather(*(whorl.ask(f"page {n}", name="text") for n in (1, 2, 3)))
    good = await asyncio.gather(*(whorl.judge("Good?", text, name="judge") for text in texts))
    return [texts, good]


def test_a_mock_fits_all_requests_of_its_name_unless_one_has_its_own() -> None:
    mocks: dict[str, Any] = {"text": ["a", "c"], "text~2": "b", "judge": {"verdict": "met"}}
    outcome = testing.run(pages, {"topic": ""}, mocks=mocks)
    assert outcome.value == [["a", "b", "c"], [True, True, True]]
    assert len(outcome.calls("judge~3")) == 1
