"""The schema for editors: complete, described, and true of the files that the reader takes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from native_files import EVERYTHING

from whorl.dialects.native import native_schema
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import FILE
from whorl.source import plain
from whorl.source.yaml import read_yaml

SCHEMA: dict[str, Any] = dict(native_schema())


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
