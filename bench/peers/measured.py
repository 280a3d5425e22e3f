"""One program of one peer, measured in a process of its own: `python -m bench.peers.measured`."""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

TEXT = base64.b64encode(bytes(range(256)) * 3).decode()
SECONDS = 0.05
SMALL = 2
ITERATIONS_AT_ONCE = 10


def main() -> None:
    """Prints what it found as JSON; the arguments are a module, a program and its size."""
    reference, program, size = sys.argv[1:]
    module, _, name = reference.partition(":")
    side: Any = import_module(module)
    side = getattr(side, name) if name else side
    try:
        found: dict[str, Any] = {"version": version(side.PACKAGE), "settings": side.SETTINGS}
    except PackageNotFoundError:
        print(json.dumps({"missing": f"{side.PACKAGE} is not installed"}))
        return
    found |= _measured(side, program, int(size))
    print(json.dumps(found))
    sys.stdout.flush()
    # Servers that a peer has started end with it; it may wait long for them otherwise.
    for child in _children():
        os.kill(child, 15)
    os._exit(0)


def _program(side: Any, program: str, size: int) -> Callable[[Path], None]:
    if program == "one":
        return lambda folder: side.one_loop(folder, size)
    if program == "many":
        return lambda folder: side.many_loops(folder, size, ITERATIONS_AT_ONCE, SECONDS)
    return lambda folder: side.growing_loop(folder, size, TEXT)


def _measured(side: Any, program: str, size: int) -> dict[str, float]:
    """CPU and bytes that a program needs beyond the same with a size of two; wall, memory of all.

    So that imports, what is compiled at first use, and making a database are no part of CPU.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        root = Path(name)
        sizes = (SMALL, SMALL, size)
        _, small, found = (_once(_program(side, program, one), root) for one in sizes)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        others = sum(_peak_mb(child) for child in _children())
    more = {name: found[name] - small[name] for name in ("cpu_s", "bytes")}
    return more | {"wall_s": found["wall_s"], "memory_mb": peak + others}


def _once(run: Callable[[Path], None], root: Path) -> dict[str, float]:
    folder = Path(tempfile.mkdtemp(dir=root))
    size, cpu, clock = _bytes_in(root), _cpu_s(), time.perf_counter()
    run(folder)
    cpu, clock = _cpu_s() - cpu, time.perf_counter() - clock
    return {"cpu_s": cpu, "wall_s": clock, "bytes": _bytes_in(root) - size}


def _bytes_in(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


def _children() -> list[int]:
    """Processes that this one has started and that still live."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    return [int(word) for word in listed.read_text().split()]


def _cpu_s() -> float:
    """CPU of this process and of those that it has started."""
    ticks = 0
    for child in _children():
        fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, fields[11:15]))
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    others = ended.ru_utime + ended.ru_stime + ticks / os.sysconf("SC_CLK_TCK")
    return time.process_time() + others


def _peak_mb(process: int) -> float:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
