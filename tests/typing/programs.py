"""Workflows as functions: what a type checker knows of them; checked, never run."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import assert_type

import whorl


@dataclass
class Essay:
    """What the workflow gives."""

    text: str
    score: float


@dataclass
class Review:
    """What a model answers."""

    score: float
    feedback: str


@whorl.step(timeout=60)
def run_tests(code: str, tests: str) -> Review:
    """A plain function."""
    return Review(len(code), tests)


@whorl.step
async def fetch(url: str) -> bytes:
    """A coroutine function."""
    return url.encode()


@whorl.workflow
async def essay(topic: str) -> Essay:
    """A workflow that another one uses."""
    return Essay(topic, 0.0)


@whorl.workflow(budget=0.5)
async def check() -> Essay:
    """Each await has its exact type, also in gather."""
    review = await whorl.ask("x", returns=Review)
    assert_type(review, Review)
    assert_type(await whorl.ask("x"), str)
    assert_type(await run_tests("a", "b"), Review)
    assert_type(await fetch.given(retry=2)("a"), bytes)
    assert_type(await essay("t"), Essay)
    assert_type(await whorl.judge("good?", "x"), bool)
    assert_type(await whorl.value(lambda: 5), int)
    loop = whorl.loop(Essay, at_most=2)
    async for turn in loop:
        assert_type(turn.value, Essay)
        assert_type(turn.previous, Essay | None)
        turn.score(review.score)
    assert_type(loop.result, Essay)
    one, two = await asyncio.gather(whorl.ask("x"), whorl.ask("y", returns=Review))
    assert_type(one, str)
    assert_type(two, Review)
    assert_type(await whorl.each(essay, ["a"], at_once=2), list[Essay])
    return loop.result


async def main() -> None:
    """A run has the type of its workflow."""
    assert_type(await essay.run("harbours"), Essay)
    assert_type(essay.run_sync("harbours"), Essay)
    assert_type(whorl.run_sync(essay, {"topic": "x"}), whorl.Result[Essay])
    async with whorl.Session() as session:
        run = await session.start(essay, {"topic": "x"})
        assert_type(run, whorl.Run[Essay])
        assert_type((await run.result()).value, Essay)
