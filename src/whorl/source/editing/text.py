"""A text that can be changed: its meaning, and the places of its entries and their lines."""

from __future__ import annotations

import re
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.lazily import dataclass
from whorl.source import Document, Lines, Mapping, Place, Scalar, Sequence, Value
from whorl.source.editing.shapes import Path, Shape, child_of, shape_of, value_at
from whorl.source.editing.spelling import Indent

if TYPE_CHECKING:
    from collections import abc
    from collections.abc import Callable, Iterable

Container: TypeAlias = "Mapping | Sequence"
Key: TypeAlias = "str | int"
BYTES_MAX = 500_000
VALUES_MAX = 20_000
UNEXACT, TAKEN, UNKNOWN = "C101", "W012", "W005"
_COMMENT = re.compile(r"[ ]*#")
_SPACES = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class Own:
    """The lines of a block entry with the comments right above it.

    `is_compact` means that it begins behind a dash: its first line is not its own.
    """

    start: int
    end: int
    is_compact: bool


class Text:
    """One state of a text. If its last line has no end, one is added; `source` lacks it."""

    def __init__(self, source: str, parse: Callable[[str], Document], *, is_json: bool) -> None:
        self.is_json = is_json
        self._parse = parse
        self.source = source
        self.document = parse(source)
        self.root = self.document.root
        self.newline = "\r\n" if "\r\n" in source else "\n"
        self.is_padded = not source.endswith("\n")
        self.text = source + self.newline if self.is_padded else source

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.text, self.document.file)

    @cached_property
    def shape(self) -> Shape:
        return shape_of(self.root)

    def changed(self, patches: Iterable[Patch], wanted: Shape) -> Text | None:
        """Returns the text with patches, if it is read as the wanted shape."""
        changed = self.read_with(patches)
        return changed if changed is not None and changed.shape == wanted else None

    def read_with(self, patches: Iterable[Patch]) -> Text | None:
        """Returns the text with patches, if it can be read at all."""
        text = apply(self.text, patches)
        if self.is_padded:
            if not text.endswith(self.newline):
                return None
            text = text.removesuffix(self.newline)
        try:
            return self.read_other(text)
        except InvalidWorkflow:
            return None

    def read_other(self, source: str) -> Text:
        """Reads another text in the same way; raises InvalidWorkflow."""
        return Text(source, self._parse, is_json=self.is_json)

    def shape_at(self, path: Path) -> Shape | None:
        """Returns the shape at a path, or None if there is nothing."""
        shape = self.shape
        for index in path:
            if index >= len(shape.children):
                return None
            shape = shape.children[index]
        return shape

    def refuse(self, code: str, message: str, at: int, advice: str = "") -> NoReturn:
        raise EditRefused(Diagnostic(code, message, self.lines.span(at), "", advice))

    def container(self, path: Path) -> Container:
        """Returns the mapping or list at a path, which must be one that can be changed alone."""
        value = self.root
        for index in (*path, None):
            if isinstance(value, Scalar):
                self.refuse(UNKNOWN, "there is no mapping or list", value.extent[0])
            if value.layout.anchored:
                self._refuse_shared(value.layout.extent[0], "an anchor")
            if index is None:
                break
            if value.layout.places[index].is_alias:
                self._refuse_shared(value.layout.places[index].start, "an alias")
            if isinstance(value, Mapping):
                self.check_once(value, index)
            value = child_of(value, index)
        assert not isinstance(value, Scalar)
        return value

    def check_once(self, value: Mapping, index: int) -> None:
        """Refuse a key that is written twice, or one in the long form (`?`)."""
        name, at = value.entries[index].name, value.layout.places[index].at
        if sum(entry.name == name for entry in value.entries) > 1:
            advice = "edit the text, and keep one of them"
            self.refuse(UNEXACT, f"the key {name!r} is written twice", at, advice)
        if not value.layout.flow and self.text[self.line_start(at) : at].lstrip(" -")[:1] == "?":
            self.refuse(UNEXACT, "a key that begins with '?' is edited as text", at)

    def _refuse_shared(self, at: int, what: str) -> NoReturn:
        advice = "edit the text by hand, at both places"
        message = f"this part has {what}: a change here would also change another place"
        self.refuse(UNEXACT, message, at, advice)

    def find(self, keys: Iterable[Key]) -> Path | None:
        """Returns the path of indexes for these keys, or None if one is missing."""
        path: list[int] = []
        value: Value = self.root
        for key in keys:
            if isinstance(value, Mapping):
                names = [entry.name for entry in value.entries]
                if key not in names:
                    return None
                path.append(len(names) - 1 - names[::-1].index(str(key)))
            elif isinstance(value, Sequence) and isinstance(key, int) and key < len(value):
                path.append(key)
            else:
                return None
            value = child_of(value, path[-1])
        return tuple(path)

    def value(self, path: Path) -> Value:
        return value_at(self.root, path)

    def place(self, path: Path) -> Place:
        value = value_at(self.root, path[:-1])
        assert not isinstance(value, Scalar)
        return value.layout.places[path[-1]]

    def line_start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def line_end(self, at: int) -> int:
        """Returns the start of the line after the one of `at`."""
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found + 1

    def column(self, at: int) -> int:
        return at - self.line_start(at)

    def margin(self, at: int) -> int:
        """Returns the indentation of the line of `at`."""
        start = self.line_start(at)
        found = _SPACES.match(self.text, start)
        return found.end() - start if found else 0

    def head(self, path: Path) -> int:
        """Returns where an entry's value may begin: after its key's colon, or after its dash."""
        holder, place = value_at(self.root, path[:-1]), self.place(path)
        if isinstance(holder, Sequence):
            return place.at + (0 if holder.layout.flow else 1)
        assert isinstance(holder, Mapping)
        return self.text.index(":", holder.entries[path[-1]].key.extent[1]) + 1

    def own(self, value: Container, index: int) -> Own:
        """Returns the lines of an entry of a block, with the comments right above it."""
        places = value.layout.places
        place = places[index]
        start, end = self.line_start(place.at), self.line_end(place.end)
        if self.text[start : place.at].strip():
            return Own(place.at, end, is_compact=True)
        column = place.at - start
        least = self.line_end(places[index - 1].end) if index else 0
        while start > least:
            before = self.line_start(start - 1)
            comment = _COMMENT.match(self.text, before, start)
            if comment is None or comment.end() - before - 1 != column:
                break
            start = before
        return Own(start, end, is_compact=False)

    @cached_property
    def indent(self) -> Indent:
        """Returns the indentation of this text, as far as it shows."""
        inside = [start for start in self._inner_lines() if self.margin(start)]
        width = min((self.margin(start) for start in inside[:50]), default=2)
        tab = bool(inside) and self.text[inside[0]] == "\t"
        colon = ": "
        if self.is_json and isinstance(self.root, Mapping) and self.root.entries:
            end = self.root.entries[0].key.extent[1]
            colon = self.text[end : self.root.layout.places[0].start]
        items = _items_indent(self, self.root)
        unit = "\t" if tab else " " * min(width, 8)
        return Indent(unit, len(unit) if items is None else items, self.newline, colon)

    def _inner_lines(self) -> list[int]:
        """Returns where lines of entries begin, down to the second level."""
        if isinstance(self.root, Scalar):
            return []
        found = []
        for index, place in enumerate(self.root.layout.places):
            child = child_of(self.root, index)
            inner = () if isinstance(child, Scalar) or place.is_alias else child.layout.places
            found += [self.line_start(each.at) for each in ((place,) if self.is_json else inner)]
        return found


