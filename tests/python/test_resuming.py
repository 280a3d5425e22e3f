"""Programs that go on: after failures and changes of their code, forked, continued, elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from campaign import SEED, amount

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("place")

CALLS: Counter[str] = Counter()
ENDED: Counter[str] = Counter()
# What goes wrong, and the words of the code: a changed program is the same with other ones.
NOW: dict[str, Any] = {}


@pytest.fixture(autouse=True)
def _fresh() -> None:
    CALLS.clear()
    ENDED.clear()
    NOW.clear()


@whorl.step
async def say(text: str) -> str:
    CALLS[text] += 1
    if NOW.get("fails") == text:
        raise ValueError(f"no {text}")
    ENDED[text] += 1
    return text.upper()


@whorl.workflow
async def flow(topic: str) -> dict[str, object]:
    polish = whorl.loop(str, at_most=3, keep="best")
    async for turn in polish:
        draft = await say(f"{NOW.get('verb', 'write')} {turn.number}")
        both = await asyncio.gather(say(f"a {turn.number}"), say(f"b {turn.number}"))
        turn.value = f"{draft} {len(both)}"
        turn.score(0.5 if turn.number == 2 else 0.1)
    if NOW.get("shape"):
        await say("more")
    title = await say(f"title {polish.result}")
    if NOW.get("bug"):
        raise KeyError("a bug")
    return {"title": title, "why": polish.exit_reason}


@whorl.workflow
async def side_by_side(topic: str) -> list[str]:
    """Two loops at the same time, and what comes after each of them."""

    async def one(name: str) -> str:
        turns = whorl.loop(str, name, at_most=2)
        async for turn in turns:
            turn.value = await say(f"{name} {turn.number}")
        return await say(f"end {name} {turns.iterations}")

    return await asyncio.gather(one("left"), one("right"))


async def _started(session: whorl.Session, workflow: Any, status: str) -> whorl.Run[Any]:
    run = await session.start(workflow, {"topic": "rain"})
    assert (await run.result()).status == status
    return run


@whorl.workflow
async def keeping(topic: str) -> str:
    polish = whorl.loop(str, at_most=3, state={"seen": ""})
    async for turn in polish:
        first = await say(f"first {turn.number}")
        turn.state = {"seen": turn.state["seen"] + first[-1]}
        turn.value = await say(f"second {turn.number} of {turn.state['seen']}")
    return polish.result


@whorl.workflow
async def mixed(topic: str) -> list[str]:
    """A loop that does not declare its state, in a program that keeps its log."""
    async for first in whorl.loop(str, "first", at_most=2, state=0):
        first.value = await say(f"first {first.number}")
    turns = whorl.loop(str, "turns", at_most=3)
    async for turn in turns:
        turn.value = "".join(await asyncio.gather(say(f"a {turn.number}"), say(f"b {turn.number}")))
    return [turns.result, await say("last")]


async def test_what_a_resumed_run_forgot_stays_forgotten() -> None:
    NOW["fails"] = "b 2"
    async with whorl.Session() as session:
        run = await _started(session, mixed, "failed")
        NOW.clear()
        await run.resume()
        assert (await run.result()).value == ["A 3B 3", "LAST"]
        await run.continue_(1, at="turns")
        result = await run.result()

    assert (result.error, result.value) == (None, ["A 4B 4", "LAST"])
    assert {text for text, times in CALLS.items() if times > 1} <= {"a 2", "b 2", "last"}


async def test_a_loop_with_a_state_is_resumed_inside_of_an_iteration() -> None:
    NOW["fails"] = "second 2 of 12"
    async with whorl.Session() as session:
        run = await _started(session, keeping, "failed")
        for fails in ("second 2 of 12", "second 3 of 123", ""):
            NOW["fails"] = fails
            await run.resume()
            result = await run.result()

    assert result.value == "SECOND 3 OF 123"
    assert set(ENDED.values()) == {1}


@whorl.workflow
async def part(item: int) -> str:
    first = await say(f"first {item}")
    async for turn in whorl.loop(str, "tries", at_most=2):
        turn.value = await say(f"try {item} {turn.number}")
        if NOW.get("bug") == f"turn {item} {turn.number}":
            raise KeyError("a bug")
    if NOW.get("bug") == f"part {item}":
        raise KeyError("a bug")
    return await say(f"second {item} {first}")


@whorl.workflow
async def parts(way: str) -> list[str]:
    """The same for three items, in each of the ways that there are."""
    if way == "each":
        return await whorl.each(part, [1, 2, 3], at_once=2)
    if way == "gather":
        return await asyncio.gather(part(1), part(2), part(3))
    if way == "group":
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(part(item)) for item in (1, 2, 3)]
        return [task.result() for task in tasks]
    return [await part(1), await part(2), await part(3)]


@pytest.mark.parametrize("way", ["each", "in order", "gather", "group"])
async def test_parts_and_items_go_on_where_they_failed(way: str) -> None:
    NOW["fails"] = "try 2 1"
    async with whorl.Session(config={}) as session:
        run = await session.start(parts, {"way": way})
        assert (await run.result()).status == "failed"
        NOW.clear()
        await run.resume()
        result = await run.result()

    assert result.status == "succeeded", result.error
    assert {text for text, times in CALLS.items() if times > 1} == {"try 2 1"}


@pytest.mark.parametrize("bug", ["turn 2 1", "turn 3 2", "part 1"])
@pytest.mark.parametrize("way", ["each", "in order", "gather", "group"])
async def test_a_bug_inside_of_an_iteration_or_item_is_mended(way: str, bug: str) -> None:
    NOW["bug"] = bug
    async with whorl.Session(config={}) as session:
        run = await session.start(parts, {"way": way})
        assert (await run.result()).status == "failed"
        await run.resume()
        assert (await run.result()).status == "failed"
        NOW.clear()
        await run.resume()
        result = await run.result()

    assert result.status == "succeeded", result.error
    assert set(CALLS.values()) == {1}
    assert {loop.iterations for loop in result.loops} == {2}


def _made(dice: Random, depth: int, label: str) -> list[Any]:
    """A random program: steps, and what may fail or be cancelled around them."""
    kinds = ["say"] if not depth else ["say", "both", "group", "loop", "part", "each"]
    kind = dice.choice(kinds)
    count = 0 if kind == "say" else dice.randint(1, 3)
    return [kind, label, [_made(dice, depth - 1, f"{label}{n}") for n in range(count)]]


async def _done(made: list[Any], turns: str = "") -> object:
    kind, label, inside = made
    if kind == "say":
        await say(f"{label} {turns}")
        found = await say(f"after {label} {turns}")
        if NOW.get("bug") == f"{label} {turns}":
            raise KeyError("a bug")
        return found
    if kind == "both":
        return await asyncio.gather(*(_done(each, turns) for each in inside))
    if kind == "group":
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_done(each, turns)) for each in inside]
        return [task.result() for task in tasks]
    if kind == "loop":
        async for turn in (values := whorl.loop(list, "loop", at_most=2)):
            turn.value = [await _done(each, f"{turns}{turn.number}") for each in inside]
        return values.result
    if kind == "each":
        return await whorl.each(lambda each: _done(each, turns), inside, at_once=2)
    return [await random_part(each, turns) for each in inside]


@whorl.workflow
async def random_part(made: list[Any], turns: str) -> object:
    return await _done(made, turns)


@whorl.workflow
async def anything(topic: str) -> object:
    made = _made(Random(topic), 3, "x")
    return await asyncio.gather(_done(made), _done(_made(Random(f"{topic}+"), 3, "y")))


@pytest.mark.parametrize("number", range(amount(12, 300)))
async def test_a_random_program_repeats_no_finished_call(number: int) -> None:
    dice, topic = Random(f"{SEED} {number}"), f"{SEED} {number}"
    async with whorl.Session(config={}) as session:
        whole = await (await session.start(anything, {"topic": topic})).result()
        texts = sorted(CALLS)
        CALLS.clear()
        NOW[dice.choice(["fails", "bug"])] = dice.choice(texts)
        run = await session.start(anything, {"topic": topic})
        for _ in range(3):
            if (await run.result()).status == "succeeded":
                break
            NOW.clear()
            NOW["fails"] = dice.choice(texts)
            await run.resume()
        if (await run.result()).status != "succeeded":
            NOW.clear()
            await run.resume()
        result = await run.result()

    assert (result.status, result.value) == ("succeeded", whole.value), result.error
    assert {text for text in texts if ENDED[text] != 2} == set()


async def test_a_bug_is_mended_and_no_call_is_made_again() -> None:
    NOW["bug"] = True
    async with whorl.Session(config={}) as session:
        run = await _started(session, flow, "failed")
        before = CALLS.copy()
        await run.resume()
        assert (await run.result()).status == "failed"
        NOW.clear()
        await run.resume()
        result = await run.result()

    assert result.status == "succeeded"
    assert before == CALLS


async def test_a_loop_continues_and_an_earlier_iteration_is_accepted() -> None:
    async with whorl.Session(config={}) as session:
        run = await _started(session, flow, "succeeded")
        await run.continue_(2)
        more = await run.result()
        await run.accept(1)
        accepted = await run.result()
        await run.continue_(1)
        last = await run.result()

    assert (more.loops[0].iterations, CALLS["write 5"], CALLS["write 1"]) == (5, 1, 1)
    assert CALLS["title WRITE 2 2"] == 3
    assert (accepted.value, CALLS["title WRITE 1 2"]) == (
        {"title": "TITLE WRITE 1 2", "why": "accepted"},
        1,
    )
    assert (last.status, last.loops[0].iterations) == ("succeeded", 6)


async def test_a_loop_in_an_item_continues_and_is_accepted() -> None:
    async with whorl.Session(config={}) as session:
        run = await session.start(parts, {"way": "each"})
        at = (await run.result()).loops[1].path
        await run.continue_(1, at=at)
        assert (await run.result()).status == "succeeded"
        await run.accept(1, at=at)
        result = await run.result()

    found = {loop.path: loop for loop in result.loops}[at]
    assert (result.status, found.iterations, found.exit_reason) == ("succeeded", 3, "accepted")
    again = {text for text, times in CALLS.items() if times > 1}
    assert [text.partition(" ")[0] for text in again] == ["second"], "what is after the loop"


async def test_one_of_two_loops_continues_and_the_other_keeps_what_it_has() -> None:
    async with whorl.Session(config={}) as session:
        run = await _started(session, side_by_side, "succeeded")
        await run.continue_(1, at="left")
        result = await run.result()

    assert (result.error, result.value) == (None, ["END LEFT 3", "END RIGHT 2"])
    assert {text: times for text, times in CALLS.items() if times > 1} == {}


@pytest.mark.parametrize("change", ["same", "words", "shape"])
async def test_a_fork_keeps_what_was_before_it(change: str) -> None:
    async with whorl.Session(config={}) as session:
        run = await _started(session, flow, "succeeded")
        CALLS.clear()
        NOW.update({"words": {"verb": "compose"}, "shape": {"shape": True}}.get(change, {}))
        fork = await run.fork("polish[3]")
        result = await fork.result()
        again = await (await fork.fork("polish[2]")).result()

    assert (result.status, again.status) == ("succeeded", "succeeded")
    verb = "compose" if change == "words" else "write"
    assert (CALLS[f"{verb} 3"], CALLS[f"{verb} 2"], CALLS[f"{verb} 1"]) == (2, 1, 0)
    assert CALLS["more"] == 2 * (change == "shape")


async def test_changed_code_is_refused_and_may_be_accepted() -> None:
    async with whorl.Session(config={}) as session:
        run = await _started(session, flow, "succeeded")
        NOW["verb"] = "compose"
        await run.continue_(1)
        with pytest.raises(whorl.CodeChanged) as refused:
            await run.result()
        assert run.status == "paused"
        await run.resume(new_code=True)
        result = await run.result()

    assert refused.value.address == "polish[1]/draft"
    assert ("write 1" in refused.value.was, "compose 1" in refused.value.now) == (True, True)
    assert "--new-code" in refused.value.help
    assert (result.status, CALLS["compose 4"], CALLS["compose 1"]) == ("succeeded", 1, 0)
    assert "W917" in [warning["code"] for warning in result.warnings]


async def test_another_shape_after_what_was_done_goes_on() -> None:
    NOW["fails"] = "title WRITE 2 2"
    async with whorl.Session(config={}) as session:
        run = await _started(session, flow, "failed")
        NOW.clear()
        NOW["shape"] = True
        await run.resume()
        result = await run.result()

    assert (result.status, CALLS["more"], CALLS["write 1"]) == ("succeeded", 1, 1)


@whorl.workflow
async def short(topic: str) -> str:
    return await say(topic)


async def _changed(topic: str) -> str:
    said = await say(topic)
    return f"{said}!"


@pytest.mark.parametrize("is_changed", [False, True])
async def test_code_that_differs_is_named_and_goes_on(
    is_changed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    NOW["fails"] = "rain"
    async with whorl.Session(config={}) as session:
        await _started(session, short, "failed")
    NOW.clear()
    _changed.__qualname__ = "short"
    if is_changed:
        again = whorl.workflow(name="short")(_changed)
        monkeypatch.setattr(sys.modules[__name__], "short", again)
    async with whorl.Session(config={}) as session:
        run = session.run("last")
        await run.resume()
        result = await run.result()

    warned = [(each["code"], each["message"]) for each in result.warnings]
    words = "the code of 'short' is not the one that began the run"
    assert result.value == ("RAIN!" if is_changed else "RAIN")
    assert warned == [("W917", words)] * is_changed


PROGRAM = """
import asyncio, os, sys
import whorl


