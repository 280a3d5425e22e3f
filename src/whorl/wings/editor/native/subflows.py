"""Moves a step to a file of its own and calls that file instead, or the reverse. Two texts change.

The names that the step reads from outside become the inputs of the new file, so that its lines
stay as they are. Its result is the output.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

from whorl import ir
from whorl.dialects.files import ENDINGS, UnsavedFiles
from whorl.dialects.native.context import RESERVED
from whorl.dialects.reader import parse
from whorl.dialects.reading.fields import text_of
from whorl.errors import Diagnostic, EditRefused, InvalidWorkflow
from whorl.source import Mapping, plain
from whorl.source.editing import spelling
from whorl.source.editing.editor import Editor
from whorl.source.editing.text import TAKEN
from whorl.wings.editor.kit.changes import Changes, open_text
from whorl.wings.editor.kit.operations import READ, UNAVAILABLE, refuse
from whorl.wings.editor.kit.sketch import SketchNode, at, is_in, joined
from whorl.wings.editor.native.readers import Reading, Reference, name_of, spelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Json, Value
    from whorl.wings.editor.kit.sketch import Keys

# The fields of a file for all its steps; and the steps that would change their meaning elsewhere.
_SHARED = ("model", "system")
_OUTSIDE = {"set": "sets a variable of the run", "stop": "ends the run"}
# The name of the output that is the whole result of a step.
_WHOLE = "result"
_HEAD = ("whorl", "name", "description", "inputs", "steps", "outputs")
# A text that is one name, with the keys that are read of it.
_CHAIN = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")


def extract(changes: Changes, node: SketchNode, file: str) -> None:
    """Moves a step to a new file, and calls the file in its place."""
    if not file.endswith(ENDINGS) or file.startswith("/") or ".." in file.split("/"):
        message = f"{file[:120]!r} is not a valid name for a new file"
        raise refuse(UNAVAILABLE, message, "such as body.yaml")
    if _text_of_file(changes, node, file) is not None:
        raise refuse(TAKEN, f"there is a file {file[:120]!r} already", "choose another name")
    leaving = _Leaving(changes, node)
    inputs, root = leaving.inputs(), changes.editor.now.root
    head: dict[str, Json] = {"whorl": 1, "name": file.rpartition("/")[2].rpartition(".")[0]}
    head |= {key: plain(value) for key in _SHARED if (value := at(root, key)) is not None}
    head |= {"inputs": inputs} if inputs else {}
    outputs: Json = {_WHOLE: f"{{{{ {spelled([node.key])} }}}}"}
    step: dict[str, Json] = {"call": file}
    step |= {"with": {key: f"{{{{ {key} }}}}" for key in inputs}} if inputs else {}
    block, order = node.where[:-1], changes.editor.now.find((*node.where, "after"))
    index = changes.names_in(block).index(node.key)

    def change() -> None:
        editor = changes.editor
        waits = None if order is None else editor.cut(order)
        piece = editor.cut(changes.path(node.where))
        value = {**head, "steps": {}, "outputs": outputs}
        is_json, lines = file.endswith(".json"), spelling.block(value, 0, spelling.Indent())
        text = json.dumps(value, indent=2, ensure_ascii=False) if is_json else "\n".join(lines)
        new = Editor(f"{text}\n", lambda text: parse(text, file, lenient=True), is_json=is_json)
        new.paste(new.now.find(("steps",)) or (), 0, piece)
        # The next edits read the file with the new one beside it.
        changes.outcome.others[file] = new.text
        changes.files = UnsavedFiles(changes.files, changes.file, {file: new.text})
        made = editor.insert(changes.path(block), index, node.key, step, instead=piece)
        if waits is not None:
            editor.paste(made, 0, waits)
        leaving.rewire()

    changes.soundly(change)
    changes.outcome.select = [node.path]


def _text_of_file(changes: Changes, node: SketchNode, file: str) -> str | None:
    """Returns the text of a file beside the edited one, or None if it cannot be read."""
    value = at(changes.editor.now.root, *node.where)
    assert value is not None
    try:
        return changes.files.open(changes.files.real_path(changes.file), file, value.span).text
    except InvalidWorkflow:
        return None


def _refuse(changes: Changes, where: Keys, why: str) -> NoReturn:
    """Refuses a part that would change its meaning in the other file."""
    changes.refuse_at(READ, why, where, "change that part first, or copy it as text")


class _Leaving:
    """A step that moves to another file, with the names that it reads, and its readers."""

    def __init__(self, changes: Changes, node: SketchNode) -> None:
        self._changes, self._node, self._sketch = changes, node, changes.sketch
        self._root = changes.editor.now.root
        self._reading = Reading(changes)
        if self._reading.workflow is None:
            self._refuse(node.where, "the file has mistakes, so its names are not known")
        viewers = {viewer for viewer, path in self._reading.implicit if self._holds(path)}
        # Whether the step's result is that of the workflow, which names none.
        self._is_result = "" in viewers
        self._check_step()
        for viewer in viewers - {""}:
            if not self._holds(viewer):
                where = (*changes.node(viewer).where, "repeat", "until")
                self._refuse(where, f"`until` of {viewer} reads its last step without naming it")
        self._readers = list(self._outside_readers())
        self._check_readers()

    def _refuse(self, where: Keys, why: str) -> NoReturn:
        _refuse(self._changes, where, why)

    def _holds(self, path: str) -> bool:
        return is_in(path, self._node.path)

    def _check_step(self) -> None:
        """Refuses a step that would change its meaning in a file of its own."""
        own = self._node
        for node in self._sketch.nodes:
            if self._holds(node.path) and node.kind in _OUTSIDE:
                self._refuse(node.where, f"{node.path} {_OUTSIDE[node.kind]}")
        if at(own.value, "if") and own.kind != "if":
            self._refuse(own.where, f"{own.path} has an `if`")
        if "{{" in text_of(at(self._root, "system")):
            self._refuse(("system",), "the system prompt reads values of the run")
        for each in self._reading.references:
            # Other steps may be named only in the order, which the call keeps.
            is_inside = self._holds(each.viewer)
            is_known = each.word == "after" and (each.viewer == own.path or not is_inside)
            if each.word and is_inside != self._holds(each.target) and not is_known:
                self._refuse(each.where, str(each))

    def _outside_readers(self) -> Iterator[tuple[Reference, int]]:
        """Yields the texts outside that read the step, with the index of the first name in it."""
        for each in self._reading.references:
            inside = [index for index, step in enumerate(each.chain) if self._holds(step)]
            if each.spans and inside and not self._holds(each.viewer):
                yield each, inside[0]

    def _check_readers(self) -> None:
        own, read = self._node, {reader.where for reader, _ in self._readers}
        for use in self._reading.uses:
            path = self._reading.paths.get(id(use.origin), "")
            if self._holds(path) and not self._holds(use.viewer) and use.where not in read:
                self._refuse(use.where, f"{use.viewer or 'the workflow'} reads {path}")
        self._reading.check_vague([own.path])
        for reader, index in self._readers:
            step = reader.chain[index]
            inner = None if step == own.path else self._changes.node(step)
            if inner is None:
                continue
            # A skipped step is missing outside, but is null in an output.
            is_skipped = inner.kind != "if" and at(inner.value, "if")
            if is_skipped or inner.parent != own.path or own.kind != "together":
                self._refuse(reader.where, f"{reader.viewer or 'the workflow'} reads {step}")

    def inputs(self) -> dict[str, Json]:
        """Returns the inputs that the step reads from outside, with types if the file has them."""
        assert self._reading.workflow is not None
        known = {port.name for port in self._reading.workflow.inputs}
        found: dict[str, Json] = {}
        for use in self._reading.uses:
            name, origin = use.name.name, use.origin
            if not self._holds(use.viewer) or self._holds(self._reading.paths.get(id(origin), "")):
                continue
            is_carried = isinstance(origin, ir.Loop) and origin.name != name
            if is_carried or name in RESERVED or (origin is None and name not in known):
                words = f"{use.viewer} reads {name!r}, which the new file would not have"
                self._refuse(use.where, words)
            written = at(self._root, "inputs", name)
            kind = text_of(at(written, "type") if isinstance(written, Mapping) else written)
            found[name] = kind.removesuffix("?") or "any" if origin is None else "any"
        return found

    def rewire(self) -> None:
        """Lets readers read the outputs of the call, also the workflow's own result."""
        self._changes.respell(self._spelling(*each) for each in self._readers)
        if self._is_result:
            chain = spelled([self._node.key, _WHOLE])
            self._changes.editor.set(["outputs"], {self._node.key: f"{{{{ {chain} }}}}"})

    def _spelling(self, reader: Reference, index: int) -> tuple[Keys, int, int, str]:
        start, end = reader.spans[index]
        step = reader.chain[index]
        if step == self._node.path:
            return reader.where, end, end, f".{_WHOLE}"
        names = [self._node.key, _WHOLE, name_of(step, self._sketch)]
        is_first = index == 0 and not reader.is_fixed
        return reader.where, start, end, spelled(names, is_first=is_first)


