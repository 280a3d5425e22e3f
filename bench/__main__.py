"""Prints how Whorl compares with a bare journal and with LangGraph, measured in one run."""

from __future__ import annotations

import argparse
import base64
import gc
import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from bench import (
    bare_side,
    crowd,
    editor,
    experiments,
    fair,
    first_token,
    frames,
    growth,
    langgraph_side,
    logic_apps,
    long_run,
    prices,
    records,
    soak,
    start_up,
    watchers,
    whorl_side,
)


def main() -> None:
    """Runs the chosen benchmarks."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("which", nargs="*", choices=[*BENCHMARKS, []], help="default: all")
    parser.add_argument("--full", action="store_true", help="also the parts that take minutes")
    options = parser.parse_args()
    gc.set_threshold(20_000, 5, 80)  # as the command does; it holds for all sides
    for name in options.which or BENCHMARKS:
        BENCHMARKS[name](options.full)
        print()


def iteration(full: bool) -> None:
    """CPU of one durable iteration of two trivial nodes."""
    print("One durable iteration of two trivial nodes, milliseconds of CPU")
    bare = _best(lambda f: bare_side.one_loop(f, 1000)["cpu_s"], 3)
    whorl = _best(lambda f: whorl_side.one_loop(f, 1000)["cpu_s"], 3)
    _row("bare SQLite journal", bare, "ms", bare)
    _row("Whorl", whorl, "ms", bare)
    paid = _best(lambda f: whorl_side.one_loop(f, 1000, effect="outside")["cpu_s"], 3)
    _row("Whorl, both nodes with effects (2 commits)", paid, "ms", bare)
    if langgraph_side.is_installed():
        other = _best(lambda f: langgraph_side.one_loop(f, 300)["cpu_s"], 2) / 0.3
        _row("LangGraph, SQLite saver, sync", other, "ms", bare)
        print(f"  Whorl needs 1/{other / whorl:.1f} of LangGraph's CPU (goal: 1/6),")
        print(f"  1/{other / paid:.1f} where no reply may be lost because it was paid for")


def many(full: bool) -> None:
    """1,000 loops of 10 iterations of 50 ms at once."""
    print("1,000 loops x 10 iterations x 50 ms at once, seconds (ideal 0.5)")
    bare = _best(lambda f: bare_side.many_loops(f, 1000, 10, 0.05), 2)
    whorl = _best(lambda f: whorl_side.many_loops(f, 1000, 10, 0.05), 2)
    _row("bare journal, group commit", bare, "s", bare)
    _row("Whorl", whorl, "s", bare)
    if langgraph_side.is_installed():
        loops = 1000 if full else 100
        other = _best(lambda f: langgraph_side.many_loops(f, loops, 10, 0.05), 1)
        scaled = other * 1000 / loops
        how = "" if full else f" ({loops} loops took {other:.1f} s; scaled)"
        _row(f"LangGraph, SQLite saver, sync{how}", scaled, "s", bare)
        print(f"  Whorl needs 1/{scaled / whorl:.0f} of LangGraph's time")


def stored(full: bool) -> None:
    """Bytes for 1,000 iterations that add 1 KB each."""
    print("1,000 iterations that add 1 KB each, megabytes stored")
    text = base64.b64encode(os.urandom(768)).decode()  # cannot be compressed to much less
    bare = _best(lambda f: bare_side.one_loop(f, 1000, nodes=1, text=text)["bytes"], 1) / 1e6
    whorl = _best(lambda f: whorl_side.one_loop(f, 1000, nodes=1, text=text)["bytes"], 1) / 1e6
    payload = 1000 * 1024 / 1e6
    _row("the payload itself", payload, "MB", payload)
    _row("bare SQLite journal", bare, "MB", payload)
    _row("Whorl (goal: 1.5x)", whorl, "MB", payload)
    if langgraph_side.is_installed():
        count = 1000 if full else 250
        size = _best(lambda f: langgraph_side.one_loop(f, count, text=text, grows=True)["bytes"], 1)
        other = size / 1e6 * (1000 / count) ** 2
        how = (
            ""
            if full
            else f" ({count} iterations took {size / 1e6:.0f} MB; it grows as the square)"
        )
        _row(f"LangGraph, SQLite saver{how}", other, "MB", payload)


def _best(measure: Callable[[Path], float], times: int) -> float:
    found = []
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            found.append(measure(Path(folder)))
    return min(found)


def _row(name: str, amount: float, unit: str, base: float) -> None:
    print(f"  {name:<44} {amount:>9.3f} {unit:<3} {amount / base:>8.1f}x")


def cluster(full: bool) -> None:
    """Loops on Temporal, and the same by hand."""
    if find_spec("temporalio") is None:
        print("On a cluster: the extra `temporal` is not installed")
        return
    from bench import cluster as side

    side.measure(full)


BENCHMARKS: dict[str, Callable[[bool], None]] = {
    "iteration": iteration,
    "many": many,
    "stored": stored,
    "long": long_run.measure,
    "growth": growth.measure,
    "start": start_up.measure,
    "logic": logic_apps.measure,
    "crowd": crowd.measure,
    "watchers": watchers.measure,
    "fair": fair.measure,
    "first-token": first_token.measure,
    "prices": prices.measure,
    "records": records.measure,
    "experiments": experiments.measure,
    "editor": editor.measure,
    "frames": frames.measure,
    "soak": soak.measure,
    "cluster": cluster,
}

if __name__ == "__main__":
    main()
