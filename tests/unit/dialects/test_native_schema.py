"""The schema for editors: complete, described, and true of the files that the reader takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator
from native_files import EVERYTHING

from whorl.dialects.native import native_schema
from whorl.dialects.native.loop import REPEAT
from whorl.dialects.native.steps import KINDS
from whorl.dialects.native.workflow import FILE
from whorl.source import plain
from whorl.source.yaml import read_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMA: dict[str, Any] = dict(native_schema())
CASES = Path(__file__).parents[3].parent / "shared" / "acceptance" / "cases"


def accepts(schema: dict[str, Any], value: Any) -> bool:
    return bool(Draft202012Validator(schema).is_valid(value))


def files() -> Iterator[tuple[str, str]]:
    import tomllib

    yield "everything", EVERYTHING
    for path in sorted(CASES.glob("*/*.toml")):
        for file in tomllib.loads(path.read_text()).get("files", []):
            text = file.get("text", "")
            if text.startswith("whorl: 1"):
                yield f"{path.stem}/{file['path']}", text


@pytest.mark.parametrize(("name", "text"), list(files()))
def test_files_pass_the_schema_as_they_pass_the_reader(name: str, text: str) -> None:
    value = plain(read_yaml(text, f"{name}.yaml").root)

    assert accepts(SCHEMA, value) is not name.startswith("diagnostics/")


@pytest.mark.parametrize(
    "text",
    [
        "{whorl: 1}",
        "{whorl: 2, steps: {a: {ask: Hi}}}",
        "{whorl: 1, steps: {a: {ask: Hi, modle: x}}}",
        "{whorl: 1, steps: {a: {}}}",
        "{whorl: 1, steps: {a: {repeat: {at_most: 0, steps: {b: {ask: Hi}}}}}}",
        "{whorl: 1, steps: {a: {repeat: {until: {judge: a, stable: 1}, steps: {b: {ask: Hi}}}}}}",
        "{whorl: 1, steps: {1a: {ask: Hi}}}",
        "{whorl: 1, steps: {a: {ask: Hi}}, inputs: {x: text}}",
    ],
)
def test_wrong_files_do_not(text: str) -> None:
    assert not accepts(SCHEMA, plain(read_yaml(text, "a.yaml").root))


def test_every_field_is_described() -> None:
    missing: list[str] = []

    def look(schema: Any, path: str) -> None:
        if isinstance(schema, dict):
            for name, field in schema.get("properties", {}).items():
                if path.startswith("/$defs/returns"):
                    continue
                if not field.get("description"):
                    missing.append(f"{path}/{name}")
            for key, inner in schema.items():
                look(inner, f"{path}/{key}")
        elif isinstance(schema, list):
            for index, inner in enumerate(schema):
                look(inner, f"{path}/{index}")

    look(SCHEMA, "")

    assert missing == []


def test_the_schema_has_every_field_of_the_tables() -> None:
    text = json.dumps(SCHEMA)

    assert SCHEMA["$schema"].endswith("2020-12/schema")
    assert list(SCHEMA["properties"]) == list(FILE)
    assert [step["title"] for step in SCHEMA["$defs"]["step"]["anyOf"]] == list(KINDS)
    for name in (*REPEAT.fields, *(field for kind in KINDS.values() for field in kind.fields)):
        assert f'"{name}": {{"description"' in text
