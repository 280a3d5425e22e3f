"""How operations change the text of a native file: the order of the file is the order of work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.dialects.native.context import RESERVED
from whorl.dialects.reading.fields import texts_of
from whorl.source import Mapping, Scalar, Sequence
from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.changes import Changes
from whorl.wings.editor.kit.operations import CONNECTED, UNAVAILABLE, Operation, refuse
from whorl.wings.editor.kit.sketch import Keys, Name, Sketch, SketchNode, at, is_in, joined
from whorl.wings.editor.native import sketch
from whorl.wings.editor.native.readers import Reading, check_name, names_at
from whorl.wings.editor.native.subflows import extract, inline

if TYPE_CHECKING:
    from whorl.source import Document, Json
    from whorl.source.editing.entries import Piece
    from whorl.wings.editor.kit.changes import FormField

_HOLDERS = ("repeat", "each", "together", "if")


class NativeChanges(Changes):
    kinds, ports, empty = sketch.SHOWN, sketch.PORTS, sketch.EMPTY
    last = ("repeat", "together", "choose", "steps", "then", "else", "cases", "default", "outputs")

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        return sketch.form_of(kind)

    @classmethod
    def draw(cls, document: Document) -> Sketch:
        return sketch.draw(document)

    def names_at(self, path: str) -> list[Name]:
        return names_at(self, path)

    def slot(self, into: str, case: str | None = None) -> Keys:
        """Returns the keys of the steps inside a holder, or in the workflow."""
        if not into:
            return ("steps",)
        node = self.node(into)
        if not node.slots:
            self.refuse_at(UNKNOWN, f"{into!r} holds no steps", node.where)
        wanted = case or ("" if "" in node.slots else next(iter(node.slots)))
        if wanted not in node.slots:
            known = ", ".join(filter(None, node.slots)) or "none"
            message = f"{into!r} has no case {wanted!r}"
            self.refuse_at(UNKNOWN, message, node.where, f"known: {known}")
        return node.slots[wanted]

    def index_in(self, where: Keys, operation: Operation) -> int:
        """Returns the index for a step in a block: behind another step, first (null), or last."""
        names = self.names_in(where)
        if "after" not in operation.fields:
            return len(names)
        after = operation.get("after")
        if after is None:
            return 0
        name = self.node(after).key if self.sketch.node(after) else after
        if name not in names:
            self.refuse_at(UNKNOWN, f"there is no step {after!r} in this place", where)
        return names.index(name) + 1

    def put_in(self, where: Keys, index: int, what: Piece | tuple[str, Json]) -> None:
        """Puts a piece or a new step into a block, and creates the block if it is missing."""
        editor = self.editor
        if editor.now.find(where) is None:
            editor.set(list(where), {})
        if isinstance(what, tuple):
            editor.insert(self.path(where), index, *what)
        else:
            editor.paste(self.path(where), index, what)

    def selected(self, operation: Operation) -> list[SketchNode]:
        """Returns the steps of an operation, all of one block, in its order."""
        nodes = [self.node(path) for path in dict.fromkeys(operation.at)]
        if not nodes or len({node.where[:-1] for node in nodes}) > 1:
            raise refuse(UNKNOWN, "the steps do not all have the same parent")
        names = self.names_in(nodes[0].where[:-1])
        return sorted(nodes, key=lambda node: names.index(node.key))

    def neighbours(self, operation: Operation) -> list[SketchNode]:
        """Returns the same steps, which must be next to each other."""
        nodes = self.selected(operation)
        names = self.names_in(nodes[0].where[:-1])
        first = names.index(nodes[0].key)
        if [node.key for node in nodes] != names[first : first + len(nodes)]:
            raise refuse(UNKNOWN, "the steps are not next to each other")
        return nodes

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
            check_name(self, name, where)
            fields = {**self.new[kind], **operation.get("fields", {})}
            self.put_in(where, index, (name, fields))
        self.outcome.select = [joined(operation.get("into"), name)]

    def make_remove(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if operation.get("inside", "with") == "keep":
            self.make_unwrap(operation)
            return
        reading = Reading(self)
        self.editor.cut(self.path(node.where))
        reading.rewire({}, gone=node.path)
        self.outcome.select = [node.parent] if node.parent else []

    def make_rename(self, operation: Operation) -> None:
        node, name = self.node(operation.at[0]), operation.get("name")
        check_name(self, name, node.where)
        path = joined(node.parent, name)

        def change() -> None:
            reading = Reading(self)
            self.editor.rename(self.path(node.where), name)
            reading.rewire({node.path: path})

        self.soundly(change)
        self.outcome.select = [path]

    def make_move(self, operation: Operation) -> None:
        nodes, into = self.selected(operation), operation.get("into")
        if any(is_in(into, node.path) for node in nodes):
            raise refuse(UNKNOWN, "a step cannot be moved into itself")
        if operation.get("after") in [node.path for node in nodes]:
            raise refuse(UNKNOWN, "a step cannot be moved after itself")
        reading, where = Reading(self), self.slot(into, operation.get("case"))
        moved = self._relocate(nodes, into, where, operation)
        reading.rewire(moved)
        self.outcome.select = list(moved.values())

    def _relocate(
        self, nodes: list[SketchNode], into: str, where: Keys, operation: Operation
    ) -> dict[str, str]:
        """Moves steps into a block; returns their new paths by the old ones."""
        moved: dict[str, str] = {}
        last = ""
        for node in nodes:
            piece = self.editor.cut(self.path(node.where))
            behind = Operation("move", {"after": last}) if last else operation
            self.put_in(where, self.index_in(where, behind), piece)
            last = moved[node.path] = joined(into, str(piece.name))
        return moved

    def make_wrap(self, operation: Operation) -> None:
        nodes, kind = self.neighbours(operation), operation.get("kind")
        if kind not in _HOLDERS:
            known = f"known: {', '.join(_HOLDERS)}"
            raise refuse(UNKNOWN, f"steps cannot be wrapped in {kind!r}", known)
        block, given = nodes[0].where[:-1], operation.get("fields", {})
        names = self.names_in(block)
        name = self.free_name(operation.get("name") or "loop_1", set(names) | RESERVED)
        check_name(self, name, block)
        value: dict[str, Any] = {**self.new[kind], **given}
        if kind == "repeat":
            value = {"repeat": {**given, **self.new[kind]["repeat"], **given}}
        path = joined(nodes[0].parent, name)

        def change() -> None:
            reading = Reading(self)
            self.put_in(block, names.index(nodes[0].key), (name, value))
            last = Operation("move")
            reading.rewire(self._relocate(nodes, path, self.slot(path), last))

        self.soundly(change)
        self.outcome.select = [path]

    def make_unwrap(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if not node.slots:
            self.refuse_at(UNKNOWN, f"{node.path!r} holds no steps", node.where)
        inside = self.sketch.inside(node.path)

        def change() -> None:
            reading = Reading(self)
            after = Operation("move", {"after": node.path})
            moved = self._relocate(inside, node.parent, node.where[:-1], after)
            self.editor.cut(self.path(node.where))
            reading.rewire(moved, gone=node.path)
            self.outcome.select = list(moved.values())

        self.soundly(change)

    def make_extract(self, operation: Operation) -> None:
        if len(operation.at) != 1:
            raise refuse(UNAVAILABLE, "one step at a time goes to a file of its own")
        extract(self, self.node(operation.at[0]), operation.get("file"))

    def make_inline(self, operation: Operation) -> None:
        inline(self, self.node(operation.at[0]))

    def _ends(self, operation: Operation) -> tuple[SketchNode, SketchNode]:
        source, target = (str(operation.get(end).get("at", "")) for end in ("from", "to"))
        return self.node(source), self.node(target)

    def make_connect(self, operation: Operation) -> None:
        source, target = self._ends(operation)
        if operation.get("kind", "order") == "feedback":
            self._feed_back(operation, source, target)
            return
        if source.where[:-1] != target.where[:-1] or source.path == target.path:
            advice = "only steps of the same block can be ordered; move one of them"
            message = "the two steps are not in the same block"
            self.refuse_at(CONNECTED, message, target.where, advice)
        if self._leads_to(source.path, target.path):
            return
        if self._leads_to(target.path, source.path):
            message = f"{target.path!r} comes before {source.path!r} already"
            self.refuse_at(CONNECTED, message, target.where, "remove that order first, or move it")
        name, where = source.key, (*target.where, "after")
        written = at(self.editor.now.root, *where)
        value: Json = [*texts_of(written), name] if texts_of(written) else name
        if isinstance(written, Mapping):
            where, value = (*where, name), "passed"
        self.editor.set(list(where), value, before=self.last)

    def _leads_to(self, source: str, target: str) -> bool:
        """Returns whether a step waits for another one, directly or through others."""
        reached, queue = {source}, [source]
        while queue:
            name = queue.pop()
            onward = {edge.target for edge in self.sketch.edges
                      if edge.source == name and edge.kind == "order"}  # fmt: skip
            queue += onward - reached
            reached |= onward
        return target in reached

    def _feed_back(self, operation: Operation, source: SketchNode, loop: SketchNode) -> None:
        """Carries the result of a step into the next iteration of the loop around it."""
        if loop.kind != "repeat" or not source.path.startswith(f"{loop.path}/"):
            message = "feedback goes from a step to the loop around it"
            self.refuse_at(CONNECTED, message, loop.where)
        port = operation.get("from").get("port") or ""
        names = self.names_in((*loop.where, "repeat", "carry"))
        taken = {*names, *self.names_in((*loop.where, "repeat", "steps"))} | RESERVED
        name = self.free_name(operation.get("name") or port or "feedback", taken)
        check_name(self, name, loop.where)
        read = f"{{{{ {source.name}.{port} }}}}" if port else f"{{{{ {source.name} }}}}"
        self.editor.set([*loop.where, "repeat", "carry", name], read, before=self.last)
        self.outcome.select = [loop.path]

    def make_disconnect(self, operation: Operation) -> None:
        source, target = self._ends(operation)
        name, where = source.key, [*target.where, "after"]
        written = at(self.editor.now.root, *where)
        if operation.get("kind", "order") == "feedback":
            name = operation.get("name") or operation.get("to").get("port") or ""
            where = [*target.where, "repeat", "carry", name]
        elif isinstance(written, Mapping) and name in written:
            where.append(name)
        elif isinstance(written, Sequence) and name in texts_of(written):
            where.append([getattr(part, "text", "") for part in written].index(name))
        elif not (isinstance(written, Scalar) and written.text == name):
            message = "one comes before the other only by the order of the file"
            self.refuse_at(CONNECTED, message, target.where, "move it, or use together")
        self.editor.unset(where, keeps=len(target.where))
