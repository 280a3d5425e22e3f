"""Any value anywhere gives a workflow or InvalidWorkflow, nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_cli_files import Memory

from campaign import amount
from fuzzing import changed, outcome, paths
from whorl.dialects import read_workflow
from whorl.source import plain
from whorl.source.yaml import read_yaml

pytestmark = pytest.mark.threat(row="T16")

EVERYTHING = """
$schema: workflow/v2.0
name: everything
version: 1.0.0
description: all there is
execution: {provider: a, model: b, parallel: true, max_workers: 2, servers: [s], timeout: 5m}
env: {k: v}
steps:
  - {name: one, run: "{{input}} {{env.k}} {{x}}", temperature: 0.5, on_failure: retry}
  - {name: two, needs: [one], if: "${{ one == 'x' }}", template: {name: t, with: {a: "{{one}}"}}}
  - name: three
    consensus: {prompt: "{{two}}?", executions: [{provider: a}, {model: c}], require: 2/3}
  - name: four
    loop: {workflow: w, mode: iterate, items: "{{one}}", with: {b: [1, "{{loop.index}}"]},
      max_iterations: 3, parallel: true, min_success_rate: 0.5, total_timeout: 1h}
loops:
  - {name: five, workflow: w, max_iterations: 4, until: "It says {{three}}", accumulate: all,
    with: {c: "{{loop.history}}", d: {e: "{{four}}"}}, on_failure: continue}
steps:
  - {name: six, run: "{{five}} {{all}} {{loop.iteration}}"}
"""
WHOLE: Any = plain(read_yaml(EVERYTHING, "a.yaml", joined=frozenset({"steps", "loops"})).root)
SCALARS: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**18, "", "x", "{{ x }}", "{{ ", "5s", "one", "a-b", "{{one}}"),
    *("{{loop.iteration}}", "${{ a == 1 and ( }}", "{{a.b}}", "file://x", "iterate"),
]


def test_everything_is_read() -> None:
    assert read_workflow(EVERYTHING, "main.yaml", Memory({})).warnings == ()


@pytest.mark.campaign
@settings(
    max_examples=amount(100, 800), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    st.sampled_from(paths(WHOLE)),
    st.one_of(
        st.sampled_from(SCALARS),
        st.lists(st.sampled_from(SCALARS), max_size=2),
        st.dictionaries(st.sampled_from(["a", "name", "input"]), st.sampled_from(SCALARS)),
    ),
)
def test_a_value_is_replaced(path: tuple[Any, ...], new: Any) -> None:
    outcome(json.dumps(changed(WHOLE, path, new)), "main.yaml", Memory({}))
