"""Numbers, texts and values as people read them, and how two values differ.

Long lists and deep objects are cut, and say how much is left out.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING, TypeAlias

from whorl.errors import columns, plural, safe
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.journal.projection import Spent

# A line of a comparison: `+`, `-`, `~`, `@` or a space, and what it says.
Change: TypeAlias = tuple[str, str]

_LINE_MAX = 88
_CUT_AT = 2_000
_ITEMS_MAX = 20
_DEPTH_MAX = 6
_WORDS = regex(r"(?:\w+|[^\w\s]+)\s*|\s+")
_WORDS_MAX = 2_000
# Of two lines that share less, both are shown whole.
_ALIKE_MIN = 0.4
_BLOCKS = "▁▂▃▄▅▆▇█"
_COLUMN_MIN = 6
# What is less is not told from it.
_SMALLEST = 0.000001
_NUDGE = 1e-12
# What takes less is not told from nothing.
_MEASURED_MIN_S = 0.001


def seconds(amount: float) -> str:
    """Formats a duration: 0.4s, 38s, 2m32s, 1h05m, 3d4h."""
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
    """Returns how long a run has worked, in seconds, or 0 if the time is too short to show."""
    return row.seconds if row.seconds > _MEASURED_MIN_S else 0.0


def clock(at: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Returns a time in the user's time zone, or `?` for an invalid timestamp."""
    try:
        return time.strftime(form, time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return "?"


def age(amount: float) -> str:
    """Formats how long ago something was: 5s, 12m, 3h, 8d."""
    units = ((86_400, "d"), (3_600, "h"), (60, "m"))
    size, unit = next((each for each in units if amount >= each[0]), (1, "s"))
    return f"{max(0, int(amount // size))}{unit}"


def dollars(amount: float) -> str:
    """Formats dollars: cents, or two significant digits; a paid amount never shows as $0.00."""
    if 0 < amount < _SMALLEST:
        return f"<${_SMALLEST:.6f}"
    # Sums of the same amounts in another order differ behind what counts; halves are rounded up.
    amount = round(amount, 9)
    return f"${_trimmed(f'{amount + _NUDGE:,.{_decimals(amount)}f}')}"


def dollars_if_known(amount: float | None) -> str:
    """Formats dollars, or says that the sum is not known if a model has no price."""
    return "not known" if amount is None or not isfinite(amount) else dollars(amount)


def cost_words(usage: RunRow | Spent) -> str:
    """Formats a cost as far as it is known: `$0.20 + ?` if some calls have no price.

    For a run with calls in doubt, it shows what is known, and what was reserved for them.
    """
    more = " + ?" if usage.unpriced_calls and usage.cost_usd else ""
    reserved, known = getattr(usage, "reserved_usd", 0.0), usage.known_usd
    if known and reserved:
        paid = round(known - reserved, 9)
        words = (dollars(paid) if paid > 0 else "", f"{dollars(reserved)} reserved")
        return " + ".join(filter(None, words)) + more
    return dollars_if_known(known) + more


def number_if_known(amount: float | None, decimals: int = 2) -> str:
    """Formats a number, or says that it is not known if its source is missing."""
    return "not known" if amount is None or not isfinite(amount) else f"{amount:.{decimals}f}"


def dollars_at_most(amount: float) -> str:
    """Formats dollars, rounded up."""
    unit = 10 ** _decimals(amount)
    return dollars(max(ceil(amount * unit - 1e-9) / unit, _SMALLEST))


def _decimals(amount: float) -> int:
    return 2 if amount == 0 or amount >= 0.095 else min(6, max(4, 1 - floor(log10(amount))))


def used(tokens: int, cost_usd: float) -> str:
    """Formats the tokens and the dollars that something used, each only if there are any."""
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
    """Formats a limit in dollars, with all its digits: $0.50, $0.003."""
    return f"${_trimmed(f'{amount:,.9f}')}"


def _trimmed(number: str) -> str:
    """Returns a number with at least two decimals and no needless zeros."""
    whole, _, part = number.partition(".")
    return f"{whole}.{part.rstrip('0'):0<2}"


def score(amount: float | None) -> str:
    """Formats a score with at least two decimals, and with four if it has more than five.

    No score is shown rounder than it is: 0.899999 is not 0.90.
    """
    if amount is None:
        return ""
    if amount == int(amount) and abs(amount) >= 10:
        return f"{amount:.0f}"
    exact, shown = _trimmed(f"{amount:.15f}"), _trimmed(f"{amount:.4f}")
    is_round = len(shown.partition(".")[2]) == 2
    return exact if is_round or len(exact.partition(".")[2]) <= 5 else shown


def outside_words(outside: Mapping[str, Json]) -> str:
    """A score that is not in its range: `score 9 is outside 0..1`."""
    number, low, high = (outside.get(name) for name in ("score", "low", "high"))
    return f"score {bare(number)} is outside {bare(low)}..{bare(high)}"


def bare(number: Json) -> str:
    """Formats a number without needless decimals: 9, 0.5; or "" if it is not a number."""
    is_number = isinstance(number, int | float) and not isinstance(number, bool)
    return f"{number:.6g}" if is_number else ""


def difference(now: float | None, before: float | None) -> str:
    """Formats the change of a score: +.22, -.05, +1.50, +.0004; +.00 if it is the same."""
    if now is None or before is None:
        return ""
    # What two decimal numbers differ by is not exact: 0.63 - 0.41 is a little above 0.22.
    amount = round(now - before, 9)
    shown = round(amount, 2) or float(f"{amount:.2g}")
    words = _trimmed(f"{abs(shown):.9f}")
    return ("+" if amount >= 0 else "-") + (words[1:] if words.startswith("0.") else words)


def bytes_words(amount: float) -> str:
    """A size: 812 B, 8.2 kB, 1.3 MB."""
    units = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
    larger = (f"{amount / size:.1f} {unit}" for size, unit in units if amount >= size)
    return next(larger, f"{amount:.0f} B")


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
    """Returns the text on one line, safe for a terminal, cut if it is too long."""
    words = " ".join(safe(text[: width_max * 8].replace("\n", " ").replace("\r", " ")).split())
    return words if len(words) <= width_max else words[: max(0, width_max - 1)] + "…"


def paragraphs(text: str) -> str:
    """Returns the text with its lines, without control characters in them."""
    return "\n".join(safe(part) for part in text.replace("\r\n", "\n").split("\n"))


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
    """Returns rows as lines with aligned columns; the columns in `right` are right-aligned.

    If lines would be wider than `width`, the widest of the columns in `shrink` are cut.
    """
    cells = [list(row) for row in rows]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    excess = 0 if width is None else sum(widths) + 2 * (len(widths) - 1) - width
    for _ in range(excess):
        widest = max(shrink, key=lambda at: widths[at], default=None)
        if widest is None or widths[widest] <= _COLUMN_MIN:
            break
        widths[widest] -= 1
    sides = [at in right for at in range(len(widths))]
    return ["  ".join(map(_fitted, row, widths, sides)).rstrip() for row in cells]


def _fitted(cell: str, width: int, at_right: bool) -> str:
    if columns(cell) > width:
        while cell and columns(cell) > width - 1:
            cell = cell[:-1]
        cell += "…"
    room = " " * (width - columns(cell))
    return room + cell if at_right else cell + room


def value_lines(value: Json, *, whole: bool = False, depth: int = 0) -> Iterator[str]:
    """A value in lines, `whole` or folded."""
    most, deepest = (10**9, 10**9) if whole else (_ITEMS_MAX, _DEPTH_MAX)
    if isinstance(value, str):
        yield from paragraphs(value.removesuffix("\n")).split("\n")
        return
    if (words := one_line(value)) is not None:
        yield words
        return
    assert isinstance(value, dict | list)
    if depth >= deepest:
        yield f"… {plural(len(value), 'entry', 'entries')}"
        return
    entries = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    for at, (name, inner) in enumerate(entries):
        if at == most:
            yield f"… {plural(len(value) - at, 'more item' if name is None else 'more field')}"
            return
        head, words = "-" if name is None else f"{line(name, 200)}:", one_line(inner)
        if words is not None:
            yield f"{head} {words}"
            continue
        below = value_lines(inner, whole=whole, depth=depth + 1)
        yield f"- {next(below)}" if name is None else head
        yield from (f"  {text}" for text in below)


def one_line(value: Json) -> str | None:
    """Returns a value on one line, or None if it needs more; ambiguous texts have quotes."""
    words = safe(json.dumps(value, ensure_ascii=False))
    if isinstance(value, str):
        fits = len(value) <= _LINE_MAX and "\n" not in value and "\r" not in value
        return (safe(value) if _is_bare(value) else words) if fits else None
    # A text of several lines is easier to read below its name.
    is_long = isinstance(value, dict | list) and (len(words) > _LINE_MAX or "\\n" in words)
    return None if is_long and value else words


def _is_bare(text: str) -> bool:
    with suppress(ValueError):
        json.loads(text)
        return False
    return bool(text) and text == text.strip() and text[0] not in "\"'[{"


def changes(old: Json, new: Json) -> Iterator[Change]:
    """Yields how a value differs from another one: objects by key, others by line and word."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        is_short = not isinstance(old, str) or not isinstance(new, str)
        yield from _line_changes(_whole(old), _whole(new), is_short=is_short)
        return
    for name in dict.fromkeys([*old, *new]):
        head = f"{line(name, 200)}:"
        if isinstance(old.get(name), dict) and isinstance(new.get(name), dict):
            found = list(changes(old[name], new[name]))
        else:
            sides = [_whole(side[name]) if name in side else [] for side in (old, new)]
            found = list(_line_changes(*sides, is_short=True))
        if len(found) == 1 and found[0][0] != " ":
            yield found[0][0], f"{head} {found[0][1].lstrip()}"
        elif found:
            yield from [(" ", head), *((mark, f"  {text}") for mark, text in found)]


def _whole(value: Json) -> list[str]:
    words = one_line(value)
    return list(value_lines(value, whole=True)) if words is None else [words]


def _line_changes(before: list[str], after: list[str], *, is_short: bool) -> Iterator[Change]:
    """Yields how lines differ; if `is_short`, two that fit on one line are shown side by side."""
    # Most commands compare nothing.
    from difflib import SequenceMatcher

    is_pair = is_short and len(before) == len(after) == 1 and before != after
    if is_pair and len(before[0]) + len(after[0]) <= _LINE_MAX:
        yield "~", f"{before[0]} → {after[0]}"
        return
    for group in SequenceMatcher(None, before, after).get_grouped_opcodes(3):
        first, last = group[0], group[-1]
        if (first[1], last[2]) != (0, len(before)):
            parts = f"-{first[1] + 1},{last[2] - first[1]} +{first[3] + 1},{last[4] - first[3]}"
            yield "@", f"@ {parts} @@"
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from ((" ", text) for text in before[i1:i2])
                continue
            old, new = before[i1:i2], after[j1:j2]
            # Of long lines that take the place of others, only some words may differ.
            while old and new and len(old[0]) + len(new[0]) > _LINE_MAX:
                marked = _marked_words(old[0], new[0])
                if not marked:
                    break
                yield "~", marked
                old, new = old[1:], new[1:]
            yield from (("-", text) for text in old)
            yield from (("+", text) for text in new)


def _marked_words(old: str, new: str) -> str:
    """Returns both lines as one, with `[-without-]` and `{+with+}` words; "" if too different."""
    from difflib import SequenceMatcher

    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(before), len(after)) > _WORDS_MAX:
        return ""
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if matcher.ratio() < _ALIKE_MIN:
        return ""
    parts = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        left, right = "".join(before[i1:i2]), "".join(after[j1:j2])
        if tag == "equal":
            parts.append(left)
            continue
        # What follows both is no part of the change.
        space = right[len(right.rstrip()) :]
        same = space if left.endswith(space) else ""
        left, right = left[: len(left) - len(same)], right[: len(right) - len(same)]
        parts.append((f"[-{left}-]" if left else "") + (f"{{+{right}+}}" if right else "") + same)
    return "".join(parts)


def cut(lines: Iterable[str], lines_max: int) -> Iterator[str]:
    """Yields at most `lines_max` lines, the first and the last, and how many are left out."""
    every = [text if len(text) <= _CUT_AT else f"{text[:_CUT_AT]}…" for text in lines]
    left_out = len(every) - lines_max
    half = lines_max // 2
    yield from every[:half] if left_out > 0 else every
    if left_out > 0:
        yield f"… {plural(left_out, 'more line')} …"
        yield from every[-(lines_max - half) :]
