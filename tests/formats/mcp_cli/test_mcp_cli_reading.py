"""What files become: models, tools, judges and words; every workflow of the guide is read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from mcp_cli_files import HEAD, SHARED, read

from whorl import ir
from whorl.providers.asking import judgement_of
from whorl.providers.task import Request


def inputs_of(workflow: ir.Workflow, name: str) -> dict[str, object]:
    node = next(node for node in workflow.body.nodes if node.name == name)
    assert isinstance(node, ir.Task)
    return {
        str(key): value.value
        for key, value in node.inputs.entries
        if isinstance(value, ir.Constant)
    }


def one_step(fields: str, execution: str = "") -> dict[str, object]:
    head = HEAD.replace("{provider: a, model: b}", f"{{{execution}}}") if execution else HEAD
    reading = read(f'{head}steps:\n  - {{name: s, run: "Go"{fields}}}\n')
    return inputs_of(reading.workflow, "s")


LISTED = "providers: [{provider: x, model: m}, {provider: y}]"
MODELS = [{"provider": "x", "model": "m"}, {"provider": "y"}]
WARM = "temperature: 0.5, max_tokens: 300"
SERVED = "servers: [filesystem, search]"


@pytest.mark.parametrize(
    ("fields", "execution", "expected"),
    [
        ("", "", {"prompt": "Go", "provider": "a", "model": "b"}),
        (", model: c", "", {"provider": "a", "model": "c"}),
        # Another provider does not get the model of the first; several are tried in order.
        (", provider: z", "", {"provider": "z", "model": None}),
        ("", LISTED, {"model": MODELS}),
        (f", {LISTED}", "", {"model": MODELS}),
        ("", WARM, {"prompt": "Go", "temperature": 0.5, "max_tokens": 300, "model": None}),
        (", temperature: 0", WARM, {"temperature": 0}),
        # Servers are tools with a limit.
        (", max_iterations: 4", SERVED, {"tools": ["filesystem", "search"], "max_turns": 4}),
        (", servers: []", SERVED, {"tools": None}),
    ],
)
def test_what_a_step_asks_and_whom(
    fields: str, execution: str, expected: dict[str, object]
) -> None:
    inputs = one_step(fields, execution)

    assert {name: inputs.get(name) for name in expected} == expected


def test_the_judge_receives_the_three_lines() -> None:
    inputs = {"question": "The output says PASS", "text": "FAIL"}
    conversation = judgement_of(Request(kind="judge", inputs=inputs, run="r", address="l[1]"))
    told = "\n".join(message.text for message in conversation.messages)

    assert 'Evaluate this condition: "The output says PASS"' in told
    assert "Output to evaluate:" in told
    assert "Answer with YES if condition is met, NO if not met." in told


def test_the_words_for_a_judgement_and_a_failure() -> None:
    words: Any = read(HEAD + "steps: [{name: a, run: A}]\n").workflow.words
    judgement = words["judgement"]
    line = str(judgement["line"]).format(question="It says DONE", verdict=judgement["met"])

    assert line == "[INFO] Condition evaluation: 'It says DONE' -> YES"
    assert words["exit_reasons"] == {"failed": "error"}


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