def _items_indent(text: Text, value: Value, depth: int = 0) -> int | None:
    """Returns the indentation of lists below their keys, by the first list of blocks."""
    if not isinstance(value, Mapping) or depth > 8 or value.layout.flow:
        return None
    for entry, place in zip(value.entries, value.layout.places, strict=True):
        part = entry.value
        if isinstance(part, Sequence) and not place.is_alias and not part.layout.flow:
            return text.column(part.layout.extent[0]) - text.column(place.at)
        found = None if place.is_alias else _items_indent(text, part, depth + 1)
        if found is not None:
            return found
    return None


# Patches: which characters of a text are replaced, and by what.


class Patch(NamedTuple):
    """The characters from `start` to `end` are replaced by `text`; offsets count characters."""

    start: int
    end: int
    text: str


def apply(text: str, patches: Iterable[Patch]) -> str:
    """Returns the text with all patches made; patches may not overlap."""
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(patches, key=lambda patch: patch[:2]):
        assert start >= at, "patches overlap"
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def in_utf16(text: str, patches: Iterable[Patch]) -> list[Patch]:
    """Returns the same patches with offsets in UTF-16 units, which browsers count."""

    def units(index: int) -> int:
        return len(text[:index].encode("utf-16-le")) // 2

    return [Patch(units(start), units(end), new) for start, end, new in sorted(patches)]


def differences(old: str, new: str) -> list[Patch]:
    """Returns the patches that make one text of another: their different lines, trimmed."""
    from difflib import SequenceMatcher

    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    head, tail = shared_ends(before, after)
    starts = [0, *accumulate(map(len, before))]
    middle = after[head : len(after) - tail]
    matcher = SequenceMatcher(None, before[head : len(before) - tail], middle)
    found: list[Patch] = []
    for word, first, last, start, end in matcher.get_opcodes():
        if word != "equal":
            new_lines = "".join(middle[start:end])
            found.append(trimmed(old, Patch(starts[head + first], starts[head + last], new_lines)))
    return found


def trimmed(text: str, patch: Patch) -> Patch:
    """Returns a patch without the parts that it does not change."""
    start, end, new = patch
    head, tail = shared_ends(text[start:end], new)
    return Patch(start + head, end - tail, new[head : len(new) - tail])


def shared_ends(old: abc.Sequence[object], new: abc.Sequence[object]) -> tuple[int, int]:
    """Returns the lengths of the common start and the common end of two texts, or lists."""
    most = min(len(old), len(new))
    head = next((at for at in range(most) if old[at] != new[at]), most)
    most -= head
    return head, next((at for at in range(most) if old[-1 - at] != new[-1 - at]), most)
