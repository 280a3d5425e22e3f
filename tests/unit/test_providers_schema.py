"""The validator of typed answers, and how JSON is found in what a model said."""

from __future__ import annotations

from typing import Any

import pytest

from stopwatch import within
from whorl.language.schema import fit, misfits
from whorl.providers.json_values import NotJson, parse_json
from whorl.providers.models.conversation import closed, find_json, is_strict, spoken, typed_answer

POINT = {
    "type": "object",
    "properties": {"x": {"type": "number"}, "n": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["x"],
}
TREE = {
    "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}, "v": {"type": "integer"}}}},
    "$ref": "#/$defs/node",
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        *((None, {"anything": 1}), (True, 1), ({}, [1, "a", None]), ({"type": "string"}, "")),
        *(({"type": "number"}, 1), ({"type": "number"}, 1.5), ({"type": "boolean"}, False)),
        *(({"type": "null"}, None), ({"type": ["string", "null"]}, None)),
        *(({"type": "string", "nullable": True}, None), (POINT, {"x": 1, "more": True})),
        *(({"enum": ["a", 1, None]}, None), ({"const": 3}, 3)),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2}, ["a"]),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, 2),
        ({"oneOf": [{"type": "string"}, {"type": "number"}]}, 2),
        ({"allOf": [{"type": "number"}, {"minimum": 2}]}, 2),
        *(({"minimum": 0, "maximum": 1}, 0), ({"minimum": 0, "maximum": 1}, 1.0)),
        ({"type": "string", "minLength": 1, "maxLength": 1}, "ä"),
        (TREE, {"v": 1, "next": {"v": 2, "next": {"v": 3}}}),
        ({"additionalProperties": {"type": "number"}}, {"a": 1}),
        ({"type": "nonsense"}, 1),
    ],
)
def test_what_fits(schema: Any, value: Any) -> None:
    assert fit(schema, value) == (value, [])


@pytest.mark.parametrize(
    ("schema", "value", "fault"),
    [
        (False, 1, "$ is not allowed"),
        ({"type": "string"}, 1, "$ must be string, not number"),
        ({"type": "string"}, None, "$ must be string, not null"),
        ({"type": "number"}, "1", "$ must be number, not string"),
        ({"type": "number"}, True, "$ must be number, not boolean"),
        ({"type": "integer"}, True, "$ must be integer, not boolean"),
        ({"type": "integer"}, 1.5, "$ must be integer, not number"),
        ({"type": "boolean"}, 1, "$ must be boolean, not number"),
        ({"type": "boolean"}, "true", "$ must be boolean, not string"),
        ({"type": "object"}, [], "$ must be object, not array"),
        ({"type": "array"}, {}, "$ must be array, not object"),
        ({"type": ["string", "null"]}, 1, "$ must be string or null, not number"),
        (POINT, {}, "$ needs 'x'"),
        (POINT, {"x": "1"}, "$.x must be number, not string"),
        (
            POINT | {"additionalProperties": False},
            {"x": 1, "y": 1},
            "$ has a field 'y' that the schema does not name",
        ),
        (
            {"additionalProperties": {"type": "number"}},
            {"a": "b"},
            "$.a must be number, not string",
        ),
        ({"items": {"type": "string"}}, ["a", 1], "$[1] must be string, not number"),
        ({"enum": ["a", "b"]}, "c", "$ must be one of 'a', 'b', not 'c'"),
        ({"enum": [1]}, True, "$ must be one of 1, not True"),
        ({"const": 0}, False, "$ must be 0"),
        ({"minimum": 0}, -0.1, "$ must be at least 0, not -0.1"),
        ({"maximum": 1}, 2, "$ must be at most 1, not 2"),
        ({"exclusiveMinimum": 0}, 0, "$ must be more than 0, not 0"),
        ({"exclusiveMaximum": 1}, 1, "$ must be less than 1, not 1"),
        ({"minItems": 1}, [], "$ must have at least 1 items, not 0"),
        ({"maxLength": 1}, "ab", "$ must have at most 1 characters, not 2"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 2, "$ fits none of its 2 forms"),
        (
            {"oneOf": [{"minimum": 1}, {"minimum": 0}]},
            2,
            "$ fits 2 of its forms, and must fit exactly one",
        ),
        ({"allOf": [{"minimum": 3}]}, 2, "$ must be at least 3, not 2"),
        (TREE, {"next": {"next": {"v": "x"}}}, "$.next.next.v must be integer, not string"),
    ],
)
def test_what_does_not_fit(schema: Any, value: Any, fault: str) -> None:
    assert fit(schema, value)[1] == [fault]


