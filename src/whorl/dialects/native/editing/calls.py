"""A step goes to a file of its own, which is called instead, and comes back from there.

What the step reads from outside are the inputs of the new file, under the names that it reads them
by, and what is read of it are the outputs; so its lines go there as they are.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from whorl import ir
from whorl.dialects.editing.bodies import (
    check_new_file,
    give_file,
    inside_of,
    opened_file,
    refuse_body,
)
from whorl.dialects.editing.sketch import SketchNode, at
from whorl.dialects.native.context import NAMES, RESERVED, RESULTS
from whorl.dialects.native.editing.names import NamePlace, Names, mentions
from whorl.dialects.reader import files_beside, parse
from whorl.dialects.reading.fields import text_of
from whorl.source import Mapping, Scalar, plain
from whorl.source.editing import spelling
from whorl.source.editing.editor import Editor
from whorl.source.editing.text import TAKEN

if TYPE_CHECKING:
    from whorl.dialects.editing.sketch import Keys
    from whorl.source import Json

# The changes of a native file, which are made of this module among others.
NativeChanges: TypeAlias = Any
_PLAIN = re.compile(NAMES["plain"])
# What a file says for all of its steps; and what of a step would mean another thing elsewhere.
_SHARED = ("model", "system")
_OUTSIDE = {"set": "sets a variable of the run", "stop": "ends the run"}
# The output that is all of a step, and the kinds of steps whose results have parts with names.
_WHOLE = "result"
_PARTED = ("repeat", "together")
# A text that is one name, with what is read of it.
_CHAIN = re.compile(r"\{\{\s*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}")


def extract(changes: NativeChanges, node: SketchNode, file: str) -> None:
    """Moves a step to a new file, and calls that."""
    check_new_file(changes, node, file)
    moving = _Moving(changes, node)
    inputs, outputs = moving.inputs(), moving.outputs()
    name, root = str(node.where[-1]), changes.editor.now.root
    head: dict[str, Json] = {"whorl": 1, "name": file.rpartition("/")[2].rpartition(".")[0]}
    head |= {key: plain(value) for key in _SHARED if (value := at(root, key)) is not None}
    if inputs:
        head["inputs"] = inputs
    order = at(root, *node.where, "after")

    def change() -> None:
        block, index = node.where[:-1], changes.names_in(node.where[:-1]).index(name)
        if order is not None:
            changes.editor.unset([*node.where, "after"], keeps=len(node.where))
        piece = changes.editor.cut(changes.path(node.where))
        new = _editor(file, {**head, "steps": {}, "outputs": outputs})
        new.paste(new.now.find(("steps",)) or (), 0, piece)
        new.verify()
        give_file(changes, file, new.text)
        step: dict[str, Json] = {} if order is None else {"after": plain(order)}
        step["call"] = file
        if inputs:
            step["with"] = {key: f"{{{{ {key} }}}}" for key in inputs}
        changes.editor.insert(changes.path(block), index, name, step, instead=piece)
        moving.respell()

    changes.soundly(change)
    changes.outcome.select = [node.path]


def _editor(file: str, value: dict[str, Json]) -> Editor:
    text = "\n".join([*spelling.block(value, 0, spelling.Indent()), ""])
    is_json = file.endswith(".json")
    if is_json:
        text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    return Editor(text, lambda source: parse(source, file, lenient=True), is_json=is_json)


class _Moving:
    """A step that goes to another file: what it reads, and who reads it."""

    def __init__(self, changes: NativeChanges, node: SketchNode) -> None:
        self._changes, self._node = changes, node
        self._root = changes.editor.now.root
        self._names = Names(changes.editor.now.document, files_beside(changes.files, changes.file))
        if self._names.workflow is None:
            changes.refuse_at(
                "C106", "the file has mistakes, so its names are not known", node.where
            )
        self._check()

    def _is_inside(self, path: str) -> bool:
        return path == self._node.path or path.startswith(f"{self._node.path}/")

    def _check(self) -> None:
        changes = self._changes
        for node in inside_of(changes, self._node.path):
            if node.kind in _OUTSIDE:
                refuse_body(changes, node.where, f"{node.path} {_OUTSIDE[node.kind]}")
        if at(self._root, *self._node.where, "if") is not None and self._node.kind != "if":
            refuse_body(changes, self._node.where, f"{self._node.path} has an `if`")
        steps = [(n.path, n.where, at(self._root, *n.where)) for n in changes.sketch.nodes]
        for mention in mentions([(p, w, v) for p, w, v in steps if v is not None]):
            is_own = mention.viewer == self._node.path and "after" in mention.where
            if (
                self._is_inside(mention.viewer)
                and not self._is_inside(mention.target)
                and not is_own
            ):
                refuse_body(changes, mention.where, f"{mention.viewer} names {mention.target}")
        system = at(self._root, "system")
        if isinstance(system, Scalar) and "{{" in system.text:
            refuse_body(changes, ("system",), "the system prompt reads values of the run")

    def inputs(self) -> dict[str, Json]:
        """What the step reads from outside, with types where the file says them."""
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
                refuse_body(self._changes, use.where, words)
            written = at(self._root, "inputs", name)
            kind = (
                text_of(at(written, "type")) if isinstance(written, Mapping) else text_of(written)
            )
            found[name] = kind.removesuffix("?") or "any" if use.origin is None else "any"
        return found

    def _is_bound(self, origin: ir.Node | None) -> bool:
        """Whether a name is one of the step itself, or of a step or loop inside of it."""
        return origin is not None and self._is_inside(self._names.paths.get(id(origin), "\0"))

    @property
    def _parts(self) -> list[str]:
        """The parts of the step's result that others read; none where one reads all of it."""
        keys = [use.name.path[0] if use.name.path else "" for use in self._readers]
        is_plain = all(isinstance(key, str) and _PLAIN.fullmatch(key) for key in keys)
        return list(map(str, keys)) if is_plain and self._node.kind in _PARTED else []

    def outputs(self) -> dict[str, Json]:
        """What others read of the step: its parts by their names, or the whole of it."""
        name = str(self._node.where[-1])
        own = name if _PLAIN.fullmatch(name) else f"{RESULTS}['{name}']"
        parts: dict[str, Json] = {part: f"{{{{ {own}.{part} }}}}" for part in self._parts}
        return parts or {_WHOLE: f"{{{{ {own} }}}}"}

    @property
    def _readers(self) -> list[NamePlace]:
        """The uses of the step elsewhere."""
        name, found = str(self._node.where[-1]), []
        for use in self._names.uses:
            if self._is_inside(use.viewer):
                continue
            if use.name.name == RESULTS and use.name.path[:1] == (name,):
                words = f"{use.viewer or 'the workflow'} reads {name!r} by {RESULTS}"
                refuse_body(self._changes, use.where, words)
            if use.name.name == name and self._names.paths.get(id(use.origin)) == self._node.path:
                found.append(use)
        return found

    def respell(self) -> None:
        """Readers of the whole step read that output of the call."""
        texts: dict[Keys, str] = {}
        for use in sorted(self._readers, key=lambda one: -one.offset):
            scalar = at(self._root, *use.where)
            assert isinstance(scalar, Scalar)
            text, end = texts.get(use.where, scalar.text), use.offset + len(use.name.name)
            texts[use.where] = f"{text[:end]}.{_WHOLE}{text[end:]}"
        for where, text in texts.items() if not self._parts else ():
            self._changes.editor.set(list(where), text)


