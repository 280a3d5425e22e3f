"""Writes a function until its tests pass."""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TypedDict

from langchain.chat_models import init_chat_model
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

PRICES = {"input_tokens": 0.25e-6, "output_tokens": 2e-6}
model = init_chat_model("openai:gpt-5-mini")


class State(TypedDict):
    task: str
    tests: str
    code: str
    passed: bool
    output: str
    iteration: int
    cost: float


async def write(state: State) -> dict:
    prompt = f"Write solution.py: {state['task']}\nThe tests said: {state['output']}"
    reply = await model.ainvoke(prompt)
    cost = sum(reply.usage_metadata[name] * price for name, price in PRICES.items())
    new = {"iteration": state["iteration"] + 1, "cost": state["cost"] + cost}
    return new | {"code": reply.content}


def run_tests(code: str, tests: str) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "solution.py").write_text(code.replace("```python", "").replace("```", ""))
        Path(folder, "tests.py").write_text(tests)
        words = [sys.executable, "tests.py"]
        done = subprocess.run(
            words, cwd=folder, capture_output=True, text=True, check=False, timeout=60
        )
    return {"passed": done.returncode == 0, "output": done.stderr[-2_000:]}


async def check(state: State) -> dict:
    return await asyncio.to_thread(run_tests, state["code"], state["tests"])


def reason(state: State) -> str:
    if state["passed"]:
        return "condition_met"
    if state["cost"] >= 1.00:
        return "budget"
    return "max_iterations" if state["iteration"] >= 5 else ""


def build(saver: AsyncSqliteSaver):
    graph = StateGraph(State)
    graph.add_node(write)
    graph.add_node(check)
    graph.add_edge(START, "write")
    graph.add_edge("write", "check")
    graph.add_conditional_edges("check", lambda state: END if reason(state) else "write")
    return graph.compile(checkpointer=saver)


async def until_green(task: str, tests: str, thread: str) -> dict:
    first = {"task": task, "tests": tests, "code": "", "passed": False, "output": ""}
    async with AsyncSqliteSaver.from_conn_string("until_green.db") as saver:
        config = {"configurable": {"thread_id": thread}}
        state = await build(saver).ainvoke(first | {"iteration": 0, "cost": 0.0}, config)
    return {"code": state["code"], "passed": state["passed"], "why": reason(state)}
