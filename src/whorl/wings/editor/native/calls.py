"""The steps of a called file come in the place of the call."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.dialects.reader import files_beside
from whorl.dialects.reading.fields import text_of
from whorl.source import Mapping, plain
from whorl.source.editing.text import TAKEN
from whorl.wings.editor.kit.bodies import opened_file, refuse_body
from whorl.wings.editor.kit.sketch import SketchNode, at
from whorl.wings.editor.native.blocks import Blocks
from whorl.wings.editor.native.extracting import SHARED
from whorl.wings.editor.native.names import Names

if TYPE_CHECKING:
    from whorl.source import Json
    from whorl.wings.editor.kit.sketch import Keys

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
