"""Reads a changed text again without reading all of it: distant parts stay as they are.

Neighbours that a change does not touch are replaced by a word, and the rest is read as any text. If
each of these words is found in its own place, it represents the values that were left out, moved by
as much as the text has grown. The meanings of two texts are compared by their shapes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whorl.errors import InvalidWorkflow, Span
from whorl.lazily import dataclass
from whorl.source import (
    Document,
    Entry,
    Json,
    Layout,
    Lines,
    Mapping,
    Place,
    Scalar,
    Sequence,
    Value,
    without_surrogates,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


# What a text means, so that it can be compared: kinds, values and keys in their order.

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


# What may be an anchor or an alias, whose values are elsewhere.
_SHARED = re.compile(r"(?<![^\s,\[{:-])[&*][\w-]")
# Fewer characters than these are read sooner than they are left out.
_LEAST = 60


@dataclass(frozen=True, slots=True)
class _Run:
    """Children of one holder, from `first` to before `last`, that a word replaces."""

    holder: Mapping | Sequence
    shape: Shape
    first: int
    last: int
    start: int
    end: int
    by: int
    is_moved: bool


def reread(
    old: Document,
    shape: Shape,
    change: tuple[int, int, int],
    text: str,
    parse: Callable[[str], Document],
    *,
    is_json: bool,
) -> tuple[Document, Shape] | None:
    """Returns the changed text as read, if reading a part of it is enough, or None.

    `change` is the start and end of the replaced part of the old text, and its new length.
    """
    if isinstance(old.root, Scalar) or old.warnings or without_surrogates(text) != text:
        return None
    if not is_json and ("&" in text or "*" in text) and _SHARED.search(text):
        return None
    start, end, length = change
    by = length - (end - start)
    has_moved = bool(by) or old.text.count("\n", start, end) != text.count("\n", start, end + by)
    runs = list(_runs(old.root, shape, (_leaf_before(old.root, start), end), (by, has_moved)))
    if not runs:
        return None
    reading = _Rereading(text, old.file, sorted(runs, key=lambda run: run.start), is_json)
    try:
        read = parse(reading.shortened())
    except InvalidWorkflow:
        # All of it is read, to say what is wrong, and where.
        return None
    if read.warnings:
        return None
    try:
        root, found = reading.grown(read.root)
    except _NotFoundError:
        return None
    if reading.left:
        return None
    return Document(root, (), text, old.file), found


class _NotFoundError(Exception):
    """A word is not where it was written."""


def _leaf_before(value: Value, index: int) -> int:
    """Returns the start of the last entry or item that begins before an index."""
    found = index
    while not isinstance(value, Scalar):
        places = value.layout.places
        last = next((at for at in reversed(range(len(places))) if places[at].at < index), None)
        if last is None:
            return found
        found, value = places[last].at, child_of(value, last)
    return found


def _runs(
    holder: Mapping | Sequence, shape: Shape, change: tuple[int, int], move: tuple[int, bool]
) -> Iterator[_Run]:
    """Returns the neighbours on both sides of a change, in all containers around it."""
    near, end = change
    places = holder.layout.places
    before = next((at for at, place in enumerate(places) if place.end >= near), len(places))
    behind = next((at for at in range(before, len(places)) if places[at].at > end), len(places))
    for first, last, by in ((0, before, (0, False)), (behind, len(places), move)):
        if first < last and places[last - 1].end - places[first].at >= _LEAST:
            yield _Run(holder, shape, first, last, places[first].at, places[last - 1].end, *by)
    for index in range(before, behind):
        child = child_of(holder, index)
        if not isinstance(child, Scalar):
            yield from _runs(child, shape.children[index], change, move)


class _Rereading:
    def __init__(self, text: str, file: str, runs: list[_Run], is_json: bool) -> None:
        self._text = text
        self._lines = Lines(text, file)
        self._is_json = is_json
        word = "zq"
        while word in text:
            word += "q"
        self.left = {f"{word}{number}": run for number, run in enumerate(runs)}
        # Where the stretches begin that were kept: in the shortened text, and in the text itself.
        self._short: list[int] = [0]
        self._long: list[int] = [0]

    def shortened(self) -> str:
        """Returns the text with a word for each run."""
        parts: list[str] = []
        at = size = 0
        for word, run in self.left.items():
            start, end = run.start + run.by, run.end + run.by
            spelled = f'"{word}"' if self._is_json else word
            if isinstance(run.holder, Mapping):
                spelled += ": 0"
            elif not run.holder.layout.flow:
                spelled = f"- {spelled}"
            parts += [self._text[at:start], spelled]
            size += start - at + len(spelled)
            at = end
            self._short.append(size)
            self._long.append(at)
        return "".join([*parts, self._text[at:]])

    def _index(self, short: int) -> int:
        part = bisect_right(self._short, short) - 1
        return self._long[part] + short - self._short[part]

    def grown(self, value: Value) -> tuple[Value, Shape]:
        """Returns a value of the shortened text as it is in the whole one."""
        if isinstance(value, Scalar):
            start, end = map(self._index, value.extent)
            return _scalar(value, start, end, self._lines), scalar_shape(value.value)
        return self._holder(value)

    def _run(self, word: object, kind: type, at: int) -> _Run | None:
        run = self.left.get(word) if isinstance(word, str) else None
        if run is None:
            return None
        if not isinstance(run.holder, kind) or self._index(at) != run.start + run.by:
            raise _NotFoundError
        del self.left[str(word)]
        return run

    def _holder(self, value: Mapping | Sequence) -> tuple[Value, Shape]:
        """Returns a container with the values of all its runs."""
        parts: list[Any] = []
        places: list[Place] = []
        shapes: list[Shape] = []
        for part, place in zip(_parts(value), value.layout.places, strict=True):
            child = part.value if isinstance(part, Entry) else part
            word = part.name if isinstance(part, Entry) else getattr(part, "value", None)
            run = self._run(word, type(value), place.at)
            if run is None:
                grown, shape = self.grown(child)
                key: Any = self.grown(part.key)[0] if isinstance(part, Entry) else None
                parts.append(grown if key is None else Entry(key, grown))
                shapes.append(shape)
                extent = grown.extent if isinstance(grown, Scalar) else grown.layout.extent
                places.append(Place(self._index(place.at), *extent, False))
                continue
            if isinstance(part, Entry) and getattr(child, "value", None) != 0:
                raise _NotFoundError
            kept = _parts(run.holder)[run.first : run.last]
            parts += [_moved(old, run.by, self._lines) for old in kept] if run.is_moved else kept
            shapes += run.shape.children[run.first : run.last]
            places += _shifted(run.holder.layout.places[run.first : run.last], run.by)
        layout = self._layout(value.layout, tuple(places))
        if isinstance(value, Sequence):
            span = self._lines.span(*_shown(layout))
            return Sequence(tuple(parts), span, layout), Shape("list", children=tuple(shapes))
        names = tuple(entry.name for entry in parts)
        if len(set(names)) < len(names):
            raise _NotFoundError
        made = Mapping(tuple(parts), _mapping_span(self._lines, layout, parts), layout)
        return made, Shape("map", None, names, tuple(shapes))

    def _layout(self, layout: Layout, places: tuple[Place, ...]) -> Layout:
        start = self._index(layout.extent[0])
        last = places[-1].end if places else start
        end = self._index(layout.extent[1]) if layout.flow else last
        return Layout((start, end), places, layout.flow)


def _scalar(value: Scalar, start: int, end: int, lines: Lines) -> Scalar:
    span = lines.span(start, end)
    return Scalar(value.value, span, value.quoted, value.raw, value.style, lines, (start, end))


def _shifted(places: tuple[Place, ...], by: int) -> tuple[Place, ...]:
    if not by:
        return places
    return tuple([Place(at + by, start + by, end + by) for at, start, end, _ in places])


def _shown(layout: Layout) -> tuple[int, int | None]:
    """Returns the extent of a container for its span: brackets, or the start of a block."""
    return layout.extent[0], layout.extent[1] if layout.flow else None


def _mapping_span(lines: Lines, layout: Layout, entries: list[Entry]) -> Span:
    span = lines.span(*_shown(layout))
    if entries and not layout.flow and entries[0].key.span.line == span.line:
        return entries[0].key.span
    return span


def _parts(value: Mapping | Sequence) -> tuple[Any, ...]:
    return value.items if isinstance(value, Sequence) else value.entries


def _moved(part: Any, by: int, lines: Lines) -> Any:
    """Returns a part of an older text at its place in another one, further down or up."""
    if isinstance(part, Entry):
        return Entry(_moved(part.key, by, lines), _moved(part.value, by, lines))
    if isinstance(part, Scalar):
        return _scalar(part, part.extent[0] + by, part.extent[1] + by, lines)
    parts = [_moved(inner, by, lines) for inner in _parts(part)]
    start, end = part.layout.extent
    layout = Layout((start + by, end + by), _shifted(part.layout.places, by), part.layout.flow)
    if isinstance(part, Sequence):
        return Sequence(tuple(parts), lines.span(*_shown(layout)), layout)
    return Mapping(tuple(parts), _mapping_span(lines, layout, parts), layout)
