"""The geometry of a workflow: boxes inside of boxes, each placed relative to the one around it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from whorl.interfaces.diagram import detail_words
from whorl.interfaces.figures import line
from whorl.interfaces.picture.rows import Size, place, reduced
from whorl.ir import Branch, ForEach, Gate, Group, Loop
from whorl.ir.walk import blocks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interfaces.picture.rows import Placement, Point
    from whorl.ir import Block, Node, Workflow

Look: TypeAlias = Literal["step", "person", "loop", "each", "choice", "case", "group", "called"]

PADDING = 18.0
HEAD = 46.0
HEAD_SHORT = 30.0
GUTTER = 30.0
STEP_HEIGHT = 46.0
STEP_WIDTH_MIN = 110.0
WORDS_MAX = 64
_NAME_PX = 7.6
_DETAIL_PX = 6.4


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line with a head; the one that leads round a loop is `back`."""

    points: tuple[Point, ...]
    label: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A node, or a part of one, and what stands in it."""

    look: Look
    name: str
    detail: str
    size: Size
    corner: Point = (0.0, 0.0)
    inner: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()


@dataclass(frozen=True, slots=True)
class Area:
    """What stands in a container, before it has one."""

    size: Size
    boxes: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()


def lay_out(workflow: Workflow) -> Area:
    """The workflow's own block, and under it each workflow that it calls."""
    parts = [_block(workflow.body)]
    for key, called in workflow.workflows:
        box = _container("called", key, f"{called.dialect}, called", _block(called.body))
        parts.append(Area(box.size, (box,)))
    top = 0.0
    boxes: list[Box] = []
    arrows: list[Arrow] = []
    for part in parts:
        boxes += [_moved(box, 0.0, top) for box in part.boxes]
        arrows += [_shifted(arrow, 0.0, top) for arrow in part.arrows]
        top += part.size.height + PADDING * 2
    width = max(part.size.width for part in parts)
    return Area(Size(width, top - PADDING * 2), tuple(boxes), tuple(arrows))


def text_width(text: str, *, pixels: float) -> float:
    """About how wide a text is; nobody here can ask the reader's font."""
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return (len(text) + 0.8 * wide) * pixels


def _block(block: Block) -> Area:
    if not block.nodes:
        return Area(Size(STEP_WIDTH_MIN, 4.0))
    boxes = [_box(node) for node in block.nodes]
    seats = {node.name: at for at, node in enumerate(block.nodes)}
    labels = {
        (seats[after.node], seats[node.name]): _label(after.statuses)
        for node in block.nodes
        for after in node.after
        if after.node in seats
    }
    plain = set(reduced(len(boxes), list(labels)))
    # An arrow that says when it counts is shown, even where the order follows from others.
    links = [link for link, label in labels.items() if label or link in plain]
    found = place([box.size for box in boxes], links)
    arrows = [Arrow(path, labels[link]) for link, path in zip(links, found.paths, strict=True)]
    placed = [replace(box, corner=at) for box, at in zip(boxes, found.corners, strict=True)]
    return Area(found.size, tuple(placed), (*arrows, *_round(found, placed)))


def _label(statuses: Sequence[str]) -> str:
    return "" if tuple(statuses) in (("passed",), ("succeeded",)) else ", ".join(statuses)


def _round(found: Placement, boxes: list[Box]) -> tuple[Arrow, ...]:
    """The way round, from the last row to the first one; only loops show it."""
    last, first = boxes[found.rows[-1][-1]], boxes[found.rows[0][-1]]
    start = (last.corner[0] + last.size.width, last.corner[1] + last.size.height - 14.0)
    end = (first.corner[0] + first.size.width, first.corner[1] + 14.0)
    return (Arrow((start, (found.size.width + GUTTER / 2, 0.0), end), back=True),)


def _box(node: Node) -> Box:
    detail = detail_words(node)
    if node.when is not None:
        detail = f"{detail}, if {line(node.when.source, WORDS_MAX)}"
    match node:
        case Branch():
            return _container("choice", node.name, detail, _cases(node))
        case Loop():
            return _container("loop", node.name, detail, _block(node.body))
        case ForEach():
            return _container("each", node.name, detail, _block(node.body))
        case Group():
            return _container("group", node.name, detail, _block(node.body))
    width = max(STEP_WIDTH_MIN, _words_width(node.name, detail) + PADDING * 2)
    look: Look = "person" if isinstance(node, Gate) else "step"
    return Box(look, node.name, detail, Size(width, STEP_HEIGHT))


def _cases(node: Branch) -> Area:
    """The branches side by side."""
    boxes: list[Box] = []
    left = 0.0
    for slot, block in blocks_of(node):
        box = _container("case", slot.removeprefix("case."), "", _block(block))
        boxes.append(replace(box, corner=(left, 0.0)))
        left += box.size.width + PADDING
    height = max((box.size.height for box in boxes), default=0.0)
    return Area(Size(max(0.0, left - PADDING), height), tuple(boxes))


def _container(look: Look, name: str, detail: str, area: Area) -> Box:
    head = HEAD if detail else HEAD_SHORT
    gutter = GUTTER if look == "loop" else 0.0
    content = area.size.width + gutter
    width = max(content, _words_width(name, detail)) + PADDING * 2
    left = PADDING + (width - PADDING * 2 - content) / 2
    arrows = [arrow for arrow in area.arrows if look == "loop" or not arrow.back]
    return Box(
        look,
        name,
        detail,
        Size(width, area.size.height + head + PADDING),
        inner=tuple(_moved(box, left, head) for box in area.boxes),
        arrows=tuple(_shifted(arrow, left, head) for arrow in arrows),
    )


def _words_width(name: str, detail: str) -> float:
    return max(
        text_width(line(name, WORDS_MAX), pixels=_NAME_PX) + 16.0,
        text_width(line(detail, WORDS_MAX), pixels=_DETAIL_PX),
    )


def _moved(box: Box, right: float, down: float) -> Box:
    return replace(box, corner=(box.corner[0] + right, box.corner[1] + down))


def _shifted(arrow: Arrow, right: float, down: float) -> Arrow:
    return replace(arrow, points=tuple((x + right, y + down) for x, y in arrow.points))
