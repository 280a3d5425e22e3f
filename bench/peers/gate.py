"""Asks a person after each attempt, and goes on with what they say."""

from typing import TypedDict

from langchain.chat_models import init_chat_model
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt

PRICES = {"input_tokens": 0.25e-6, "output_tokens": 2e-6}
model = init_chat_model("openai:gpt-5-mini")


class State(TypedDict):
    subject: str
    text: str
    approved: bool
    feedback: str
    iteration: int
    cost: float


async def write(state: State) -> dict:
    reply = await model.ainvoke(f"Write a letter about {state['subject']}. {state['feedback']}")
    cost = sum(reply.usage_metadata[name] * price for name, price in PRICES.items())
    new = {"iteration": state["iteration"] + 1, "cost": state["cost"] + cost}
    return new | {"text": reply.content}


def gate(state: State) -> dict:
    approved, feedback = interrupt({"question": "Shall it be sent?", "show": state["text"]})
    return {"approved": approved, "feedback": feedback}


def is_done(state: State) -> bool:
    return state["approved"] or state["cost"] >= 0.50 or state["iteration"] >= 5


def build(saver: AsyncSqliteSaver):
    graph = StateGraph(State)
    graph.add_node(write)
    graph.add_node(gate)
    graph.add_edge(START, "write")
    graph.add_edge("write", "gate")
    graph.add_conditional_edges("gate", lambda state: END if is_done(state) else "write")
    return graph.compile(checkpointer=saver)


async def main(subject: str, answers: list[tuple[bool, str]], thread: str) -> dict:
    first = {"subject": subject, "text": "", "approved": False, "feedback": ""}
    async with AsyncSqliteSaver.from_conn_string("gate.db") as saver:
        graph, config = build(saver), {"configurable": {"thread_id": thread}}
        state = await graph.ainvoke(first | {"iteration": 0, "cost": 0.0}, config)
        for answer in answers:
            state = await graph.ainvoke(Command(resume=answer), config)
    return {"text": state["text"], "approved": state["approved"]}
