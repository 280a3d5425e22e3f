"""Whatever a file holds, the reader gives a workflow or says what is wrong; it never falls over."""

from __future__ import annotations

import json
import random

import pytest
from orka_runs import PROJECT, loop

from whorl.dialects import read_workflow
from whorl.errors import InvalidWorkflow
from whorl.ir import from_json, to_json

pytestmark = pytest.mark.threat(row="T16")

EXAMPLES = sorted((PROJECT / "examples" / "orka").glob("*.yml"))
ODD = ["null", "[]", "{}", "7", "-1", "true", "'{{ x'", "'{{ 1 }}'", "[[1]]", "{a: {b: c}}", "''"]


def read(text: str) -> None:
    try:
        workflow = read_workflow(text, "fuzz.yml", dialect="orka").workflow
    except InvalidWorkflow:
        return
    assert from_json(json.loads(json.dumps(to_json(workflow)))) == workflow


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_lines_may_be_missing(path: object) -> None:
    lines = path.read_text().split("\n")  # type: ignore[attr-defined]
    for index in range(len(lines)):
        read("\n".join(lines[:index] + lines[index + 1 :]))


@pytest.mark.parametrize("seed", range(8))
def test_values_may_be_anything(seed: int) -> None:
    chance = random.Random(seed)
    sources = [path.read_text() for path in EXAMPLES] + [loop()]
    for _ in range(40):
        lines = chance.choice(sources).split("\n")
        for _ in range(chance.randint(1, 3)):
            index = chance.randrange(len(lines))
            name, colon, _ = lines[index].partition(":")
            if colon:
                lines[index] = f"{name}: {chance.choice(ODD)}"
        read("\n".join(lines))