@whorl.step
def note(text: str) -> str:
    with open("calls.txt", "a") as file:
        file.write(text + "\\n")
    if os.environ.get("DIE") == text:
        os.kill(os.getpid(), 9)
    return text


@whorl.workflow
async def noted(most: int) -> int:
    turns = whorl.loop(int, at_most=most)
    async for turn in turns:
        await note(f"one {turn.number}")
        await note(f"two {turn.number}")
        turn.value = turn.number
    return turns.result


async def main() -> None:
    async with whorl.Session(config={}) as session:
        run = session.run("last") if sys.argv[1:] else await session.start(noted, {"most": 3})
        if sys.argv[1:]:
            await run.resume()
        print((await run.result()).value)


if __name__ == "__main__":
    from killed import main

    asyncio.run(main())
"""


def test_another_process_goes_on_with_a_killed_run(place: Path) -> None:
    (place / "killed.py").write_text(PROGRAM)
    words = [sys.executable, "killed.py"]
    died = subprocess.run(
        words, cwd=place, env=os.environ | {"DIE": "one 2"}, capture_output=True, check=False
    )
    script = "import time; time.sleep(0)"
    assert died.returncode == -signal.SIGKILL, died.stderr.decode() + script
    done = subprocess.run([*words, "on"], cwd=place, capture_output=True, text=True, check=False)
    calls = (place / "calls.txt").read_text().split("\n")

    assert done.stdout.strip() == "3", done.stderr
    assert calls.count("one 2") == 2, "the call in doubt is made again, once"
    assert calls.count("one 1") == calls.count("two 1") == calls.count("two 3") == 1
