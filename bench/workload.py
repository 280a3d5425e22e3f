"""The same loop for everybody: two trivial nodes, repeated."""

from __future__ import annotations

from whorl.ir import (
    After,
    Block,
    Constant,
    Expression,
    Fields,
    Loop,
    LoopLimits,
    Task,
    When,
    Workflow,
)
from whorl.providers.task import Estimate, Reply, Request


class Answering:
    """A task that answers with a text after some time; without effect, it can be repeated."""

    def __init__(self, text: str = "ok", seconds: float = 0.0, effect: str = "none") -> None:
        self.effect = effect
        self._text = text
        self._seconds = seconds

    def estimate(self, request: Request) -> Estimate:
        """It uses nothing."""
        return Estimate()

    async def perform(self, request: Request, emit: object) -> Reply:
        """Answers."""
        if self._seconds:
            import asyncio

            await asyncio.sleep(self._seconds)
        return Reply(self._text)


class Only:
    """Workers of one kind."""

    def __init__(self, kind: Answering) -> None:
        self._kind = kind

    def kind(self, name: str) -> Answering:
        """The one kind."""
        return self._kind

    def effect(self, name: str, inputs: object) -> str:
        """What the one kind does to the world."""
        return self._kind.effect

    def redacted(self, value: object) -> object:
        """There are no secrets."""
        return value


def loop_workflow(iterations: int, nodes: int = 2) -> Workflow:
    """A loop of trivial nodes in a row."""
    tasks = []
    for index in range(nodes):
        after = (After(f"step{index - 1}"),) if index else ()
        inputs = Fields((("task", Constant("bench")),))
        tasks.append(Task(name=f"step{index}", kind="use", inputs=inputs, after=after))
    loop = Loop(
        name="loop",
        until=When(Expression("jinja", f"iteration >= {iterations}")),
        limits=LoopLimits(iterations + 1),
        facts=(("iteration", "number"),),
        body=Block(tuple(tasks)),
    )
    last = Expression("template", "{{ loop.step0 }}")
    return Workflow(name="bench", body=Block((loop,)), outputs=(("text", last),))
