"""A crash before and after every append of programs: no finished call is made again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

import whorl
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
        async for turn in whorl.loop("caught"):
            await whorl.ask("bad", retry=0)
    except whorl.RequestFailed as fault:
        found.append(fault.code)
    async for turn in whorl.loop("stops"):
        await whorl.ask("one", name="one")
        if turn.number == 2:
            turn.stop("enough")
    found.append(await whorl.ask("final", name="final"))
    return found


REPLIES: dict[str, Any] = {
    "*/one": {"json": "1", "delay": "2s"},
    "*/one~2": {"json": "2", "delay": "1s"},
    "*/one~3": {"json": "3", "delay": "3s"},
    "*/two*": {"json": "t", "delay": "1s"},
    "*/slow": {"json": "late", "delay": "9s"},
    "*/bad*": {"error": "P107", "message": "no"},
    "*/a": {"json": "A", "delay": "1s"},
    "*/never": {"json": "late", "delay": "900s"},
    "first": {"json": "word"},
    "last": {"json": "word"},
    "final": {"json": "word"},
    "title": {"json": "word"},
    "*/word": {"json": "word"},
    "*/write": {"json": "word"},
    "*/first": {"json": "word"},
    "*/item": {"json": "word"},
    "*/*/try": {"json": "word", "delay": "1s"},
}
CASES = {
    "parallel": (parallel, []),
    "items": (items, []),
    "state": (state, []),
    "limits": (limits, []),
}


def _case(name: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, CrashingCase]:
    function, requests = CASES[name]
    built = function.build(loading.project_of(config={})).ir
    monkeypatch.setattr("crash.in_memory.workflow_of", lambda case: case.workflow)
    blocks = {"input": {"topic": "t"}, "requests": requests, "replies": REPLIES}
    case: Any = SimpleNamespace(blocks=blocks, options={}, workflow=built, id=name, file=name)
    return case, CrashingCase(case)


@pytest.mark.parametrize("every", [3, 256])
@pytest.mark.parametrize("waiting", [1, 64])
@pytest.mark.parametrize("name", CASES)
def test_a_crash_at_any_append_of_a_program_changes_nothing(
    name: str, waiting: int, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whorl.runtimes.driver.ENTRIES_MAX", waiting)
    monkeypatch.setattr("whorl.runtimes.journal.journal.SNAPSHOT_EVERY", every)
    case, crashing = _case(name, monkeypatch)
    clean, moments = crashing.run()
    assert clean.result.document["status"] == "succeeded", clean.result.document
    tried: set[object] = set()
    for moment in moments:
        if moment.left not in tried:
            tried.add(moment.left)
            crashed = crashing.crashed(moment)
            assert broken(clean, crashed, crashes=crashing.crashes, comparable=True) == [], case.id


@pytest.mark.parametrize("name", CASES)
def test_a_crash_while_a_program_recovers_changes_nothing(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, crashing = _case(name, monkeypatch)
    clean, moments = crashing.run()
    for index, moment in enumerate(moments[::3]):
        crashed = crashing.crashed(moment, (1, 2, 3, 5)[index % 4])
        assert broken(clean, crashed, crashes=crashing.crashes, comparable=True) == [], case.id
