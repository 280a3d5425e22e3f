"""A sketch: the picture of a file that is being edited, from its tree alone, valid or not."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.dialects.reading import fields
from whorl.dialects.reading.fields import text_of
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, Value, plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.errors import Span
    from whorl.language import Json
    from whorl.source.editing.text import Text

_SPECIAL = re.compile(r"[%/\[\]#:]")
Keys: TypeAlias = tuple[str | int, ...]
Body = Literal["none", "inline", "members", "file"]
NAMES_MAX = 500
EdgeKind = Literal["order", "data", "feedback", "branch"]


@dataclass(frozen=True, slots=True)
class SketchNode:
    """A step as it is drawn; `where` are the keys that lead to its text.

    `slots` has the keys of each place inside that holds steps, by case ("" without a case).
    """

    path: str
    kind: str
    where: Keys
    parent: str = ""
    case: str | None = None
    title: str = ""
    body: Body = "none"
    file: str = ""
    position: tuple[float, float] | None = None
    size: tuple[float, float] | None = None
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    value: Value | None = field(default=None, compare=False, repr=False)
    slots: dict[str, Keys] = field(default_factory=dict)

    @property
    def fields(self) -> Json:
        """Its fields as they are written."""
        return None if self.value is None else plain(self.value)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]

    @property
    def key(self) -> str:
        """The key of its text, if the text is in a mapping."""
        return str(self.where[-1])


@dataclass(frozen=True, slots=True)
class SketchEdge:
    """A connection of two steps; `where` leads to its text if it has one of its own."""

    source: str
    target: str
    kind: EdgeKind = "order"
    from_port: str = ""
    to_port: str = ""
    label: str = ""
    where: Keys | None = None


@dataclass(frozen=True, slots=True)
class Sketch:
    """All steps of a file, holders before what they hold, and their connections."""

    nodes: tuple[SketchNode, ...] = ()
    edges: tuple[SketchEdge, ...] = ()
    _by_path: dict[str, SketchNode] = field(init=False, compare=False, repr=False)
    _by_keys: dict[Keys, SketchNode] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        by_path = {node.path: node for node in reversed(self.nodes)}
        object.__setattr__(self, "_by_path", by_path)
        object.__setattr__(self, "_by_keys", {node.where: node for node in reversed(self.nodes)})

    def node(self, path: str) -> SketchNode | None:
        return self._by_path.get(path)

    def at(self, where: Keys) -> SketchNode | None:
        """Returns the step whose text is at exactly these keys."""
        return self._by_keys.get(where)

    def owner(self, where: Keys) -> SketchNode | None:
        """Returns the innermost step that contains a text, or None for a field of the workflow."""
        around = (self.at(where[:length]) for length in range(len(where), 0, -1))
        return next((node for node in around if node is not None), None)

    def inside(self, path: str) -> list[SketchNode]:
        """Returns the steps directly inside a holder; an empty path is the workflow."""
        return [node for node in self.nodes if node.parent == path]


@dataclass(frozen=True, slots=True)
class Rewired:
    """A place that reads a step; in the result of an operation, a place that was patched."""

    path: str
    field: str
    line: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name that an expression can read, spelled as in a text.

    `step` is the path of the step that gives it; empty if the workflow or a loop gives it.
    """

    name: str
    type: str = "any"
    step: str = ""
    readers: tuple[Rewired, ...] = ()


def at(value: Value | None, *keys: str | int) -> Value | None:
    """Returns the value that keys lead to, or None if it does not exist."""
    for key in keys:
        if isinstance(value, Mapping) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, Sequence) and isinstance(key, int) and key < len(value):
            value = value.items[key]
        else:
            return None
    return value


def items_at(value: Value | None, *keys: str | int) -> list[Value]:
    """Returns the items of a list that keys lead to; none if they lead to no list."""
    listed = at(value, *keys)
    return list(listed.items) if isinstance(listed, Sequence) else []


def text_at(value: Value | None, *keys: str | int) -> str:
    """Returns the text that keys lead to, or "" if they lead to none."""
    return text_of(at(value, *keys))


