"""What is known of an agent's result before anything runs: the members of loops, strict fields."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.ir.checks.shapes import PLAIN, Shape, shape_of_schema
from whorl.ir.walk import names_given

if TYPE_CHECKING:
    from whorl.language import Json

_FIGURES = ("loops_completed", "final_score", "threshold_met")


def shape_of(node: ir.Node | None) -> Shape | None:
    """The shape of a node's result as templates see it; None where it may be anything."""
    match node:
        case ir.Loop():
            return _of_loop(node)
        case ir.Task() if node.returns is not None and node.shape is None:
            return _of_answer(node.returns)
    return None


def _of_answer(schema: Json) -> Shape | None:
    """The fields of an answer; a text in one may be JSON, whose members can be read."""
    shape = shape_of_schema(schema)
    return shape and replace(shape, fields=dict.fromkeys(shape.fields))


def records_of(loop: ir.Node | None) -> Shape | None:
    """The records of past iterations; those of earlier runs may be of another version."""
    if not isinstance(loop, ir.Loop) or loop.memory is None or loop.memory.across_runs:
        return None
    names = (str(name) for name, _ in loop.memory.record.entries)
    fields: dict[str, Shape | None] = {name: None for name in names if not name.startswith("$")}
    return Shape("list", items=Shape("object", fields))


def _of_loop(loop: ir.Loop) -> Shape:
    """The figures of a loop stand beside its agents in `result`, too."""
    figures: dict[str, Shape | None] = {**dict.fromkeys(_FIGURES, PLAIN)}
    figures["past_loops"] = records_of(loop)
    agents = {name: shape_of(node) for name, node in names_given(loop.body)}
    whole = {"response": None, "result": Shape("object", figures | agents)}
    return Shape("object", figures | whole)
