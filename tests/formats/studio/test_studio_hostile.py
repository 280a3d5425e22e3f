"""Hostile canvases are refused, or read, in little time."""

from __future__ import annotations

import json
from typing import Any

import pytest
from studio_files import INPUT, OUTPUT, canvas, edges, found_in, node

from stopwatch import within

SECONDS = 10.0


def chain(count: int, **fields: Any) -> str:
    """A long line of transforms."""
    nodes = [node(f"t{i}", "transform", **fields) for i in range(count)]
    names = ["in", *(one["id"] for one in nodes), "out"]
    drawn = {"nodes": [INPUT, *nodes, OUTPUT], "edges": edges(" > ".join(names))}
    return json.dumps(drawn)


def nested(depth: int) -> str:
    nodes = [node(f"l{i}", "loop") for i in range(depth)]
    nodes += [node("t", "llm"), *(node(f"e{i}", "exit") for i in range(depth))]
    opening = " > ".join(f"l{i}" for i in range(depth))
    closing = " > ".join(f"e{i}" for i in reversed(range(depth)))
    return canvas(nodes, f"in > {opening} > t > {closing} > out")


def dense(count: int) -> str:
    nodes = [node(f"t{i}", "transform") for i in range(count)]
    drawn = [
        {"source": f"t{i}", "target": f"t{j}"} for i in range(count) for j in range(i + 1, count)
    ]
    return json.dumps({"nodes": [INPUT, *nodes, OUTPUT], "edges": [*edges("in > t0"), *drawn]})


def routers(count: int) -> str:
    nodes: list[dict[str, Any]] = [node("turn", "loop", exitCondition="evaluator")]
    for i in range(count):
        nodes.append(node(f"r{i}", "router", mode="pattern", branches=["done", "continue"]))
    names = [f"r{i}.done" for i in range(count)]
    way = f"in > turn > {' > '.join(name.removesuffix('.done') for name in names)} > leave > out"
    back = [f"r{i}.continue > r0" for i in range(count)]
    return canvas([*nodes, node("leave", "exit")], way.replace("> leave", ".done > leave"), *back)


CANVASES = {
    "many nodes": (chain(5_000), "W002"),
    "a long line": (chain(998, template="{{in}}"), ""),
    "places that look far": (chain(900, template="{{t999}}{{t0}}{{t899}}" * 10), "W005"),
    "places that stand for nothing": (chain(50, template="{{nothing}}" * 900), ""),
    "too many places": (chain(1, template="{{in}}" * 2_000), "W002"),
    "deep loops": (nested(16), ""),
    "too deep loops": (nested(17), "W002"),
    "too many loops": (nested(101), "W002"),
    "dense edges": (dense(140), ""),
    "too many edges": (dense(150), "W002"),
    "many routers": (routers(199), "W005"),
    "a deep path": (chain(1, mode="jsonpath", template="$" + "[*]" * 5_000), "W008"),
    "many pipes": (chain(1, mode="script", template="|".join(["first"] * 5_000)), "W005"),
    "a long command": (canvas([node("s", "shell_exec", command="'" * 99_999)], "in > s > out"), ""),
    "nested pipes": (chain(1, mode="script", template="(" * 50_000), "W005"),
}


@pytest.mark.sample(9)
@pytest.mark.parametrize("name", CANVASES)
def test_a_hostile_canvas_ends_soon(name: str) -> None:
    text, code = CANVASES[name]
    found = within(SECONDS, lambda: found_in(text))

    errors = [one.code for one in found if one.severity == "error"]
    assert errors[:1] == [code] if code else errors == []