def inline(changes: NativeChanges, node: SketchNode) -> None:
    """Puts the steps of a called file in the place of the call; the file stays as it is."""
    called = opened_file(changes, node, node.file)
    assert isinstance(called, type(changes))
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
    order = at(changes.editor.now.root, *node.where, "after")

    def change() -> None:
        index = changes.names_in(block).index(name)
        coming.respell()
        gap = changes.editor.cut(changes.path(node.where)).gap
        for offset, step in enumerate(names):
            piece = called.editor.cut(called.path(("steps", step)))
            if not offset and not gap.strip() and not piece.gap.strip():
                piece = replace(piece, gap=gap)
            changes.put_in(block, index + offset, piece)
        if order is not None and names:
            changes.editor.set([*block, names[0], "after"], plain(order), before=changes.last)

    changes.soundly(change)
    parent = f"{node.parent}/" if node.parent else ""
    changes.outcome.select = [f"{parent}{step}" for step in names]


class _Coming:
    """A called file whose steps come here: what they are given, and who reads the call."""

    def __init__(
        self, changes: NativeChanges, called: NativeChanges, node: SketchNode, given: Json
    ) -> None:
        self._changes, self._called, self._node = changes, called, node
        self._given = given if isinstance(given, dict) else {}
        self._chains = {name: _chain(value) for name, value in self._given.items()}
        root, own = called.editor.now.root, changes.editor.now.root
        for entry in root if isinstance(root, Mapping) else ():
            outer = at(own, entry.name)
            is_same = outer is not None and plain(entry.value) == plain(outer)
            if entry.name in _SHARED and is_same:
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
