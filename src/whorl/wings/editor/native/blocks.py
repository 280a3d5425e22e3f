"""The blocks of a native file: which steps stand in one, and how steps are put into it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whorl.dialects.native.context import NAMES, RESERVED
from whorl.source import Mapping
from whorl.source.editing.text import TAKEN, UNKNOWN
from whorl.wings.editor.kit.changes import Changes
from whorl.wings.editor.kit.operations import Operation, refuse
from whorl.wings.editor.kit.sketch import Keys, SketchNode, at

if TYPE_CHECKING:
    from whorl.source import Json
    from whorl.source.editing.entries import Piece

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
