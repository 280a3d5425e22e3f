"""Tries what is promised against failure and attack; prints the table and writes it to its page.

    python tools/security.py [T5 T17 ...] [--full] [--share PERCENT] [--workers N]

Rows that are not named keep what the page says of them. `--full` takes hours: it draws a seed,
tries all that is random far more often (as `make campaign` does), and measures at full length.
`--share 5` does a twentieth of that, with a seed of its own, and adds it to what the page counts
of campaigns before: full length in the hours that a machine has to spare.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
MEMORY = Path("/dev/shm")
sys.path[:0] = [str(ROOT / "tests"), str(ROOT)]

from threats import NUMBERS, PAGE, files_of, rows_in, rows_of  # noqa: E402

# What is measured for a row beside its tests: a benchmark, and which lines of its output count.
BENCHMARKS: dict[str, tuple[tuple[str, ...], ...]] = {
    "T6": (("crowd",), ("fair",)),
    "T7": (("long", "--full"),),
    "T8": (("soak",),),
}
_COUNTS = re.compile(r"\(goals?:|p99|stall|goals are")
_CAMPAIGNS = re.compile(r"([\d,]+) of ([\d,]+) tests of the campaigns? ([\d, ]+)")
_COUNTED = re.compile(r"(at most )?([\d.,]+) (?!skipped)(.+?)(?: \(goal: [\d,]+\))?")
_GOAL = re.compile(r"([-+]?[\d.,]*\d)\s*[A-Za-z]* \(goal: (at least )?([\d.,]*\d)")
# Tests of a row that another part of the project brings.
ELSEWHERE = {
    "T6": ("tests/http/test_http_fairness.py",),
    "T15": ("tests/unit/language/test_prices.py",),
}
# How often something is to be tried before a release; of what begins with `most`, how much at most.
GOALS = {
    "T1": {"crashes": 10_000},
    "T2": {"images of the disk": 10_000},
    "T4": {"appends": 140_000},
    "T5": {"most MB that a run added": 256},
    "T10": {"schedules": 10_000},
    "T11": {"made-up requests": 720_000, "most ms (p99) with 200 slow clients": 200},
    "T15": {"most ms of the processor": 2_000, "most MB added by one": 256},
    "T16": {
        "damaged files for six readers": 6_000_000,
        "expressions": 1_000_000,
        "templates as Jinja2 has them": 5_000,
        "most ms of the processor for one": 2_000,
    },
}
# How many inputs a reader gets, and an operation of the HTTP interface.
FULL = {"WHORL_INPUTS": 1_000_000, "WHORL_REQUESTS": 10_000}


@dataclass
class Row:
    """What came of a row."""

    number: str
    cases: int = 0
    passed: int = 0
    open_cases: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    skipped: int = 0
    counts: dict[str, float] = field(default_factory=dict)
    measured: list[str] = field(default_factory=list)
    is_short: bool = False
    seeds: list[str] = field(default_factory=list)

    def add(self, measured: str) -> None:
        """Goes on from what the page says of campaigns before; other rows begin anew."""
        first, *parts = measured.split("; ")
        if not (before := _CAMPAIGNS.fullmatch(first)):
            return
        self.passed += int(before[1].replace(",", ""))
        self.cases += int(before[2].replace(",", ""))
        self.seeds[:0] = before[3].split(", ")
        for most, amount, name in (
            found.groups() for found in map(_COUNTED.fullmatch, parts) if found
        ):
            number = float(amount.replace(",", ""))
            self.count(f"most {name}" if most else name, number if "." in amount else int(number))

    def count(self, name: str, amount: float) -> None:
        """Adds to a number; of one that begins with `most` the largest counts."""
        before = self.counts.get(name, 0)
        is_most = name.startswith("most ")
        self.counts[name] = max(before, amount) if is_most else before + amount

    def take(self, report: Any) -> None:
        """Counts a report of pytest."""
        if report.when == "call" or report.outcome != "passed":
            self.cases += report.when != "teardown"
            if report.outcome == "failed":
                self.broken.append(report.nodeid)
            elif hasattr(report, "wasxfail"):
                # The number that the name of a case begins with.
                self.open_cases.append(report.nodeid.partition("[")[2].split(" ")[0])
            elif report.outcome == "skipped":
                self.skipped += 1
            elif report.when == "call":
                self.passed += 1
        for name, amount in report.user_properties:
            if name.startswith("tally "):
                self.count(name.removeprefix("tally "), amount)

    def measure(self, line: str) -> None:
        """Keeps a line of a benchmark; a goal that is missed is said."""
        line = " ".join(line.split())
        for found, least, goal in _GOAL.findall(line):
            difference = float(found.replace(",", "")) - float(goal.replace(",", ""))
            self.is_short |= difference < 0 if least else difference > 0
        self.is_short |= "not met" in line
        self.measured.append(line)

    def cells(self) -> list[str]:
        """What the page says: tests, passed, measured, result."""
        goals = GOALS.get(self.number, {})
        told = []
        for name, amount in self.counts.items():
            goal = goals.get(name)
            is_most = name.startswith("most ")
            self.is_short |= goal is not None and (amount > goal if is_most else amount < goal)
            digits = 0 if isinstance(amount, int) or amount >= 10 else 2
            words = name.replace("most ", "at most {} ") if is_most else f"{{}} {name}"
            words = words.format(f"{amount:,.{digits}f}")
            told.append(words + (f" (goal: {goal:,})" if goal else ""))
        notes = [f"{self.skipped} skipped"] if self.skipped else []
        notes += [f"known to be open: {', '.join(self.open_cases)}"] if self.open_cases else []
        measured = "; ".join([*told, *self.measured, *notes]) or "-"
        return [f"{self.cases:,}", f"{self.passed:,}", measured, self.result()]

    def result(self) -> str:
        """Whether it holds; what was not run is no pass."""
        if self.broken:
            return "BROKEN"
        if not self.cases and not self.measured:
            return "not run"
        if self.open_cases or self.skipped or self.is_short or not self.cases:
            return "in part"
        return "holds"


class Recorder:
    """A plugin of pytest that sorts reports by the rows that their tests stand for."""

    def __init__(self, rows: dict[str, Row]) -> None:
        self._rows = rows

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Reports of other processes come here, too."""
        for number in rows_in(report):
            if number in self._rows:
                self._rows[number].take(report)


