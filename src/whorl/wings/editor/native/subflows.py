"""Steps go to a file of their own, which is called instead, and come back: two texts change.

What they read from outside are the inputs of the new file, under the names that they read it by,
and what is read of them are the outputs; so their lines go there as they are.
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
from whorl.wings.editor.native.readers import (
    Reading,
    Reference,
    check_name,
    name_of,
    part_behind,
    rename_in_field,
    spelled,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.source import Json, Value
    from whorl.wings.editor.kit.sketch import Keys

# What a file says for all of its steps; and what of a step would mean another thing elsewhere.
_SHARED = ("model", "system")
_OUTSIDE = {"set": "sets a variable of the run", "stop": "ends the run"}
# The output that is all of a step, and the kinds of steps whose results have parts with names.
_WHOLE = "result"
_PARTED = ("repeat", "together")
_HEAD = ("whorl", "name", "description", "inputs", "steps", "outputs")
# A text that is one name, with what is read of it.
_CHAIN = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")


def extract(changes: Changes, nodes: list[SketchNode], file: str, name: str = "") -> None:
    """Moves steps that stand beside each other to a new file, and calls that.

    The call of one step has its name; that of several is named after the file.
    """
    if not file.endswith(ENDINGS) or file.startswith("/") or ".." in file.split("/"):
        message = f"{file[:120]!r} is not a valid name for a new file"
        raise refuse(UNAVAILABLE, message, "such as body.yaml")
    if _text_of_file(changes, nodes[0], file) is not None:
        raise refuse(TAKEN, f"there is a file {file[:120]!r} already", "choose another name")
    stem = file.rpartition("/")[2].rpartition(".")[0]
    word = re.sub(r"\W", "_", stem, flags=re.ASCII)
    word = word if word[:1].isalpha() else f"call_{word}".rstrip("_")
    leaving = _Leaving(changes, nodes, name or ("" if len(nodes) == 1 else word))
    inputs, outputs, root = leaving.inputs(), leaving.outputs(), changes.editor.now.root
    head: dict[str, Json] = {"whorl": 1, "name": stem}
    head |= {key: plain(value) for key in _SHARED if (value := at(root, key)) is not None}
    head |= {"inputs": inputs} if inputs else {}
    step: dict[str, Json] = {"call": file}
    step |= {"with": {key: f"{{{{ {key} }}}}" for key in inputs}} if inputs else {}
    block, order = nodes[0].where[:-1], changes.editor.now.find((*nodes[0].where, "after"))
    first = changes.names_in(block).index(nodes[0].key)

    def change() -> None:
        editor = changes.editor
        waits = None if order is None else editor.cut(order)
        # The last one first, so that each has the blank lines before it.
        pieces = [editor.cut(changes.path(node.where)) for node in reversed(nodes)][::-1]
        new = _new_file(file, {**head, "steps": {}, "outputs": outputs})
        for index, piece in enumerate(pieces):
            new.paste(new.now.find(("steps",)) or (), index, piece)
        new.verify()
        # What follows reads the file with the new one beside it.
        changes.outcome.others[file] = new.text
        changes.files = UnsavedFiles(changes.files, changes.file, {file: new.text})
        made = editor.insert(changes.path(block), first, leaving.call, step, instead=pieces[0])
        if waits is not None:
            editor.paste(made, 0, waits)
        leaving.rewire()

    changes.soundly(change)
    changes.outcome.select = [joined(nodes[0].parent, leaving.call)]


def _new_file(file: str, value: dict[str, Json]) -> Editor:
    is_json = file.endswith(".json")
    lines = spelling.block(value, 0, spelling.Indent())
    text = json.dumps(value, indent=2, ensure_ascii=False) if is_json else "\n".join(lines)
    return Editor(f"{text}\n", lambda source: parse(source, file, lenient=True), is_json=is_json)


def _text_of_file(changes: Changes, node: SketchNode, file: str) -> str | None:
    """The text of a file beside the one that is edited; None where it cannot be read."""
    value = at(changes.editor.now.root, *node.where)
    assert value is not None
    try:
        return changes.files.open(changes.files.real_path(changes.file), file, value.span).text
    except InvalidWorkflow:
        return None


def _refuse(changes: Changes, where: Keys, why: str) -> NoReturn:
    """What cannot go to another file, or come from one, without being another thing there."""
    changes.refuse_at(READ, why, where, "change that part first, or copy it as text")


class _Leaving:
    """Steps that go to another file: what they read, and who reads them.

    A call `named` otherwise than the one step that goes has an output for each step that is read.
    """

    def __init__(self, changes: Changes, nodes: list[SketchNode], named: str) -> None:
        self._changes, self._nodes, self._sketch = changes, nodes, changes.sketch
        self._root = changes.editor.now.root
        self._reading = Reading(changes)
        if self._reading.workflow is None:
            self._refuse(nodes[0].where, "the file has mistakes, so its names are not known")
        own = nodes[0].key
        self._is_alone = len(nodes) == 1 and named in ("", own)
        self.call = own if self._is_alone else self._free_name(named)
        # The step of them that is what the workflow gives, where it says nothing else.
        implicit = [(viewer, path) for viewer, path in self._reading.implicit if self._holds(path)]
        self._result = next((path for viewer, path in implicit if not viewer), "")
        self._check_steps()
        for viewer, _ in implicit:
            if viewer and not self._holds(viewer):
                where = (*changes.node(viewer).where, "repeat", "until")
                self._refuse(where, f"{viewer} looks at its last step without naming it")
        self._readers = list(self._outside_readers())
        self._parts = self._parts_read()
        self._check_readers()

    def _refuse(self, where: Keys, why: str) -> NoReturn:
        _refuse(self._changes, where, why)

    def _free_name(self, wanted: str) -> str:
        changes, gone = self._changes, {node.path for node in self._nodes}
        taken = {node.name for node in changes.sketch.nodes if node.path not in gone}
        taken |= {use.name.name for use in self._reading.uses} - {n.name for n in self._nodes}
        taken |= set(changes.names_in(("inputs",))) | RESERVED
        name = changes.free_name(wanted, taken)
        check_name(changes, name, self._nodes[0].where)
        return name

    def _holds(self, path: str) -> bool:
        return any(is_in(path, node.path) for node in self._nodes)

    def _check_steps(self) -> None:
        """Refuses what would mean another thing in a file of its own."""
        first, parent = self._nodes[0], self._changes.sketch.node(self._nodes[0].parent)
        for node in self._changes.sketch.nodes:
            if self._holds(node.path) and node.kind in _OUTSIDE:
                self._refuse(node.where, f"{node.path} {_OUTSIDE[node.kind]}")
        if self._is_alone and at(first.value, "if") and first.kind != "if":
            self._refuse(first.where, f"{first.path} has an `if`")
        if len(self._nodes) > 1 and parent is not None and parent.kind == "together":
            self._refuse(first.where, f"the steps of {parent.path} run at the same time")
        if "{{" in text_of(at(self._root, "system")):
            self._refuse(("system",), "the system prompt reads values of the run")
        for each in self._reading.references:
            # Others are named only in the order that the call takes over.
            is_taken_over = each.word == "after" and each.viewer == first.path
            is_order = each.word == "after" and (self._is_alone or not each.is_key)
            is_inside = self._holds(each.viewer)
            is_known = is_taken_over if is_inside else is_order
            if each.word and is_inside != self._holds(each.target) and not is_known:
                self._refuse(each.where, str(each))

    def _outside_readers(self) -> Iterator[tuple[Reference, int]]:
        """The texts that read the steps from outside, with which of their names is the first."""
        for each in self._reading.references:
            inside = [index for index, step in enumerate(each.chain) if self._holds(step)]
            if each.spans and inside and not self._holds(each.viewer):
                yield each, inside[0]

    def _check_readers(self) -> None:
        read = {reader.where for reader, _ in self._readers}
        for use in self._reading.uses:
            path = self._reading.paths.get(id(use.origin), "")
            if self._holds(path) and not self._holds(use.viewer) and use.where not in read:
                self._refuse(use.where, f"{use.viewer or 'the workflow'} reads {path}")
        self._reading.check_vague([node.path for node in self._nodes])
        for reader, index in self._readers:
            step = reader.chain[index]
            words = f"{reader.viewer or 'the workflow'} reads {step}"
            for node in self._changes.sketch.nodes:
                # A step that may be skipped is nothing outside, and an output of a file is null.
                if self._holds(node.path) and is_in(step, node.path):
                    decides = node.kind in ("if", "choose") and node.path != step
                    if decides or (at(node.value, "if") and node.kind != "if"):
                        self._refuse(reader.where, f"{words}, which may be skipped")
            if self._is_alone and step != self._nodes[0].path and not self._parts:
                self._refuse(reader.where, words)

    def inputs(self) -> dict[str, Json]:
        """What the steps read from outside, with types where the file says them."""
        assert self._reading.workflow is not None
        known = {port.name for port in self._reading.workflow.inputs}
        found: dict[str, Json] = {}
        for use in self._reading.uses:
            name, origin = use.name.name, use.origin
            if not self._holds(use.viewer) or self._holds(self._reading.paths.get(id(origin), "")):
                continue
            is_carried = isinstance(origin, ir.Loop) and origin.name != name
            if is_carried or name in RESERVED or (origin is None and name not in known):
                words = f"{use.viewer} reads {name!r}, which exists only around it"
                self._refuse(use.where, words)
            written = at(self._root, "inputs", name)
            kind = text_of(at(written, "type") if isinstance(written, Mapping) else written)
            found[name] = kind.removesuffix("?") or "any" if origin is None else "any"
        return found

    def _parts_read(self) -> list[str]:
        """The parts of the one step's result that others read; none where one reads all of it."""
        if not self._is_alone or self._nodes[0].kind not in _PARTED or self._result:
            return []
        parts: list[str] = []
        for reader, index in self._readers:
            text = text_of(at(self._root, *reader.where))
            is_whole = reader.chain[index] == self._nodes[0].path
            part = part_behind(text, reader.spans[index][1]) if is_whole else ""
            parts.append(part if is_whole else name_of(reader.chain[index], self._sketch))
        return parts if all(parts) else []

    def outputs(self) -> dict[str, Json]:
        """What others read of the steps: by their names, or one step's parts, or all of it."""
        chains = {part: [self.call, part] for part in self._parts} or {_WHOLE: [self.call]}
        if not self._is_alone:
            read = [reader.chain[index] for reader, index in self._readers]
            read += [self._result] if self._result else []
            chains = {(n := name_of(p, self._sketch)): [n] for p in read or [self._nodes[-1].path]}
        return {name: f"{{{{ {spelled(chain)} }}}}" for name, chain in chains.items()}

    def rewire(self) -> None:
        """Readers read what the call gives; orders and the workflow's own result name it."""
        self._changes.respell(filter(None, (self._spelling(*each) for each in self._readers)))
        if self._result:
            name = name_of(self._result, self._sketch)
            chain = spelled([self.call, _WHOLE if self._is_alone else name])
            self._changes.editor.set(["outputs"], {name: f"{{{{ {chain} }}}}"})
        for each in () if self._is_alone else reversed(self._reading.references):
            if each.word and self._holds(each.target) and not self._holds(each.viewer):
                rename_in_field(self._changes, each.where, self.call, each.is_key)

    def _spelling(self, reader: Reference, index: int) -> tuple[Keys, int, int, str] | None:
        start, end = reader.spans[index]
        is_first = index == 0 and not reader.is_fixed
        if self._is_alone and reader.chain[index] == self._nodes[0].path:
            return None if self._parts else (reader.where, end, end, f".{_WHOLE}")
        if self._is_alone and not is_first:
            return None
        names = [self.call, name_of(reader.chain[index], self._sketch)]
        return reader.where, start, end, spelled(names, is_first=is_first)


