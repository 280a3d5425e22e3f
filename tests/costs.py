"""What tests cost: at the end the slowest twenty, and the time of all of them.

`WHORL_COSTS=FILE` keeps what each one cost, a line of JSON each, for `tools/mutate.py`.
`WHORL_SECONDS=N` leaves out what has not begun after so long, and is no failure.
"""

from __future__ import annotations

import json
import os
import resource
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SLOWEST = 20
LATE = "its time was over"
_KEPT = os.environ.get("WHORL_COSTS", "")
_SECONDS = float(os.environ.get("WHORL_SECONDS", "inf"))
_BEGAN = time.monotonic()


def cpu_s() -> float:
    """What this process and those that it has waited for took of the processors."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if time.monotonic() - _BEGAN > _SECONDS:
        item.add_marker(pytest.mark.skip(reason=LATE))
    item.user_properties.append(("began", (time.monotonic(), cpu_s())))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    began = dict(item.user_properties).get("began")
    if report.when == "teardown" and began:
        cost = (time.monotonic() - began[0], cpu_s() - began[1])
        report.user_properties = [*report.user_properties, ("cost", cost)]
    return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return
    costs: dict[str, tuple[float, float]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            cost = dict(getattr(report, "user_properties", ())).get("cost")
            if cost:
                costs[report.nodeid] = tuple(cost)
    if _KEPT:
        with Path(_KEPT).open("a", encoding="utf-8") as lines:
            for test, (wall, cpu) in costs.items():
                lines.write(json.dumps({"test": test, "wall_s": wall, "cpu_s": cpu}) + "\n")
    terminalreporter.section("the slowest, in seconds: on the clock, on a processor")
    for test, (wall, cpu) in sorted(costs.items(), key=lambda one: -one[1][0])[:SLOWEST]:
        terminalreporter.write_line(f"{wall:7.2f} {cpu:7.2f}  {test}")


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        took = time.monotonic() - _BEGAN
        print(f"took {took:.0f} s on the clock, {cpu_s():.0f} s of processors")
