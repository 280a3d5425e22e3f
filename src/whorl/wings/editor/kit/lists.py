"""Operations on files whose steps stand in lists or under names: remove, and move in one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.source.editing.text import UNKNOWN
from whorl.wings.editor.kit.changes import AS_TEXT, Changes
from whorl.wings.editor.kit.operations import UNAVAILABLE, Operation, refuse

if TYPE_CHECKING:
    from whorl.wings.editor.kit.sketch import Keys, SketchNode


class ListChanges(Changes):
    """What all dialects can do, and steps that leave their list or change places in it."""

    def orders(self, node: SketchNode) -> list[Keys]:
        """Where the order of work names a step; it goes from there with the step."""
        return []

    def make_remove(self, operation: Operation) -> None:
        node = self.node(operation.at[0])
        if operation.get("inside", "with") == "keep" and self.sketch.inside(node.path):
            raise refuse(UNAVAILABLE, "the steps inside cannot be kept in this dialect", AS_TEXT)

        def change() -> None:
            for where in reversed(self.orders(node)):
                self.editor.unset(list(where), keeps=len(where) - 1)
            self.editor.cut(self.path(node.where))

        self.soundly(change)
        self.outcome.select = [node.parent] if node.parent else []

    def make_move(self, operation: Operation) -> None:
        node, after = self.node(operation.at[0]), operation.get("after")
        if len(operation.at) > 1 or operation.get("into") != node.parent:
            what = "in this dialect a step can only be moved alone, inside its own list"
            raise refuse(UNAVAILABLE, what, AS_TEXT)
        before = None if after is None else self.node(after)
        block, is_placed = node.where[:-1], "after" in operation.fields
        if before is not None and (before.where[:-1] != block or before.path == node.path):
            self.refuse_at(UNKNOWN, f"{after!r} is not in the same list", node.where)

        def change() -> None:
            orders = [self.orders(each) if each else [] for each in (node, before)]
            # Before the step itself: what names it may stand in steps that change places then.
            for own in orders[0]:
                other = next((each for each in orders[1] if each[:-1] == own[:-1]), None)
                if isinstance(own[-1], int) and (other or before is None):
                    self._reorder(own, other, is_placed)
            self._reorder(node.where, before.where if before else None, is_placed)

        self.soundly(change)
        self.outcome.select = [node.path]

    def _reorder(self, where: Keys, after: Keys | None, is_placed: bool) -> None:
        """Moves an entry behind another one of its list; first or, where nothing is said, last."""
        block, path = self.path(where[:-1]), self.path(where)
        behind = None if after is None else self.path(after)[-1]
        piece = self.editor.cut(path)
        last = len(self.editor.now.container(block))
        index = (0 if is_placed else last) if behind is None else behind + (behind < path[-1])
        self.editor.paste(block, index, piece)
