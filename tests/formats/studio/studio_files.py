"""Canvas files in memory, and what reading them finds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.dialects import NoFiles, read_workflow
from whorl.errors import Diagnostic, InvalidWorkflow

if TYPE_CHECKING:
    import pytest

    from whorl.dialects import Reading

ROOT = Path(__file__).parents[3]
INPUT = {"id": "in", "type": "input", "data": {"name": "topic"}}
OUTPUT = {"id": "out", "type": "output", "data": {"name": "text"}}


def node(name: str, kind: str, **fields: Any) -> dict[str, Any]:
    """A node of a canvas."""
    return {"id": name, "type": kind, "position": {"x": 0, "y": 0}, "data": fields}


def edges(*chains: str) -> list[dict[str, str]]:
    """Edges from `a > b > c`; `a.done > b` leaves by a handle, `a > b.prompt` ends at one."""
    found: list[dict[str, str]] = []
    for chain in chains:
        names = [name.strip() for name in chain.split(">")]
        for left, right in pairwise(names):
            source, _, out = left.partition(".")
            target, _, into = right.partition(".")
            edge = {"id": f"e{len(found)}", "source": source, "target": target}
            edge |= {"sourceHandle": out} if out else {}
            found.append(edge | ({"targetHandle": into} if into else {}))
    return found


def whorl_says(place: Path, *arguments: str) -> str:
    """What a command prints in a folder."""
    program = [sys.executable, "-m", "whorl.interfaces.cli", *arguments]
    done = subprocess.run(program, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def without_keys(folder: Path, monkeypatch: pytest.MonkeyPatch, config: str = "") -> Path:
    """Makes a folder the working folder, with this configuration and no key of anybody."""
    left_out = ("_API_KEY", "_BASE_URL", "WHORL_HOME")
    for name in [name for name in os.environ if name.endswith(left_out)]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(folder)
    (folder / "whorl.toml").write_text(config)
    return folder


def canvas(nodes: list[dict[str, Any]], *chains: str, **more: Any) -> str:
    """The text of a canvas between an input and an output."""
    drawn = more | {"nodes": [INPUT, *nodes, OUTPUT], "edges": edges(*chains)}
    return json.dumps(drawn, indent=1)


def read(text: str) -> Reading:
    """Reads a canvas."""
    return read_workflow(text, "canvas.json", NoFiles(), dialect="studio")


def found_in(text: str) -> list[Diagnostic]:
    """What is wrong with a canvas, or odd about it."""
    try:
        return list(read(text).warnings)
    except InvalidWorkflow as fault:
        return list(fault.diagnostics)
