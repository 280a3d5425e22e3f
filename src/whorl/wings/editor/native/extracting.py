"""Steps go to a file of their own, which is called instead.

What they read from outside are the inputs of the new file, under the names that they read it by,
and what is read of them are the outputs; so their lines go there as they are.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NoReturn

from whorl import ir
from whorl.dialects.files import ENDINGS, UnsavedFiles
from whorl.dialects.native.context import NAMES, RESERVED
from whorl.dialects.native.loop import last_with_result
from whorl.dialects.reader import files_beside, parse
from whorl.dialects.reading.fields import text_of
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.source import Mapping, Scalar, Sequence, plain
from whorl.source.editing import spelling
from whorl.source.editing.editor import Editor
from whorl.source.editing.text import TAKEN, UNKNOWN
from whorl.wings.editor.kit.changes import Changes
from whorl.wings.editor.kit.edit import open_text
from whorl.wings.editor.kit.operations import READ, UNAVAILABLE, Operation, refuse
from whorl.wings.editor.kit.sketch import SketchNode, at, joined
from whorl.wings.editor.native.names import Names, Reader, mentions, part_behind, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Json, Value
    from whorl.source.editing.entries import Piece
    from whorl.wings.editor.kit.sketch import Keys
    from whorl.wings.editor.native.names import Mention

# The blocks of a native file: which steps stand in one, and how steps are put into it.

_NAME = re.compile(NAMES["dashed"])


class Blocks(Changes):
    """What all operations on the steps of a native file are made of."""

    last = ("repeat", "together", "choose", "steps", "then", "else", "cases", "default", "outputs")

    def slot(self, into: str, case: str | None) -> Keys:
        """The keys of the steps inside of a holder, or of the workflow."""
        if not into:
            return ("steps",)
        node = self.node(into)
        if not node.slots:
            self.refuse_at(UNKNOWN, f"{into!r} holds no steps", node.where)
        wanted = case or ("" if "" in node.slots else next(iter(node.slots)))
        if wanted not in node.slots:
            known = ", ".join(filter(None, node.slots)) or "none"
            message = f"{into!r} has no case {wanted!r}"
            self.refuse_at(UNKNOWN, message, node.where, f"there is {known}")
        return node.slots[wanted]

    def names_in(self, where: Keys) -> list[str]:
        block = at(self.editor.now.root, *where)
        return [entry.name for entry in block] if isinstance(block, Mapping) else []

    def check_name(self, name: str, where: Keys) -> None:
        if name in RESERVED or not _NAME.fullmatch(name) or len(name) > 128:
            advice = "letters, digits, '_' and '-', beginning with a letter"
            self.refuse_at(TAKEN, f"a step cannot be called {name[:60]!r}", where, advice)

    def index_in(self, where: Keys, operation: Operation) -> int:
        """Where in a block something goes: behind a step, first (null), or last."""
        names = self.names_in(where)
        if "after" not in operation.fields:
            return len(names)
        after = operation.get("after")
        if after is None:
            return 0
        name = str(self.node(after).where[-1]) if self.sketch.node(after) else after
        if name not in names:
            self.refuse_at(UNKNOWN, f"there is no step {after!r} in this place", where)
        return names.index(name) + 1

    def put_in(self, where: Keys, index: int, what: Piece | tuple[str, Json]) -> None:
        """Puts a piece or a new step into a block; a block that is missing is made."""
        editor = self.editor
        if editor.now.find(where) is None:
            editor.set(list(where), {})
        path = self.path(where)
        if isinstance(what, tuple):
            editor.insert(path, index, *what)
        else:
            editor.paste(path, index, what)

    def selected(self, operation: Operation) -> list[SketchNode]:
        """The steps that an operation is about, all of one block, in its order."""
        nodes = [self.node(path) for path in dict.fromkeys(operation.at)]
        if not nodes or len({node.where[:-1] for node in nodes}) > 1:
            raise refuse(UNKNOWN, "the steps do not all have the same parent")
        names = self.names_in(nodes[0].where[:-1])
        return sorted(nodes, key=lambda node: names.index(str(node.where[-1])))

    def neighbours(self, operation: Operation) -> list[SketchNode]:
        """The same, where nothing may stand between them."""
        nodes = self.selected(operation)
        names = self.names_in(nodes[0].where[:-1])
        first = names.index(str(nodes[0].where[-1]))
        if [node.where[-1] for node in nodes] != names[first : first + len(nodes)]:
            raise refuse(UNKNOWN, "the steps are not next to each other")
        return nodes


# What a file says for all of its steps; and what of a step would mean another thing elsewhere.
SHARED = ("model", "system")
_OUTSIDE = {"set": "sets a variable of the run", "stop": "ends the run"}
# The output that is all of a step, and the kinds of steps whose results have parts with names.
_WHOLE = "result"
_PARTED = ("repeat", "together")
# The kinds that decide whether the steps inside of them run.
_DECIDING = ("if", "choose")


def extract(changes: Blocks, nodes: list[SketchNode], file: str, name: str = "") -> None:
    """Moves steps that stand beside each other to a new file, and calls that.

    The call of one step has its name; that of several is named after the file.
    """
    check_new_file(changes, nodes[0], file)
    moving = _Moving(changes, nodes, name or ("" if len(nodes) == 1 else _stem(file)))
    inputs, outputs, root = moving.inputs(), moving.outputs(), changes.editor.now.root
    head: dict[str, Json] = {"whorl": 1, "name": file.rpartition("/")[2].rpartition(".")[0]}
    head |= {key: plain(value) for key in SHARED if (value := at(root, key)) is not None}
    if inputs:
        head["inputs"] = inputs
    block, order = nodes[0].where[:-1], changes.editor.now.find((*nodes[0].where, "after"))
    first = changes.names_in(block).index(str(nodes[0].where[-1]))

    def change() -> None:
        editor = changes.editor
        waits = None if order is None else editor.cut(order)
        # The last one first, so that each has the blank lines before it.
        pieces = [editor.cut(changes.path(node.where)) for node in reversed(nodes)][::-1]
        new = _editor(file, {**head, "steps": {}, "outputs": outputs})
        for index, piece in enumerate(pieces):
            new.paste(new.now.find(("steps",)) or (), index, piece)
        new.verify()
        give_file(changes, file, new.text)
        step: dict[str, Json] = {"call": file}
        if inputs:
            step["with"] = {key: f"{{{{ {key} }}}}" for key in inputs}
        made = editor.insert(changes.path(block), first, moving.call, step, instead=pieces[0])
        if waits is not None:
            editor.paste(made, 0, waits)
        moving.respell()

    changes.soundly(change)
    changes.outcome.select = [joined(nodes[0].parent, moving.call)]


def _stem(file: str) -> str:
    """A name for a step, after a file."""
    stem = re.sub(r"\W", "_", file.rpartition("/")[2].rpartition(".")[0], flags=re.ASCII)
    return stem if stem[:1].isalpha() else f"call_{stem}".rstrip("_")


def _editor(file: str, value: dict[str, Json]) -> Editor:
    text = "\n".join([*spelling.block(value, 0, spelling.Indent()), ""])
    is_json = file.endswith(".json")
    if is_json:
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return Editor(text, lambda source: parse(source, file, lenient=True), is_json=is_json)


class _Moving:
    """Steps that go to another file: what they read, and who reads them.

    A call `named` otherwise than the one step that goes has an output for each step that is read.
    """

    def __init__(self, changes: Blocks, nodes: list[SketchNode], named: str) -> None:
        self._changes, self._nodes = changes, nodes
        self._root = changes.editor.now.root
        self._names = Names(changes.editor.now.document, files_beside(changes.files, changes.file))
        if self._names.workflow is None:
            message = "the file has mistakes, so its names are not known"
            changes.refuse_at("C106", message, nodes[0].where)
        own = str(nodes[0].where[-1])
        self._is_alone = len(nodes) == 1 and named in ("", own)
        self.call = own if self._is_alone else self._free_name(named)
        steps = [(n.path, n.where, at(self._root, *n.where)) for n in changes.sketch.nodes]
        self._mentions = list(mentions([(p, w, v) for p, w, v in steps if v is not None]))
        self._check()
        self._readers = [
            (reader, index)
            for reader in self._names.readers
            if not self._is_inside(reader.viewer)
            and (index := self._first_inside(reader)) is not None
        ]
        self._check_readers()

    def _free_name(self, wanted: str) -> str:
        changes, gone = self._changes, {node.path for node in self._nodes}
        taken = {node.name for node in changes.sketch.nodes if node.path not in gone}
        taken |= {use.name.name for use in self._names.uses} - {n.name for n in self._nodes}
        taken |= set(changes.names_in(("inputs",))) | RESERVED
        name = changes.free_name(wanted, taken)
        changes.check_name(name, self._nodes[0].where)
        return name

    def _is_inside(self, path: str) -> bool:
        return any(path == node.path or path.startswith(f"{node.path}/") for node in self._nodes)

    def _first_inside(self, reader: Reader) -> int | None:
        """Which of the steps that a text reads is the first one that goes."""
        return next((i for i, step in enumerate(reader.chain) if self._is_inside(step)), None)

    def _refuse(self, where: Keys, why: str) -> None:
        refuse_body(self._changes, where, why)

    def _check(self) -> None:
        changes, first = self._changes, self._nodes[0]
        for node in (inner for each in self._nodes for inner in inside_of(changes, each.path)):
            if node.kind in _OUTSIDE:
                self._refuse(node.where, f"{node.path} {_OUTSIDE[node.kind]}")
        if self._is_alone and at(self._root, *first.where, "if") and first.kind != "if":
            self._refuse(first.where, f"{first.path} has an `if`")
        parent = changes.sketch.node(first.parent)
        if len(self._nodes) > 1 and parent is not None and parent.kind == "together":
            self._refuse(first.where, f"the steps of {parent.path} run at the same time")
        for mention in self._mentions:
            self._check_mention(mention)
        system = at(self._root, "system")
        if isinstance(system, Scalar) and "{{" in system.text:
            self._refuse(("system",), "the system prompt reads values of the run")
        if parent is not None and parent.kind == "repeat" and self._has_last(parent):
            until = at(self._root, *parent.where, "repeat", "until")
            if any(_looking_at_last(until)):
                where = (*parent.where, "repeat", "until")
                self._refuse(where, f"{parent.path} looks at its last step without naming it")

    def _has_last(self, parent: SketchNode) -> bool:
        return self._changes.sketch.inside(parent.path)[-1].path == self._nodes[-1].path

    def _check_mention(self, mention: Mention) -> None:
        """The steps may name others only in the order that the call takes over."""
        is_out = self._is_inside(mention.viewer) and not self._is_inside(mention.target)
        is_order = "after" in mention.where
        is_first = mention.viewer == self._nodes[0].path and is_order
        if is_out and not is_first:
            self._refuse(mention.where, f"{mention.viewer} names {mention.target}")
        is_in = not self._is_inside(mention.viewer) and self._is_inside(mention.target)
        if is_in and (not is_order or (mention.is_key and not self._is_alone)):
            self._refuse(mention.where, f"{mention.viewer} names {mention.target}")

    def _check_readers(self) -> None:
        read = {reader.where for reader, _ in self._readers}
        for use in self._names.uses:
            path = self._names.paths.get(id(use.origin), "")
            is_read = self._is_inside(path) and not self._is_inside(use.viewer)
            if is_read and use.where not in read:
                self._refuse(use.where, f"{use.viewer or 'the workflow'} reads {path}")
        names = [node.name for node in self._nodes]
        for where, loop in self._names.vague:
            is_around = self._nodes[0].path.startswith(f"{loop}/")
            if is_around and any(name in text_of(at(self._root, *where)) for name in names):
                self._refuse(where, f"what reads the iterations of {loop} may read this step")
        for reader, index in self._readers:
            step = reader.chain[index]
            self._check_certain(reader, step)
            if self._is_alone and step != self._nodes[0].path and not self._parts:
                self._refuse(reader.where, f"{reader.viewer or 'the workflow'} reads {step}")

    def _check_certain(self, reader: Reader, step: str) -> None:
        """A step that may be skipped is nothing outside, and an output of a file is null."""
        for node in self._changes.sketch.nodes:
            if not self._is_inside(node.path) or not f"{step}/".startswith(f"{node.path}/"):
                continue
            decides = node.kind in _DECIDING and node.path != step
            if decides or (at(self._root, *node.where, "if") and node.kind != "if"):
                words = f"{reader.viewer or 'the workflow'} reads {step}"
                self._refuse(reader.where, f"{words}, which may be skipped")

    def inputs(self) -> dict[str, Json]:
        """What the steps read from outside, with types where the file says them."""
        assert self._names.workflow is not None
        known = {port.name for port in self._names.workflow.inputs}
        found: dict[str, Json] = {}
        for use in self._names.uses:
            name = use.name.name
            if not self._is_inside(use.viewer) or self._is_bound(use.origin):
                continue
            is_carried = isinstance(use.origin, ir.Loop) and use.origin.name != name
            is_unknown = use.origin is None and name not in known
            if is_unknown or is_carried or name in RESERVED:
                words = f"{use.viewer} reads {name!r}, which exists only around it"
                self._refuse(use.where, words)
            written = at(self._root, "inputs", name)
            kind = (
                text_of(at(written, "type")) if isinstance(written, Mapping) else text_of(written)
            )
            found[name] = kind.removesuffix("?") or "any" if use.origin is None else "any"
        return found

    def _is_bound(self, origin: ir.Node | None) -> bool:
        """Whether a name is one of the steps themselves, or of a step or loop inside of them."""
        return origin is not None and self._is_inside(self._names.paths.get(id(origin), "\0"))

    @property
    def _parts(self) -> list[str]:
        """The parts of the one step's result that others read; none where one reads all of it."""
        if not self._is_alone or self._nodes[0].kind not in _PARTED or self._result:
            return []
        parts = [self._part(reader, index) for reader, index in self._readers]
        return parts if all(parts) else []

    def _part(self, reader: Reader, index: int) -> str:
        if reader.chain[index] != self._nodes[0].path:
            return self._name(reader.chain[index])
        return part_behind(text_of(at(self._root, *reader.where)), reader.spans[index][1])

    @property
    def _result(self) -> str:
        """The step of them that is what the workflow gives, where it says nothing else."""
        assert self._names.workflow is not None
        last, outputs = last_with_result(self._names.workflow.body), at(self._root, "outputs")
        is_written = outputs is not None and bool(plain(outputs))
        return "" if is_written or not self._is_bound(last) else self._names.paths[id(last)]

    def outputs(self) -> dict[str, Json]:
        """What others read of the steps: by their names, or one step's parts, or all of it."""
        if self._is_alone:
            own = spelled([self.call], is_first=True)
            parts: dict[str, Json] = {part: f"{{{{ {own}.{part} }}}}" for part in self._parts}
            return parts or {_WHOLE: f"{{{{ {own} }}}}"}
        read = [reader.chain[index] for reader, index in self._readers]
        read += [self._result] if self._result else []
        names = map(self._name, read or [self._nodes[-1].path])
        return {name: f"{{{{ {spelled([name], is_first=True)} }}}}" for name in names}

    def _name(self, path: str) -> str:
        node = self._changes.sketch.node(path)
        return path.rpartition("/")[2] if node is None else str(node.where[-1])

    def respell(self) -> None:
        """Readers read what the call gives; orders and the workflow's own result name it."""
        texts: dict[Keys, str] = {}
        for reader, index in sorted(self._readers, key=lambda one: one[0].spans[0], reverse=True):
            text = texts.get(reader.where)
            text = text_of(at(self._root, *reader.where)) if text is None else text
            texts[reader.where] = self._respelled(reader, index, text)
        result, editor = self._result, self._changes.editor
        for where, text in texts.items():
            editor.set(list(where), text)
        if result:
            last = self._name(result)
            part = _WHOLE if self._is_alone else last
            chain = spelled([self.call, part], is_first=True)
            editor.set(["outputs"], {last: f"{{{{ {chain} }}}}"})
        if not self._is_alone:
            self._reorder()

    def _respelled(self, reader: Reader, index: int, text: str) -> str:
        start, end = reader.spans[index]
        is_first = index == 0 and not reader.fixed
        if self._is_alone and reader.chain[index] == self._nodes[0].path:
            return text if self._parts else f"{text[:end]}.{_WHOLE}{text[end:]}"
        if self._is_alone and self._parts and not is_first:
            return text
        name = self._name(reader.chain[index])
        read = spelled([self.call, name], is_first=is_first)
        return text[:start] + read + text[end:]

    def _reorder(self) -> None:
        """Who waits for one of several steps waits for the call."""
        editor = self._changes.editor
        orders = [m for m in self._mentions if self._is_inside(m.target)]
        for mention in reversed([m for m in orders if not self._is_inside(m.viewer)]):
            written = at(editor.now.root, *mention.where[:-1])
            names = [text_of(item) for item in written] if isinstance(written, Sequence) else []
            if self.call in names:
                editor.unset(list(mention.where))
            else:
                editor.set(list(mention.where), self.call)


