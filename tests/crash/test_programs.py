"""A crash before and after every append of programs: no finished call is made again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

import whorl
from campaign import SEED, amount
from crash.in_memory import CrashingCase
from crash.promise import broken
from whorl.interfaces.python import loading

pytestmark = pytest.mark.threat(row="T1")


@dataclass
class Part:
    text: str
    good: bool = False


@dataclass
class Sum:
    total: int = 0


@whorl.workflow
async def inner(topic: str) -> str:
    return await whorl.ask(f"inner {topic}", name="first") + "!"


async def shelf(n: int, turn: int) -> str:
    one = await whorl.ask(f"one {n}", name="one")
    if n == 2:
        await asyncio.sleep(5)
    return await whorl.ask(f"two {one} {turn}", name="two")


@whorl.workflow(budget=5)
async def parallel(topic: str) -> dict[str, object]:
    """All that may happen at the same time."""
    seen: list[str] = []
    rounds = whorl.loop(Part, at_most=3, keep="best")
    async for turn in rounds:
        got = await asyncio.gather(*(shelf(n, turn.number) for n in (1, 2, 3)))
        try:
            async with asyncio.timeout(3):
                slow = await whorl.ask("slow")
        except TimeoutError:
            slow = "too slow"
        try:
            bad = await whorl.ask("bad", retry=0)
        except whorl.RequestFailed as fault:
            bad = fault.code
        async with asyncio.TaskGroup() as group:
            dice = f"{whorl.random().random()} {whorl.now()} {whorl.uuid()}"
            a = group.create_task(whorl.ask(f"group {dice}", name="a"))
            b = group.create_task(inner("x"))
        seen += [*got, slow, bad, a.result(), b.result()]
        turn.value = Part(got[0])
        turn.score(0.1 * turn.number, at_least=2)
        if turn.number == 2:
            break
    final = await whorl.ask("final")
    return {"seen": seen, "best": rounds.result.text, "final": final, "n": rounds.iterations}


@whorl.workflow
async def items(topic: str) -> list[str]:
    async def one(item: int) -> str:
        async for turn in whorl.loop(str, "tries", at_most=2):
            turn.value = await whorl.ask(f"try {item}", name="try")
        return await whorl.ask(f"item {item}", name="item")

    return await whorl.each(one, [1, 2, 3, 4], at_once=2)


@whorl.workflow
async def state(topic: str) -> dict[str, object]:
    """A loop whose state is declared, inside of what is not."""
    first = await whorl.ask("first")
    count = whorl.loop(int, at_most=6, keep="best", state=Sum())
    async for turn in count:
        word = await whorl.ask(f"word {turn.number} {turn.previous} {turn.best}", name="word")
        turn.state.total += len(word)
        turn.value = turn.state.total
        turn.score(min(1.0, turn.state.total / 10))
    last = await whorl.ask(f"last {count.result}")
    return {"first": first, "last": last, "sum": count.result}


@whorl.workflow
async def left(topic: str) -> str:
    """Loops with a state that a `break` leaves, as the last thing in an iteration, too."""
    outer = whorl.loop(str, "outer", at_most=2)
    async for turn in outer:
        async for part in whorl.loop(int, "inner", at_most=3, state=Sum()):
            part.value = len(await whorl.ask(f"word {part.number}", name="word"))
            if part.number == 2:
                break
        turn.value = "left"
    return await whorl.ask(f"last {outer.result}", name="last")


@whorl.workflow
async def limits(topic: str) -> list[object]:
    """A loop that its time ends, one that a stop ends, and an exception that is caught."""
    found: list[object] = []
    slow = whorl.loop(int, at_most=9, time=60)
    try:
        async for turn in slow:
            turn.value = turn.number
            await whorl.ask("slow", name="one" if turn.number == 1 else "never")
    except whorl.LimitReached as fault:
        found += [fault.limit, slow.result]
    try:
        async for _ in whorl.loop("caught"):
            await whorl.ask("bad", retry=0)
    except whorl.RequestFailed as fault:
        found.append(fault.code)
    async for turn in whorl.loop("stops"):
        await whorl.ask("one", name="one")
        if turn.number == 2:
            turn.stop("enough")
    found.append(await whorl.ask("final", name="final"))
    return found


@whorl.workflow
async def anything(topic: str) -> list[object]:
    """A program of random parts: in order, at the same time, repeated, cut off, cancelled."""
    dice = Random(topic)
    return [await _done(_part(dice, 3)) for _ in range(3)]


def _part(dice: Random, depth: int) -> list[Any]:
    parts = {"ask": 0, "bad": 0, "nap": 0}
    if depth:
        parts |= {"both": 3, "loop": 2, "cut": 1, "nested": 1}
    kind = dice.choice([*parts])
    return [kind, *(_part(dice, depth - 1) for _ in range(parts[kind])), dice.randint(1, 3)]


def _depth(made: list[Any]) -> int:
    return 1 + max((_depth(each) for each in made if isinstance(each, list)), default=0)


async def _done(made: list[Any]) -> object:
    kind, *inside, number = made
    match kind:
        case "ask":
            return await whorl.ask(f"ask {number}", name=f"ask{number}")
        case "bad":
            try:
                return await whorl.ask("bad", name="bad", retry=0)
            except whorl.RequestFailed as fault:
                return fault.code
        case "nap":
            return await asyncio.sleep(number, number)
        case "both":
            return await asyncio.gather(*map(_done, inside))
        case "loop":
            values = whorl.loop(list, "loop", at_most=2)
            async for turn in values:
                turn.value = [await _done(each) for each in inside]
                if turn.number == number:
                    break
            return [values.result, values.iterations]
        case "cut":
            try:
                # No two of them end at the same moment, whose order a crash may change.
                async with asyncio.timeout(7 ** (3 + _depth(made))):
                    await asyncio.gather(_done(inside[0]), whorl.ask("never", name="never"))
            except TimeoutError:
                return "cut"
    return await nested(inside[0])


@whorl.workflow
async def nested(made: list[object]) -> object:
    return await _done(made)


ANY: dict[str, Any] = {
    "ask1": {"json": "one", "delay": "1s"},
    "ask2": {"json": "two", "delay": "2s"},
    "ask3": {"json": "three", "delay": "0s"},
    "bad": {"error": "P107", "message": "no"},
    "never": {"json": "late", "delay": "900000s"},
}
REPLIES: dict[str, Any] = {
    "*/one": {"json": "1", "delay": "2s"},
    "*/one~2": {"json": "2", "delay": "1s"},
    "*/one~3": {"json": "3", "delay": "3s"},
    "*/two*": {"json": "t", "delay": "1s"},
    "*/slow": {"json": "late", "delay": "9s"},
    "*/bad*": {"error": "P107", "message": "no"},
    "*/a": {"json": "A", "delay": "1s"},
    "*/never": {"json": "late", "delay": "900000s"},
    "first": {"json": "word"},
    "last": {"json": "word"},
    "final": {"json": "word"},
    "title": {"json": "word"},
    "*/word": {"json": "word"},
    "*/*/word": {"json": "word"},
    "*/write": {"json": "word"},
    "*/first": {"json": "word"},
    "*/item": {"json": "word"},
    "*/*/try": {"json": "word", "delay": "1s"},
    **{"*/" * depth + name + "*": reply for depth in range(8) for name, reply in ANY.items()},
}
CASES = {"parallel": parallel, "items": items, "state": state, "left": left, "limits": limits}


def _crashing(
    function: Any, topic: str, monkeypatch: pytest.MonkeyPatch, every: int = 3
) -> CrashingCase:
    built = function.build(loading.project_of(config={})).ir
    monkeypatch.setattr("crash.in_memory.workflow_of", lambda case: case.workflow)
    monkeypatch.setattr("whorl.runtimes.journal.journal.SNAPSHOT_EVERY", every)
    # How fast the machine is has nothing to do with it.
    monkeypatch.setattr("whorl.runtimes.host.SLOW_S", 60)
    blocks = {"input": {"topic": topic}, "requests": [], "replies": REPLIES}
    case: Any = SimpleNamespace(blocks=blocks, options={}, workflow=built)
    return CrashingCase(case)


def _check(crashing: CrashingCase) -> None:
    """Crashes at each moment that differs from those before it."""
    clean, moments = crashing.run()
    assert clean.result.document["status"] == "succeeded", clean.result.document
    for moment in {moment.left: moment for moment in moments}.values():
        crashed = crashing.crashed(moment)
        assert broken(clean, crashed, crashes=crashing.crashes, comparable=True) == []


@pytest.mark.parametrize("every", [3, 256])
@pytest.mark.parametrize("waiting", [1, 64])
@pytest.mark.parametrize("name", CASES)
def test_a_crash_at_any_append_of_a_program_changes_nothing(
    name: str, waiting: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whorl.runtimes.driver.ENTRIES_MAX", waiting)
    _check(_crashing(CASES[name], "t", monkeypatch, every))


@pytest.mark.parametrize("name", CASES)
def test_a_crash_while_a_program_recovers_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    crashing = _crashing(CASES[name], "t", monkeypatch)
    clean, moments = crashing.run()
    for index, moment in enumerate(moments[::3]):
        crashed = crashing.crashed(moment, (1, 2, 3, 5)[index % 4])
        assert broken(clean, crashed, crashes=crashing.crashes, comparable=True) == []


@pytest.mark.parametrize("number", range(amount(12, 300)))
def test_a_random_program_goes_on_from_each_prefix_of_its_journal(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whorl.runtimes.driver.ENTRIES_MAX", 1 + 63 * (number % 2))
    _check(_crashing(anything, f"{SEED} {number}", monkeypatch, 3 + 253 * (number % 3 == 0)))
