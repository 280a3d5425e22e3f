"""What becomes of a canvas: bodies, order, names, and what its author is told."""

from __future__ import annotations

from typing import Any

import pytest
from studio_files import canvas, found_in, node, read

from whorl import ir
from whorl.ir.walk import walk
from whorl.language import MappingScope, evaluate


def named(text: str) -> dict[str, ir.Node]:
    return dict(walk(read(text).workflow.body))


def value_of(expression: Any, **values: Any) -> Any:
    assert isinstance(expression, ir.Expression)
    return evaluate(expression, MappingScope(values))


EVALUATED = [
    node("turn", "loop", exitCondition="evaluator"),
    node("draft", "llm"),
    node("judge", "router", mode="pattern", branches=["done", "continue"]),
    node("more", "transform", template="x {{draft.output}}"),
    node("leave", "exit"),
]
WAY = ("in > turn > draft > judge", "judge.done > leave > out", "judge.continue > more")


@pytest.mark.parametrize(
    "nasty",
    [
        '{{ "x" }} {% if 1 %}',
        "'; DROP \\",
        '"] ~ known("secret") ~ ["',
        "{{ '{{' }} \u2028 \U0001f600 \x7f",
        "{{input.__class__}} {#",
        "line\nline\ttab \\n",
    ],
)
def test_texts_of_the_file_are_never_code(nasty: str) -> None:
    text = canvas([node("t", "transform", template=nasty + "{{input}}")], "in > t > out")
    compute = named(text)["t"]
    assert isinstance(compute, ir.Compute)

    assert value_of(compute.value, **{"in": "IN"}) == nasty + "IN"


def test_a_helper_gets_a_free_name() -> None:
    taken = [*EVALUATED, node("judge.branch", "transform", template="y")]

    loop = named(canvas(taken, *WAY))["turn"]
    assert isinstance(loop, ir.Loop)
    assert "judge.branch_" in {inner.name for inner in loop.body.nodes}


def test_events_of_the_dialect_are_reported_as_data() -> None:
    vocabulary: Any = read(canvas(EVALUATED, *WAY)).workflow.words

    told = {
        "iteration_started": ("iteration", {"node_id", "index", "total", "input_preview"}),
        "streaming": ("streaming", {"node_id", "tokens"}),
        "loop_finished": ("completed", {"node_id", "iterations_run", "exit_reason"}),
    }
    for kind, (word, fields) in told.items():
        event = vocabulary["events"][kind]
        assert (event["event"], set(event["fields"])) == (f"workflow.node.{word}", fields)
    assert {"evaluator_done", "stable_output", "error"} == set(vocabulary["exit_reasons"].values())


def _calling(**data: str) -> str:
    return canvas([node("call", "http_request", url="https://e.com", **data)], "in > call > out")


def test_a_request_names_a_key_of_the_operator() -> None:
    text = _calling(auth="bearer", authTokenSettingsKey="billing")
    (task,) = [one for one in read(text).workflow.body.nodes if isinstance(one, ir.Task)]
    inputs = dict(task.inputs.entries)

    assert found_in(text) == []
    key = (("type", ir.Constant("Key")), ("name", ir.Constant("billing")))
    assert inputs["auth"] == ir.Fields(key)
