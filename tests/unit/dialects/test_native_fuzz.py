"""A file with any part changed gives a workflow or InvalidWorkflow; hostile files end soon."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_files import EVERYTHING

from campaign import amount
from stopwatch import within
from whorl import ir
from whorl.dialects import read_workflow
from whorl.errors import Diagnostic, InvalidWorkflow
from whorl.source import plain
from whorl.source.yaml import read_yaml

pytestmark = pytest.mark.threat(row="T16")

WHOLE: Any = plain(read_yaml(EVERYTHING, "everything.yaml").root)
SCALARS: list[Any] = [None, True, False, 0, -1, 1.5, 10**18, "", "x", "{{ x }}", "{{ ", "5s", "a-b"]


def outcome(text: str | bytes, file: str = "a.yaml") -> list[str]:
    """The codes of what is wrong; whatever is read can be stored."""
    try:
        workflow = read_workflow(text, file).workflow
    except InvalidWorkflow as fault:
        codes = [_checked(found) for found in fault.diagnostics]
    else:
        assert ir.from_json(ir.to_json(workflow)) == workflow
        return []
    assert codes
    return codes


def _checked(found: Diagnostic) -> str:
    assert found.message
    assert not found.message[0].isupper() or found.message.startswith(("YAML", "JSON"))
    return found.code


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += _paths(inner, (*path, index))
    return found


PATHS = _paths(WHOLE)
KEYS = ["a", "steps", "if", "on", "of", "from", "x-y"]
JSON: st.SearchStrategy[Any] = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3)
    ),
    max_leaves=6,
)


def _replace(place: Any, path: tuple[Any, ...], value: Any) -> None:
    """Puts a value at a path, unless an earlier change has taken the path away."""
    for key in path[:-1]:
        known = place if isinstance(place, dict) else range(len(place))
        if key not in known or not isinstance(place[key], dict | list):
            return
        place = place[key]
    if isinstance(place, dict) or path[-1] in range(len(place)):
        place[path[-1]] = value


@pytest.mark.campaign
@settings(
    max_examples=amount(100, 800), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.lists(st.tuples(st.sampled_from(PATHS), JSON), min_size=1, max_size=3))
def test_a_valid_file_with_values_replaced(changes: list[tuple[tuple[Any, ...], Any]]) -> None:
    whole = json.loads(json.dumps(WHOLE))
    for path, value in changes:
        _replace(whole, path, value)

    outcome(json.dumps(whole), "a.json")


@pytest.mark.sample(6)
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_each_field_left_out(path: tuple[Any, ...]) -> None:
    whole = json.loads(json.dumps(WHOLE))
    place = whole
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]

    outcome(json.dumps(whole), "a.json")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("whorl: 1\nsteps: " + "[" * 100_000, "W002"),
        ("whorl: 1\nsteps: " + "{a: " * 70 + "1" + "}" * 70, "W002"),
        ('whorl: 1\nsteps: {a: {ask: "' + "{{ x }}" * 5_000 + '"}}', "W005"),
        ('whorl: 1\nsteps: {a: {ask: "{{ ' + "(" * 5_000 + ' }}"}}', "W008"),
        ("whorl: 1\nsteps: {a: {ask: \"{{ ''.__class__.__mro__[1] }}\"}}", ""),
        ("whorl: 1\nsteps: {a: {ask: '{% import \"os\" as os %}'}}", "W008"),
        ("whorl: 1\nsteps: {a: {ask: '{% include \"/etc/passwd\" %}'}}", "W008"),
        ("whorl: 1\nsteps: !!python/object/apply:os.system [id]", "W001"),
        ("whorl: 1\nsteps: {a: {call: ../../etc/passwd}}", "W016"),
        ("whorl: 1\nsteps: [{name: a, ask: hi, returns: {enum: []}}]", "W007"),
        ("whorl: 1\nsteps: {a: {run: 'echo `{{ 1 }}`'}}", "W021"),
        (
            "whorl: 1\nsteps: {l: {repeat: {until: {score: {pattern: '(a{1000}){1000}'}},"
            " steps: {b: {ask: Hi}}}}}",
            "W014",
        ),
        ("whorl: 1\nsteps:\n" + "".join(f"  s{n}: {{aks: x}}\n" for n in range(5_000)), "W004"),
        (
            "whorl: 1\nsteps: {a: {ask: Hi, " + ", ".join(f"b{n}: 1" for n in range(5_000)) + "}}",
            "W004",
        ),
        (
            "whorl: 1\nsteps:\n"
            + "".join(f"  s{n}: {{value: 1, after: s{(n + 1) % 1_900}}}\n" for n in range(1_900)),
            "W011",
        ),
    ],
)
def test_hostile_files_are_refused_soon(text: str, code: str) -> None:
    codes = within(5, lambda: outcome(text))

    assert not code or codes[0] == code