def joined(parent: str, name: str) -> str:
    """Returns the path of a step, spelled like the addresses of events."""
    escaped = _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", name)
    return f"{parent}/{escaped}" if parent else escaped


def is_in(path: str, holder: str) -> bool:
    """Returns whether a path is that of a step or of something inside it."""
    return path == holder or path.startswith(f"{holder}/")


def holders(path: str) -> list[str]:
    """Returns a path with all paths around it, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[: length + 1]) for length in range(len(parts))] if path else []


def reached(start: str, links: Iterable[tuple[str, str]]) -> set[str]:
    """Returns what links lead to from a place, directly or through others, and the place itself."""
    onward: dict[str, set[str]] = {}
    for source, target in links:
        onward.setdefault(source, set()).add(target)
    return fields.reached([start], lambda place: onward.get(place, ()))


def number_pair(value: Value | None, *names: str) -> tuple[float, float] | None:
    """Returns two numbers of an object, such as x and y."""
    parts = [part.value for name in names if isinstance(part := at(value, name), Scalar)]
    numbers = [part for part in parts if isinstance(part, int | float)]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None


class Drawing:
    """The steps and connections of a sketch while it is drawn."""

    def __init__(self) -> None:
        self.nodes: list[SketchNode] = []
        self.edges: list[SketchEdge] = []
        self._taken: set[str] = set()

    def path(self, parent: str, name: str) -> str:
        """Returns a unique path of a step: the same name in two cases gets a number."""
        path = found = joined(parent, name)
        number = 2
        while found in self._taken:
            found, number = f"{path}~{number}", number + 1
        self._taken.add(found)
        return found

    def sketch(self) -> Sketch:
        return Sketch(tuple(self.nodes), tuple(self.edges))


def as_json(sketch: Sketch, text: Text) -> dict[str, Any]:
    """Returns a sketch as JSON for the page, with the lines of each part."""
    places = [*(node.where for node in sketch.nodes), *(edge.where for edge in sketch.edges)]
    parts = {where[0] for where in places if where}
    root = text.root if isinstance(text.root, Mapping) else ()
    return {
        "nodes": [_node_json(node, text) for node in sketch.nodes],
        "edges": [_edge_json(edge, text) for edge in sketch.edges],
        # The file's own fields, beside its steps and their connections.
        "fields": {entry.name: plain(entry.value) for entry in root if entry.name not in parts},
    }


def _node_json(node: SketchNode, text: Text) -> dict[str, Any]:
    pair = node.position and dict(zip("xy", node.position, strict=True))
    size = node.size and dict(zip(("width", "height"), node.size, strict=True))
    return {
        "path": node.path,
        "kind": node.kind,
        "title": node.title or node.name,
        "parent": node.parent,
        "case": node.case,
        "body": node.body,
        "file": node.file,
        "position": pair,
        "size": size,
        "ports": {"inputs": list(node.inputs), "outputs": list(node.outputs)},
        "cases": [case for case in node.slots if case],
        "fields": node.fields,
        "span": span_json(text, node.where),
    }


def _edge_json(edge: SketchEdge, text: Text) -> dict[str, Any]:
    return {
        "from": edge.source,
        "from_port": edge.from_port,
        "to": edge.target,
        "to_port": edge.to_port,
        "kind": edge.kind,
        "label": edge.label,
        "span": None if edge.where is None else span_json(text, edge.where),
    }


def span_json(text: Text, where: Keys) -> dict[str, int] | None:
    """Returns the first and the last line of an entry, with its column."""
    path = text.find(where)
    if not path:
        return None
    place = text.place(path)
    first, last = text.lines.span(place.at), text.lines.span(max(place.at, place.end - 1))
    return {"line": first.line, "column": first.column, "end_line": last.line}


def path_at(sketch: Sketch, text: Text, span: Span) -> str | None:
    """Returns the innermost step whose text contains a place."""
    at, found = text.lines.offset(span), []
    for node in sketch.nodes:
        path = text.find(node.where)
        place = text.place(path) if path else None
        if place is not None and place.at <= at <= place.end:
            found.append((place.end - place.at, node.path))
    return min(found)[1] if found else None
