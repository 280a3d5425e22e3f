"""The same loops on LangGraph with its SQLite saver."""

from __future__ import annotations

import asyncio
import operator
import os
import time
from pathlib import Path
from typing import Annotated, Any, TypedDict


class _Counting(TypedDict):
    count: int
    text: str


class _Growing(TypedDict):
    count: int
    texts: Annotated[list[str], operator.add]


def is_installed() -> bool:
    """Whether LangGraph and its SQLite saver can be imported."""
    try:
        import langgraph.checkpoint.sqlite
        import langgraph.graph  # noqa: F401
    except ImportError:
        return False
    return True


def _graph(iterations: int, *, text: str, grows: bool, seconds: float, is_async: bool) -> Any:
    from langgraph.graph import END, START, StateGraph

    def first(state: Any) -> Any:
        return {"texts": [text]} if grows else {"text": text}

    def second(state: Any) -> Any:
        return {"count": state["count"] + 1}

    async def waiting(state: Any) -> Any:
        await asyncio.sleep(seconds)
        return {"count": state["count"] + 1}

    graph: Any = StateGraph(_Growing if grows else _Counting)  # type: ignore[arg-type]
    if is_async:
        graph.add_node("second", waiting)
        graph.add_edge(START, "second")
    else:
        graph.add_node("first", first)
        graph.add_node("second", second)
        graph.add_edge(START, "first")
        graph.add_edge("first", "second")
    back = "second" if is_async else "first"
    graph.add_conditional_edges("second", lambda s: END if s["count"] >= iterations else back)
    return graph


def one_loop(
    folder: Path, iterations: int, *, text: str = "ok", grows: bool = False
) -> dict[str, float]:
    """One loop, durable: every step is written before the next one begins."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    path = folder / "langgraph.db"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        graph = _graph(iterations, text=text, grows=grows, seconds=0.0, is_async=False)
        app = graph.compile(checkpointer=saver)
        config = {"configurable": {"thread_id": "1"}, "recursion_limit": 10 * iterations + 10}
        begin: dict[str, Any] = {"count": 0} | ({"texts": []} if grows else {"text": ""})
        cpu, clock = time.process_time(), time.perf_counter()
        app.invoke(begin, config, durability="sync")
        cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    size = sum(os.path.getsize(p) for p in folder.glob("langgraph.db*"))
    return {"cpu_s": cpu, "clock_s": clock, "bytes": size}


def many_loops(folder: Path, loops: int, iterations: int, seconds: float) -> float:
    """Many loops at once on one file."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async def work() -> float:
        async with AsyncSqliteSaver.from_conn_string(str(folder / "many.db")) as saver:
            graph = _graph(iterations, text="ok", grows=False, seconds=seconds, is_async=True)
            app = graph.compile(checkpointer=saver)
            clock = time.perf_counter()

            async def one(run: int) -> None:
                config = {
                    "configurable": {"thread_id": str(run)},
                    "recursion_limit": 10 * iterations + 10,
                }
                await app.ainvoke({"count": 0, "text": ""}, config, durability="sync")

            await asyncio.gather(*(one(run) for run in range(loops)))
            return time.perf_counter() - clock

    return asyncio.run(work())
