"""The document itself: its examples, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from loom_runs import SHARED, read, run

from whorl.errors import InvalidWorkflow

SEEDS = sorted((SHARED / "seeds").glob("003_*.txt"))
needs_seed = pytest.mark.skipif(not SEEDS, reason="the document is not here")


def block(first: int, last: int) -> Any:
    text = "\n".join(SEEDS[0].read_text(encoding="utf-8").split("\n")[first - 1 : last])
    return json.loads(text)


@pytest.mark.parametrize("count", [3, 300])
def test_an_ended_loop_keeps_only_its_last_iteration(count: int) -> None:
    """That one is kept so that a person can have the loop go on."""
    loop = {
        "type": "until",
        "condition": f"@equals(variables('loopIndex'), {count})",
        "actions": {"x": {"type": "compose", "inputs": "@variables('loopIndex')"}},
        "limit": {"count": 1000},
    }
    state = run({"actions": {"turn": loop}}).machine.state

    assert state["pending"] == {}
    assert len(state["frames"]) == 3
    assert len(state["scopes"]) == 2


@needs_seed
def test_react_agent_loop() -> None:
    searched: list[Any] = []

    def search(input: Any) -> str:  # noqa: A002
        searched.append(input)
        return "found it"

    ran = run(
        {"actions": {"agentLoop": block(736, 769)}},
        {"observations": "none"},
        answers=['{"action": "SEARCH", "input": "loops"}', '{"action": "FINAL_ANSWER"}'],
        functions={"activity:search": search},
    )

    assert ran.status == "succeeded"
    assert ran.loops["agentLoop"]["iterations"] == 2
    assert searched == [{"query": "loops"}]
    assert ran.actions["observe"]["outputs"] == "none\n"


@needs_seed
def test_batch_processing_with_pagination() -> None:
    pages = [(200, {"items": [1, 2], "nextPageToken": "p2"}), (200, {"items": [3]})]
    seen: list[Any] = []

    def processor(input: Any) -> Any:  # noqa: A002
        seen.append(input)
        return input

    ran = run(
        {"actions": {"processAllPages": block(774, 801)}},
        {"nextPageToken": "p1"},
        web={"GET /data": pages},
        functions={"actor:processor": processor},
    )

    assert ran.status == "succeeded"
    assert seen == [1, 2, 3]
    assert [str(r.inputs["url"])[-2:] for r in ran.world.requests if r.kind == "http"] == [
        "p1",
        "p2",
    ]


@needs_seed
def test_every_whole_example_loads() -> None:
    """Those that leave something out say so, at its place; all others load."""
    import re

    text = SEEDS[0].read_text(encoding="utf-8")
    for found in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        if "..." in found.replace('"..."', ""):
            with pytest.raises(InvalidWorkflow):
                read(found)
        else:
            assert read(found).workflow.body.nodes
