"""Resamples for bootstrap intervals: the same ones each time, and quickly drawn."""

from __future__ import annotations

import math
import random
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RESAMPLES = 4_000
_PLACES = 2**16
# From and to how many units a table of places is worth its while, and fair.
_TABLED = (128, 2_048)
# So many sums are drawn from the same table.
_SAME = 100
# How exact the parts are that are added in one integer.
_BITS = 48
_Number = TypeVar("_Number", int, float, complex)


def resampled(units: Sequence[tuple[float, float]], seed: str) -> Sequence[float]:
    """Ratios of two sums over units that are drawn again and again, in order.

    Where the lower sum is nothing the ratio is infinite.
    """
    return _resampled(tuple(units), seed, RESAMPLES)


# The same draw serves an interval at its own level, and at one that is shared among variants.
@lru_cache(maxsize=4)
def _resampled(units: tuple[tuple[float, float], ...], seed: str, times: int) -> tuple[float, ...]:
    draw, count = random.Random(seed), len(units)
    if all(size == 1.0 for _, size in units):
        sums = _drawn_sums([top for top, _ in units], draw, times)
        return tuple(sorted(total / count for total in sums))
    # Both sums in one: that of the real parts and that of the imaginary ones.
    return ratios_of(_drawn_sums([complex(*unit) for unit in units], draw, times))


def ratios_of(pairs: Iterable[complex]) -> tuple[float, ...]:
    """Real parts by imaginary ones, in order."""
    return tuple(sorted(pair.real / pair.imag if pair.imag else math.inf for pair in pairs))


def _drawn_sums(values: Sequence[_Number], draw: random.Random, times: int) -> Iterator[_Number]:
    """Sums of as many values as there are, drawn with putting back, again and again."""
    count, none = len(values), type(values[0])()
    if not _TABLED[0] <= count <= _TABLED[1]:
        for _ in range(times):
            yield sum(draw.choices(values, k=count), none)
        return
    # Half the time of `choices`: numbers of two bytes each lead into a table, in which every value
    # has the same number of places; who gets the few that are left is drawn now and then.
    often, left = divmod(_PLACES, count)
    table = list(values) * often + [none] * left
    for number in range(times):
        if number % _SAME == 0:
            table[_PLACES - left :] = draw.sample(values, left)
        yield sum(map(table.__getitem__, array("H", draw.randbytes(2 * count))), none)


def drawn_columns(columns: Sequence[Sequence[float]], seed: str) -> list[list[float]]:
    """Sums over cases that are drawn again and again, of several columns by the same draws.

    All numbers of a case, none below 0, are parts of one large integer: adding one is little slower
    than adding a float. They are as exact as a part in 2**48 of the largest in their column.
    """
    count = len(columns[0])
    width = _BITS + count.bit_length()
    scales = [2.0**_BITS / (max(column) or 1.0) for column in columns]
    rows = [
        sum(round(value * scales[at]) << at * width for at, value in enumerate(row))
        for row in zip(*columns, strict=True)
    ]
    drawn = list(_drawn_sums(rows, random.Random(seed), RESAMPLES))
    mask = (1 << width) - 1
    return [
        [(total >> at * width & mask) / scale for total in drawn] for at, scale in enumerate(scales)
    ]
