"""A workflow as SVG: the places of its boxes, and the picture that is drawn of them.

The boxes of one block are in rows by their order, with arrows that cross no box. The picture has
no scripts and nothing from elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from graphlib import TopologicalSorter
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from whorl.errors import safe
from whorl.interfaces.diagrams.text import after_words, detail_words
from whorl.interfaces.formatting import line
from whorl.ir import Branch, ForEach, Gate, Group, Loop
from whorl.ir.walk import blocks_of
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whorl.ir import Block, Node, Workflow


Look: TypeAlias = Literal["step", "person", "loop", "each", "choice", "case", "group", "called"]
Point: TypeAlias = tuple[float, float]
Link: TypeAlias = tuple[int, int]
PADDING = 18.0
HEAD = 46.0
HEAD_SHORT = 30.0
GUTTER = 30.0
STEP_HEIGHT = 46.0
STEP_WIDTH_MIN = 110.0
WORDS_MAX = 64
GAP_X = 28.0
GAP_Y = 40.0
# The room beside the boxes for each arrow that passes them.
PASSAGE = 12.0
_NAME_PX = 7.6
_DETAIL_PX = 6.4
_CONTAINERS: dict[type[Node], Look] = {Loop: "loop", ForEach: "each", Group: "group"}
_TITLE_HEIGHT = 58.0
_FOOT_HEIGHT = 30.0
_MARKS = {"loop": "↻ ", "each": "⇉ ", "choice": "◇ ", "person": "☺ "}
# What XML cannot hold, even escaped.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_STYLE = """
.whorl { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
.whorl .paper { fill: #ffffff; }
.whorl text { fill: #1d2433; font-size: 13px; }
.whorl .title { font-size: 17px; font-weight: 650; }
.whorl .name { font-weight: 600; }
.whorl .detail { fill: #5b6577; font-size: 11px; }
.whorl .box rect { fill: #f5f7fa; stroke: #b6bfcd; stroke-width: 1.2; }
.whorl .person > rect { fill: #fff6e0; stroke: #c99a2e; }
.whorl .loop > rect { fill: #f6f1fb; stroke: #7a4fa8; stroke-width: 1.6; }
.whorl .each > rect { fill: #eef7f6; stroke: #3c8d86; }
.whorl .choice > rect { fill: #eef4fd; stroke: #4d7fc4; }
.whorl .case > rect, .whorl .group > rect { fill: #ffffff; stroke-dasharray: 4 3; }
.whorl .called > rect { fill: #ffffff; }
.whorl .arrow { fill: none; stroke: #7b8698; stroke-width: 1.4; }
.whorl .back { stroke: #7a4fa8; stroke-dasharray: 5 4; }
.whorl .head { fill: #7b8698; }
.whorl .head-back { fill: #7a4fa8; }
"""
_HEADS = "".join(
    f'<marker id="whorl-{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
    f'markerHeight="7" orient="auto"><path class="{name}" d="M0,0 L8,4 L0,8 Z"/></marker>'
    for name in ("head", "head-back")
)


def svg(workflow: Workflow) -> str:
    """The workflow as an SVG document; loops are boxes around their bodies."""
    area = lay_out(workflow)
    title = line(workflow.name, 80)
    inputs = _listed("inputs", [port.name for port in workflow.inputs])
    outputs = _listed("outputs", [name for name, _ in workflow.outputs])
    words = max(text_width(text, pixels=6.4) for text in (inputs, outputs))
    width = max(area.size.width, words, text_width(title, pixels=10.0)) + PADDING * 2
    foot = _TITLE_HEIGHT + area.size.height
    height = foot + (_FOOT_HEIGHT if outputs else 0.0) + PADDING
    left = PADDING + (width - PADDING * 2 - area.size.width) / 2
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="whorl" role="img" '
            f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}">',
            f"<title>{_text(title)}</title>",
            f"<desc>{_text(line(workflow.description, 400))}</desc>",
            f"<style>{_STYLE}</style>",
            f"<defs>{_HEADS}</defs>",
            '<rect class="paper" width="100%" height="100%"/>',
            _words(PADDING, 28, title, "title"),
            _words(PADDING, 46, inputs, "detail"),
            f'<g transform="translate({left:.1f},{_TITLE_HEIGHT:.1f})">',
            *_content(area.boxes, (arrow for arrow in area.arrows if not arrow.back)),
            "</g>",
            _words(PADDING, foot + 24, outputs, "detail"),
            "</svg>",
        ]
    )


def _listed(what: str, names: list[str]) -> str:
    return line(f"{what}: {', '.join(names)}", 160) if names else ""


def _content(boxes: tuple[Box, ...], arrows: Iterable[Arrow]) -> Iterator[str]:
    for box in boxes:
        left, top = box.corner
        yield f'<g class="box {box.look}" transform="translate({left:.1f},{top:.1f})">'
        whole = f"{box.name}: {box.detail}" if box.detail else box.name
        yield f"<title>{_text(safe(whole[:2_000]))}</title>"
        rounding = {"person": 23, "step": 7}.get(box.look, 14)
        yield f'<rect width="{box.size.width:.1f}" height="{box.size.height:.1f}" rx="{rounding}"/>'
        name = _MARKS.get(box.look, "") + line(box.name, WORDS_MAX)
        yield _words(PADDING, 20, name, "name")
        yield _words(PADDING, 36, line(box.detail, WORDS_MAX), "detail")
        yield from _content(box.inner, box.arrows)
        yield "</g>"
    for arrow in arrows:
        head, look = ("head-back", "arrow back") if arrow.back else ("head", "arrow")
        yield f'<path class="{look}" marker-end="url(#whorl-{head})" d="{_path(arrow)}"/>'
        if arrow.label:
            (x, y), (to_x, to_y) = arrow.points[-2:]
            yield _words((x + to_x) / 2 + 6, (y + to_y) / 2 + 4, arrow.label, "detail")


def _path(arrow: Arrow) -> str:
    """Draws the way of an arrow; the way back leads out to the right, up, and in again."""
    if arrow.back:
        (x, y), (right, _), (to_x, to_y) = arrow.points
        return f"M{x:.1f},{y:.1f} H{right:.1f} V{to_y:.1f} H{to_x:.1f}"
    return "M" + " L".join(f"{x:.1f},{y:.1f}" for x, y in arrow.points)


def _words(x: float, y: float, text: str, look: str) -> str:
    return f'<text class="{look}" x="{x:.1f}" y="{y:.1f}">{_text(text)}</text>' if text else ""


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text), quote=True)


# The layout.


class Size(NamedTuple):
    """How large a box is."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line with a head; the one that leads round a loop is `back`."""

    points: tuple[Point, ...]
    label: str = ""
    back: bool = False


@dataclass(frozen=True, slots=True)
class Box:
    """A node, or a part of one, and what is inside it."""

    look: Look
    name: str
    detail: str
    size: Size
    corner: Point = (0.0, 0.0)
    inner: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()


@dataclass(frozen=True, slots=True)
class Area:
    """The content of a container, before the container is drawn."""

    size: Size
    boxes: tuple[Box, ...] = ()
    arrows: tuple[Arrow, ...] = ()

    def moved(self, right: float, down: float) -> Area:
        """Returns the same at another place."""

        def there(point: Point) -> Point:
            return point[0] + right, point[1] + down

        boxes = tuple(replace(box, corner=there(box.corner)) for box in self.boxes)
        arrows = (replace(each, points=tuple(map(there, each.points))) for each in self.arrows)
        return Area(self.size, boxes, tuple(arrows))


def lay_out(workflow: Workflow) -> Area:
    """Places the workflow's own block, and under it each workflow that it calls."""
    area = _block(workflow.body)
    for key, called in workflow.workflows:
        box = _container("called", key, f"{called.dialect}, called", _block(called.body))
        top = area.size.height + PADDING * 2
        size = Size(max(area.size.width, box.size.width), top + box.size.height)
        area = Area(size, (*area.boxes, replace(box, corner=(0.0, top))), area.arrows)
    return area


def text_width(text: str, *, pixels: float) -> float:
    """Estimates how wide a text is, since the font of the reader is unknown."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return (len(text) + 0.8 * wide) * pixels


def _block(block: Block) -> Area:
    if not block.nodes:
        return Area(Size(STEP_WIDTH_MIN, 4.0))
    boxes = [_box(node) for node in block.nodes]
    seats = {node.name: at for at, node in enumerate(block.nodes)}
    labels = {
        (seats[after.node], seats[node.name]): after_words(after.statuses)
        for node in block.nodes
        for after in node.after
        if after.node in seats
    }
    plain = set(reduced(len(boxes), list(labels)))
    # An arrow that says when it counts is shown, even where the order follows from others.
    links = [link for link, label in labels.items() if label or link in plain]
    corners, paths, rows, size = place([box.size for box in boxes], links)
    arrows = [Arrow(path, labels[link]) for link, path in zip(links, paths, strict=True)]
    placed = [replace(box, corner=at) for box, at in zip(boxes, corners, strict=True)]
    # The way round, from the last row to the first one; only loops show it.
    last, first = placed[rows[-1][-1]], placed[rows[0][-1]]
    start = (last.corner[0] + last.size.width, last.corner[1] + last.size.height - 14.0)
    end = (first.corner[0] + first.size.width, first.corner[1] + 14.0)
    back = Arrow((start, (size.width + GUTTER / 2, 0.0), end), back=True)
    return Area(size, tuple(placed), (*arrows, back))


def _box(node: Node) -> Box:
    detail = detail_words(node)
    if node.when is not None:
        detail = f"{detail}, if {line(node.when.source, WORDS_MAX)}"
    if isinstance(node, Branch):
        return _container("choice", node.name, detail, _cases(node))
    if isinstance(node, Loop | ForEach | Group):
        return _container(_CONTAINERS[type(node)], node.name, detail, _block(node.body))
    width = max(STEP_WIDTH_MIN, _words_width(node.name, detail) + PADDING * 2)
    look: Look = "person" if isinstance(node, Gate) else "step"
    return Box(look, node.name, detail, Size(width, STEP_HEIGHT))


def _cases(node: Branch) -> Area:
    """Places the branches side by side."""
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
    content = area.size.width + (GUTTER if look == "loop" else 0.0)
    width = max(content, _words_width(name, detail)) + PADDING * 2
    size = Size(width, area.size.height + head + PADDING)
    area = area.moved(PADDING + (width - PADDING * 2 - content) / 2, head)
    arrows = tuple(arrow for arrow in area.arrows if look == "loop" or not arrow.back)
    return Box(look, name, detail, size, inner=area.boxes, arrows=arrows)


def _words_width(name: str, detail: str) -> float:
    return max(
        text_width(line(name, WORDS_MAX), pixels=_NAME_PX) + 16.0,
        text_width(line(detail, WORDS_MAX), pixels=_DETAIL_PX),
    )


def reduced(count: int, links: Sequence[Link]) -> list[Link]:
    """Returns the links without those that follow from longer ways."""
    before = _ordered(count, links)
    above = [0] * count
    for node, sources in before.items():
        for source in sources:
            above[node] |= above[source] | 1 << source
    return [
        (source, target)
        for source, target in dict.fromkeys(links)
        if not any(above[other] >> source & 1 for other in before[target])
    ]


def place(
    boxes: Sequence[Size], links: Sequence[Link]
) -> tuple[list[Point], list[tuple[Point, ...]], list[list[int]], Size]:
    """Puts boxes into rows, so that every link leads downwards; long ones pass beside all boxes.

    Returns the corner of each box, the points of each link, the boxes of each row, the whole size.
    """
    levels = [0] * len(boxes)
    for node, sources in _ordered(len(boxes), links).items():
        levels[node] = max((levels[source] + 1 for source in sources), default=0)
    rows: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for at, level in enumerate(levels):
        rows[level].append(at)
    centres = _centres(rows, boxes, links)
    left = min((centres[at] - size.width / 2 for at, size in enumerate(boxes)), default=0.0)
    centres = [centre - left for centre in centres]
    right = max((centres[at] + size.width / 2 for at, size in enumerate(boxes)), default=0.0)
    tops, bottoms = [0.0], []
    for row in rows:
        bottoms.append(tops[-1] + max(boxes[at].height for at in row))
        tops.append(bottoms[-1] + GAP_Y)
    paths: list[tuple[Point, ...]] = []
    for source, target in links:
        x, first, last = centres[source], levels[source], levels[target]
        points = [(x, tops[first] + boxes[source].height), (x, bottoms[first])]
        if last > first + 1:
            right += PASSAGE
            points += [(right, tops[first + 1]), (right, bottoms[last - 1])]
        paths.append((*points, (centres[target], tops[last])))
    corners = [(centres[at] - size.width / 2, tops[levels[at]]) for at, size in enumerate(boxes)]
    return corners, paths, rows, Size(right, bottoms[-1] if bottoms else 0.0)


def _ordered(count: int, links: Sequence[Link]) -> dict[int, list[int]]:
    """Returns for each box those that lead to it, which come before it."""
    sources: dict[int, list[int]] = {at: [] for at in range(count)}
    for source, target in links:
        sources[target].append(source)
    return {at: sources[at] for at in TopologicalSorter(sources).static_order()}


def _centres(rows: list[list[int]], sizes: Sequence[Size], links: Sequence[Link]) -> list[float]:
    """Each box under the middle of those it follows, as far as its row has room."""
    neighbours: list[list[int]] = [[] for _ in sizes]
    for first, second in links:
        neighbours[first].append(second)
        neighbours[second].append(first)

    def middle(at: int, positions: dict[int, float], usual: float) -> float:
        beside = [positions[other] for other in neighbours[at] if other in positions]
        return sum(beside) / len(beside) if beside else usual

    # Each row is sorted by where its neighbours in the row before, or behind, stand.
    for direction in (1, -1, 1, -1):
        for earlier, row in pairwise(rows[::direction]):
            seats = {at: seat / len(earlier) for seat, at in enumerate(earlier)}
            wishes = {at: middle(at, seats, seat / len(row)) for seat, at in enumerate(row)}
            row.sort(key=wishes.__getitem__)
    centres: dict[int, float] = {}
    for row in rows:
        wishes = {at: middle(at, centres, 0.0) for at in row}
        edge = float("-inf")
        for at, wish in wishes.items():
            half = sizes[at].width / 2
            centres[at] = max(wish, edge + half)
            edge = centres[at] + half + GAP_X
        drift = sum(centres[at] - wish for at, wish in wishes.items()) / len(row)
        for at in row:
            centres[at] -= drift
    return [centres[at] for at in range(len(sizes))]
