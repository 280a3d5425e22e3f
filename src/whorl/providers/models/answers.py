"""Finds the JSON in what a model said, and checks it against the schema that was asked for."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl.language.schema import fit
from whorl.providers.texts import NotJson, as_json, check_values, parse_json

if TYPE_CHECKING:
    from whorl.language import Json

TRIES_MAX = 50
# How many characters are read in all in search of a value that words stand around.
TRIED_MAX = 2_000_000

_THOUGHT = re.compile(r"<(/?)think>", re.IGNORECASE)
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")


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


def typed_answer(schema: Json, text: str) -> tuple[Json, list[str]]:
    """The value in the answer, and what is wrong with it (nothing: it fits)."""
    said = spoken(text)
    try:
        value = find_json(said)
    except NotJson as cause:
        if isinstance(schema, dict) and schema.get("type") == "string":
            value = said
        else:
            return None, [f"the answer is not JSON: {cause}"]
    return fit(schema, without_nulls(schema, value))


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
    needed = required if isinstance(required, list) else []
    return {
        name: without_nulls(fields.get(name), item)
        for name, item in value.items()
        if item is not None or name in needed or not _forbids_null(fields.get(name))
    }


def _forbids_null(schema: Json) -> bool:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return isinstance(kind, str) and kind != "null"


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
    for tried, found in enumerate(_OPENING.finditer(text)):
        if tried == TRIES_MAX or read > TRIED_MAX:
            break
        try:
            check_values(text)
            return as_json(decoder.raw_decode(text, found.start())[0])
        except json.JSONDecodeError as cause:
            read += cause.pos - found.start()
        except (ValueError, RecursionError):
            read += len(text) - found.start()
    raise failure


def instruction_for(schema: Json) -> str:
    """What a model is told about the form of its answer."""
    written = json.dumps(schema, ensure_ascii=False, sort_keys=True)
    return (
        "Answer with one JSON value that fits this JSON Schema, and with nothing else:\n" + written
    )


def correction_for(faults: list[str]) -> str:
    """What a model is told about an answer that did not fit."""
    listed = "\n".join(f"- {fault}" for fault in faults) or "- it did not fit the schema"
    return (
        f"That answer does not fit the schema:\n{listed}\nAnswer again, with the JSON value only."
    )
