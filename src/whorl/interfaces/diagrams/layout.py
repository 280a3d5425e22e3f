"""The geometry of a workflow: boxes inside of boxes, each placed relative to the one around it.

The boxes of one block stand in rows by their order, with arrows that cross no box.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

from whorl.interfaces.diagrams.text import detail_words
from whorl.interfaces.figures import line
from whorl.ir import Branch, ForEach, Gate, Group, Loop
from whorl.ir.walk import blocks_of

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
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
    placement = place([box.size for box in boxes], links)
    arrows = [Arrow(path, labels[link]) for link, path in zip(links, placement.paths, strict=True)]
    placed = [replace(box, corner=at) for box, at in zip(boxes, placement.corners, strict=True)]
    return Area(placement.size, tuple(placed), (*arrows, *_round(placement, placed)))


def _label(statuses: Sequence[str]) -> str:
    return "" if tuple(statuses) in (("passed",), ("succeeded",)) else ", ".join(statuses)


def _round(placement: Placement, boxes: list[Box]) -> tuple[Arrow, ...]:
    """The way round, from the last row to the first one; only loops show it."""
    last, first = boxes[placement.rows[-1][-1]], boxes[placement.rows[0][-1]]
    start = (last.corner[0] + last.size.width, last.corner[1] + last.size.height - 14.0)
    end = (first.corner[0] + first.size.width, first.corner[1] + 14.0)
    return (Arrow((start, (placement.size.width + GUTTER / 2, 0.0), end), back=True),)


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


GAP_X = 28.0
GAP_Y = 40.0
# A passing arrow needs this much room in a row; beyond so many of them, arrows go straight.
PASSAGE = 12.0
PASSAGES_MAX = 5_000

Point: TypeAlias = tuple[float, float]
Link: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Size:
    """How large a box is."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Placement:
    """The corner of each box, the points of each link, the boxes of each row, the whole size."""

    corners: tuple[Point, ...]
    paths: tuple[tuple[Point, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    size: Size


def reduced(count: int, links: Sequence[Link]) -> list[Link]:
    """The links without those that follow from longer ways."""
    before = _sources(count, links)
    above = [0] * count
    for node in _order(before):
        for source in before[node]:
            above[node] |= above[source] | 1 << source
    return [
        (source, target)
        for source, target in dict.fromkeys(links)
        if not any(above[other] >> source & 1 for other in before[target])
    ]


def place(boxes: Sequence[Size], links: Sequence[Link]) -> Placement:
    """Puts boxes into rows, so that every link leads downwards."""
    levels = _levels(len(boxes), links)
    sizes = list(boxes)
    chains = _chains(sizes, levels, links)
    rows = _rows(levels)
    neighbours = _neighbours(len(sizes), chains)
    for _ in range(2):
        _sort(rows, neighbours)
        _sort(rows[::-1], neighbours)
    centres = _centres(rows, sizes, neighbours)
    tops = _tops(rows, sizes)
    left = min((centres[at] - sizes[at].width / 2 for at in range(len(boxes))), default=0.0)
    left = min([left, *(centre for centre in centres)])
    centres = [centre - left for centre in centres]
    right = max((centres[at] + sizes[at].width / 2 for at in range(len(sizes))), default=0.0)
    bottoms = [
        top + max(sizes[at].height for at in row) for top, row in zip(tops, rows, strict=True)
    ]
    corners = [(centres[at] - boxes[at].width / 2, tops[levels[at]]) for at in range(len(boxes))]
    return Placement(
        tuple(corners),
        tuple(_path(chain, centres, levels, sizes, (tops, bottoms)) for chain in chains),
        tuple(tuple(at for at in row if at < len(boxes)) for row in rows),
        Size(right, bottoms[-1] if bottoms else 0.0),
    )


def _sources(count: int, links: Sequence[Link]) -> dict[int, list[int]]:
    sources: dict[int, list[int]] = {at: [] for at in range(count)}
    for source, target in links:
        sources[target].append(source)
    return sources


def _order(before: dict[int, list[int]]) -> list[int]:
    return list(TopologicalSorter(before).static_order())


def _levels(count: int, links: Sequence[Link]) -> list[int]:
    before = _sources(count, links)
    levels = [0] * count
    for node in _order(before):
        levels[node] = max((levels[source] + 1 for source in before[node]), default=0)
    return levels


def _chains(sizes: list[Size], levels: list[int], links: Sequence[Link]) -> list[list[int]]:
    """Each link as the stations that it passes; passages are added to the sizes and levels."""
    spans = sum(levels[target] - levels[source] - 1 for source, target in links)
    chains: list[list[int]] = []
    for source, target in links:
        passed = range(levels[source] + 1, levels[target]) if spans <= PASSAGES_MAX else ()
        chain = [source]
        for level in passed:
            chain.append(len(sizes))
            sizes.append(Size(PASSAGE, 0.0))
            levels.append(level)
        chains.append([*chain, target])
    return chains


def _rows(levels: list[int]) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for at, level in enumerate(levels):
        rows[level].append(at)
    return rows


def _neighbours(count: int, chains: list[list[int]]) -> list[list[int]]:
    neighbours: list[list[int]] = [[] for _ in range(count)]
    for chain in chains:
        for first, second in pairwise(chain):
            neighbours[first].append(second)
            neighbours[second].append(first)
    return neighbours


def _sort(rows: list[list[int]], neighbours: list[list[int]]) -> None:
    """Sorts each row by where its neighbours in the row before stand."""
    for earlier, row in pairwise(rows):
        seats = {at: seat / len(earlier) for seat, at in enumerate(earlier)}
        wishes: dict[int, float] = {}
        for seat, at in enumerate(row):
            positions = [seats[other] for other in neighbours[at] if other in seats]
            wishes[at] = sum(positions) / len(positions) if positions else seat / len(row)
        row.sort(key=wishes.__getitem__)


def _centres(rows: list[list[int]], sizes: list[Size], neighbours: list[list[int]]) -> list[float]:
    """Each box under the middle of those it follows, as far as its row has room."""
    centres = [0.0] * len(sizes)
    placed: set[int] = set()
    for row in rows:
        wishes = []
        for at in row:
            positions = [centres[other] for other in neighbours[at] if other in placed]
            wishes.append(sum(positions) / len(positions) if positions else 0.0)
        edge = float("-inf")
        for at, wish in zip(row, wishes, strict=True):
            half = sizes[at].width / 2
            centres[at] = max(wish, edge + half)
            edge = centres[at] + half + GAP_X
        drift = sum(centres[at] - wish for at, wish in zip(row, wishes, strict=True)) / len(row)
        for at in row:
            centres[at] -= drift
        placed.update(row)
    return centres


def _tops(rows: list[list[int]], sizes: list[Size]) -> list[float]:
    tops: list[float] = []
    top = 0.0
    for row in rows:
        tops.append(top)
        top += max(sizes[at].height for at in row) + GAP_Y
    return tops


def _path(
    chain: list[int],
    centres: list[float],
    levels: list[int],
    sizes: list[Size],
    edges: tuple[list[float], list[float]],
) -> tuple[Point, ...]:
    """From the foot of the first box, straight through the rows between, to the head of the last.

    Points come in pairs: a straight piece ends at each odd one, a bend leads to the next.
    """
    tops, bottoms = edges
    first, last = chain[0], chain[-1]
    foot = tops[levels[first]] + sizes[first].height
    points = [(centres[first], foot), (centres[first], bottoms[levels[first]])]
    for at in chain[1:-1]:
        points += [(centres[at], tops[levels[at]]), (centres[at], bottoms[levels[at]])]
    return (*points, (centres[last], tops[levels[last]]))
