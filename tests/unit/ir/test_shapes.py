"""What is known about results before anything runs."""

from __future__ import annotations

import pytest

from whorl import ir
from whorl.ir.checks.scopes import PLAIN, TEXT, Shape, Shapes, shape_of_schema
from whorl.ir.nodes import LOOP_FACTS
from whorl.language import Expression, Json, path_in

OBJECT = Shape("object", {"a": PLAIN})


def test_a_loop_tells_just_what_is_known_of_it() -> None:
    shape = Shapes({}).of(ir.Loop(name="l", body=ir.Block(())))
    told = shape and shape.fields["loop"]

    assert told is not None
    assert set(told.fields) == set(LOOP_FACTS)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, TEXT),
        ({"type": "array", "items": {"type": "number"}}, Shape("list", items=PLAIN)),
        ({"type": "array"}, Shape("list")),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            Shape("object", {"a": PLAIN}, open=True),
        ),
        (
            {
                "type": "object",
                "properties": {"a": {"type": "string"}},
                "additionalProperties": False,
            },
            OBJECT,
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            Shape("object", {"a": TEXT}, open=True),
        ),
        ({"type": "object"}, None),
        ({"type": ["string", "object"]}, None),
        ({"enum": [1, {"a": 2}]}, None),
        ({"type": "object", "properties": {}, "anyOf": [{}]}, None),
        ({}, None),
        (True, None),
    ],
)
def test_a_schema_promises_no_more_than_it_says(schema: Json, expected: Shape | None) -> None:
    assert shape_of_schema(schema) == expected


def test_a_schema_is_followed_only_so_deep() -> None:
    schema: dict[str, Json] = {"type": "string"}
    for _ in range(1_000):
        schema = {"type": "array", "items": schema}

    assert shape_of_schema(schema) is not None


def test_workflows_that_call_each_other_have_an_end() -> None:
    call = ir.Call(name="again", workflow="w")
    outputs = (("x", Expression("jinja", "again")),)
    shapes = Shapes({"w": ir.Workflow(name="w", body=ir.Block((call,)), outputs=outputs)})

    assert shapes.of(call) == Shape("object", {"x": None})


@pytest.mark.parametrize(
    ("syntax", "source", "expected"),
    [
        ("template", "{{ a.b[-1].c }}", ("a", ("b", -1, "c"))),
        *(("jinja", "a['b']", ("a", ("b",))), ("jinja", "a[i].b", None)),
        *(("jinja", "a.b | first", None), ("jinja", "a.upper()", None)),
        *(("template", "x {{ a }}", None), ("jinja", "1", None)),
    ],
)
def test_an_expression_that_only_reads_a_path(
    syntax: str, source: str, expected: tuple[str, tuple[str | int, ...]] | None
) -> None:
    assert path_in(Expression(syntax, source)) == expected
