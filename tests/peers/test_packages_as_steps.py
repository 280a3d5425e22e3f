"""Agents of Pydantic AI, runnables of LangChain and graphs of LangGraph as steps of workflows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

import pytest
from pydantic import BaseModel

import whorl

if TYPE_CHECKING:
    from pathlib import Path

REASON = "the packages of peers are not installed"
# What these packages warn of is not ours to mend.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("place")]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pydantic_ai", "langchain_core", "langgraph"):
        pytest.importorskip(name, reason=REASON)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_HOME", raising=False)


class Review(BaseModel):
    score: float
    notes: list[str]


def test_an_agent_of_pydantic_ai_is_a_step() -> None:
    """Its output has fields in the workflow, and its tokens are counted."""
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    model = TestModel(custom_output_args={"score": 0.5, "notes": ["shorter"]})
    review = whorl.step(Agent(model, output_type=Review), name="review")

    @whorl.workflow
    async def reviewing(text: str) -> dict[str, object]:
        turns = whorl.loop(Review, at_most=3)
        async for turn in turns:
            turn.value = Review(**await review(f"Review {text}"))
            if turn.value.score * turn.number >= 1:
                break
        given = turns.result
        return {"score": given.score, "notes": given.notes, "turns": turns.iterations}

    result = whorl.run_sync(reviewing, {"text": "rain"})

    assert (result.error, result.value) == (None, {"score": 0.5, "notes": ["shorter"], "turns": 2})
    assert (result.usage.calls, result.usage.input_tokens > 0) == (2, True)


def test_a_runnable_of_langchain_is_a_step() -> None:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate

    used = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    model = GenericFakeChatModel(messages=iter([AIMessage("one", usage_metadata=used), "two"]))
    say = whorl.step(model, name="say")
    prompt = ChatPromptTemplate.from_template("Write about {topic}")
    chain = whorl.step(prompt | model | StrOutputParser(), name="chain")

    @whorl.workflow
    async def saying(topic: str) -> dict[str, object]:
        said: Any = await say(f"Say {topic}")
        return {"said": said["content"], "chained": await chain({"topic": topic})}

    result = whorl.run_sync(saying, {"topic": "rain"})

    assert (result.error, result.value) == (None, {"said": "one", "chained": "two"})
    assert (result.usage.input_tokens, result.usage.output_tokens) == (7, 3)


def test_a_graph_of_langgraph_is_a_step() -> None:
    from langgraph.graph import END, START, StateGraph

    class State(TypedDict):
        number: int

    graph = StateGraph(State)
    graph.add_node("add", lambda state: {"number": state["number"] + 1})
    graph.add_edge(START, "add")
    graph.add_edge("add", END)
    add = whorl.step(graph.compile(), name="add")

    @whorl.workflow
    async def adding(start: int) -> int:
        state: Any = {"number": start}
        async for turn in whorl.loop("turns", at_most=10):
            state = await add({"number": state["number"]})
            if state["number"] >= 5:
                turn.stop("enough")
        return int(state["number"])

    result = whorl.run_sync(adding, {"start": 2})

    assert (result.error, result.output, result.loops[0].iterations) == (None, 5, 3)
