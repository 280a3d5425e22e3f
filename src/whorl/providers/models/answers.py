"""Whether what a model said is an answer, and the typed value in it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from whorl.errors import ProviderError
from whorl.language.schema import fit
from whorl.providers.json_values import (
    NotJson,
    as_json,
    check_values,
    parse_json,
    shorten,
    table_of,
)
from whorl.providers.outbound.errors import malformed

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.conversation import Answer, Conversation

CUT = "R120"
# The longest answer that is asked for where neither the file nor the budget says less. No public
# list has what each model can give; one that can give less says so, and is asked for that.
ANSWER_MOST = 16_384
PARTIAL_MAX = 2_000
TRIES_MAX = 50
# How many characters are read in all in search of a value that words stand around.
TRIED_MAX = 2_000_000
_SHOWN_MAX = 500
_CUT_SHORT = frozenset({"length", "context"})
# What servers call the end of an answer that was withheld.
_WITHHELD = frozenset({"refusal", "content_filter"})
_THOUGHT = re.compile(r"<(/?)think>", re.IGNORECASE)
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
# The values of these keys of a schema are lists of names or plain values, never schemas.
PLAIN_KEYS = ("enum", "const", "required", "default", "examples")


def fault_in(answer: Answer, conversation: Conversation, model: str) -> ProviderError | None:
    """Why an answer cannot be used; None where it can."""
    is_empty = not answer.text.strip() and not answer.calls
    if answer.refusal or answer.finish in _WITHHELD:
        return _refused(answer, model)
    # Whether the answer was cut at a limit that the file did not set.
    is_limited = conversation.max_tokens is None and answer.limit is not None
    is_capped = is_limited and answer.finish == "length"
    if answer.finish in _CUT_SHORT and (is_empty or is_capped):
        return _cut(answer, conversation, model, is_empty=is_empty)
    if answer.calls and not conversation.tools:
        names = ", ".join(sorted({repr(shorten(call.name, 60)) for call in answer.calls}))
        return malformed(model, f"the reply asks for the tool {names}, and none was offered")
    if is_empty:
        why = f"the reply has neither text nor tool calls (finish reason {answer.finish!r})"
        return malformed(model, why)
    return None


def warnings_of(answer: Answer, conversation: Conversation) -> list[Json]:
    """What a person should know of an answer that can be used."""
    if answer.finish not in _CUT_SHORT:
        return []
    at = "the model's own limit"
    if conversation.max_tokens is not None and answer.finish == "length":
        at = f"max_tokens, which is {conversation.max_tokens:,}; raise it for a whole answer"
    return [{"code": CUT, "message": f"an answer was cut at {at}"}]


def _refused(answer: Answer, model: str) -> ProviderError:
    text = " ".join((answer.refusal or answer.text).split())
    words = f": {shorten(text, _SHOWN_MAX)}" if text else f" (finish reason {answer.finish!r})"
    return ProviderError(
        f"{model} refuses to answer{words}; change the prompt, or name another model",
        code="P119",
        detail={"finish": answer.finish, "refusal": text[:PARTIAL_MAX]},
    )


def _cut(
    answer: Answer, conversation: Conversation, model: str, *, is_empty: bool
) -> ProviderError:
    what = "before it said anything" if is_empty else "in the middle"
    limit = answer.limit
    if limit is None or answer.finish != "length":
        why = "by the model's own limit; ask for less"
    elif conversation.max_tokens is not None:
        why = f"at {limit.field}, which is {limit.tokens:,}; raise max_tokens of the step"
    elif answer.output_tokens is not None and 0 < answer.output_tokens < limit.tokens:
        why = (
            f"after {answer.output_tokens:,} tokens, by a limit of the server: the {limit.field} "
            f"that was sent is {limit.tokens:,}; set max_tokens on the step, or ask for a shorter "
            "answer"
        )
    else:
        is_most = limit.tokens >= ANSWER_MOST
        why = (
            f"at {limit.tokens:,} tokens, the {limit.field} that was sent because the step sets "
            "none; set max_tokens on the step, or "
            f"{'ask for a shorter answer' if is_most else 'raise the budget'}"
        )
    return ProviderError(
        f"the answer of {model} was cut {what} {why}",
        code="P118",
        detail={"finish": answer.finish, "partial": answer.text[-PARTIAL_MAX:]},
    )


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
    answer = spoken(text)
    try:
        value = find_json(answer)
    except NotJson as cause:
        if table_of(schema).get("type") == "string":
            value = answer
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
    kind = table_of(schema).get("type")
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
    for tried, opening in enumerate(_OPENING.finditer(text)):
        if tried == TRIES_MAX or read > TRIED_MAX:
            break
        try:
            check_values(text)
            return as_json(decoder.raw_decode(text, opening.start())[0])
        except json.JSONDecodeError as cause:
            read += cause.pos - opening.start()
        except (ValueError, RecursionError):
            read += len(text) - opening.start()
    raise failure


def instruction_for(schema: Json) -> str:
    """What a model is told about the form of its answer."""
    wish = "Answer with one JSON value that fits this JSON Schema, and with nothing else:"
    return f"{wish}\n{json.dumps(schema, ensure_ascii=False, sort_keys=True)}"


def correction_for(faults: list[str]) -> str:
    """What a model is told about an answer that did not fit."""
    listed = "\n".join(f"- {fault}" for fault in faults) or "- it did not fit the schema"
    return (
        f"That answer does not fit the schema:\n{listed}\nAnswer again, with the JSON value only."
    )


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