def run_tests(rows: dict[str, Row], workers: int) -> None:
    """Runs the tests of some rows, and those that another part of the project brings."""
    files = files_of()
    chosen = sorted({str(path) for number in rows for path in files.get(number, ())})
    expression = " or ".join(f"threat(row='{number}')" for number in rows)
    beside = ["-n", str(workers), "--dist", "worksteal"] if workers > 1 else []
    if chosen:
        code = pytest.main(["-m", expression, *beside, *chosen], plugins=[Recorder(rows)])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            for row in rows.values():
                row.broken.append(f"the tests of {row.number} could not be run")
    for number, names in ELSEWHERE.items():
        if number not in rows:
            continue
        for name in names:
            row = rows[number]
            if not (ROOT / name).exists():
                row.measured.append(f"{name} is not here: not run")
                row.is_short = True
                continue
            found = Row(name)
            pytest.main([*beside, str(ROOT / name)], plugins=[_All(found)])
            row.measured.append(f"{found.passed} of {found.cases} tests of {name} pass")
            row.broken += found.broken


class _All:
    """A plugin of pytest that counts all tests for one row."""

    def __init__(self, row: Row) -> None:
        self._row = row

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._row.take(report)


def run_benchmarks(row: Row, *, full: bool) -> None:
    """Measures what tests must not: times, and sizes of processes."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    # Files are in memory, where they are for tests, too: a disk would be all that is measured.
    temporary = {"TMPDIR": str(MEMORY)} if MEMORY.is_dir() else {}
    environment = os.environ | temporary | {"PYTHONPATH": path}
    for name, *options in BENCHMARKS.get(row.number, ()):
        if f'"{name}"' not in (ROOT / "bench" / "__main__.py").read_text():
            row.measured.append(f"`python -m bench {name}` is not here: not run")
            row.is_short = True
            continue
        more = ["--full"] if full and "--full" not in options else []
        words = [sys.executable, "-m", "bench", name, *options, *more]
        done = subprocess.run(
            words, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
        print(done.stdout)
        if done.returncode:
            row.broken.append(" ".join(words[1:]))
        for line in done.stdout.splitlines()[1:]:
            if _COUNTS.search(line):
                row.measure(line)


def write_page(rows: dict[str, Row]) -> None:
    """Puts what was found into the page's table; the first cells of a row are written by hand.

    A campaign (`seeds`) has more tests than the page counts: it says so beside its numbers.
    """
    lines = PAGE.read_text().split("\n")
    for index, line in enumerate(lines):
        number = line.removeprefix("| ").partition(" |")[0]
        if number in rows:
            promised, *before = rows_of(line)[number]
            found = rows[number].cells()
            if seeds := rows[number].seeds:
                name = "campaign" if len(seeds) == 1 else "campaigns"
                told = (
                    f"{found[1]} of {found[0]} tests of the {name} {', '.join(seeds)}; {found[2]}"
                )
                found = [*before[:2], told, found[3]]
            cells = [number, promised, *found]
            lines[index] = f"| {' | '.join(cells)} |"
    PAGE.write_text("\n".join(lines))


def print_table(rows: dict[str, Row]) -> None:
    """The table, for a terminal; rows that this command left out say so."""
    for number, (promised, *_) in rows_of(PAGE.read_text()).items():
        cases, passed, measured, result = (rows.get(number) or Row(number)).cells()
        print(f"{number:<4}{result:<9}{passed:>6} of {cases:<6} {promised}")
        for part in measured.split("; ") if measured != "-" else ():
            print(f"{'':27} {part}")
    broken = [name for row in rows.values() for name in row.broken]
    print("\n".join(["", *(f"broken: {name}" for name in broken)]))


def main() -> int:
    """Runs, prints, writes; gives 1 where a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("rows", nargs="*", choices=[*NUMBERS, []], help="default: all")
    parser.add_argument("--full", action="store_true", help="as often and as long as a release")
    parser.add_argument(
        "--share", type=float, metavar="PERCENT", help="how much of --full; added to the page's"
    )
    parser.add_argument("--workers", type=int, default=2, help="how many processes run tests")
    options = parser.parse_args()
    rows = {number: Row(number) for number in options.rows or NUMBERS}
    if options.full or options.share:
        share = (options.share or 100) / 100
        for name, amount in FULL.items():
            os.environ[name] = str(round(amount * share))
        seed = os.environ.setdefault("WHORL_CAMPAIGN", str(secrets.randbits(32)))
        print(f"WHORL_CAMPAIGN={seed} repeats it")
        before = rows_of(PAGE.read_text())
        for row in rows.values():
            row.seeds = [seed]
            if options.share:
                row.add(before[row.number][3])
    run_tests(rows, options.workers)
    # Rows without benchmarks are known first.
    for row in sorted(rows.values(), key=lambda row: row.number in BENCHMARKS):
        run_benchmarks(row, full=options.full or bool(options.share))
        write_page({row.number: row})
    print_table(rows)
    return int(any(row.broken for row in rows.values()))


if __name__ == "__main__":
    sys.exit(main())