def inline(changes: Changes, node: SketchNode) -> None:
    """Replaces a call with the steps of the called file. The file is not changed."""
    called = _opened_call(changes, node)
    names = called.names_in(("steps",))
    name, block = node.key, node.where[:-1]
    root, own = called.editor.now.root, changes.editor.now.root
    # What stands there for its steps must stand here, too.
    for entry in root if isinstance(root, Mapping) else ():
        outer = at(own, entry.name)
        is_same = outer is not None and plain(entry.value) == plain(outer)
        if entry.name not in _HEAD and not (entry.name in _SHARED and is_same):
            _refuse(changes, node.where, f"{node.file} has a {entry.name!r} of its own")
    called.respell(_inputs_given(changes, called, node))
    outputs_read = list(_outputs_read(changes, called, node))
    order = changes.editor.now.find((*node.where, "after"))

    def change() -> None:
        index = changes.names_in(block).index(name)
        changes.respell(outputs_read)
        waits = None if order is None else changes.editor.cut(order)
        gap = changes.editor.cut(changes.path(node.where)).gap
        # The last one first, so that each keeps the blank lines before it.
        steps = [called.path(("steps", step)) for step in reversed(names)]
        for offset, piece in enumerate([called.editor.cut(step) for step in steps][::-1]):
            if not offset and not gap.strip() and not piece.gap.strip():
                piece = replace(piece, gap=gap)
            changes.editor.paste(changes.path(block), index + offset, piece)
        if waits is not None and names:
            first = (*block, names[0])
            fields = changes.names_in(first)
            behind = [index for index, field in enumerate(fields) if field in changes.last]
            changes.editor.paste(changes.path(first), min(behind, default=len(fields)), waits)

    changes.soundly(change)
    changes.outcome.select = [joined(node.parent, step) for step in names]


