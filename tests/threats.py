"""Which rows of the table in docs/reference/security.md tests stand for, and what they count.

A test stands for a row by `pytest.mark.threat(row="T5")`, and may stand for several.
`make security` runs these tests, adds up what they count, and writes the table.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "security.md"
NUMBERS = tuple(f"T{number}" for number in range(1, 24))
COLLECTED = pytest.StashKey[Counter[str]]()
FILES = pytest.StashKey[set[Path]]()
_MARK = re.compile(r'mark\.threat\(row="(T\d+)"\)')

_counted: dict[str, float] = {}


def tally(name: str, amount: float = 1) -> None:
    """Adds to a number of the table; of one that begins with `most` the largest counts."""
    before = _counted.get(name, 0)
    _counted[name] = max(before, amount) if name.startswith("most ") else before + amount


def take_tallies() -> dict[str, float]:
    """What has been counted since the last time."""
    found = dict(_counted)
    _counted.clear()
    return found


def note_rows(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Lets reports of tests tell their rows, and remembers how many stand for each."""
    counts = config.stash.setdefault(COLLECTED, Counter())
    files = config.stash.setdefault(FILES, set())
    for item in items:
        files.add(item.path)
        for mark in item.iter_markers("threat"):
            item.user_properties.append(("threat", mark.kwargs["row"]))
            counts[mark.kwargs["row"]] += 1


def files_of() -> dict[str, list[Path]]:
    """The files that hold tests of each row."""
    found: dict[str, list[Path]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for row in dict.fromkeys(_MARK.findall(path.read_text())):
            found.setdefault(row, []).append(path)
    return found


def rows_of(page: str) -> dict[str, list[str]]:
    """The cells of the table, by the number of their row."""
    lines = [line for line in page.splitlines() if re.match(r"\| T\d+ \|", line)]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cells}


def rows_in(report: Any) -> list[str]:
    """The rows that a reported test stands for."""
    return [str(value) for name, value in report.user_properties if name == "threat"]
