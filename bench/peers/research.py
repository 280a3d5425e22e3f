"""Searches the web and a server of tools until there is enough to answer a question."""

import asyncio
from typing import TypedDict

import httpx
from langchain.chat_models import init_chat_model
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import RetryPolicy
from mcp import Client, StdioServerParameters
from pydantic import BaseModel

PRICES = {"input_tokens": 0.25e-6, "output_tokens": 2e-6}
NOTES = StdioServerParameters(command="notes-server")
model = init_chat_model("openai:gpt-5-mini")


class Next(BaseModel):
    enough: bool
    query: str
    answer: str


class State(TypedDict):
    question: str
    search_url: str
    query: str
    notes: str
    answer: str
    enough: bool
    iteration: int
    cost: float


async def fetch(state: State) -> str:
    async with httpx.AsyncClient(timeout=30) as client:
        reply = await client.get(state["search_url"], params={"q": state["query"]})
    return reply.raise_for_status().text


async def find(state: State) -> str:
    async with Client(NOTES) as client:
        return (await client.call_tool("find", {"query": state["query"]})).content[0].text


async def search(state: State) -> dict:
    page, memo = await asyncio.gather(fetch(state), find(state))
    return {"notes": f"{state['notes']}\n{page}\n{memo}", "iteration": state["iteration"] + 1}


async def plan(state: State) -> dict:
    prompt = f"{state['question']}\nIs this enough to answer? {state['notes']}"
    reply = await model.with_structured_output(Next, include_raw=True).ainvoke(prompt)
    usage = reply["raw"].usage_metadata
    cost = sum(usage[name] * price for name, price in PRICES.items())
    return reply["parsed"].model_dump() | {"cost": state["cost"] + cost}


def is_done(state: State) -> bool:
    return state["enough"] or state["cost"] >= 1.00 or state["iteration"] >= 4


def build(saver: AsyncSqliteSaver):
    graph = StateGraph(State)
    graph.add_node(search, retry_policy=RetryPolicy(max_attempts=3))
    graph.add_node(plan)
    graph.add_edge(START, "search")
    graph.add_edge("search", "plan")
    graph.add_conditional_edges("plan", lambda state: END if is_done(state) else "search")
    return graph.compile(checkpointer=saver)


async def research(question: str, search_url: str, thread: str) -> dict:
    first = {"question": question, "search_url": search_url, "query": question, "notes": ""}
    first |= {"answer": "", "enough": False, "iteration": 0, "cost": 0.0}
    async with AsyncSqliteSaver.from_conn_string("research.db") as saver:
        config = {"configurable": {"thread_id": thread}}
        state = await build(saver).ainvoke(first, config)
    return {"answer": state["answer"], "searches": state["iteration"]}
