"""Counts lines and files of each room against budget.toml; ends with 1 where one is over.

    budget.py [--root DIR] [--budget FILE] [--stage today|agreed|goal] [--all]

A room is the longest path in the table that a file lies under. A file that no room names, and a
file of more lines than `file_lines_max`, are faults, too. Raise a number only in the commit that
needs it, and say there what the lines are for.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    here = Path(__file__).resolve().parent
    parser.add_argument("--root", type=Path, default=here.parent)
    parser.add_argument("--budget", type=Path, default=here / "budget.toml")
    parser.add_argument("--stage", help="which column is the limit; default: that of the file")
    parser.add_argument("--all", action="store_true", help="also rooms that are within theirs")
    options = parser.parse_args()
    table = tomllib.loads(options.budget.read_text("utf-8"))
    stage = options.stage or table["stage"]
    rooms: dict[str, dict[str, list[int]]] = table["rooms"]
    package = options.root / table["package"]

    lines: Counter[str] = Counter()
    files: Counter[str] = Counter()
    faults: list[str] = []
    for path in package.rglob("*.py"):
        name = path.relative_to(package).as_posix()
        count = path.read_bytes().count(b"\n")
        parts = name.split("/")
        places = ("/".join(parts[:end]) for end in range(len(parts), 0, -1))
        room = next((place for place in places if place in rooms), "")
        if not room:
            faults.append(f"{name} lies in no room of {options.budget.name}")
        lines[room] += count
        files[room] += 1
        if count > table["file_lines_max"]:
            faults.append(f"{name} has {count} lines, at most {table['file_lines_max']} may be")

    print(f"{'room':34}{'lines':>8}{'limit':>8}{'files':>7}{'limit':>7}")
    limit_lines = limit_files = 0
    for room in [*rooms, *([""] if lines[""] else [])]:
        most_lines, most_files = rooms.get(room, {}).get(stage, [0, 0])
        limit_lines, limit_files = limit_lines + most_lines, limit_files + most_files
        is_over = lines[room] > most_lines or files[room] > most_files
        if is_over or options.all:
            mark = "  over" if is_over else ""
            print(
                f"{room or '(none)':34}{lines[room]:8,}{most_lines:8,}"
                f"{files[room]:7}{most_files:7}{mark}"
            )
        if is_over:
            faults.append(f"{room or '(none)'} is over its budget")
    total = (lines.total(), files.total())
    core = sum(n for room, n in lines.items() if not room.startswith(("wings", "formats")))
    if stage != "today":
        most = table["total"]
        if total[0] > most[0] or total[1] > most[1] or core > table["core"]:
            faults.append(
                f"all: {total[0]:,} lines in {total[1]} files, core {core:,}; "
                f"at most {most[0]:,} in {most[1]}, core {table['core']:,}"
            )
    print(f"{'all':34}{total[0]:8,}{limit_lines:8,}{total[1]:7}{limit_files:7}")
    goal_lines, goal_files = table["goal"]
    print(
        f"to the goal of {goal_lines:,} lines in {goal_files} files: "
        f"{total[0] - goal_lines:+,} lines, {total[1] - goal_files:+} files"
    )
    for fault in faults:
        print(f"fault: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
