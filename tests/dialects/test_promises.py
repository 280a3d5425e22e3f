"""What the documents of the other systems promise is held by a test or a case of conformance."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROMISES: dict[str, Any] = tomllib.loads((HERE / "promises.toml").read_text("utf-8"))
DOCUMENTS = {"loom": "003", "orka": "001", "studio": "002", "shodan": "000", "mcp-cli": "004"}


def known(dialect: str) -> set[str]:
    """The titles of the dialect's cases, the names of tests of formats, its examples."""
    cases = [path.read_text("utf-8") for path in (ROOT / "conformance" / dialect).glob("*.md")]
    folders = (HERE, HERE.parent / "formats")
    tests = [path.read_text("utf-8") for one in folders for path in one.rglob("test_*.py")]
    titles = re.findall(r"^# (.+)$", "\n".join(cases), re.MULTILINE)
    examples = [f"examples/{path.parent.name}/{path.name}" for path in ROOT.glob("examples/*/*")]
    functions = re.findall(r"^def (test_\w+)\(", "\n".join(tests), re.MULTILINE)
    return {*titles, *functions, *examples}


@pytest.mark.parametrize("dialect", DOCUMENTS)
def test_each_promise_has_a_test_or_a_case(dialect: str) -> None:
    tables = PROMISES[dialect].get("quotes", {}), PROMISES[dialect].get("promises", {})
    names = [name for table in tables for held in table.values() for name in _listed(held)]

    assert names
    assert [name for name in names if name not in known(dialect)] == []


def _listed(held: str | list[str]) -> list[str]:
    return [held] if isinstance(held, str) else held
