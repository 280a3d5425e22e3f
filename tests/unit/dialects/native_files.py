"""Short ways to read native files in tests."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import TypeVar

from whorl import ir
from whorl.dialects import read_workflow

N = TypeVar("N")

# A file that uses every part of the format.
EVERYTHING = (Path(__file__).parent / "everything.yaml").read_text()


def template(source: str) -> ir.Expression:
    return ir.Expression("template", source)


def read(text: str, file: str = "test.yaml") -> ir.Workflow:
    """Reads a native file without its first line."""
    return read_workflow(f"whorl: 1\n{dedent(text)}", file).workflow


def read_step(step: str, kind: type[N]) -> N:
    """Reads a file with one step, `s`, given as flow YAML, behind a step `a` and inputs x, y."""
    workflow = read(f"inputs: {{x: string, y: json}}\nsteps:\n  a: {{value: 1}}\n  s: {step}\n")
    node = workflow.body.nodes[1]
    assert isinstance(node, kind)
    return node


def read_loop(fields: str) -> ir.Loop:
    """Reads a file with one loop, given its fields as lines."""
    lines = "\n".join(f"      {line}" for line in dedent(fields).strip("\n").splitlines())
    text = f"inputs: {{x: string}}\nsteps:\n  l:\n    repeat:\n{lines}\n"
    if "steps:" not in fields:
        text += "      steps: {w: {ask: Write, returns: json}, r: {ask: Rate, returns: json}}\n"
    loop = read(text).body.nodes[0]
    assert isinstance(loop, ir.Loop)
    return loop
