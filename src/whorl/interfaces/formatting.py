"""Numbers and texts as people read them: times, money, tokens, bars, one safe line."""

from __future__ import annotations

import json
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

from whorl.errors import columns, safe

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.journal.projection import Spent

_BLOCKS = "▁▂▃▄▅▆▇█"
_COLUMN_MIN = 6
_DECIMALS_MAX = 15
# What is less is not told from it.
_SMALLEST = 0.000001
_NUDGE = 1e-12
# By less than this numbers differ that are the same to whoever computed them.
_NOISE = 1e-9
# What takes less is not told from nothing.
_MEASURED_MIN_S = 0.001


def seconds(amount: float) -> str:
    """A duration: 0.4s, 38s, 2m32s, 1h05m, 3d4h."""
    if amount < 9.95:
        return f"{max(0.0, amount):.1f}s"
    minutes, rest = divmod(round(amount), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours >= 24:
        return f"{hours // 24}d{hours % 24}h"
    if hours:
        return f"{hours}h{minutes_left:02d}m"
    return f"{minutes}m{rest:02d}s" if minutes else f"{rest}s"


def worked(row: RunRow) -> float:
    """How long a run has worked, in seconds; 0: too short a time to be told."""
    return row.seconds if row.seconds > _MEASURED_MIN_S else 0.0


def age(amount: float) -> str:
    """How long ago something was: 5s, 12m, 3h, 8d."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if amount >= size:
            return f"{int(amount // size)}{unit}"
    return f"{max(0, int(amount))}s"


def dollars(amount: float) -> str:
    """A sum of money: cents, of small ones two digits that count, never nothing for something."""
    if 0 < amount < _SMALLEST:
        return f"<${_SMALLEST:.6f}"
    # Sums of the same amounts in another order differ behind what counts; halves are rounded up.
    amount = round(amount, 9)
    return f"${_trimmed(f'{amount + _NUDGE:,.{_decimals(amount)}f}')}"


def dollars_if_known(amount: float | None) -> str:
    """The same, of a sum that may be none, or not a number, where a model has no price."""
    return "not known" if amount is None or not isfinite(amount) else dollars(amount)


def cost_words(usage: RunRow | Spent) -> str:
    """What something has cost, as far as it is known: `$0.20 + ?` beside calls without a price.

    Of a run with calls in doubt: what is known, and what was reserved for them.
    """
    more = " + ?" if usage.unpriced_calls and usage.cost_usd else ""
    reserved, known = getattr(usage, "reserved_usd", 0.0), usage.known_usd
    if known and reserved:
        paid = round(known - reserved, 9)
        words = (dollars(paid) if paid > 0 else "", f"{dollars(reserved)} reserved")
        return " + ".join(filter(None, words)) + more
    return dollars_if_known(known) + more


def number_if_known(amount: float | None, decimals: int = 2) -> str:
    """A number that may be none, or not a number, where what it follows from is missing."""
    return "not known" if amount is None or not isfinite(amount) else f"{amount:.{decimals}f}"


def dollars_at_most(amount: float) -> str:
    """The same, rounded up."""
    unit = 10 ** _decimals(amount)
    return dollars(max(ceil(amount * unit - 1e-9) / unit, _SMALLEST))


def _decimals(amount: float) -> int:
    return 2 if amount == 0 or amount >= 0.095 else min(6, max(4, 1 - floor(log10(amount))))


def used(tokens: int, cost_usd: float) -> str:
    """The tokens and the money that something took, as far as there were any."""
    amount = dollars(cost_usd) if cost_usd else ""
    return joined(f"{count(tokens)} tok" if tokens else "", amount)


def joined(*parts: str) -> str:
    """The parts that say something, on one line."""
    return "  ".join(part for part in parts if part)


def count(amount: float) -> str:
    """A number of tokens: 812, 8.2k, 1.3M."""
    if amount < 1_000:
        return f"{amount:.0f}"
    if amount < 999_500:
        return f"{amount / 1_000:.1f}k" if amount < 99_950 else f"{amount / 1_000:.0f}k"
    return f"{amount / 1_000_000:.1f}M"


def allowed(amount: float) -> str:
    """A sum that somebody set as a limit, with all its digits: $0.50, $0.003."""
    return f"${_trimmed(f'{amount:,.9f}')}"


def as_much_again(budget: float | None) -> str:
    """What to add to a budget that is used up: the same again, as the command line takes it."""
    rounded = float(f"{budget or 0.5:.3g}")
    return f"+{_trimmed(f'{rounded:.9f}')}"


def _trimmed(number: str) -> str:
    """A number with at least two decimals and no needless zeros."""
    whole, _, part = number.partition(".")
    return f"{whole}.{part.rstrip('0'):0<2}"


def score(amount: float | None, *others: float | None) -> str:
    """A score with two decimals, or with as many as tell it apart from the others.

    None is shown as a rounder number than it is: 0.89996 is not 0.90, and 0.00001 is not 0.00.
    """
    if amount is None:
        return ""
    if amount == int(amount) and abs(amount) >= 10:
        return f"{amount:.0f}"
    rounder = round(amount, 2)
    apart = [rounder] if abs(amount - rounder) > _NOISE else []
    apart += [other for other in others if other is not None and other != amount]
    decimals = 4 if apart[:1] == [rounder] else 2
    while decimals < _DECIMALS_MAX and round(amount, decimals) in {
        round(other, decimals) for other in apart
    }:
        decimals += 1
    return _trimmed(f"{amount:.{decimals}f}")


def outside_words(outside: Mapping[str, Json]) -> str:
    """A score that is not in its range: `score 9 is outside 0..1`."""
    number, low, high = (outside.get(name) for name in ("score", "low", "high"))
    return f"score {bare(number)} is outside {bare(low)}..{bare(high)}"


def bare(number: Json) -> str:
    """A number without needless decimals: 9, 0.5; nothing where there is none."""
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return f"{number:.6g}" if is_number else ""


def difference(now: float | None, before: float | None) -> str:
    """How much a score has changed: +.22, -.05, +1.50, +.0004; +.00 where it is the same."""
    if now is None or before is None:
        return ""
    # What two decimal numbers differ by is not exact: 0.63 - 0.41 is a little above 0.22.
    amount = round(now - before, 9)
    shown = round(amount, 2) or float(f"{amount:.2g}")
    words = _trimmed(f"{abs(shown):.9f}")
    return ("+" if amount >= 0 else "-") + (words[1:] if words.startswith("0.") else words)


def bytes_words(amount: float) -> str:
    """A size: 812 B, 8.2 kB, 1.3 MB."""
    for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount:.0f} B"


def sparkline(scores: Sequence[float | None]) -> str:
    """A row of blocks, one for each score."""
    measured = [amount for amount in scores if amount is not None]
    if not measured:
        return ""
    low, high = min(0.0, *measured), max(measured)
    spread = high - low or 1.0
    return "".join(
        " " if amount is None else _BLOCKS[round((amount - low) / spread * (len(_BLOCKS) - 1))]
        for amount in scores
    )


def line(text: str, width_max: int = 100) -> str:
    """The text on one line, safe for a terminal, cut where it is too long."""
    words = " ".join(safe(text[: width_max * 8].replace("\n", " ").replace("\r", " ")).split())
    return words if len(words) <= width_max else words[: max(0, width_max - 1)] + "…"


def paragraphs(text: str) -> str:
    """The text with its lines, and nothing in them that could steer a terminal."""
    return "\n".join(safe(part) for part in text.replace("\r\n", "\n").split("\n"))


def plain_lines(text: str, indent: int = 0) -> list[str]:
    """The lines of a text as they are, however far they will be set in."""
    return paragraphs(text.removesuffix("\n")).split("\n")


def written(value: Json) -> str:
    """A value as people read it: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def table(
    rows: Iterable[Sequence[str]],
    *,
    right: Container[int] = (),
    width: int | None = None,
    shrink: Sequence[int] = (),
) -> list[str]:
    """Rows as lines with aligned columns; the columns in `right` are set to the right.

    Where lines would be wider than `width`, the widest of the columns in `shrink` are cut.
    """
    cells = [list(row) for row in rows]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    excess = 0 if width is None else sum(widths) + 2 * (len(widths) - 1) - width
    for _ in range(excess):
        widest = max(shrink, key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= _COLUMN_MIN:
            break
        widths[widest] -= 1
    return [
        "  ".join(
            _fitted(cell, widths[at], at_right=at in right) for at, cell in enumerate(row)
        ).rstrip()
        for row in cells
    ]


def _fitted(cell: str, width: int, *, at_right: bool) -> str:
    if columns(cell) > width:
        while cell and columns(cell) > width - 1:
            cell = cell[:-1]
        cell += "…"
    room = " " * (width - columns(cell))
    return room + cell if at_right else cell + room
