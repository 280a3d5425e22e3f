"""The changes that all others are made of, each verified by reading the text again."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import EditRefused, Span
from whorl.source import Json, Mapping, Scalar, Sequence, plain
from whorl.source.editing import entries, spelling
from whorl.source.editing import text as texts
from whorl.source.editing.shapes import Path, Shape, changed_at, shape_of, shape_of_json
from whorl.source.editing.text import TAKEN, UNEXACT, UNKNOWN, Key, Patch, Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from whorl.source import Document
    from whorl.source.editing.entries import Piece

_AS_TEXT = "edit the text in this place"


class Editor:
    """A text with its changes so far. A change that cannot be made exactly raises EditRefused."""

    def __init__(self, text: str, parse: Callable[[str], Document], *, is_json: bool) -> None:
        self._mark = "\ufeff" if text.startswith("\ufeff") else ""
        self._first = self.now = Text(text.removeprefix(self._mark), parse, is_json=is_json)
        if len(text) > texts.BYTES_MAX or _count(self.now.shape) > texts.VALUES_MAX:
            message = f"files above {texts.BYTES_MAX:,} characters or {texts.VALUES_MAX:,} values"
            self.now.refuse("W002", f"{message} are edited as text", 0)

    @property
    def text(self) -> str:
        return self._mark + self.now.source

    def patches(self) -> list[Patch]:
        """Returns all changes as patches of the first text."""
        return texts.differences(self._mark + self._first.source, self.text)

    def first_span(self, span: Span) -> Span | None:
        """Returns the first place of a line of the current text, if the first text has the line."""
        lines = self.now.source.splitlines()
        wanted = lines[span.line - 1].strip() if span.line <= len(lines) else ""
        first = enumerate(self._first.source.splitlines(), start=1)
        found = [number for number, line in first if line.strip() == wanted]
        nearest = min(found, key=lambda number: abs(number - span.line), default=None)
        return None if nearest is None else Span(span.file, nearest, span.column, span.length)

    def _make(self, ways: Iterable[list[Patch]], wanted: Shape, at: int) -> None:
        for patches in ways:
            changed = self.now.changed(patches, wanted)
            if changed is not None:
                self.now = changed
                return
        message = "this change cannot be made here without changing other parts"
        self.now.refuse(UNEXACT, message, at, _AS_TEXT)

    def cut(self, path: Path) -> Piece:
        """Takes an entry out."""
        piece, ways = entries.cut(self.now, path)
        wanted = changed_at(self.now.shape, path[:-1], lambda shape: shape.without(path[-1]))
        self._make(ways, wanted, self.now.place(path).at)
        return piece

    def paste(self, path: Path, index: int, piece: Piece) -> Path:
        """Puts a piece into a container, before the entry of an index."""
        holder, at = self.now.value(path), self.now.place(path).start if path else 0
        if isinstance(holder, Mapping) and piece.name in holder:
            self.now.refuse(TAKEN, f"there is a {piece.name!r} already", at, "choose another name")
        is_place = isinstance(holder, Scalar) and holder.value is None
        if not is_place and not isinstance(holder, Sequence if piece.name is None else Mapping):
            self.now.refuse(UNKNOWN, "nothing can be put into this value", at)

        def grown(shape: Shape) -> Shape:
            return shape.with_new(index, piece.name, piece.shape)

        wanted = changed_at(self.now.shape, path, grown)
        self._make(entries.paste(self.now, path, index, piece), wanted, at)
        return (*path, index)

    def insert(
        self, path: Path, index: int, name: str | None, value: Json, *, instead: Piece | None = None
    ) -> Path:
        """Puts a new entry into a container, in the style of the others.

        If it replaces another entry (`instead`), it keeps the blank lines before that one.
        """
        shape = shape_of_json(value)
        first: EditRefused | None = None
        for piece in entries.fresh(self.now, path, name, shape):
            if instead is not None and not instead.gap.strip() and not piece.flow:
                piece = replace(piece, gap=instead.gap, fresh=False)
            try:
                return self.paste(path, index, piece)
            except EditRefused as fault:
                first = first or fault
        assert first is not None
        raise first

    def put(self, path: Path, value: Json) -> None:
        """Replaces a value; parts that are in both stay as they are written."""
        old = self.now.value(path)
        if shape_of(old) == shape_of_json(value):
            return
        self.now.container(path[:-1])
        place = self.now.place(path)
        if isinstance(old, Scalar) or place.is_alias or not self._merge(path, value):
            shape = shape_of_json(value)
            wanted = changed_at(self.now.shape, path, lambda _: shape)
            self._make(_respelled(self.now, path, value), wanted, place.at)

    def _merge(self, path: Path, value: Json) -> bool:
        """Changes a container part by part, if both have the same kind and order."""
        old = self.now.value(path)
        if not value or isinstance(old, Scalar) or not len(old) or old.layout.anchored:
            return False
        if isinstance(old, Mapping) and isinstance(value, dict):
            names = [entry.name for entry in old]
            kept = [name for name in names if name in value]
            if len(set(names)) < len(names) or not kept or kept != [n for n in value if n in kept]:
                return False
            self._merge_mapping(path, names, value)
            return True
        if isinstance(old, Sequence) and isinstance(value, list):
            self._merge_list(path, value)
            return True
        return False

    def _merge_mapping(self, path: Path, names: list[str], value: dict[str, Json]) -> None:
        for index in reversed(range(len(names))):
            if names[index] not in value:
                self.cut((*path, index))
        kept = [name for name in names if name in value]
        for index, (name, part) in enumerate(value.items()):
            if name in kept:
                self.put((*path, index), part)
            else:
                self.insert(path, index, name, part)

    def _merge_list(self, path: Path, value: list[Json]) -> None:
        old = self.now.value(path)
        assert isinstance(old, Sequence)
        before, after = [shape_of(item) for item in old], [shape_of_json(item) for item in value]
        head, tail = texts.shared_ends(before, after)
        shared = min(len(before), len(after)) - tail
        for index in range(head, shared):
            self.put((*path, index), value[index])
        for index in reversed(range(shared, len(before) - tail)):
            self.cut((*path, index))
        for index in range(shared, len(after) - tail):
            self.insert(path, index, None, value[index])

    def rename(self, path: Path, name: str) -> None:
        holder = self.now.container(path[:-1])
        assert isinstance(holder, Mapping)
        old = holder.entries[path[-1]]
        if old.name == name:
            return
        at = old.key.extent[0]
        if name in holder:
            self.now.refuse(TAKEN, f"there is a {name!r} already", at, "choose another name")
        wanted = changed_at(self.now.shape, path[:-1], lambda shape: shape.renamed(path[-1], name))
        self._make(_renamed(self.now, path, name), wanted, at)

    def piece_of(self, written: str) -> Piece:
        """Makes a piece from a clipboard: the text of one entry or item."""
        return entries.from_clipboard(self.now, written)

    def renamed_piece(self, piece: Piece, name: str) -> Piece:
        """Returns a piece of a block under another name."""
        if piece.name == name or piece.name is None:
            return piece
        read = Editor(piece.text, lambda text: self.now.read_other(text).document, is_json=False)
        read.rename((0,), name)
        return replace(piece, name=name, text=read.text)

    def rewrite(self, path: Path, written: str) -> None:
        """Replaces the lines of one entry by what was typed; nothing else may change."""
        patch = entries.rewritten(self.now, path, written)
        changed = self.now.read_with([patch])
        wanted = self.now.shape
        shape = None if changed is None else changed.shape_at(path)
        if shape is not None:
            wanted = changed_at(wanted, path, lambda _: shape)
        self._make([[patch]], wanted, self.now.place(path).at)

    def open(self, path: Path) -> None:
        """Writes the entries in brackets on lines of their own, unchanged."""
        value, place = self.now.container(path), self.now.place(path)
        if self.now.is_json or self.now.container(path[:-1]).layout.flow:
            message = "only a value of a mapping or list that is written in lines can be opened"
            self.now.refuse(UNEXACT, message, place.at, "open the value around it first")
        if not value.layout.flow or not len(value):
            return
        self._make(_opened(self.now, path), self.now.shape, place.at)

    def set(self, keys: list[Key], value: Json, *, before: tuple[str, ...] = ()) -> None:
        """Sets the value at these keys; makes mappings that are missing on the way.

        A new entry comes last, or before the first entry of certain names.
        """
        path = self.now.find(keys)
        if path is not None:
            self.put(path, value)
            return
        known: Path = ()
        for length in range(len(keys)):
            known = self.now.find(keys[:length]) or ()
            if self.now.find(keys[: length + 1]) is None:
                break
        missing = keys[len(known) :]
        for key in reversed(missing[1:]):
            value = {str(key): value}
        holder = self.now.value(known)
        name = None if isinstance(holder, Sequence) else str(missing[0])
        index = 0 if isinstance(holder, Scalar) else len(holder)
        if isinstance(holder, Mapping) and name not in before:
            names = [entry.name for entry in holder]
            index = min((names.index(one) for one in before if one in names), default=index)
        self.insert(known, index, name, value)

    def unset(self, keys: list[Key], *, keeps: int = 0) -> None:
        """Removes the value at these keys, and parents that become empty, down to `keeps` keys."""
        path = self.now.find(keys)
        if path is None:
            at = self.now.find(keys[:keeps]) or ()
            where = self.now.place(at).at if at else 0
            self.now.refuse(UNKNOWN, f"there is no {'.'.join(map(str, keys[keeps:]))!r}", where)
        while len(path) > keeps + 1 and len(self.now.container(path[:-1])) == 1:
            path = path[:-1]
        self.cut(path)


def _count(shape: Shape) -> int:
    return 1 + sum(map(_count, shape.children))


# Values are replaced by the smallest part of their text that says the new one.


def _respelled(text: Text, path: Path, value: Json) -> Iterator[list[Patch]]:
    """Returns the ways of replacing one value by another, the smallest first."""
    old, place = text.value(path), text.place(path)
    if isinstance(old, Scalar) and not place.is_alias:
        if isinstance(old.value, str) and isinstance(value, str) and value:
            yield from _part(text, old, value)
        if isinstance(value, str) and old.style in ("literal", "folded"):
            yield from _block_scalar(text, path, value)
    holder = text.value(path[:-1])
    assert isinstance(holder, Mapping | Sequence)
    is_flow = holder.layout.flow
    is_long = isinstance(value, dict | list) and bool(value)
    if is_long and not is_flow:
        yield from _lines(text, path, value)
    if is_long and text.is_json:
        margin = text.margin(place.at)
        if "\n" in text.text[holder.layout.extent[0] : holder.layout.extent[1]]:
            body = spelling.indented_json(value, margin, text.indent)
            yield [Patch(place.start, place.end, body)]
    if isinstance(value, str) and "\n" in value and not is_flow:
        yield from _block_scalar(text, path, value)
    style = old.style if isinstance(old, Scalar) else "plain"
    for written in spelling.scalars(value, style, is_json=text.is_json, is_flow=is_flow):
        yield from _placed(text, path, written)


def _placed(text: Text, path: Path, written: str) -> Iterator[list[Patch]]:
    """Returns the ways of replacing a value by one line, after its key."""
    place, old = text.place(path), text.value(path)
    if place.start == place.end:
        yield [Patch(place.start, place.end, " " + written)]
        return
    is_block = isinstance(old, Mapping | Sequence) and not place.is_alias and not old.layout.flow
    if is_block:
        yield [Patch(text.head(path), place.end, " " + written)]
    else:
        yield [Patch(place.start, place.end, written)]


def _part(text: Text, old: Scalar, value: str) -> Iterator[list[Patch]]:
    """Replaces only the characters of a text that differ."""
    before = old.text
    head, tail = texts.shared_ends(before, value)
    new, end = value[head : len(value) - tail], len(before) - tail
    last = old.extent[1] - (old.style in ("single", "double", "json"))

    def index(offset: int) -> int:
        return min(text.lines.index(before, old.style, old.extent, offset), last)

    start = index(head)
    stop = index(end - 1) + 1 if end > head else start
    for written in _encoded(text, old, new, start):
        yield [Patch(start, max(start, stop), written)]
        if index(end) > stop:
            yield [Patch(start, index(end), written)]


def _encoded(text: Text, old: Scalar, new: str, at: int) -> Iterator[str]:
    match old.style:
        case "json" | "double":
            yield spelling.quoted(new)[1:-1]
        case "single":
            yield new.replace("'", "''")
        case "literal" if "\n" in new:
            yield new.replace("\n", text.newline + " " * text.margin(at))
        case _ if "\n" not in new:
            yield new


def _block_scalar(text: Text, path: Path, value: str) -> Iterator[list[Patch]]:
    place, old = text.place(path), text.value(path)
    owner = text.column(place.at)
    column = owner + len(text.indent.unit)
    if isinstance(old, Scalar) and old.style in ("literal", "folded"):
        first = re.compile(r"\n( *)[^ \r\n]").search(text.text, place.start, place.end + 1)
        column = len(first[1]) if first and len(first[1]) > owner else column
    written = spelling.literal(value, column, text.indent, owner=owner)
    if written is not None:
        yield from _placed(text, path, written)


def _lines(text: Text, path: Path, value: Json) -> Iterator[list[Patch]]:
    """Writes a mapping or list in lines below its key; a remark after the key stays."""
    place = text.place(path)
    is_item = isinstance(text.value(path[:-1]), Sequence)
    deep = text.indent.items if isinstance(value, list) else len(text.indent.unit)
    column = text.column(place.at) + (2 if is_item else deep)
    lines = text.newline.join([*spelling.block(value, column, text.indent), ""])
    head, below = text.head(path), text.line_end(place.end)
    if is_item:
        yield [Patch(head, place.end, " " + lines[column:].removesuffix(text.newline))]
    else:
        yield [Patch(head, place.end, ""), Patch(below, below, lines)]


def _opened(text: Text, path: Path) -> Iterator[list[Patch]]:
    """Writes the entries of brackets in lines below their key, as they are or respelled."""
    place, value = text.place(path), text.value(path)
    assert isinstance(value, Mapping | Sequence)
    if "#" in re.sub(r"\"[^\"]*\"|'[^']*'", "", text.text[place.start : place.end]):
        return  # a remark inside of brackets would be lost
    is_item = isinstance(text.value(path[:-1]), Sequence)
    deep = text.indent.items if isinstance(value, Sequence) else len(text.indent.unit)
    column = text.column(place.at) + (2 if is_item else deep)
    dash = "- " if isinstance(value, Sequence) else ""
    entries = [" " * column + dash + text.text[each.at : each.end] for each in value.layout.places]
    lines = text.newline.join([*entries, ""])
    head, below = text.head(path), text.line_end(place.end)
    if is_item:
        yield [Patch(head, place.end, " " + lines[column:].removesuffix(text.newline))]
    else:
        yield [Patch(head, place.end, ""), Patch(below, below, lines)]
    yield from _lines(text, path, plain(value))


def _renamed(text: Text, path: Path, name: str) -> Iterator[list[Patch]]:
    holder = text.container(path[:-1])
    assert isinstance(holder, Mapping)
    key = holder.entries[path[-1]].key
    start, end = key.extent
    if key.style == "single":
        yield [Patch(start, end, "'" + name.replace("'", "''") + "'")]
    if key.style == "plain" and not text.is_json:
        yield [Patch(start, end, spelling.key(name))]
    yield [Patch(start, end, spelling.quoted(name))]
