"""Any bytes give a workflow or InvalidWorkflow, nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from studio_files import ROOT

from campaign import amount
from fuzzing import changed, outcome, paths
from whorl.dialects import NoFiles, read_workflow

pytestmark = pytest.mark.threat(row="T16")

WHOLE: Any = json.loads((ROOT / "examples" / "studio" / "agentic-search.json").read_text())
WHOLE["nodes"] += [
    {"id": "each", "type": "iterator", "data": {"expression": "$.a[*]"}},
    {"id": "t", "type": "transform", "data": {"mode": "script", "template": "map(a) | first"}},
    {"id": "all", "type": "aggregator", "data": {"strategy": "concat"}},
    {"id": "run", "type": "shell_exec", "data": {"command": "echo '{{question}}'"}},
    {"id": "h", "type": "http_request", "data": {"url": "https://a.b/{{input}}", "headers": {}}},
    {"id": "v", "type": "validator", "data": {"schema": "{}"}},
]
WHOLE["edges"] += [
    {"source": "leave", "target": "each"},
    {"source": "each", "target": "t"},
    {"source": "t", "target": "all"},
    {"source": "all", "target": "run"},
    {"source": "run", "target": "h"},
    {"source": "h", "target": "v"},
]
TEXT = json.dumps(WHOLE)
IDS = [node["id"] for node in WHOLE["nodes"]]
TYPES = [node["type"] for node in WHOLE["nodes"]]
SCALARS: list[Any] = [
    *(None, True, 0, -1, 1.5, 10**18, "", "x", "{{ x }}", "{{", "{{input | nope}}", "| length"),
    *("$.a[", "$..*", "{{plan.output[0]}}", "'\"\\", "evaluator", "append", "branch-9", "done"),
    *IDS,
    *TYPES,
]


def read(text: str) -> None:
    outcome(text, "main.json", NoFiles(), dialect="studio")


def test_the_whole_is_read() -> None:
    assert read_workflow(TEXT, "main.json", NoFiles()).workflow.dialect == "studio"


@pytest.mark.campaign
@settings(
    max_examples=amount(100, 800), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(paths(WHOLE)),
            st.one_of(
                st.sampled_from(SCALARS),
                st.lists(st.sampled_from(SCALARS), max_size=2),
                st.dictionaries(st.sampled_from(["id", "name", "type"]), st.sampled_from(SCALARS)),
            ),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_values_are_replaced(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    drawn = WHOLE
    for path, new in changes:
        if path in paths(drawn):
            drawn = changed(drawn, path, new)
    read(json.dumps(drawn))


@pytest.mark.slow
@pytest.mark.campaign
@settings(
    max_examples=amount(100, 800), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(IDS),
            st.sampled_from(IDS),
            st.sampled_from(["", "done", "continue", "count", "branch-0"]),
        ),
        max_size=14,
    )
)
def test_edges_lead_anywhere(found: list[tuple[str, str, str]]) -> None:
    edges = [{"source": s, "target": t, "sourceHandle": h} for s, t, h in found]
    read(json.dumps(WHOLE | {"edges": edges}))


@given(st.binary(max_size=100))
def test_any_bytes(found: bytes) -> None:
    read('{"nodes": [' + found.decode("utf-8", "replace") + "]}")
