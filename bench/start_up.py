"""How long a shell waits: `whorl --help`, and a three-line file; a program: `import whorl`."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORKFLOW = 'whorl: 1\nname: tiny\nsteps: {a: {value: "done"}}\n'
ROUNDS = 9
_BARE = "python -c pass"
# Of a bare interpreter, at most.
GOALS = {"whorl --help": 4.5, "whorl run tiny": 14.0, "import whorl": 3.0}


def measure(full: bool) -> None:
    """Prints each beside the start of Python itself; they take turns, so all share the weather."""
    whorl = str(Path(sys.executable).parent / "whorl")
    commands = {
        _BARE: [sys.executable, "-c", "pass"],
        "whorl --help": [whorl, "--help"],
        "whorl run tiny": [whorl, "run", "tiny.yaml"],
        "import whorl": [sys.executable, "-c", "import whorl"],
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tiny.yaml").write_text(WORKFLOW)
        for _ in range(ROUNDS * (3 if full else 1)):
            for name, argv in commands.items():
                taken[name].append(_run(argv, folder))
    best = {name: tuple(map(min, zip(*found, strict=True))) for name, found in taken.items()}
    print("Start-up, milliseconds, the best of each, and how many times a bare interpreter that is")
    print(f"  {'':<16} {'processor':>16} {'clock':>16}")
    for name, (cpu_s, clock_s) in best.items():
        row = f"  {name:<16}"
        for seconds, bare_s in zip((cpu_s, clock_s), best[_BARE], strict=True):
            row += f" {seconds * 1000:8.0f} {seconds / bare_s:6.1f}x"
        print(row + (f"  (goal: {GOALS[name]:g})" if name in GOALS else ""))


def _run(argv: list[str], folder: str) -> tuple[float, float]:
    """Seconds of the processor and of the clock."""
    before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    after, clock_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - clock
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, clock_s
