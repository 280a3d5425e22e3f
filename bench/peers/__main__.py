"""One table of how Whorl compares with its peers: `python -m bench.peers`.

Every program of every peer runs in a process of its own, in the same run of this command. CPU and
bytes are what a program needs beyond a tiny one of its kind. Peers that are not installed, or that
need longer than they are given, are listed as such.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

from bench.peers.picture import picture

# By name: where it is, and whether it needs the packages of requirements/frameworks.txt.
PEERS = {
    "by hand": ("bench.peers.sides:Hand", False),
    "Whorl": ("bench.peers.sides:Whorl", False),
    "Whorl, with effects": ("bench.peers.sides:WhorlPaid", False),
    "LangGraph": ("bench.peers.sides:LangGraph", True),
    "Burr": ("bench.peers.burr_side", True),
    "pydantic-graph": ("bench.peers.pydantic_graph_side", True),
    "DBOS": ("bench.peers.dbos_side", True),
    "Prefect": ("bench.peers.prefect_side", True),
}
# By name: what it is, its size, and its size where minutes do not matter.
PROGRAMS = {
    "one": ("one loop, two trivial steps, iterations", 100, 1000),
    "many": ("loops at once, 10 iterations of 50 ms", 100, 1000),
    "growing": ("one loop that adds 1 KB to its state, iterations", 100, 1000),
}
FRAMEWORKS = Path(__file__).parents[2] / ".venv/frameworks/bin/python"


def main() -> None:
    """Measures, prints, and writes what it found."""
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("peers", nargs="*", choices=[*PEERS, []], help="default: all")
    parser.add_argument("--full", action="store_true", help="large programs, which take minutes")
    parser.add_argument("--patience", type=float, default=600.0, metavar="SECONDS")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found")
    parser.add_argument("--svg", type=Path, metavar="FILE", help="draw it")
    options = parser.parse_args()
    when = f"{date.today()}, Python {platform.python_version()}, {os.cpu_count()} cores"
    found: dict[str, Any] = {}
    for program, (title, *sizes) in PROGRAMS.items():
        size = sizes[options.full]
        print(f"{title}: {size:,}")
        rows: dict[str, Any] = {}
        for peer in ["by hand", *(one for one in options.peers or PEERS if one != "by hand")]:
            rows[peer] = measured(peer, program, size, options.patience)
            print(line(peer, rows[peer], rows["by hand"]), flush=True)
        found[program] = {"title": title, "size": size, "peers": rows}
        print()
    print(f"  {when}")
    for peer, settings in settings_of(found).items():
        print(f"  {peer}: {settings}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.svg:
        options.svg.write_text(picture(found, when))


def measured(peer: str, program: str, size: int, patience_s: float) -> dict[str, Any]:
    """What a process of its own found, or why it found nothing."""
    reference, is_framework = PEERS[peer]
    python = str(FRAMEWORKS) if is_framework and FRAMEWORKS.exists() else sys.executable
    argv = [python, "-m", "bench.peers.measured", reference, program, str(size)]
    try:
        ended = subprocess.run(
            argv, check=False, capture_output=True, text=True, timeout=patience_s
        )
    except subprocess.TimeoutExpired:
        return {"missing": f"not done within {patience_s:.0f} s"}
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no words"])[-1]
        return {"missing": f"failed: {last[:100]}"}
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def line(peer: str, row: dict[str, Any], hand: dict[str, Any]) -> str:
    """A row of the table."""
    if "missing" in row:
        return f"  {peer:<20} {row['missing']}"
    ratio = row["cpu_s"] / hand["cpu_s"]
    parts = f"CPU {row['cpu_s']:8.3f} s {ratio:8.1f}x  wall {row['wall_s']:8.3f} s"
    space = f"{row['bytes'] / 1000:9.0f} kB  {row['memory_mb']:6.0f} MB"
    return f"  {peer:<20} {row['version']:<10} {parts}  {space}"


def settings_of(found: dict[str, Any]) -> dict[str, str]:
    """How each peer that was measured was set."""
    rows = [row for program in found.values() for row in program["peers"].items()]
    return {peer: row["settings"] for peer, row in rows if "settings" in row}


if __name__ == "__main__":
    main()
