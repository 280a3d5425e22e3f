"""Fields of native steps and loops, and the schema of them that editors use."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from native_files import EVERYTHING, read_loop, read_step, template

from whorl import ir
from whorl.dialects.native import native_schema
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import FILE
from whorl.source import plain
from whorl.source.yaml import read_yaml

SCHEMA: dict[str, Any] = dict(native_schema())


def closed(**fields: object) -> dict[str, object]:
    """The schema of an object with these fields, of which those with a `_` may be left out."""
    return {
        "type": "object",
        "properties": {name.rstrip("_"): field for name, field in fields.items()},
        "required": [name for name in fields if name[-1] != "_"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("returns", "schema"),
    [
        ("boolean", {"type": "boolean"}),
        ("[string]", {"type": "array", "items": {"type": "string"}}),
        (
            "{approved: boolean, note: string?, tags: [string]}",
            closed(
                approved={"type": "boolean"},
                note_={"type": "string"},
                tags={"type": "array", "items": {"type": "string"}},
            ),
        ),
        (
            "{kind: {enum: [a, b]}, score?: {type: number, minimum: 0}, in: {deep: any}}",
            closed(
                kind={"type": "string", "enum": ["a", "b"]},
                score_={"type": "number", "minimum": 0},
                **{"in": closed(deep={})},
            ),
        ),
        (
            "{type: string, description: string?}",
            closed(type={"type": "string"}, description_={"type": "string"}),
        ),
        (
            "{note: {type: 'string?', description: why}}",
            closed(note_={"type": "string", "description": "why"}),
        ),
        ("{type: string, description: why}", {"type": "string", "description": "why"}),
        ("{schema: {type: integer, minimum: 1}}", {"type": "integer", "minimum": 1}),
    ],
)
def test_returns_becomes_json_schema(returns: str, schema: object) -> None:
    assert read_step(f"{{ask: Hi, returns: {returns}}}", ir.Task).returns == schema


FIELDS: list[tuple[str, str, object]] = [
    (
        'at_most: {iterations: "{{ x }}", time: "{{ x }}m"}',
        "limits",
        ir.LoopLimits(template("{{ x }}"), template("{{ x }}m")),
    ),
    (
        'carry: {a: {first: 1}, b: {then: {c: "{{ r }}", first: 2}}}',
        "carry",
        (
            ir.Carry("a", ir.Constant(1), None),
            ir.Carry("b", None, ir.Fields((("c", template("{{ r }}")), ("first", ir.Constant(2))))),
        ),
    ),
    ("memory: {across_runs: true}", "memory", ir.Memory(across_runs=True, key="test/l")),
    ("memory: {across_runs: true, key: house}", "memory", ir.Memory(across_runs=True, key="house")),
]


@pytest.mark.parametrize(("written", "attribute", "expected"), FIELDS)
def test_fields(written: str, attribute: str, expected: object) -> None:
    assert getattr(read_loop(written), attribute) == expected


@pytest.mark.parametrize(
    ("text", "is_right"),
    [
        (EVERYTHING, True),
        ("{whorl: 1}", False),
        ("{whorl: 2, steps: {a: {ask: Hi}}}", False),
        ("{whorl: 1, steps: {a: {ask: Hi, modle: x}}}", False),
        ("{whorl: 1, steps: {a: {repeat: {at_most: 0, steps: {b: {ask: Hi}}}}}}", False),
        ("{whorl: 1, steps: {1a: {ask: Hi}}}", False),
        ("{whorl: 1, steps: {a: {ask: Hi}}, inputs: {x: text}}", False),
    ],
)
def test_files_pass_the_schema_as_they_pass_the_reader(text: str, is_right: bool) -> None:
    value = plain(read_yaml(text, "a.yaml").root)

    assert Draft202012Validator(SCHEMA).is_valid(value) is is_right


def test_every_field_of_the_tables_is_described() -> None:
    text = json.dumps(SCHEMA)

    assert list(SCHEMA["properties"]) == list(FILE)
    assert [step["title"] for step in SCHEMA["$defs"]["step"]["anyOf"]] == list(KINDS)
    for name in (*REPEAT.fields, *(field for kind in KINDS.values() for field in kind.fields)):
        assert f'"{name}": {{"description"' in text
