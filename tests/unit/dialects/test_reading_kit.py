"""The reader kit: contexts, scalars, fields, tables and texts that all readers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whorl import ir
from whorl.dialects.reader import parse
from whorl.dialects.reading import REPORTED_MAX, ReadContext
from whorl.dialects.reading.fields import (
    Field,
    Fields,
    Table,
    check_id,
    check_node,
    check_table,
    duration_of,
    is_true,
    number_of,
    objects_of,
    scalar_of,
    shown,
    span_of,
    text_of,
    texts_of,
    unknown_fields,
    whole_of,
)
from whorl.dialects.reading.texts import read_tree

if TYPE_CHECKING:
    from whorl.source import Mapping, Scalar, Value


def context_of(text: str) -> ReadContext:
    return ReadContext(parse(text, "folder/file.test.yaml"), None)  # type: ignore[arg-type]


def field_of(text: str) -> Value | None:
    return context_of(f"field: {text}").root.get("field")


def messages(context: ReadContext) -> list[str]:
    return [f"{d.code} {d.message}" for d in (*context.diagnostics, *context.warnings)]


def test_context_keeps_each_diagnostic_once_and_not_too_many() -> None:
    context = context_of("a: 1")
    for number in range(REPORTED_MAX + 5):
        context.report("W007", f"wrong {number}", None)
        context.report("W007", f"wrong {number}", None)
    context.warn("W023", "odd", None)

    assert len(context.diagnostics) == REPORTED_MAX
    assert [d.severity for d in context.warnings] == ["warning"]
    assert context.is_full


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("word", ("word", ("word",), None, None, None, False, "'word'")),
        ("7", ("7", ("7",), 7, 7, 7.0, False, "7")),
        ("1.5", ("1.5", ("1.5",), 1.5, None, 1.5, False, "1.5")),
        ("90s", ("90s", ("90s",), None, None, 90.0, False, "'90s'")),
        ("true", ("true", ("true",), None, None, None, True, "true")),
        ("null", ("", (), None, None, None, False, "nothing")),
        ("[a, b]", ("", ("a", "b"), None, None, None, False, "a list")),
        ("{a: 1}", ("", (), None, None, None, False, "an object")),
    ],
)
def test_scalars(text: str, expected: tuple[object, ...]) -> None:
    value = field_of(text)
    assert value is not None
    read = (text_of, texts_of, number_of, whole_of, duration_of, is_true, shown)

    assert tuple(function(value) for function in read) == expected
    assert (scalar_of(value) is None) is (text == "null" or text[0] in "[{")


def test_fields_are_read_as_what_they_must_be() -> None:
    context = context_of("{n: '4', f: 'true', w: b, t: x, none: null, empty: ''}")
    fields = Fields(context, context.root, owner="step 'a'", span=context.root.span)

    assert fields.number("n") == 4
    assert fields.flag("f", default=False)
    assert fields.word("w", ("a", "b"), "a") == "b"
    assert (fields.text("t"), fields.text("empty", "y"), fields.text("none", "y")) == (
        "x",
        "y",
        "y",
    )
    assert context.diagnostics == []


def test_wrong_fields_count_as_absent_and_are_reported() -> None:
    context = context_of("{n: x, f: maybe, w: bb, t: [1]}")
    fields = Fields(context, context.root, owner="step 'a'", span=context.root.span)

    assert fields.number("n") is None
    assert fields.flag("f", default=True)
    assert fields.word("w", ("a", "b"), "a") == "a"
    assert fields.text("t", "y") == "y"
    fields.missing("z", "a name")
    assert messages(context) == [
        "W007 'n' of step 'a' must be a number, not 'x'",
        "W007 'f' of step 'a' must be true or false, not 'maybe'",
        "W007 'w' of step 'a' must be one of a, b, not 'bb'",
        "W007 't' of step 'a' must be a text, not a list",
        "W006 step 'a' lacks the field 'z'",
    ]


def test_of_many_unknown_fields_the_first_are_compared() -> None:
    root = context_of("".join(f"promp{n:04}: 1\n" for n in range(1_200)) + "promt: 1\n").root
    questions = [question for _, question in unknown_fields(root, ["promp0000x", "prompt"])]

    assert len(questions) == 1_201
    assert any(questions[:1_000])
    assert not any(questions[1_000:])


def test_nodes_and_edges_of_a_graph_are_checked() -> None:
    context = context_of("{nodes: [{id: a}, {id: a}, {id: 'a/b'}, {}, 7], edges: []}")
    nodes: dict[str, Mapping] = {}
    for item in objects_of(context, context.root, "nodes", "write objects"):
        name = check_id(context, item, nodes)
        if name:
            nodes[name] = item
    edge = context_of("{source: b}").root

    assert not check_node(context, edge, "source", nodes, "connect it")
    assert not check_node(context, edge, "target", nodes, "connect it")
    assert messages(context) == [
        *("W007 'nodes' must be a list of objects", "W012 two nodes have the id 'a'"),
        *("W012 the id 'a/b' is not valid", "W006 a node lacks its 'id'"),
        *("W010 an edge has no node 'b' as its source", "W010 an edge lacks its 'target'"),
    ]
    assert span_of(edge, "target") == edge.span


STEP = Table(
    "step",
    {
        "name": Field("text", required=True, example="draft"),
        "times": Field("count", low=1, high=9),
        "wait": Field("duration"),
        "mode": Field("word", words=("fast", "slow")),
        "tags": Field("texts"),
    },
    instead={"retries": "write times"},
)
FILE = Table(
    "workflow",
    {
        "steps": Field("list", required=True, inner=STEP, example="[...]"),
        "first": Field("object", inner=STEP),
    },
)


def test_table_finds_unknown_missing_and_wrong_fields_at_once() -> None:
    context = context_of(
        """{steps: [{name: a, times: 10, wait: soon, mode: fats, tags: [[]], retries: 1}, x],
            first: {naem: b}, step: 1}"""
    )
    check_table(context, context.root, FILE, "the workflow")

    assert messages(context) == [
        "W015 'times' of step 'a' must be a whole number from 1 to 9, not 10",
        "W007 'wait' of step 'a' must be a duration such as 90s or 5m, not 'soon'",
        "W007 'mode' of step 'a' must be one of fast, slow, not 'fats'",
        "W007 'tags' of step 'a' must be a list of names, not a list",
        "W004 step 'a' has no field 'retries'",
        "W007 a step of the workflow must be an object, not 'x'",
        "W004 'first' of the workflow has no field 'naem'",
        "W004 the workflow has no field 'step'",
    ]
    assert context.diagnostics[4].help == "write times"


def _read(scalar: Scalar) -> ir.Value:
    is_code = scalar.text.startswith("=")
    return ir.Expression("jinja", scalar.text[1:]) if is_code else ir.Constant(scalar.value)


def test_keys_of_a_tree_may_be_expressions() -> None:
    key = ir.Expression("jinja", "k")
    value = field_of("{'=k': 1}")
    tree = read_tree(value, _read, read_key=lambda scalar: key, folds=True)

    assert tree == ir.Fields(((key, ir.Constant(1)),))
