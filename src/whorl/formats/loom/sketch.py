"""The picture of a definition: actions with names and nesting, each after its dependencies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.dialects.reading.fields import text_of
from whorl.source import Mapping
from whorl.wings.editor.kit import sketch
from whorl.wings.editor.kit.canvas import ListChanges
from whorl.wings.editor.kit.sketch import Keys, SketchEdge, SketchNode, at

if TYPE_CHECKING:
    from whorl.source import Document, Value
    from whorl.wings.editor.kit.sketch import Body

# The places of the actions of a file, for each form of wrapper.
_TOPS: tuple[Keys, ...] = ((), ("definition",), ("properties", "definition"))


class LoomChanges(ListChanges):
    """The changes that work: set fields, remove and reorder actions; the rest is edited as text."""

    def orders(self, node: SketchNode) -> list[Keys]:
        name = str(node.where[-1])
        beside = [each for each in self.sketch.nodes if each.where[:-1] == node.where[:-1]]
        waits = [(*each.where, "runAfter", name) for each in beside]
        return [where for where in waits if at(self.editor.now.root, *where) is not None]

    @classmethod
    def draw(cls, document: Document) -> sketch.Sketch:
        drawing = _Drawing()
        top = next((top for top in _TOPS if at(document.root, *top, "actions") is not None), ())
        drawing.actions(at(document.root, *top, "actions"), (*top, "actions"), "", None)
        return drawing.sketch()


class _Drawing(sketch.Drawing):
    def actions(self, actions: Value | None, where: Keys, parent: str, case: str | None) -> None:
        if not isinstance(actions, Mapping):
            return
        paths = {name: self.path(parent, name) for name in dict.fromkeys(e.name for e in actions)}
        for name, path in paths.items():
            item = actions.get(name)
            own = (*where, name)
            kind = text_of(at(item, "type"))
            slots = _slots(item, own)
            node = SketchNode(path, kind, own, parent, case, title=name, slots=slots)
            body: Body = "inline" if slots else "none"
            self.nodes.append(replace(node, body=body, value=item))
            before = at(item, "runAfter")
            names = [entry.name for entry in before] if isinstance(before, Mapping) else []
            self.edges += [SketchEdge(paths[each], path) for each in names if each in paths]
            for slot, keys in slots.items():
                self.actions(at(item, *keys[len(own) :]), keys, path, slot or None)


def _slots(item: Value | None, where: Keys) -> dict[str, Keys]:
    """Returns the keys of the actions inside of an action, by case."""
    cases = at(item, "cases")
    names = [entry.name for entry in cases] if isinstance(cases, Mapping) else []
    places: dict[str, Keys] = {"": ("actions",), "else": ("else", "actions")}
    places |= {name: ("cases", name, "actions") for name in names}
    places["default"] = ("default", "actions")
    held = [s for s, keys in places.items() if s in names or isinstance(at(item, *keys), Mapping)]
    return {slot: (*where, *places[slot]) for slot in held}
