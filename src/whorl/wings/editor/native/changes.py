"""What operations do to the text of a native file: the order of the file is the order of work."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from whorl import ir
from whorl.dialects.native.context import FACTS, RESERVED
from whorl.dialects.reader import files_beside
from whorl.dialects.reading.fields import text_of, texts_of
from whorl.ir.checks.scopes import views_in
from whorl.ir.walk import blocks_of, names_given
from whorl.source import Mapping, Scalar, Sequence, plain
from whorl.source.editing.text import TAKEN, UNKNOWN
from whorl.wings.editor.kit.names import Name, Rewired, field_words, line_of, owner_of
from whorl.wings.editor.kit.operations import CONNECTED, UNAVAILABLE, Operation, refuse
from whorl.wings.editor.kit.sketch import Keys, Sketch, SketchNode, at, joined
from whorl.wings.editor.native import sketch
from whorl.wings.editor.native.extracting import SHARED, Blocks, extract, opened_file, refuse_body
from whorl.wings.editor.native.names import Names, Rewiring, spelled
from whorl.wings.editor.native.sketch import draw

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir.checks.scopes import Shape, View
    from whorl.ir.nodes import Fact
    from whorl.source import Document, Json
    from whorl.wings.editor.kit.changes import Changes, FormField


_HOLDERS: dict[str, dict[str, Any]] = {
    "repeat": {"at_most": 5, "steps": {}},
    "each": {"each": "[1, 2, 3]", "steps": {}},
    "together": {"together": {}},
    "if": {"if": "true", "then": {}},
}


class NativeChanges(Blocks):
    new, groups, titles, needs = sketch.NEW, sketch.GROUPS, sketch.TITLES, sketch.NEEDS
    looks, ports, empty = sketch.LOOKS, sketch.PORTS, sketch.EMPTY

    @classmethod
    def form_of(cls, kind: str) -> list[FormField]:
        return sketch.form_of(kind)

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


# What the texts of a step may read, by the reader's own scopes.

_FACTS = cast("list[tuple[str, Fact]]", list(FACTS.items()))
_DEEP_MAX = 3
_WORDS = {"string": "text", "integer": "number", "array": "list", "plain": "any"}


def names_at(changes: Changes, path: str) -> list[Name]:
    """The names that a step sees, those nearest to it first; of a loop, those that its body sees.

    An empty path is the end of the workflow, where its outputs are.
    """
    names = Names(changes.editor.now.document, files_beside(changes.files, changes.file))
    workflow = names.workflow
    view = None if workflow is None else dict(views_in(workflow)).get(path)
    if workflow is None or view is None:
        return []
    types = {port.name: _WORDS.get(port.type, port.type) for port in workflow.inputs}
    readers = _readers(changes, names)
    found: dict[str, Name] = {}
    for name, node, shape in _seen(view):
        is_step = node is not None and node.name == name
        step = names.paths.get(id(node), "") if is_step else ""
        known: Json = {"type": types.get(name)} if node is None else None
        known = _schema(node) if is_step else known
        for parts, word in _parts([name], shape, node, known):
            text = spelled(parts, is_first=True)
            whole = step if len(parts) == 1 else "/".join([step, *parts[1:]])
            found.setdefault(text, Name(text, word, step, tuple(readers.get(whole, ()))))
    return list(found.values())


def _seen(view: View) -> Iterator[tuple[str, ir.Node | None, Shape | None]]:
    for name in dict.fromkeys(view.names()):
        yield name, view.origin(name), view.find(name)[1]
    for loop in view.holders():
        # The facts of a loop are bound where they are read; all of them can be.
        if isinstance(loop, ir.Loop):
            yield from ((name, loop, view.shapes.of_fact(loop, fact)) for name, fact in _FACTS)


def _schema(node: ir.Node | None) -> Json:
    return node.returns if isinstance(node, ir.Task) else None


def _parts(
    parts: list[str], shape: Shape | None, node: ir.Node | None, schema: Json
) -> Iterator[tuple[list[str], str]]:
    """A name and what is known to be inside of it, each with its type."""
    known = schema if isinstance(schema, dict) else {}
    word = known.get("type") or (shape.kind if shape is not None else "any")
    yield parts, _WORDS.get(str(word), str(word))
    if shape is None or shape.kind != "object" or len(parts) > _DEEP_MAX:
        return
    properties = known.get("properties")
    steps = (
        {} if node is None else dict(pair for _, b in blocks_of(node) for pair in names_given(b))
    )
    for name, inner in shape.fields.items():
        step = steps.get(name)
        part = properties.get(name) if isinstance(properties, dict) else _schema(step)
        yield from _parts([*parts, name], inner, step, part)


def _readers(changes: Changes, names: Names) -> dict[str, list[Rewired]]:
    """Who reads each step, by the path of the step."""
    found: dict[str, list[Rewired]] = {}
    for reader in names.readers:
        owner = owner_of(changes.sketch, reader.where)
        line = line_of(changes.editor.now, reader.where)
        note = Rewired(owner.path if owner else "", field_words(owner, reader.where), line)
        for step in reader.chain:
            if note not in found.setdefault(step, []):
                found[step].append(note)
    return found


# The steps of a called file come in the place of the call.

# A text that is one name, with what is read of it.
_CHAIN = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")


def inline(changes: Blocks, node: SketchNode) -> None:
    """Puts the steps of a called file in the place of the call; the file stays as it is."""
    called = opened_file(changes, node, node.file)
    assert isinstance(called, Blocks)
    given = at(changes.editor.now.root, *node.where, "with")
    coming = _Coming(changes, called, node, plain(given) if given is not None else {})
    names = called.names_in(("steps",))
    name, block = str(node.where[-1]), node.where[:-1]
    taken = (set(changes.names_in(block)) - {name}) & set(names)
    if taken:
        changes.refuse_at(
            TAKEN, f"there is a step {min(taken)!r} already", node.where, "rename one"
        )
    coming.enter()
    order = changes.editor.now.find((*node.where, "after"))

    def change() -> None:
        index = changes.names_in(block).index(name)
        coming.respell()
        waits = None if order is None else changes.editor.cut(order)
        gap = changes.editor.cut(changes.path(node.where)).gap
        # The last one first, so that each has the blank lines before it.
        steps = [called.path(("steps", step)) for step in reversed(names)]
        for offset, piece in enumerate([called.editor.cut(step) for step in steps][::-1]):
            if not offset and not gap.strip() and not piece.gap.strip():
                piece = replace(piece, gap=gap)
            changes.put_in(block, index + offset, piece)
        if waits is not None and names:
            fields = changes.names_in((*block, names[0]))
            behind = [index for index, field in enumerate(fields) if field in changes.last]
            changes.editor.paste(
                changes.path((*block, names[0])), min(behind, default=len(fields)), waits
            )

    changes.soundly(change)
    parent = f"{node.parent}/" if node.parent else ""
    changes.outcome.select = [f"{parent}{step}" for step in names]


class _Coming:
    """A called file whose steps come here: what they are given, and who reads the call."""

    def __init__(self, changes: Blocks, called: Blocks, node: SketchNode, given: Json) -> None:
        self._changes, self._called, self._node = changes, called, node
        self._given = given if isinstance(given, dict) else {}
        self._chains = {name: _chain(value) for name, value in self._given.items()}
        root, own = called.editor.now.root, changes.editor.now.root
        for entry in root if isinstance(root, Mapping) else ():
            outer = at(own, entry.name)
            is_same = outer is not None and plain(entry.value) == plain(outer)
            if entry.name in SHARED and is_same:
                continue
            if entry.name not in ("whorl", "name", "description", "inputs", "steps", "outputs"):
                words = f"{node.file} has a {entry.name!r} of its own"
                refuse_body(changes, node.where, words)

    def enter(self) -> None:
        """Writes what the steps are given where they read their inputs."""
        called = self._called
        names = Names(called.editor.now.document, files_beside(called.files, called.file))
        if names.workflow is None:
            refuse_body(self._changes, self._node.where, f"{self._node.file} has mistakes")
        known = {port.name for port in names.workflow.inputs}
        texts: dict[Keys, str] = {}
        for use in sorted(names.uses, key=lambda one: -one.offset):
            name = use.name.name
            if use.origin is not None or name not in known or self._chains.get(name) == name:
                continue
            chain = self._chains.get(name)
            if not chain:
                words = f"{self._node.path} does not give a plain value as {name!r}"
                refuse_body(self._changes, self._node.where, words)
            text = texts.get(use.where) or text_of(at(called.editor.now.root, *use.where))
            texts[use.where] = text[: use.offset] + chain + text[use.offset + len(name) :]
        for where, text in texts.items():
            called.editor.set(list(where), text)

    def respell(self) -> None:
        """Readers of the call read what its outputs are made of."""
        changes, node = self._changes, self._node
        outputs = at(self._called.editor.now.root, "outputs")
        chains = (
            {e.name: _chain(plain(e.value)) for e in outputs}
            if isinstance(outputs, Mapping)
            else {}
        )
        names = Names(changes.editor.now.document, files_beside(changes.files, changes.file))
        own = next((key for key, path in names.paths.items() if path == node.path), 0)
        texts: dict[Keys, str] = {}
        for use in sorted(names.uses, key=lambda one: -one.offset):
            if id(use.origin) != own:
                continue
            key = str(use.name.path[0]) if use.name.path else ""
            chain, old = chains.get(key, ""), f"{use.name.name}.{key}"
            text = texts.get(use.where) or text_of(at(changes.editor.now.root, *use.where))
            if not chain or text[use.offset : use.offset + len(old)] != old:
                words = f"{use.viewer or 'the workflow'} reads more than an output of {node.path}"
                refuse_body(changes, use.where, words)
            if chain != old:
                texts[use.where] = text[: use.offset] + chain + text[use.offset + len(old) :]
        for where, text in texts.items():
            changes.editor.set(list(where), text)


def _chain(written: Json) -> str:
    """The names that a text reads, where it is nothing else."""
    match = _CHAIN.fullmatch(written.strip()) if isinstance(written, str) else None
    return match[1] if match else ""
