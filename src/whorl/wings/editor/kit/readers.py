"""Who reads whom on a canvas: the texts and fields of nodes that name others by their ids."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.source import Mapping, Scalar, Sequence
from whorl.wings.editor.kit.changes import Changes
from whorl.wings.editor.kit.operations import READ
from whorl.wings.editor.kit.sketch import Keys, Name, SketchNode, at, is_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.source import Value

PLACE = re.compile(r"\{\{([^{}]*)\}\}")


class CanvasReaders(Changes):
    """The nodes and edges of each level of a canvas, and the places that read nodes."""

    def level(self, node: SketchNode) -> Keys:
        """The keys of the graph that a node stands in."""
        return node.where[:-2]

    def items(self, level: Keys, name: str) -> list[Value]:
        listed = at(self.editor.now.root, *level, name)
        return list(listed.items) if isinstance(listed, Sequence) else []

    def id_of(self, node: SketchNode) -> str:
        return text_of(at(self.editor.now.root, *node.where, "id"))

    # The ids of each level, of the text that they were asked of last.
    _ids: tuple[object, dict[Keys, list[str]]] = (None, {})

    def ids(self, level: Keys) -> list[str]:
        if self._ids[0] is not self.editor.now:
            self._ids = (self.editor.now, {})
        known = self._ids[1]
        if level not in known:
            known[level] = [text_of(at(item, "id")) for item in self.items(level, "nodes")]
        return known[level]

    def edges_at(self, level: Keys, name: str) -> Iterator[tuple[int, str, str]]:
        """The edges that touch a node, the last one first: index, source and target."""
        items = self.items(level, "edges")
        for index in reversed(range(len(items))):
            ends = [text_of(at(items[index], end)) for end in ("source", "target")]
            if name in ends:
                yield index, ends[0], ends[1]

    def names_at(self, path: str) -> list[Name]:
        """What a node is given, and what the nodes before it give, the nearest first."""
        if not path:
            return []
        node = self.node(path)
        found = [Name(name, word) for name, word in self.given(node)]
        for before in self._before(node):
            reading = self.reading(self.level(node), {self.id_of(before)})
            readers = dict.fromkeys(self.place_of(where) for _, where, _, _ in reading)
            notes = tuple(sorted(readers, key=lambda one: one.line))
            found += [Name(name, word, before.path, notes) for name, word in self.gives(before)]
        return found

    def _before(self, node: SketchNode) -> list[SketchNode]:
        """The nodes that lead to one, as far as it can see them."""
        level, found = self.level(node), [self.id_of(node)]
        beside = {self.id_of(each): each for each in self.sketch.nodes if self.level(each) == level}
        for name in found:
            sources = (source for _, source, target in self.edges_at(level, name) if target == name)
            found += [source for source in sources if source in beside and source not in found]
        return [beside[name] for name in found[1:] if self.sees(node, beside[name])]

    def given(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        """What comes into a node, as its texts name it, with types."""
        raise NotImplementedError

    def gives(self, node: SketchNode) -> Iterator[tuple[str, str]]:
        """What a node gives, as texts behind it name it, with types."""
        raise NotImplementedError

    def sees(self, node: SketchNode, other: SketchNode) -> bool:
        """Whether a node can read another one: one beside it, or beside what is around it."""
        return not other.parent or is_in(node.path, other.parent)

    def head_of(self, node: SketchNode, content: str, names: set[str]) -> tuple[int, str] | None:
        """Where in a placeholder of a node one of some nodes is named, and which."""
        raise NotImplementedError

    def mentions(self, level: Keys, node: SketchNode) -> Iterator[Keys]:
        """The fields of a node that name others of a level by id; a dialect may have some."""
        return iter(())

    def reading(self, level: Keys, names: set[str]) -> Iterator[tuple[SketchNode, Keys, int, str]]:
        """The texts and fields that name nodes of a level: who, where, at which offset, whom."""
        for node in self.sketch.nodes:
            if node.where[: len(level)] != level:
                continue
            own = self.level(node)
            # A node of the same id further inside hides the one outside.
            seen = names - set(self.ids(own)) if own != level else names
            for where, text in self.texts_of(node):
                for match in PLACE.finditer(text):
                    # Most placeholders name other nodes, as is seen at once.
                    is_near = any(name in match[1] for name in seen)
                    found = self.head_of(node, match[1], seen) if is_near else None
                    if found is not None:
                        yield node, where, match.start(1) + found[0], found[1]
        for node in self.sketch.nodes:
            for where in self.mentions(level, node):
                head = text_of(at(self.editor.now.root, *where)).partition(".")[0]
                if head in names:
                    yield node, where, 0, head

    def texts_of(self, node: SketchNode) -> Iterator[tuple[Keys, str]]:
        """The texts of a node itself, without those of the nodes inside of it."""
        data = (*node.where, "data")
        for where, text in _texts(at(self.editor.now.root, *data), data):
            inner = range(len(node.where) + 1, len(where) + 1)
            if all(self.sketch.at(where[:length]) is None for length in inner):
                yield where, text

    def refuse_readers(self, node: SketchNode, names: set[str]) -> None:
        for reader, where, offset, _ in self.reading(self.level(node), names):
            if not is_in(reader.path, node.path):
                message = f"{reader.path} reads {node.path}"
                scalar = at(self.editor.now.root, *where)
                place = scalar.extent[0] if isinstance(scalar, Scalar) and offset >= 0 else 0
                advice = "change the reader first, or use `readers: leave`"
                self.editor.now.refuse(READ, message, place, advice)

    def rewrite_readers(
        self, readers: list[tuple[SketchNode, Keys, int, str]], old: str, name: str
    ) -> None:
        self.respell((where, at, at + len(old), name) for _, where, at, _ in readers)

    def list_readers(self, readers: Iterable[tuple[SketchNode, Keys]]) -> None:
        for _, where in readers:
            note = self.place_of(where)
            if note not in self.outcome.rewired:
                self.outcome.rewired.append(note)


def _texts(value: Value | None, where: Keys) -> Iterator[tuple[Keys, str]]:
    """All texts below a value, with the keys that lead to them."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        yield where, value.value
    elif isinstance(value, Sequence):
        for index, item in enumerate(value):
            yield from _texts(item, (*where, index))
    elif isinstance(value, Mapping):
        for entry in value:
            yield from _texts(entry.value, (*where, entry.name))
