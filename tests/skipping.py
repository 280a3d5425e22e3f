"""Skips: `skips.toml` names each that may be, with the reason; any other one fails."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent


@cache
def skips() -> list[dict[str, Any]]:
    """What may be skipped."""
    found: list[dict[str, Any]] = tomllib.loads((TESTS / "skips.toml").read_text())["skip"]
    return found


def may_skip(file: str, reason: str) -> bool:
    """Whether a file, named from the root of the project, may be skipped with these words."""
    return any(
        re.search(skip["says"], reason)
        and any(Path(file).is_relative_to(Path("tests", folder)) for folder in skip["below"])
        for skip in skips()
    )


def refuse_skip(report: Any) -> None:
    """Turns the report of a skip that is not named into one of a failure."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2].removeprefix("Skipped: ")
    if not may_skip(report.nodeid.partition("::")[0], reason):
        report.outcome = "failed"
        report.longrepr = f"tests/skips.toml does not name this skip: {reason}"
