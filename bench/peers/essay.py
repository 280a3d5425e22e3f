"""Writes, reviews and revises, and gives the best of three attempts."""

from typing import TypedDict

from langchain.chat_models import init_chat_model
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

PRICES = {"input_tokens": 0.25e-6, "output_tokens": 2e-6}
model = init_chat_model("openai:gpt-5-mini")


class Review(BaseModel):
    score: float
    feedback: str


class State(TypedDict):
    topic: str
    text: str
    feedback: str
    iteration: int
    score: float
    best: float
    best_text: str
    stale: int
    cost: float
    why: str


def cost_of(usage: dict) -> float:
    return sum(usage[name] * price for name, price in PRICES.items())


async def write(state: State) -> dict:
    prompt = f"Write about {state['topic']}.\n{state['text']}\n{state['feedback']}"
    reply = await model.ainvoke(prompt)
    cost = state["cost"] + cost_of(reply.usage_metadata)
    return {"text": reply.content, "iteration": state["iteration"] + 1, "cost": cost}


async def review(state: State) -> dict:
    prompt = f"Review this, and score it from 0 to 1: {state['text']}"
    reply = await model.with_structured_output(Review, include_raw=True).ainvoke(prompt)
    parsed, cost = reply["parsed"], state["cost"] + cost_of(reply["raw"].usage_metadata)
    new = {"score": parsed.score, "feedback": parsed.feedback, "cost": cost}
    if parsed.score > state["best"]:
        return new | {"best": parsed.score, "best_text": state["text"], "stale": 0}
    return new | {"stale": state["stale"] + 1}


def reason(state: State) -> str:
    if state["score"] >= 0.9 or state["stale"] >= 2:
        return "condition_met"
    if state["cost"] >= 0.50:
        return "budget"
    return "max_iterations" if state["iteration"] >= 3 else ""


def end(state: State) -> dict:
    return {"why": reason(state)}


def build(saver: AsyncSqliteSaver):
    graph = StateGraph(State)
    graph.add_node(write)
    graph.add_node(review)
    graph.add_node(end)
    graph.add_edge(START, "write")
    graph.add_edge("write", "review")
    graph.add_conditional_edges("review", lambda state: "end" if reason(state) else "write")
    graph.add_edge("end", END)
    return graph.compile(checkpointer=saver)


async def essay(topic: str, thread: str) -> dict:
    first = {"text": "", "feedback": "", "iteration": 0, "score": 0.0, "best": -1.0}
    first |= {"topic": topic, "best_text": "", "stale": 0, "cost": 0.0, "why": ""}
    async with AsyncSqliteSaver.from_conn_string("essay.db") as saver:
        config = {"configurable": {"thread_id": thread}}
        state = await build(saver).ainvoke(first, config)
    return {"text": state["best_text"], "score": state["best"], "why": state["why"]}
