"""A port of a node is renamed with all that names it: edges, mappings, conditions and texts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from whorl.dialects.reading.fields import text_of
from whorl.source import Sequence
from whorl.source.editing.text import TAKEN, UNKNOWN
from whorl.wings.editor.kit.operations import READ
from whorl.wings.editor.kit.readers import PLACE
from whorl.wings.editor.kit.sketch import Keys, SketchNode, at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.wings.editor.kit.canvas import CanvasChanges

# Who names a port: the node, the keys of the text, and from where to where in it.
_Reader: TypeAlias = "tuple[SketchNode, Keys, int, int]"
_NAME = re.compile(r"[\w-]+(?:\.[\w-]+)*")
# Texts that name ports in a language of their own, which is not read here.
_FOREIGN = ("code", "outputSchema")
# By side of a node: the side of the nodes inside of a loop that stand for it.
_INSIDE = {
    "inputs": ("outputs", ("interface-input", "trigger")),
    "outputs": ("inputs", ("interface-output",)),
}


def side_of(port: str) -> tuple[str, str]:
    """Which list a port stands in, and its name: `input:task` is the input `task`."""
    kind, _, name = port.partition(":")
    return {"input": "inputs", "output": "outputs"}.get(kind, ""), name


class PortName:
    """The name of one port, wherever it is written."""

    def __init__(self, changes: CanvasChanges, node: SketchNode, side: str, name: str) -> None:
        self._changes = changes
        self._node = node
        self._level = changes.level(node)
        self._id = changes.id_of(node)
        self._slug = "_".join(node.title.lower().split())
        self._side = side
        self._name = name
        self._kind = side.removesuffix("s")

    def _at(self, *keys: str | int) -> str:
        return text_of(at(self._changes.editor.now.root, *keys))

    def _listed(self, where: Keys) -> int:
        listed = at(self._changes.editor.now.root, *where)
        return len(listed) if isinstance(listed, Sequence) else 0

    def _data(self, *keys: str | int) -> Keys:
        return (*self._node.where, "data", *keys)

    def rename(self, new: str) -> list[tuple[SketchNode, Keys]]:
        """Writes another name everywhere; gives the texts and fields of nodes that named it."""
        self._check(new)
        changes, readers = self._changes, list(self._readers()) if self._changes.rewires else []
        texts: dict[Keys, str] = {}
        for _, where, start, end in sorted(readers, key=lambda one: -one[2]):
            text = texts.get(where, self._at(*where))
            texts[where] = text[:start] + new + text[end:]
        for where, text in texts.items():
            changes.editor.set(list(where), text)
        changes.editor.set(list(self._own()), new)
        found = [(node, where) for node, where, _, _ in readers]
        return [(node, where) for node, where in found if where[: len(node.where)] == node.where]

    def _own(self) -> Keys:
        """Where the port is declared."""
        listed = self._data(self._side)
        places = ((*listed, index, "name") for index in range(self._listed(listed)))
        own = next((where for where in places if self._at(*where) == self._name), None)
        if own is None:
            message = f"{self._id!r} does not declare the {self._kind} {self._name[:60]!r}"
            advice = "name a port that it declares"
            self._changes.refuse_at(UNKNOWN, message, self._node.where, advice)
        return own

    def _check(self, new: str) -> None:
        self._own()
        changes, node = self._changes, self._node
        where = self._data(self._side)
        names = [self._at(*where, index, "name") for index in range(self._listed(where))]
        if new in names or not _NAME.fullmatch(new):
            message = f"an {self._kind} cannot be called {new[:60]!r}"
            changes.refuse_at(TAKEN, message, node.where, "choose another name, without spaces")
        word = re.compile(rf"(?<![\w-]){re.escape(self._name)}(?![\w-])")
        foreign = [name for name in _FOREIGN if word.search(self._at(*self._data(name)))]
        if node.kind == "function" and self._at(*self._data("file")):
            foreign.append("file")
        parents = (self._at(*where, index, "arrayParent") for index in range(len(names)))
        is_list = self._name in parents or any(one.startswith(f"{self._name}[") for one in names)
        if changes.rewires and (foreign or is_list):
            what = (
                f"{foreign[0]!r} of {self._id} may name" if foreign else "other ports are parts of"
            )
            message = f"{what} {self._name!r}"
            advice = "change the reader first, or use `readers: leave`"
            changes.refuse_at(READ, message, self._data(foreign[0]) if foreign else where, advice)

    def _readers(self) -> Iterator[_Reader]:
        """Who names the port, but for where it is declared."""
        yield from self._edges()
        if self._node.kind == "loop":
            yield from self._own_mappings()
            yield from self._faces()
        yield from self._mappings_around()
        for node in self._changes.sketch.nodes:
            yield from self._texts(node)

    def _found(self, node: SketchNode, where: Keys, prefix: str) -> _Reader:
        return node, where, len(prefix), len(prefix) + len(self._name)

    def _edges(self) -> Iterator[_Reader]:
        """The handles of edges, those inside of a rim included: `input:task:internal`."""
        for index, item in enumerate(self._changes.items(self._level, "edges")):
            for end, usual in (("source", "output"), ("target", "input")):
                if text_of(at(item, end)) != self._id:
                    continue
                handle = text_of(at(item, f"{end}Handle"))
                kind, mark, _ = handle.partition(":")
                prefix = f"{kind}:" if mark else ""
                fits = (kind if mark else usual) == self._kind
                if fits and handle.removesuffix(":internal") == f"{prefix}{self._name}":
                    where = (*self._level, "edges", index, f"{end}Handle")
                    yield self._found(self._node, where, prefix)

    def _own_mappings(self) -> Iterator[_Reader]:
        is_input = self._side == "inputs"
        rows = self._data("inputMappings" if is_input else "outputMappings")
        places = [self._data("forEach", "items")] if is_input else []
        for index in range(self._listed(rows)):
            if not is_input:
                places.append((*rows, index, "target"))
            elif self._at(*rows, index, "source", "type") == "outer":
                places.append((*rows, index, "source", "name"))
        for where in places:
            if self._at(*where) == self._name:
                yield self._found(self._node, where, "")

    def _faces(self) -> Iterator[_Reader]:
        """The nodes inside of a loop that stand for its ports."""
        side, kinds = _INSIDE[self._side]
        for node in self._changes.sketch.inside(self._node.path):
            if node.kind in kinds:
                face = PortName(self._changes, node, side, self._name)
                yield from face._readers()
                where = face._data(side)
                for index in range(face._listed(where)):
                    if self._at(*where, index, "name") == self._name:
                        yield self._found(node, (*where, index, "name"), "")

    def _mappings_around(self) -> Iterator[_Reader]:
        """The loop around the node names its ports in mappings and conditions."""
        for node in self._changes.sketch.nodes:
            for where in self._changes.mentions(self._level, node):
                text = self._at(*where)
                if where[-1] == "output" and self._side == "outputs":
                    if text == f"{self._id}.{self._name}":
                        yield self._found(node, where, f"{self._id}.")
                elif where[-1] == "node" and text == self._id:
                    own = (*where[:-1], self._kind)
                    if self._at(*own) == self._name:
                        yield self._found(node, own, "")

    def _texts(self, node: SketchNode) -> Iterator[_Reader]:
        """The placeholders of a node's own texts that read the port."""
        heads = self._heads(node)
        if not heads:
            return
        for where, text in self._changes.texts_of(node):
            for match in PLACE.finditer(text):
                content = match[1].strip()
                head = next((one for one in heads if self._reads(content, one)), None)
                if head is not None:
                    start = match.start(1) + match[1].index(content) + len(head)
                    yield node, where, start, start + len(self._name)

    def _reads(self, content: str, head: str) -> bool:
        rest = content[len(head) + len(self._name) :]
        return content.startswith(head + self._name) and (not rest or rest[0] in ".[")

    def _heads(self, node: SketchNode) -> list[str]:
        """What stands before the name where a node's text reads the port; none where it cannot."""
        if node.path == self._node.path:
            return ["inputs.", ""] if self._side == "inputs" else []
        is_inside = node.path.startswith(f"{self._node.path}/")
        if is_inside != (self._side == "inputs") or node.where[: len(self._level)] != self._level:
            return []
        names = {self._id, self._slug} - {""}
        hidden = set(self._changes.ids(self._changes.level(node)))
        is_beside = self._changes.level(node) == self._level
        is_read = {name for name in names if is_beside or name not in hidden}
        # An input of the node itself comes first.
        return [f"{name}." for name in is_read - set(node.inputs)]
