"""Any call is a value or an error of the language; what is printed can be read again."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.language import Expression, LanguageError, MappingScope, evaluate, functions

pytestmark = pytest.mark.threat(row="T16")

SCOPE = MappingScope(
    {
        "$variables": {"a": {"b": [1, 2.5, None, "x"]}, "t": "text", "n": 3},
        "$parameters": {},
        "$actions": {"x": {"outputs": {"body": {"status": "ok"}}}, "y": None},
        "$trigger": {"outputs": {"body": [1]}},
        "$item": "i",
        "$now": 1e9,
        "$seed": "s",
    }
)

NAMES = [entry.name for entry in functions("logic")]
ATOMS = st.sampled_from(
    (
        *("'text'", "''", "'2024-01-01T00:00:00Z'", "'<a b=\"1\"><c/>d</a>'", "'/a/*'", "'0.00'"),
        *("'Pacific Standard Time'", "'Day'", "'de-DE'", "'{\"k\": [1]}'", "0", "1", "-3", "2.5"),
        *("1e300", "9223372036854775807", "true", "null", "variables('a')", "variables('a')?.b"),
        *("body('x')", "body('y')", "json('[]')", "json('{}')", "xml('<a>1</a>')", "binary('x')"),
        *("decimal('1.50')", "float('NaN')"),
    )
)


def _call(arguments: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    listed = st.lists(arguments, max_size=4).map(", ".join)
    called = st.builds("{}({})".format, st.sampled_from(NAMES), listed)
    access = st.builds("{}{}".format, called, st.sampled_from(("", ".a", "?['b']", "[0]", "?[1]")))
    return called | access


CALLS = st.recursive(ATOMS, _call, max_leaves=8)


def _is_json(value: object) -> bool:
    return bool(json.loads(json.dumps(value, allow_nan=False)) == value)


@pytest.mark.campaign
@given(CALLS.map("@{}".format) | CALLS.map("-@{{{}}}-".format))
@settings(max_examples=amount(100, 800), deadline=None)
def test_any_call_is_a_value_or_an_error(source: str) -> None:
    try:
        value = evaluate(Expression("logic", source), SCOPE)
    except LanguageError:
        return
    assert _is_json(value)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@pytest.mark.campaign
@given(st.lists(VALUES, max_size=4))
@settings(max_examples=amount(100, 800), deadline=None)
def test_printed_json_reads_back(value: list[object]) -> None:
    scope = MappingScope({"$variables": {"v": value}})  # type: ignore[dict-item]

    assert value == evaluate(Expression("logic", "@json(string(variables('v')))"), scope)
    assert evaluate(
        Expression("logic", "@equals(json(string(variables('v'))), variables('v'))"), scope
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_printed_float_reads_back(number: float) -> None:
    scope = MappingScope({"$variables": {"n": number}})

    assert number == evaluate(Expression("logic", "@float(string(variables('n')))"), scope)
