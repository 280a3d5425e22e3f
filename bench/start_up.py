"""How long a shell waits: `whorl --help`, and a three-line file; a program: `import whorl`."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Prints how long it took, on the clock and on the processor.
IMPORT = """
import time
clock, cpu = time.perf_counter(), time.process_time()
import whorl
print(time.perf_counter() - clock, time.process_time() - cpu)
"""
WORKFLOW = 'whorl: 1\nname: tiny\nsteps: {a: {value: "done"}}\n'


def measure(full: bool) -> None:
    """Prints both beside the start of Python itself."""
    command = str(Path(sys.executable).parent / "whorl")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tiny.yaml").write_text(WORKFLOW)
        python = _best([sys.executable, "-c", "pass"], folder)
        print("Start-up, milliseconds of the clock, best of 7")
        print(f"  {'python -c pass':<28} {python:7.0f}")
        print(f"  {'whorl --help (goal: 100)':<28} {_best([command, '--help'], folder):7.0f}")
        tiny = _best([command, "run", "tiny.yaml"], folder)
        print(f"  {'whorl run tiny (goal: 400)':<28} {tiny:7.0f}")
        clock, cpu = _import_ms(folder)
        print(f"  {'import whorl (goal: 60)':<28} {clock:7.0f}  (cpu {cpu:.0f})")


def _import_ms(folder: str) -> tuple[float, float]:
    """The import alone, in a process that has begun."""
    argv = [sys.executable, "-c", IMPORT]
    runs = [subprocess.run(argv, cwd=folder, check=True, capture_output=True) for _ in range(7)]
    clocks, cpus = zip(*(map(float, run.stdout.split()) for run in runs), strict=True)
    return min(clocks) * 1000, min(cpus) * 1000


def _best(argv: list[str], folder: str) -> float:
    found = []
    for _ in range(7):
        clock = time.perf_counter()
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
        found.append((time.perf_counter() - clock) * 1000)
    return min(found)
