"""Every workflow of the guide to loops can be read."""

from __future__ import annotations

import re

import pytest
from mcp_cli_files import HEAD, SHARED, read

SEEDS = sorted((SHARED / "seeds").glob("004_*.txt"))
needs_seed = pytest.mark.skipif(not SEEDS, reason="the guide is not beside the project")


def blocks() -> list[tuple[int, str]]:
    """The YAML blocks of the guide that hold a workflow or loops, with their lines."""
    if not SEEDS:
        return []
    guide = SEEDS[0].read_text()
    found = []
    for match in re.finditer(r"^ *```yaml\n(.*?)^ *```", guide, re.DOTALL | re.MULTILINE):
        body = match[1]
        is_file = re.search(r"^(steps|loops):", body, re.MULTILINE)
        if is_file and "inner_workflow.yaml" not in body and "\naccumulate:" not in body:
            found.append((guide[: match.start()].count("\n") + 2, body))
    return found


@needs_seed
@pytest.mark.parametrize(("line", "body"), blocks())
def test_every_workflow_of_the_guide_is_read(line: int, body: str) -> None:
    framed = body if "$schema" in body else HEAD + body
    given = [n for n in re.findall(r"needs: \[(.*?)\]", framed) for n in n.split(", ")]
    missing = [n for n in given if f"name: {n}" not in framed]
    framed += "".join(
        f"\nloops:\n  - {{name: {name}, workflow: task, max_iterations: 1, until: done}}\n"
        for name in missing
    )

    assert read(framed).workflow.dialect == "mcp-cli", line


@needs_seed
def test_both_files_of_the_nested_pattern_are_read() -> None:
    guide = SEEDS[0].read_text()
    body = next(b for b in re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL) if "outer_loop" in b)
    outer, inner = body.split("# inner_workflow.yaml also has a loop\n")
    reading = read(HEAD + outer, {"inner_workflow.yaml": HEAD + inner})

    assert len(blocks()) == 14
    assert [key for key, _ in reading.workflow.workflows] == ["task.yaml", "inner_workflow.yaml"]


@needs_seed
def test_what_is_accumulated_is_read_later() -> None:
    guide = SEEDS[0].read_text()
    blocks = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    body = next(block for block in blocks if "\naccumulate:" in block)
    field, steps = body.split("# Access later\n")
    name = field.rpartition(": ")[2].strip()
    loop = f"name: my_loop, workflow: w, max_iterations: 3, until: done, accumulate: {name}"

    reading = read(f"{HEAD}loops:\n  - {{{loop}}}\n{steps}")

    assert [port.name for port in reading.workflow.inputs] == ["input"]
