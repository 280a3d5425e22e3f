"""Where the boxes of one block stand: in rows by their order, with arrows that cross no box."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    found: dict[int, list[int]] = {at: [] for at in range(count)}
    for source, target in links:
        found[target].append(source)
    return found


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
    found: list[list[int]] = [[] for _ in range(count)]
    for chain in chains:
        for one, other in pairwise(chain):
            found[one].append(other)
            found[other].append(one)
    return found


def _sort(rows: list[list[int]], neighbours: list[list[int]]) -> None:
    """Sorts each row by where its neighbours in the row before stand."""
    for earlier, row in pairwise(rows):
        seats = {at: seat / len(earlier) for seat, at in enumerate(earlier)}
        wishes: dict[int, float] = {}
        for seat, at in enumerate(row):
            known = [seats[other] for other in neighbours[at] if other in seats]
            wishes[at] = sum(known) / len(known) if known else seat / len(row)
        row.sort(key=wishes.__getitem__)


def _centres(rows: list[list[int]], sizes: list[Size], neighbours: list[list[int]]) -> list[float]:
    """Each box under the middle of those it follows, as far as its row has room."""
    centres = [0.0] * len(sizes)
    placed: set[int] = set()
    for row in rows:
        wishes = []
        for at in row:
            known = [centres[other] for other in neighbours[at] if other in placed]
            wishes.append(sum(known) / len(known) if known else 0.0)
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
