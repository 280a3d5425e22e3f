"""The picture of a native file: steps in the order of the file, holders around what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.native.steps import CHOOSE, KINDS
from whorl.dialects.reading.fields import text_of, texts_of
from whorl.source import Mapping, Scalar, Value
from whorl.wings.editor.kit.sketch import (
    Keys,
    Sketch,
    SketchEdge,
    SketchNode,
    at,
    joined,
    unique_path,
)

if TYPE_CHECKING:
    from whorl.source import Document

# The fields of a case whose steps stand under `steps`, and the kinds that hold steps.
_THEN, _ELSE = "then", "default"


def draw(document: Document) -> Sketch:
    drawing = _Drawing()
    if isinstance(document.root, Mapping):
        drawing.block(document.root.get("steps"), ("steps",), "", "", None)
    return Sketch(tuple(drawing.nodes), tuple(drawing.edges))


def kind_of(step: Value | None) -> str:
    """What a step does, by the field that says so; empty where none or several do."""
    if not isinstance(step, Mapping):
        return ""
    kinds = [name for name in KINDS if name in step and name != "if"]
    kinds += ["if"] if "then" in step or "else" in step else []
    return kinds[0] if len(kinds) == 1 else ""


class _Drawing:
    def __init__(self) -> None:
        self.nodes: list[SketchNode] = []
        self.edges: list[SketchEdge] = []
        self._taken: set[str] = set()

    def block(
        self, steps: Value | None, where: Keys, address: str, parent: str, case: str | None,
        *, is_ordered: bool = True,
    ) -> list[str]:  # fmt: skip
        """Draws the steps of a block, and what holds them together; gives their paths."""
        paths: dict[str, str] = {}
        for entry in steps if isinstance(steps, Mapping) else ():
            if entry.name in paths:
                continue
            location = joined(address, entry.name)
            path = unique_path(self._taken, location)
            before = list(paths.values())[-1:] if is_ordered else []
            after = at(entry.value, "after")
            if after is not None:
                names = [each.name for each in after] if isinstance(after, Mapping) else None
                before = [paths[name] for name in names or texts_of(after) if name in paths]
            self.edges += [SketchEdge(source, path) for source in before]
            paths[entry.name] = path
            self._step(entry.value, (*where, entry.name), (location, path), parent, case)
        return list(paths.values())

    def _step(
        self, step: Value, where: Keys, own: tuple[str, str], parent: str, case: str | None
    ) -> None:
        location, path = own
        kind = kind_of(step)
        slots = slots_of(step, kind, where)
        called = text_of(at(step, "call")) if kind == "call" else ""
        self.nodes.append(
            SketchNode(
                path,
                kind,
                where,
                parent,
                case,
                title=str(where[-1]),
                body="inline" if slots else "file" if called else "none",
                file=called,
                value=step,
                slots=slots,
            )
        )
        for name, keys in slots.items():
            inner = at(step, *keys[len(where) :])
            is_ordered = kind != "together"
            paths = self.block(inner, keys, location, path, name or None, is_ordered=is_ordered)
            carry = at(step, "repeat", "carry")
            if kind == "repeat" and paths:
                words = [entry.name for entry in carry] if isinstance(carry, Mapping) else []
                edge = SketchEdge(paths[-1], paths[0], "feedback", label=", ".join(words))
                self.edges.append(edge)


def slots_of(step: Value | None, kind: str, where: Keys) -> dict[str, Keys]:
    """Where the steps inside of a step stand, by case; those without a case under nothing."""
    match kind:
        case "repeat":
            return {"": (*where, "repeat", "steps")}
        case "each":
            return {"": (*where, "steps")}
        case "together":
            together = at(step, "together")
            is_flag = isinstance(together, Scalar) and at(step, "steps") is not None
            return {"": (*where, "steps") if is_flag else _body(together, (*where, "together"))}
        case "if":
            names = {"then": _THEN, "else": _ELSE}
            found = {slot: name for name, slot in names.items() if at(step, name) is not None}
            return {slot: _body(at(step, name), (*where, name)) for slot, name in found.items()}
        case "choose":
            return _cases(at(step, "choose"), (*where, "choose"))
    return {}


def _body(value: Value | None, where: Keys) -> Keys:
    """Steps stand right in their place, or under `steps` with what else is said about them."""
    return (*where, "steps") if at(value, "steps") is not None else where


def _cases(choose: Value | None, where: Keys) -> dict[str, Keys]:
    cases = at(choose, "cases")
    below = (*where, "cases") if cases is not None else where
    entries = cases if isinstance(cases, Mapping) else choose
    slots = {
        entry.name: _body(entry.value, (*below, entry.name))
        for entry in (entries if isinstance(entries, Mapping) else ())
        if cases is not None or entry.name not in CHOOSE
    }
    default = at(choose, "default")
    if default is not None:
        slots["default"] = _body(default, (*where, "default"))
    return slots
