"""Answers that fit a schema: how they are asked for, found among words, and corrected."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl.language.schema import fit
from whorl.providers import json_values
from whorl.providers.json_values import NotJson, parse_json, table_of

if TYPE_CHECKING:
    from whorl.language import Json

TRIES_MAX = 50
# How many characters are read in all in search of a value that words stand around.
TRIED_MAX = 2_000_000
_THOUGHT = re.compile(r"<(/?)think>", re.IGNORECASE)
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
# The values of these keys of a schema are lists of names or plain values, never schemas.
PLAIN_KEYS = ("enum", "const", "required", "default", "examples")


def spoken(text: str) -> str:
    """The answer without the thinking that some models write before it."""
    kept: list[str] = []
    end = 0
    start: int | None = None
    for mark in _THOUGHT.finditer(text):
        if start is None and not mark[1]:
            start = mark.start()
        elif start is not None and mark[1]:
            kept.append(text[end:start])
            end, start = mark.end(), None
    return "".join([*kept, text[end:]]).strip()


def typed_answer(
    schema: Json, text: str, extra: dict[str, Json] | None = None
) -> tuple[Json, list[str]]:
    """The value in an answer, and what does not fit; `extra` takes the fields that are too many."""
    answer = spoken(text)
    try:
        value = find_json(answer)
    except NotJson as cause:
        if table_of(schema).get("type") == "string":
            value = answer
        else:
            return None, [f"the answer is not JSON: {cause}"]
    return fit(schema, without_nulls(schema, value), extra)


def fault_words(faults: list[str]) -> str:
    """The first faults of an answer for people: fields by their names, the answer itself as it."""
    names = (re.sub(r"^\$\.?", "it" if fault[1:2] != "." else "", fault) for fault in faults[:3])
    return "; ".join(names).replace("that the schema does", "that `returns` does")


def without_nulls(schema: Json, value: Json) -> Json:
    """The value without the optional fields that are null: so models say that there is nothing."""
    if not isinstance(schema, dict):
        return value
    if isinstance(value, list):
        return [without_nulls(schema.get("items"), item) for item in value]
    fields = schema.get("properties")
    if not isinstance(value, dict) or not isinstance(fields, dict):
        return value
    required = schema.get("required")
    kept: dict[str, Json] = {}
    for name, item in value.items():
        kind = table_of(fields.get(name)).get("type")
        forbids_null = isinstance(kind, str) and kind != "null"
        is_needed = isinstance(required, list) and name in required
        if item is not None or is_needed or not forbids_null:
            kept[name] = without_nulls(fields.get(name), item)
    return kept


def find_json(text: str) -> Json:
    """The JSON value that is the text, stands in a fence, or comes first in it; raises NotJson."""
    try:
        return parse_json(text)
    except NotJson as cause:
        failure = cause
    for fenced in _FENCED.findall(text):
        try:
            return parse_json(fenced)
        except NotJson:
            continue
    decoder = json.JSONDecoder()
    read = 0
    for tried, opening in enumerate(_OPENING.finditer(text)):
        if tried == TRIES_MAX or read > TRIED_MAX:
            break
        try:
            json_values.check_values(text)
            return json_values.as_json(decoder.raw_decode(text, opening.start())[0])
        except json.JSONDecodeError as cause:
            read += cause.pos - opening.start()
        except (ValueError, RecursionError):
            read += len(text) - opening.start()
    raise failure


def instruction_for(schema: Json) -> str:
    wish = "Answer with one JSON value that fits this JSON Schema, and with nothing else:"
    return f"{wish}\n{json.dumps(schema, ensure_ascii=False, sort_keys=True)}"


def correction_for(faults: list[str]) -> str:
    listed = "\n".join(f"- {fault}" for fault in faults) or "- it did not fit the schema"
    wish = "Answer again, with the JSON value only."
    return f"That answer does not fit the schema:\n{listed}\n{wish}"


def closed(schema: Json) -> Json:
    """The schema with every object closed that does not say otherwise."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: value if key in PLAIN_KEYS else closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        made.setdefault("additionalProperties", False)
    return made


def is_strict(schema: Json) -> bool:
    """Whether every object in the schema is closed and requires all of its properties."""
    if isinstance(schema, list):
        return all(is_strict(item) for item in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties, required = schema.get("properties"), schema.get("required")
        if not isinstance(properties, dict) or schema.get("additionalProperties") is not False:
            return False
        if not isinstance(required, list) or set(map(str, required)) != set(properties):
            return False
    return all(is_strict(value) for value in schema.values())