def inline(changes: Changes, node: SketchNode) -> None:
    """Puts the steps of a called file in the place of the call; the file stays as it is."""
    called = _opened_call(changes, node)
    names = called.names_in(("steps",))
    name, block = node.key, node.where[:-1]
    _check_head(changes, called, node)
    called.respell(_inputs_given(changes, called, node))
    outputs_read = list(_outputs_read(changes, called, node))
    order = changes.editor.now.find((*node.where, "after"))

    def change() -> None:
        index = changes.names_in(block).index(name)
        changes.respell(outputs_read)
        waits = None if order is None else changes.editor.cut(order)
        gap = changes.editor.cut(changes.path(node.where)).gap
        # The last one first, so that each has the blank lines before it.
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
    """The changes of a called file, which are never kept: its parts are taken out."""
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
        changes.refuse_at(UNAVAILABLE, f"{file!r} is a file of another dialect", node.where)
    return called


def _check_head(changes: Changes, called: Changes, node: SketchNode) -> None:
    """Refuses a called file that says more for its steps than the file that they go to."""
    root, own = called.editor.now.root, changes.editor.now.root
    for entry in root if isinstance(root, Mapping) else ():
        outer = at(own, entry.name)
        is_same = outer is not None and plain(entry.value) == plain(outer)
        if entry.name not in _HEAD and not (entry.name in _SHARED and is_same):
            _refuse(changes, node.where, f"{node.file} has a {entry.name!r} of its own")


def _inputs_given(
    changes: Changes, called: Changes, node: SketchNode
) -> Iterator[tuple[Keys, int, int, str]]:
    """What the call gives, where the steps of the called file read their inputs."""
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
    """What the outputs of the called file are made of, where the call is read."""
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
    """The names that a text reads, where it is nothing else."""
    match = _CHAIN.fullmatch(text_of(value).strip())
    return match[1] if match else ""
