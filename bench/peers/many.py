"""Summarises fifty pages, ten at once, within a budget, and says what all of them cost."""

import operator
from typing import Annotated, TypedDict

from langchain.chat_models import init_chat_model
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy, Send

PRICES = {"input_tokens": 0.25e-6, "output_tokens": 2e-6}
model = init_chat_model("openai:gpt-5-mini", max_tokens=100)


class State(TypedDict):
    pages: list[str]
    sentences: Annotated[list[tuple[int, str]], operator.add]
    cost: Annotated[float, operator.add]


class Spent:
    total = 0.0


async def summarise(given: dict) -> dict:
    if Spent.total >= 0.25:
        raise RuntimeError("the budget is used up")
    reply = await model.ainvoke(f"Summarise in one sentence: {given['page']}")
    cost = sum(reply.usage_metadata[name] * price for name, price in PRICES.items())
    Spent.total += cost
    return {"sentences": [(given["number"], reply.content)], "cost": cost}


def spread(state: State) -> list[Send]:
    items = enumerate(state["pages"])
    return [Send("summarise", {"number": number, "page": page}) for number, page in items]


def build(saver: AsyncSqliteSaver):
    graph = StateGraph(State)
    graph.add_node(summarise, retry_policy=RetryPolicy(max_attempts=3))
    graph.add_conditional_edges(START, spread, ["summarise"])
    graph.add_edge("summarise", END)
    return graph.compile(checkpointer=saver)


async def summaries(pages: list[str], thread: str) -> dict:
    async with AsyncSqliteSaver.from_conn_string("many.db") as saver:
        config = {"configurable": {"thread_id": thread}, "max_concurrency": 10}
        state = await build(saver).ainvoke({"pages": pages, "cost": 0.0}, config)
    return {"sentences": [text for _, text in sorted(state["sentences"])], "cost": state["cost"]}
