"""What is known about results before anything runs: the names in them, as deep as they go.

A shape is a promise that the engine keeps: where it cannot promise, there is no shape.
"""

from __future__ import annotations

from dataclasses import field
from functools import reduce
from typing import TYPE_CHECKING, Literal

from whorl.ir import loop_rules, nodes
from whorl.ir.values import Expression, Port, Value
from whorl.ir.walk import blocks_of, names_given
from whorl.language import LanguageError, path_in
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from whorl.language import Json


@dataclass(frozen=True, slots=True)
class Shape:
    """An object with just these names (more where it is `open`), a list, or a plain value.

    A plain value that is a text for certain, as what a model answers, is a `text`.
    Where the shape of a part is None, nothing is known about it.
    """

    kind: Literal["object", "list", "text", "plain"]
    fields: Mapping[str, Shape | None] = field(default_factory=dict)
    items: Shape | None = None
    open: bool = False


PLAIN = Shape("plain")
TEXT = Shape("text")
_LOOP = Shape("object", dict.fromkeys(loop_rules.LOOP_FACTS, PLAIN))
_DECISION = Shape("object", {"approved": PLAIN, "feedback": None, "value": None})
_KINDS = {
    "ask": TEXT,
    "agent": TEXT,
    "run": Shape("object", dict.fromkeys(("stdout", "stderr", "exit_code"), PLAIN)),
    "http": Shape("object", {"status": PLAIN, "headers": None, "body": None, "encoding": PLAIN}),
    "file_read": Shape("object", {"path": PLAIN, "size": PLAIN, "content": None}),
    "file_write": Shape("object", dict.fromkeys(("path", "size"), PLAIN)),
}
_PLAIN_TYPES = frozenset({"string", "number", "integer", "boolean"})
_COMBINING = frozenset({"anyOf", "oneOf", "allOf", "$ref", "not", "if", "patternProperties"})
_DEPTH_MAX = 16


class Shapes:
    """The shapes of the results of nodes, each computed once."""

    __slots__ = ("_called", "_known")

    def __init__(self, called: Mapping[str, nodes.Workflow]) -> None:
        self._called = called
        # The node is kept beside its shape, so that its id stays its own.
        self._known: dict[int, tuple[nodes.Node, Shape | None]] = {}

    def of(self, node: nodes.Node) -> Shape | None:
        entry = self._known.get(id(node))
        if entry is None:
            # Workflows that call each other in a circle are reported elsewhere.
            self._known[id(node)] = (node, None)
            entry = (node, None if node.shape is not None else self._of(node))
            self._known[id(node)] = entry
        return entry[1]

    def _of(self, node: nodes.Node) -> Shape | None:
        match node:
            case nodes.Task() if any(name == "whole" for name, _ in node.inputs.entries):
                # The answer of an agent stands inside of an object that tells about its session.
                return None
            case nodes.Task() if node.returns is not None:
                return shape_of_schema(node.returns)
            case nodes.Task():
                return _KINDS.get(node.kind)
            case nodes.Call() if node.workflow in self._called:
                return self.of_outputs(self._called[node.workflow])
            case nodes.Gate():
                return _DECISION
            case nodes.Loop():
                return self._of_loop(node)
            case nodes.ForEach():
                return Shape("list", items=self.of_block(node.body))
            case nodes.Group() | nodes.Branch():
                inner = [block for _, block in blocks_of(node)]
                if all(block.open for block in inner):
                    fields = {
                        n: s for block in inner for n, s in self.of_block(block).fields.items()
                    }
                    return Shape("object", {"branch": PLAIN} | fields)
        return None

    def of_block(self, block: nodes.Block) -> Shape:
        return Shape("object", {name: self.of(node) for name, node in names_given(block)})

    def of_value(self, value: Value | None, find: Callable[[str], Shape | None]) -> Shape | None:
        """The shape of a value that is a path and nothing else, such as `{{ review.notes }}`."""
        if not isinstance(value, Expression):
            return None
        try:
            path = path_in(value)
        except LanguageError:
            return None
        return None if path is None else reduce(part_of, path[1], find(path[0]))

    def of_fact(self, loop: nodes.Loop, fact: loop_rules.Fact) -> Shape | None:
        match fact:
            case "previous" | "best":
                return self.of_block(loop.body)
            case "history":
                return Shape("list", items=self.of_block(loop.body))
            case "person":
                return _DECISION
            case "past":
                return _of_records(loop)
        return PLAIN

    def _of_loop(self, loop: nodes.Loop) -> Shape:
        results = self.of_block(loop.body).fields
        fields = dict(results)
        if loop.returns == "all":
            fields = {name: Shape("list", items=shape) for name, shape in results.items()}
        for collect in loop.collect:
            shape = self.of_value(collect.value, results.get)
            fields[collect.name] = Shape("list", items=shape) if collect.take == "all" else shape
        return Shape("object", fields | {"loop": _LOOP})

    def of_outputs(self, workflow: nodes.Workflow) -> Shape | None:
        """The shape of what a workflow gives; None where it names no outputs."""
        results = self.of_block(workflow.body).fields
        fields = {name: self.of_value(value, results.get) for name, value in workflow.outputs}
        return Shape("object", fields) if fields else None


def shape_of_port(port: Port) -> Shape | None:
    if port.type in _PLAIN_TYPES:
        return PLAIN
    return Shape("list") if port.type == "list" else None


def shape_of_schema(schema: Json, depth: int = 0) -> Shape | None:
    """The shape of what fits a JSON Schema, as far as the schema is certain about it."""
    if not isinstance(schema, dict) or depth > _DEPTH_MAX or not _COMBINING.isdisjoint(schema):
        return None
    kind = schema.get("type")
    if isinstance(kind, str) and kind in _PLAIN_TYPES:
        return TEXT if kind == "string" else PLAIN
    if kind == "array":
        return Shape("list", items=shape_of_schema(schema.get("items"), depth + 1))
    properties = schema.get("properties")
    if kind != "object" or not isinstance(properties, dict):
        return None
    fields = {name: shape_of_schema(part, depth + 1) for name, part in properties.items()}
    required = schema.get("required")
    for name, shape in fields.items():
        if shape is TEXT and not (isinstance(required, list) and name in required):
            # It may be absent, so it is no text for certain.
            fields[name] = PLAIN
    return Shape("object", fields, open=schema.get("additionalProperties") is not False)


def part_of(shape: Shape | None, key: str | int) -> Shape | None:
    """The shape of a member or an item, as far as it is known."""
    if shape is None or isinstance(key, int):
        return shape and shape.items
    return shape.fields.get(key)


def lacks(shape: Shape, key: str | int) -> bool:
    """Whether a value of this shape certainly has no such member; an index may always be there."""
    return isinstance(key, str) and not shape.open and key not in shape.fields


def _of_records(loop: nodes.Loop) -> Shape | None:
    """The records of a memory; those of earlier runs may be of another version of the file."""
    if loop.memory is None or loop.memory.across_runs:
        return None
    names = [name for name, _ in loop.memory.record.entries]
    if not all(isinstance(name, str) for name in names):
        return None
    fields: dict[str, Shape | None] = {str(name): None for name in names}
    return Shape("list", items=Shape("object", {"number": PLAIN} | fields))