def _opened_call(changes: Changes, node: SketchNode) -> Changes:
    """Opens a called file for changes that are never saved: its parts are taken out."""
    file, folder = node.file, changes.file.rpartition("/")[0]
    text = _text_of_file(changes, node, file) if node.kind == "call" and file else None
    if text is None:
        message = f"{node.path!r} does not call a file that can be read"
        changes.refuse_at(UNAVAILABLE, message, node.where)
    try:
        _, called = open_text(text, f"{folder}/{file}" if folder else file, changes.files)
    except EditRefused as fault:
        why = fault.diagnostic
        message = f"{file!r} cannot be read: {why.message}"
        raise EditRefused(Diagnostic(why.code, message, why.span)) from None
    if not isinstance(called, type(changes)):
        changes.refuse_at(UNAVAILABLE, f"{file!r} is a file of another format", node.where)
    return called


def _inputs_given(
    changes: Changes, called: Changes, node: SketchNode
) -> Iterator[tuple[Keys, int, int, str]]:
    """Yields the values of the call for the places that read inputs in the called file."""
    reading, given = Reading(called), at(node.value, "with")
    if reading.workflow is None:
        _refuse(changes, node.where, f"{node.file} has mistakes")
    known = {port.name for port in reading.workflow.inputs}
    for use in reading.uses:
        name = use.name.name
        if use.origin is None and name in known:
            chain = _chain(at(given, name))
            if not chain:
                words = f"{node.path} does not give a plain value as {name!r}"
                _refuse(changes, node.where, words)
            yield use.where, use.offset, use.offset + len(name), chain


def _outputs_read(
    changes: Changes, called: Changes, node: SketchNode
) -> Iterator[tuple[Keys, int, int, str]]:
    """Yields the sources of the outputs for the places that read the call."""
    reading, outputs = Reading(changes), at(called.editor.now.root, "outputs")
    for use in reading.uses:
        if reading.paths.get(id(use.origin)) != node.path:
            continue
        key = str(use.name.path[0]) if use.name.path else ""
        chain, old = _chain(at(outputs, key)), f"{use.name.name}.{key}"
        text = text_of(at(changes.editor.now.root, *use.where))
        if not chain or not text.startswith(old, use.offset):
            words = f"{use.viewer or 'the workflow'} reads more than an output of {node.path}"
            _refuse(changes, use.where, words)
        yield use.where, use.offset, use.offset + len(old), chain


def _chain(value: Value | None) -> str:
    """Returns the names that a text reads if it has nothing else, or ""."""
    match = _CHAIN.fullmatch(text_of(value).strip())
    return match[1] if match else ""