def test_a_schema_that_refers_to_itself_ends() -> None:
    assert fit({"$ref": "#"}, {"a": 1}) == ({"a": 1}, [])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((' {"a": 1} ', {"a": 1}), ("[1, 2]", [1, 2]), ("true", True)),
        *(('```json\n{"a": 1}\n```', {"a": 1}), ('```\n{"a": 1}\n```', {"a": 1})),
        ('```python\nx = 1\n```\n```json\n{"a": 2}\n```', {"a": 2}),
        ('Here: {"a": {"b": [1]}} done', {"a": {"b": [1]}}),
        *(('Set {x | x > 1}, so {"a": 1}', {"a": 1}), ('{"a": "}"}', {"a": "}"})),
    ],
)
def test_json_is_found(text: str, value: Any) -> None:
    assert find_json(text) == value


@pytest.mark.parametrize(
    "text", ["", "no", "{", "{'a': 1}", "NaN", "1e999", "[" * 5000, "9" * 5000]
)
def test_no_json_is_found(text: str) -> None:
    with pytest.raises(NotJson):
        find_json(text)


def test_a_typed_text_need_not_be_json() -> None:
    assert typed_answer({"type": "string"}, "hello") == ("hello", [])
    assert typed_answer({"type": "string"}, '"hello"') == ("hello", [])
    assert typed_answer({"type": "number"}, "hello")[1][0].startswith("the answer is not JSON")


def test_the_strict_form_of_a_schema() -> None:
    schema: Any = {
        "type": "object",
        "properties": {"p": {"type": "object", "properties": {"enum": {"type": "string"}}}},
        "required": ["p"],
    }

    form = closed(schema)

    assert isinstance(form, dict)
    assert form["additionalProperties"] is False
    assert not is_strict(form)  # the inner object does not require its property
    assert is_strict(closed(schema | {"properties": {"p": {"type": "string"}}}))
    assert "additionalProperties" not in schema


@pytest.mark.slow
@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1),
        ({"oneOf": [{"$ref": "#"}, {"$ref": "#"}, {"type": "string"}]}, 1),
        ({"items": {"enum": [[0] * 10_000 + [n] for n in range(100)]}}, [[0] * 10_001] * 100),
        ({"items": {"required": ["a"] * 100_000}}, [{"a": 1}] * 10_000),
        ({"items": {"$ref": "#" + "/a" * 100_000}}, [1] * 10_000),
    ],
)
def test_the_check_of_a_schema_ends(schema: Any, value: Any) -> None:
    within(2, lambda: misfits(schema, value))


def test_a_check_that_takes_too_long_does_not_fit() -> None:
    _, faults = fit({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}, 1)

    assert faults == ["$ cannot be checked in 300000 steps"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think> b <THINK>c</Think>d", "b d"),
        ("<think>a", "<think>a"),
        ("<think><think>a</think>b</think>", "b</think>"),
        ("</think>a", "</think>a"),
    ],
)
def test_thinking_is_left_out(text: str, expected: str) -> None:
    assert spoken(text) == expected


@pytest.mark.parametrize(
    "text",
    ["<think>" * 20_000, "[" * 49 + "1," * 240_000, "```\n" * 50_000, "{" * 200_000],
    ids=["thinking", "lists", "fences", "braces"],
)
def test_an_answer_is_searched_in_linear_time(text: str) -> None:
    within(2, lambda: typed_answer({"type": "object"}, text))


def test_a_reply_of_too_many_values_is_refused_before_it_is_read() -> None:
    def refuse(text: str) -> None:
        with pytest.raises(NotJson, match="values"):
            parse_json(text)

    within(2, lambda: refuse("[" + "[]," * 3_000_000 + "0]"))
    within(2, lambda: refuse('["' + '","' * 1_000_000 + '"]'))