def _looking_at_last(until: Value | None) -> Iterator[bool]:
    """Whether conditions are about the last step of a loop, as they name no other."""
    if isinstance(until, Sequence):
        for item in until:
            yield from _looking_at_last(item)
    for entry in until if isinstance(until, Mapping) else ():
        if entry.name in ("all", "any"):
            yield from _looking_at_last(entry.value)
        named = ("of", "from") if entry.name == "score" else ("of",)
        if entry.name in ("score", "judge", "stable"):
            yield not any(at(entry.value, name) is not None for name in named)


# Parts of a file that go to a file of their own, and come back from one: two texts change.


def check_new_file(changes: Changes, node: SketchNode, file: str) -> None:
    """Refuses a name that is no new file beside the one that is edited."""
    if not file.endswith(ENDINGS) or file.startswith("/") or ".." in file.split("/"):
        raise refuse(
            UNAVAILABLE, f"{file[:120]!r} is not a valid name for a new file", "such as body.yaml"
        )
    if text_of_file(changes, node, file) is not None:
        raise refuse(TAKEN, f"there is a file {file[:120]!r} already", "choose another name")


def text_of_file(changes: Changes, node: SketchNode, file: str) -> str | None:
    """The text of a file beside the one that is edited; None where it cannot be read."""
    value = at(changes.editor.now.root, *node.where)
    assert value is not None
    try:
        return changes.files.open(changes.files.real_path(changes.file), file, value.span).text
    except InvalidWorkflow:
        return None


