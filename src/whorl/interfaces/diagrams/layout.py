"""Where the boxes of a workflow's picture stand, inside of each other and relative to each other.

The boxes of one block stand in rows by their order, with arrows that cross no box.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from whorl.interfaces.diagrams.text import detail_words
from whorl.interfaces.formatting import line
from whorl.ir import Branch, ForEach, Gate, Group, Loop
from whorl.ir.walk import blocks_of
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

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
# A passing arrow needs this much room in a row; beyond so many of them, arrows go straight.
PASSAGE = 12.0
PASSAGES_MAX = 5_000
_NAME_PX = 7.6
_DETAIL_PX = 6.4
_CONTAINERS: dict[type[Node], Look] = {Loop: "loop", ForEach: "each", Group: "group"}


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

    def moved(self, right: float, down: float) -> Area:
        """The same at another place."""

        def there(point: Point) -> Point:
            return point[0] + right, point[1] + down

        boxes = tuple(replace(box, corner=there(box.corner)) for box in self.boxes)
        arrows = (replace(each, points=tuple(map(there, each.points))) for each in self.arrows)
        return Area(self.size, boxes, tuple(arrows))


def lay_out(workflow: Workflow) -> Area:
    """The workflow's own block, and under it each workflow that it calls."""
    area = _block(workflow.body)
    for key, called in workflow.workflows:
        box = _container("called", key, f"{called.dialect}, called", _block(called.body))
        top = area.size.height + PADDING * 2
        size = Size(max(area.size.width, box.size.width), top + box.size.height)
        area = Area(size, (*area.boxes, replace(box, corner=(0.0, top))), area.arrows)
    return area


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
    # The way round, from the last row to the first one; only loops show it.
    last, first = placed[placement.rows[-1][-1]], placed[placement.rows[0][-1]]
    start = (last.corner[0] + last.size.width, last.corner[1] + last.size.height - 14.0)
    end = (first.corner[0] + first.size.width, first.corner[1] + 14.0)
    back = Arrow((start, (placement.size.width + GUTTER / 2, 0.0), end), back=True)
    return Area(placement.size, tuple(placed), (*arrows, back))


def _label(statuses: Sequence[str]) -> str:
    return "" if tuple(statuses) in (("passed",), ("succeeded",)) else ", ".join(statuses)


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


class Placement(NamedTuple):
    """The corner of each box, the points of each link, the boxes of each row, the whole size."""

    corners: tuple[Point, ...]
    paths: tuple[tuple[Point, ...], ...]
    rows: tuple[tuple[int, ...], ...]
    size: Size


def reduced(count: int, links: Sequence[Link]) -> list[Link]:
    """The links without those that follow from longer ways."""
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


def place(boxes: Sequence[Size], links: Sequence[Link]) -> Placement:
    """Puts boxes into rows, so that every link leads downwards."""
    levels = [0] * len(boxes)
    for node, sources in _ordered(len(boxes), links).items():
        levels[node] = max((levels[source] + 1 for source in sources), default=0)
    sizes = list(boxes)
    chains = _chains(sizes, levels, links)
    rows: list[list[int]] = [[] for _ in range(max(levels, default=-1) + 1)]
    for at, level in enumerate(levels):
        rows[level].append(at)
    centres = _centres(rows, sizes, chains)
    left = min((centres[at] - sizes[at].width / 2 for at in range(len(boxes))), default=0.0)
    left = min([left, *centres])
    centres = [centre - left for centre in centres]
    right = max((centres[at] + sizes[at].width / 2 for at in range(len(sizes))), default=0.0)
    tops, bottoms = [0.0], []
    for row in rows:
        bottoms.append(tops[-1] + max(sizes[at].height for at in row))
        tops.append(bottoms[-1] + GAP_Y)

    def path(chain: list[int]) -> tuple[Point, ...]:
        """From the foot of the first box, straight through the rows between, to the last's head.

        Points come in pairs: a straight piece ends at each odd one, a bend leads to the next.
        """
        (foot, first), *passed = [(tops[levels[at]], at) for at in chain[:-1]]
        points = [(centres[first], foot + sizes[first].height)]
        points.append((centres[first], bottoms[levels[first]]))
        for top, at in passed:
            points += [(centres[at], top), (centres[at], bottoms[levels[at]])]
        return (*points, (centres[chain[-1]], tops[levels[chain[-1]]]))

    return Placement(
        tuple((centres[at] - size.width / 2, tops[levels[at]]) for at, size in enumerate(boxes)),
        tuple(path(chain) for chain in chains),
        tuple(tuple(at for at in row if at < len(boxes)) for row in rows),
        Size(right, bottoms[-1] if bottoms else 0.0),
    )


def _ordered(count: int, links: Sequence[Link]) -> dict[int, list[int]]:
    """For each box those that lead to it, which stand before it."""
    sources: dict[int, list[int]] = {at: [] for at in range(count)}
    for source, target in links:
        sources[target].append(source)
    return {at: sources[at] for at in TopologicalSorter(sources).static_order()}


def _chains(sizes: list[Size], levels: list[int], links: Sequence[Link]) -> list[list[int]]:
    """Each link as the stations that it passes; passages are added to the sizes and levels."""
    spans = sum(levels[target] - levels[source] - 1 for source, target in links)
    chains: list[list[int]] = []
    for source, target in links:
        passed = range(levels[source] + 1, levels[target]) if spans <= PASSAGES_MAX else ()
        chains.append([source, *range(len(sizes), len(sizes) + len(passed)), target])
        sizes += [Size(PASSAGE, 0.0)] * len(passed)
        levels += passed
    return chains


def _centres(rows: list[list[int]], sizes: list[Size], chains: list[list[int]]) -> list[float]:
    """Each box under the middle of those it follows, as far as its row has room."""
    neighbours: list[list[int]] = [[] for _ in sizes]
    for chain in chains:
        for first, second in pairwise(chain):
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
