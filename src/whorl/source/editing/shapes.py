"""What a text means, so that it can be compared: kinds, values and keys in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from whorl.source import Json, Mapping, Scalar, Sequence, Value

if TYPE_CHECKING:
    from collections.abc import Callable

Path: TypeAlias = tuple[int, ...]


class Shape(NamedTuple):
    """A value without its spelling: a scalar with its type, or children; a list has no names.

    Whole files are compared by it, so it is made and compared as tuples are.
    """

    kind: str
    scalar: str | float | bool | None = None
    names: tuple[str, ...] | None = None
    children: tuple[Shape, ...] = ()

    def with_child(self, index: int, child: Shape) -> Shape:
        children = (*self.children[:index], child, *self.children[index + 1 :])
        return Shape(self.kind, None, self.names, children)

    def without(self, index: int) -> Shape:
        names = self.names
        if names is not None:
            names = (*names[:index], *names[index + 1 :])
        return Shape(self.kind, None, names, (*self.children[:index], *self.children[index + 1 :]))

    def with_new(self, index: int, name: str | None, child: Shape) -> Shape:
        """Returns this with one more child; a scalar is an empty place that becomes a container."""
        names, kind = self.names, self.kind
        if kind not in ("map", "list"):
            names, kind = (None, "list") if name is None else ((), "map")
        if names is not None:
            names = (*names[:index], name or "", *names[index:])
        return Shape(kind, None, names, (*self.children[:index], child, *self.children[index:]))

    def renamed(self, index: int, name: str) -> Shape:
        names = self.names or ()
        names = (*names[:index], name, *names[index + 1 :])
        return Shape(self.kind, None, names, self.children)


def shape_of(value: Value) -> Shape:
    match value:
        case Scalar():
            return scalar_shape(value.value)
        case Sequence():
            return Shape("list", children=tuple(map(shape_of, value.items)))
        case Mapping():
            names = tuple(entry.name for entry in value.entries)
            children = tuple(shape_of(entry.value) for entry in value.entries)
            return Shape("map", None, names, children)


def scalar_shape(value: str | float | bool | None) -> Shape:
    return Shape(type(value).__name__, value)


def shape_of_json(value: Json) -> Shape:
    if isinstance(value, dict):
        return Shape("map", None, tuple(value), tuple(map(shape_of_json, value.values())))
    if isinstance(value, list):
        return Shape("list", children=tuple(map(shape_of_json, value)))
    return scalar_shape(value)


def json_of(shape: Shape) -> Json:
    if shape.kind == "map":
        return dict(zip(shape.names or (), map(json_of, shape.children), strict=True))
    if shape.kind == "list":
        return [json_of(child) for child in shape.children]
    return shape.scalar


def changed_at(shape: Shape, path: Path, change: Callable[[Shape], Shape]) -> Shape:
    """Returns the shape with the value at a path changed."""
    if not path:
        return change(shape)
    return shape.with_child(path[0], changed_at(shape.children[path[0]], path[1:], change))


def child_of(value: Value, index: int) -> Value:
    """Returns the child of a container by its index."""
    assert not isinstance(value, Scalar)
    return value.items[index] if isinstance(value, Sequence) else value.entries[index].value


def value_at(root: Value, path: Path) -> Value:
    for index in path:
        root = child_of(root, index)
    return root