def give_file(changes: Changes, file: str, text: str) -> None:
    """Another text that comes of an operation; what follows reads the file with it."""
    others = changes.outcome.others
    others[file] = text
    changes.files = UnsavedFiles(changes.files, changes.file, {file: text})


def opened_file(changes: Changes, node: SketchNode, file: str) -> Changes:
    """The changes of a file that a step names, which are never kept: its parts are taken out."""
    text = text_of_file(changes, node, file) if file else None
    if text is None:
        message = f"{node.path!r} does not name a file that can be read"
        changes.refuse_at(UNAVAILABLE, message, node.where)
    folder = changes.file.rpartition("/")[0]
    path = f"{folder}/{file}" if folder else file
    try:
        _, found = open_text(text, path, changes.files)
    except EditRefused as fault:
        message = f"{file!r} cannot be read: {fault.diagnostic.message}"
        raise EditRefused(
            Diagnostic(fault.diagnostic.code, message, fault.diagnostic.span)
        ) from None
    if type(found) is not type(changes):
        changes.refuse_at(UNAVAILABLE, f"{file!r} is a file of another dialect", node.where)
    return found


def refuse_body(changes: Changes, where: Keys, why: str) -> NoReturn:
    """What cannot go to another file, or come from one, without being another thing there."""
    changes.refuse_at(READ, why, where, "change that part first, or copy it as text")


def inside_of(changes: Changes, path: str) -> Iterator[SketchNode]:
    """A step and all steps inside of it."""
    for node in changes.sketch.nodes:
        if node.path == path or node.path.startswith(f"{path}/"):
            yield node
