"""What operations do to the text of a native file: the order of the file is the order of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.dialects.native.context import RESERVED
from whorl.dialects.reading.fields import texts_of
from whorl.source import Mapping, Scalar, Sequence
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.operations import CONNECTED, UNAVAILABLE, Operation, refuse
from whorl.wings.editor.kit.sketch import Keys, Sketch, SketchNode, at, joined
from whorl.wings.editor.native import palette
from whorl.wings.editor.native.blocks import Blocks
from whorl.wings.editor.native.calls import inline
from whorl.wings.editor.native.extracting import extract
from whorl.wings.editor.native.rewiring import Rewiring
from whorl.wings.editor.native.scope import names_at
from whorl.wings.editor.native.sketch import draw

if TYPE_CHECKING:
    from whorl.source import Document, Json
    from whorl.wings.editor.kit.changes import FormField
    from whorl.wings.editor.kit.names import Name

_HOLDERS: dict[str, dict[str, Any]] = {
    "repeat": {"at_most": 5, "steps": {}},
    "each": {"each": "[1, 2, 3]", "steps": {}},
    "together": {"together": {}},
    "if": {"if": "true", "then": {}},
}


class NativeChanges(Blocks):
    new, groups, titles, needs = palette.NEW, palette.GROUPS, palette.TITLES, palette.NEEDS
    looks, ports, empty = palette.LOOKS, palette.PORTS, palette.EMPTY

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        return palette.form_of(kind)

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        return draw(document)

    def names_at(self, path: str) -> list[Name]:
        return names_at(self, path)

    def make_add(self, operation: Operation) -> None:
        where = self.slot(operation.get("into"), operation.get("case"))
        index, names = self.index_in(where, operation), set(self.names_in(where))
        if (piece := operation.get("piece")) is not None:
            cut = self.editor.piece_of(piece)
            name = self.free_name(str(cut.name or "step"), names)
            self.put_in(where, index, self.editor.renamed_piece(cut, name))
        else:
            kind = operation.get("kind", "")
            if kind not in self.new:
                known = ", ".join(self.new)
                raise refuse(UNKNOWN, f"there is no kind of step {kind!r}", f"known: {known}")
            name = self.free_name(operation.get("name") or kind, names | RESERVED)
            self.check_name(name, where)
            fields = {**self.new[kind], **operation.get("fields", {})}
            self.put_in(where, index, (name, fields))
        self.outcome.select = [joined(operation.get("into"), name)]

    def make_remove(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if operation.get("inside", "with") == "keep":
            self.make_unwrap(operation)
            return
        rewiring = Rewiring(self)
        if self.rewires:
            rewiring.release(node.path)
        self.editor.cut(self.path(node.where))
        if not self.rewires:
            rewiring.leave(node.path)
        self.outcome.select = [node.parent] if node.parent else []

    def make_rename(self, operation: Operation) -> None:
        node, name = self.node(operation.at[0]), operation.get("name")
        self.check_name(name, node.where)
        path = joined(node.parent, name)

        def change() -> None:
            rewiring = Rewiring(self)
            self.editor.rename(self.path(node.where), name)
            rewiring.rewire({node.path: path})

        self.soundly(change)
        self.outcome.select = [path]

    def make_move(self, operation: Operation) -> None:
        nodes, into = self.selected(operation), operation.get("into")
        if any(into == node.path or into.startswith(f"{node.path}/") for node in nodes):
            raise refuse(UNKNOWN, "a step cannot be moved into itself")
        rewiring = Rewiring(self)
        where = self.slot(into, operation.get("case"))
        if operation.get("after") in [node.path for node in nodes]:
            raise refuse(UNKNOWN, "a step cannot be moved after itself")
        moved = self._relocate(nodes, into, where, operation)
        rewiring.rewire(moved)
        self.outcome.select = list(moved.values())

    def _relocate(
        self, nodes: list[SketchNode], into: str, where: Keys, operation: Operation
    ) -> dict[str, str]:
        """Moves steps into a block; gives their new paths by the old ones."""
        moved: dict[str, str] = {}
        last: str | None = None
        for node in nodes:
            piece = self.editor.cut(self.path(node.where))
            if last is None:
                index = self.index_in(where, operation)
            else:
                index = self.names_in(where).index(last) + 1
            self.put_in(where, index, piece)
            last = str(piece.name)
            moved[node.path] = joined(into, last)
        return moved

    def make_wrap(self, operation: Operation) -> None:
        nodes, kind = self.neighbours(operation), operation.get("kind")
        if kind not in _HOLDERS:
            known = f"known: {', '.join(_HOLDERS)}"
            raise refuse(UNKNOWN, f"steps cannot be wrapped in {kind!r}", known)
        block = nodes[0].where[:-1]
        names = self.names_in(block)
        first = names.index(str(nodes[0].where[-1]))
        name = self.free_name(operation.get("name") or "loop_1", set(names) | RESERVED)
        self.check_name(name, block)
        given = operation.get("fields", {})
        value: dict[str, Any] = {**_HOLDERS[kind], **given}
        if kind == "repeat":
            value = {"repeat": {**given, **{k: v for k, v in value.items() if k not in given}}}
        path = joined(nodes[0].parent, name)

        def change() -> None:
            rewiring = Rewiring(self)
            self.put_in(block, first, (name, value))
            inner = self.slot(path, None)
            rewiring.rewire(self._relocate(nodes, path, inner, Operation("move", {})))

        self.soundly(change)
        self.outcome.select = [path]

    def make_unwrap(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if not node.slots:
            self.refuse_at(UNKNOWN, f"{node.path!r} holds no steps", node.where)
        moved: dict[str, str] = {}

        def change() -> None:
            rewiring = Rewiring(self)
            after = Operation("move", {"after": node.path})
            inside = self.sketch.inside(node.path)
            moved.update(self._relocate(inside, node.parent, node.where[:-1], after))
            self.editor.cut(self.path(node.where))
            rewiring.rewire(moved, gone=node.path)

        self.soundly(change)
        self.outcome.select = list(moved.values())

    def make_extract(self, operation: Operation) -> None:
        extract(self, self.neighbours(operation), operation.get("file"), operation.get("name", ""))

    def make_inline(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if node.kind != "call":
            self.refuse_at(UNAVAILABLE, f"{node.path!r} does not call another file", node.where)
        inline(self, node)

    def ends(self, operation: Operation) -> tuple[SketchNode, SketchNode]:
        ends = (operation.get(end).get("at", "") for end in ("from", "to"))
        source, target = (self.node(str(end)) for end in ends)
        return source, target

    def make_connect(self, operation: Operation) -> None:
        source, target = self.ends(operation)
        if operation.get("kind", "order") == "feedback":
            self._feed_back(operation, source, target)
            return
        if source.where[:-1] != target.where[:-1] or source.path == target.path:
            advice = "only steps of the same block can be ordered; move one of them"
            self.refuse_at(
                CONNECTED, "the two steps are not in the same block", target.where, advice
            )
        if self._leads_to(source.path, target.path):
            return
        if self._leads_to(target.path, source.path):
            message = f"{target.path!r} comes before {source.path!r} already"
            self.refuse_at(CONNECTED, message, target.where, "remove that order first, or move it")
        name, where = str(source.where[-1]), (*target.where, "after")
        written = at(self.editor.now.root, *where)
        value: Json = name
        if isinstance(written, Scalar) and written.value is not None:
            value = [written.text, name]
        elif isinstance(written, Sequence):
            value = [*(item.text for item in written if isinstance(item, Scalar)), name]
        elif isinstance(written, Mapping):
            where, value = (*where, name), "passed"
        self.editor.set(list(where), value, before=self.last)

    def _leads_to(self, source: str, target: str) -> bool:
        """Whether a step waits for another one, directly or through others."""
        reached, queue = {source}, [source]
        while queue:
            name = queue.pop()
            onward = {edge.target for edge in self.sketch.edges
                      if edge.source == name and edge.kind == "order"}  # fmt: skip
            queue += onward - reached
            reached |= onward
        return target in reached

    def _feed_back(self, operation: Operation, source: SketchNode, loop: SketchNode) -> None:
        """What a step gives is carried into the next iteration of the loop around it."""
        if loop.kind != "repeat" or not source.path.startswith(f"{loop.path}/"):
            message = "feedback goes from a step to the loop around it"
            self.refuse_at(CONNECTED, message, loop.where)
        port = operation.get("from").get("port") or ""
        names = self.names_in((*loop.where, "repeat", "carry"))
        taken = {*names, *self.names_in((*loop.where, "repeat", "steps"))} | RESERVED
        name = self.free_name(operation.get("name") or port or "feedback", taken)
        self.check_name(name, loop.where)
        read = f"{{{{ {source.name}.{port} }}}}" if port else f"{{{{ {source.name} }}}}"
        self.editor.set([*loop.where, "repeat", "carry", name], read, before=self.last)
        self.outcome.select = [loop.path]

    def make_disconnect(self, operation: Operation) -> None:
        source, target = self.ends(operation)
        if operation.get("kind", "order") == "feedback":
            name = operation.get("name") or operation.get("to").get("port") or ""
            self.editor.unset([*target.where, "repeat", "carry", name], keeps=len(target.where))
            return
        where = (*target.where, "after")
        written = at(self.editor.now.root, *where)
        name = str(source.where[-1])
        if isinstance(written, Scalar) and written.text == name:
            self.editor.unset(list(where), keeps=len(target.where))
        elif isinstance(written, Mapping) and name in written:
            self.editor.unset([*where, name], keeps=len(target.where))
        elif isinstance(written, Sequence) and name in texts_of(written):
            index = [getattr(part, "text", "") for part in written].index(name)
            self.editor.unset([*where, index], keeps=len(target.where))
        else:
            message = "one comes before the other only by the order of the file"
            self.refuse_at(CONNECTED, message, target.where, "move it, or use together")
