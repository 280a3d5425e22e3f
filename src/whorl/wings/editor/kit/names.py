"""Names in scope at a step: what its texts may read, of which type, and who reads it already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.source.editing.text import Text
    from whorl.wings.editor.kit.sketch import Keys, Sketch, SketchNode

NAMES_MAX = 500


@dataclass(frozen=True, slots=True)
class Rewired:
    """A place that reads a step; of an operation, one that was patched."""

    path: str
    field: str
    line: int


@dataclass(frozen=True, slots=True)
class Name:
    """What an expression can read, spelled as it is written there.

    `step` is the path of the step that gives it, and empty for what the workflow or a loop gives.
    """

    name: str
    type: str = "any"
    step: str = ""
    readers: tuple[Rewired, ...] = ()


def as_json(names: list[Name]) -> list[dict[str, Any]]:
    """Names as programs get them."""
    return [
        {
            "name": one.name,
            "type": one.type,
            "step": one.step,
            "readers": [{"path": r.path, "field": r.field, "line": r.line} for r in one.readers],
        }
        for one in names[:NAMES_MAX]
    ]


def owner_of(sketch: Sketch, where: Keys) -> SketchNode | None:
    """The innermost step that a text stands in; none for what the workflow says itself."""
    around = (sketch.at(where[:length]) for length in range(len(where), 0, -1))
    return next((node for node in around if node is not None), None)


def field_words(owner: SketchNode | None, where: Keys) -> str:
    """The field of a step that a text stands in, with dots between its keys."""
    return ".".join(map(str, where[len(owner.where) if owner else 0 :]))


def line_of(text: Text, where: Keys) -> int:
    """The line of what keys lead to, or of what it stands in."""
    path = text.find(where) or text.find(where[:-1])
    return text.lines.line(text.place(path).start) if path else 1
