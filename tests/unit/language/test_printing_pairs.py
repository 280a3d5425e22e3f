"""Pairs of functions: wherever the first gives a value, the second gives the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign import amount
from whorl.language import Expression, LanguageError, MappingScope, evaluate, parse, tree
from whorl.language.printing import CannotSay, print_tree
from whorl.language.printing.pairs import LOGIC_TO_JINJA, to_jinja, to_logic_condition
from whorl.language.printing.rebuilding import rebuild

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(-1e6, 1e6),
    st.sampled_from(["", "a", "Ab ", "true", "false", "5", "é😀", "Ab Ab"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
CALLS = {
    "length": "length('{A}')",
    "empty": "empty('{A}')",
    "toLower": "toLower('{A}')",
    "toUpper": "toUpper('{A}')",
    "trim": "trim('{A}')",
    "replace": "replace('{A}', '{B}', 'x')",
    "add": "add('{A}', '{B}')",
    "sub": "sub('{A}', '{B}')",
    "mul": "mul('{A}', '{B}')",
    "greater": "greater('{A}', '{B}')",
    "greaterOrEquals": "greaterOrEquals('{A}', '{B}')",
    "less": "less('{A}', '{B}')",
    "lessOrEquals": "lessOrEquals('{A}', '{B}')",
    "equals": "equals('{A}', 'Ab ')",
    "not": "not('{A}')",
    "createArray": "createArray('{A}', '{B}')",
    "and": "and('{A}', '{B}')",
    "or": "or('{A}', not('{B}'))",
    "if": "if('{A}', 1, '{B}')",
    "coalesce": "coalesce('{A}', '{B}', 3)",
    "number": "equals('{A}', 5)",
}


def test_every_pair_is_tried() -> None:
    assert set(LOGIC_TO_JINJA) <= set(CALLS)


def _written(value: object) -> str:
    text = json.dumps(value).replace("'", "''")
    return f"json('{text}')"


def _evaluated(expression: Expression, **names: object) -> object:
    try:
        return evaluate(expression, MappingScope(names))  # type: ignore[arg-type]
    except LanguageError:
        return LanguageError


def _as_names(node: tree.Expr) -> tree.Expr:
    """The constants of a test as the names that Jinja reads them by."""
    if isinstance(node, tree.Literal) and node.value in ("{A}", "{B}"):
        return tree.Name(str(node.value)[1].lower(), 0)
    return to_jinja(node)


@pytest.mark.campaign
@pytest.mark.parametrize("name", CALLS)
@settings(max_examples=amount(100, 800), deadline=None)
@given(a=VALUES, b=VALUES)
def test_jinja_gives_what_logic_apps_gives(name: str, a: object, b: object) -> None:
    marked = CALLS[name]
    written = marked.replace("'{A}'", _written(a)).replace("'{B}'", _written(b))
    first = _evaluated(Expression("logic", f"@{written}"))
    if first is LanguageError:
        return
    source = rebuild(parse(Expression("logic", f"@{marked}")), _as_names)

    second = _evaluated(print_tree(source, "jinja"), a=a, b=b)

    assert (type(first), first) == (type(second), second)


def test_an_item_that_may_be_missing_is_null() -> None:
    source = rebuild(parse(Expression("logic", "@createArray('{A}')?[1]")), _as_names)

    assert _evaluated(print_tree(source, "jinja"), a=1) is None


CONDITIONS = ["a == 'x'", "a != 5", "not a == 'x'", "a == 'x' or a == 'y' and not (a == 7)", "true"]


@pytest.mark.campaign
@pytest.mark.parametrize("condition", CONDITIONS)
@settings(max_examples=amount(100, 800), deadline=None)
@given(a=VALUES | st.sampled_from(["x", "y", 5, 7]))
def test_logic_apps_gives_what_a_condition_gives(condition: str, a: object) -> None:
    value = parse(Expression("jinja", condition)).value
    assert value is not None
    said = to_logic_condition(value, lambda node: tree.Literal("{A}"))
    printed = print_tree(tree.Tree("logic", "", said, (), frozenset()), "logic").source

    first = _evaluated(Expression("jinja", condition), a=a)

    assert first is _evaluated(Expression("logic", printed.replace("'{A}'", _written(a))))


@pytest.mark.parametrize("condition", ["a", "a == true", "a == b", "a == 1", "a > 3", "a == none"])
def test_conditions_that_mean_something_else_there_are_refused(condition: str) -> None:
    value = parse(Expression("jinja", condition)).value
    assert value is not None

    with pytest.raises(CannotSay):
        to_logic_condition(value, lambda node: node)


@pytest.mark.parametrize("source", ["@equals(true, 1)", "@equals(null, 'true')"])
def test_equality_of_booleans_is_refused(source: str) -> None:
    with pytest.raises(CannotSay):
        rebuild(parse(Expression("logic", source)), to_jinja)
