"""The loops of the comparison on pydantic-graph, which keeps nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

PACKAGE = "pydantic-graph"
SETTINGS = "in memory: it has no persistence; auto_instrument off"


@dataclass
class _State:
    text: str
    seconds: float = 0.0
    is_growing: bool = False
    left: int = 0
    texts: list[str] = field(default_factory=list)


def one_loop(folder: Path, iterations: int) -> None:
    """Two trivial steps, repeated."""
    asyncio.run(_graph().run(state=_State("ok", left=iterations)))


def growing_loop(folder: Path, iterations: int, text: str) -> None:
    """Each iteration adds a text to the state."""
    state = _State(text, is_growing=True, left=iterations)
    asyncio.run(_graph().run(state=state))
    assert len(state.texts) == iterations


def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> None:
    """Loops of one step that waits, at once."""
    graph = _graph(with_first=False)

    async def work() -> None:
        states = [_State("ok", seconds, left=iterations) for _ in range(loops)]
        await asyncio.gather(*(graph.run(state=state) for state in states))

    asyncio.run(work())


def _graph(*, with_first: bool = True) -> Any:
    from pydantic_graph import GraphBuilder, StepContext, TypeExpression

    builder: Any = GraphBuilder(state_type=_State, output_type=str, auto_instrument=False)

    async def first(ctx: Any) -> str:
        state = ctx.state
        state.texts = [*state.texts, state.text] if state.is_growing else [state.text]
        return "ok"

    async def second(ctx: Any) -> str:
        if ctx.state.seconds:
            await asyncio.sleep(ctx.state.seconds)
        ctx.state.left -= 1
        return "again" if ctx.state.left > 0 else "end"

    first.__annotations__ = {"ctx": StepContext[_State, None, Any], "return": str}
    second.__annotations__ = {
        "ctx": StepContext[_State, None, Any],
        "return": Literal["again", "end"],
    }
    begin, last = builder.step(first), builder.step(second)
    back = begin if with_first else last
    again, end = (TypeExpression[Literal["again"]], TypeExpression[Literal["end"]])
    decision = builder.decision().branch(builder.match(again).to(back))
    decision = decision.branch(builder.match(end).to(builder.end_node))
    builder.add(builder.edge_from(builder.start_node).to(back))
    if with_first:
        builder.add(builder.edge_from(begin).to(last))
    builder.add(builder.edge_from(last).to(decision))
    return builder.build()
