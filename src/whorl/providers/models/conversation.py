"""The inputs and results of all wires: conversations, tools, answers that fit a schema."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from whorl.errors import ProviderError
from whorl.language.schema import fit
from whorl.lazily import dataclass
from whorl.providers import json_values
from whorl.providers.json_values import NotJson, clean, parse_json, shorten, table_of, tables_of
from whorl.providers.outbound.client import malformed

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 3
RESULT_MAX = 50_000
_UNUSUAL = re.compile(r"[^a-zA-Z0-9_-]")
# The longest answer that is asked for where neither the file nor the budget says less. No public
# list has what each model can give; one that can give less says so, and is asked for that.
ANSWER_MOST = 16_384
# One of some words, with the thoughts before it and a reason behind it.
CHOICE_MOST = 4_096
PARTIAL_MAX = 2_000
_SHOWN_MAX = 500
# What servers call the end of an answer that was withheld.
_WITHHELD = frozenset({"refusal", "content_filter"})


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool that a model may ask for; `schema` describes its arguments."""

    name: str
    description: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's request for a tool. `fault` says why its arguments cannot be read."""

    id: str
    name: str
    arguments: dict[str, Json]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a question: its media type, content and expected tokens."""

    name: str
    type: str
    content: bytes = field(repr=False)
    tokens: int

    @property
    def is_image(self) -> bool:
        return self.type.startswith("image/")

    @property
    def base64(self) -> str:
        return b64encode(self.content).decode("ascii")


@dataclass(frozen=True, slots=True)
class Message:
    """A message; a model's own one may hold `calls`, one of role `tool` answers a call."""

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    tool: str = ""
    failed: bool = False
    files: tuple[Attachment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The question to a model, in no wire format. The answer must fit `schema`.

    `key` stays the same if this call is sent again. `cap` limits the answer if the file does not
    (`max_tokens`). The answer must begin with one of `choices`, on wires that can enforce that.
    With `must_answer` the tools are there only because earlier messages mention them: the model
    must not request more.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    cap: int | None = None
    schema: Json = None
    choices: tuple[str, ...] = ()
    tools: tuple[ToolOffer, ...] = ()
    must_answer: bool = False
    key: str = ""
    address: str = ""

    @property
    def answer_most(self) -> int:
        """The most output tokens that any budget allows for the answer."""
        return CHOICE_MOST if self.choices else ANSWER_MOST

    @property
    def limit(self) -> int | None:
        """The most output tokens of the answer: the file's limit, or else the budget's."""
        return self.cap if self.max_tokens is None else self.max_tokens


@dataclass(frozen=True, slots=True)
class Candidate:
    provider: ProviderSettings
    model: str

    @property
    def name(self) -> str:
        return f"{self.provider.name}/{self.model}"


@dataclass(frozen=True, slots=True)
class Limit:
    field: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a model. Counts of tokens that are missing or not credible stay None.

    `finish` is `stop`, `length` (cut at its limit), `context` (cut because the model can read no
    more), `tool_calls`, or the server's own word. Tokens of a prompt cache are part of
    `input_tokens`, and listed for their price. `refusal` is a model's text instead of an answer.
    `limit` is the limit that was sent, if any.
    """

    text: str
    finish: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    detail: dict[str, Json] = field(default_factory=dict)
    calls: tuple[ToolCall, ...] = ()
    cache_read_tokens: int = 0
    cache_written_tokens: int = 0
    refusal: str = ""
    limit: Limit | None = None

    @property
    def is_cut(self) -> bool:
        return self.finish in ("length", "context")


class Wire(Protocol):
    """A wire format: turns a conversation into requests and replies into an answer.

    `takes`, if a wire has it, lists the files that it can send: images, other ones (`document`).
    """

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Sends the conversation once. Raises ProviderError."""


def check_files(wire: Wire, conversation: Conversation, provider: ProviderSettings) -> None:
    """Refuses files that a wire cannot send."""
    takes = getattr(wire, "takes", ())
    for file in (file for message in conversation.messages for file in message.files):
        if ("image" if file.is_image else "document") not in takes:
            why = f"provider {provider.name!r} of kind {provider.kind!r} cannot be sent the file"
            advice = "name another model, or leave the file out"
            raise ProviderError(f"{why} {file.name!r} ({file.type}); {advice}", code="P110")


def input_tokens(conversation: Conversation) -> int:
    tools, messages = conversation.tools, conversation.messages
    offers = [tool.name + tool.description + json.dumps(tool.schema) for tool in tools]
    spoken_tokens = sum(output_tokens(message) + TOKENS_PER_MESSAGE for message in messages)
    file_tokens = sum(file.tokens for message in messages for file in message.files)
    return sum(map(_text_tokens, offers)) + spoken_tokens + file_tokens


def output_tokens(message: Answer | Message) -> int:
    calls = [call.name + json.dumps(call.arguments) for call in message.calls]
    return sum(map(_text_tokens, (message.text, *calls)))


def _text_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def counted(value: object) -> int | None:
    """Returns a server's count of tokens if it is credible; a wrong one never lowers spending."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)


def tool_calls(listed: Json) -> tuple[ToolCall, ...]:
    """Returns the calls of a list of `{id, name, arguments}`; a missing id becomes its number."""
    calls: list[ToolCall] = []
    for number, call in enumerate(tables_of(listed), start=1):
        arguments, fault = call.get("arguments"), ""
        if isinstance(arguments, str):
            try:
                arguments = parse_json(arguments) if arguments.strip() else {}
            except NotJson as cause:
                arguments, fault = {}, f"its arguments are not JSON: {cause}"
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            arguments, fault = {}, "its arguments are not a JSON object"
        call_id = call.get("id")
        used_id = clean(call_id) if isinstance(call_id, str) and call_id else f"call{number}"
        name = clean(str(call.get("name") or ""))
        calls.append(ToolCall(used_id[:200], name[:200], arguments, fault))
    return tuple(calls)


def turn_messages(turns: list[Json]) -> list[Message]:
    """Returns the turns since the prompt as messages, after a model has asked for tools."""
    messages: list[Message] = []
    names: dict[str, str] = {}
    for turn in tables_of(turns):
        if turn.get("role") == "tool":
            call_id, failed = str(turn.get("id")), "error" in turn
            text = clean(json_values.as_text(turn.get("value")))
            if (left_out := len(text) - RESULT_MAX) > 0:
                half = RESULT_MAX // 2
                text = f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"
            if failed:
                text = clean(f"error: {turn['error']}")[:RESULT_MAX]
            name = names.get(call_id, "")
            messages.append(Message("tool", text, call=call_id, tool=name, failed=failed))
            continue
        calls = tool_calls(turn.get("calls"))
        names |= {call.id: call.name for call in calls}
        messages.append(Message("assistant", clean(str(turn.get("content") or "")), calls))
    return messages


def result_warnings(turns: list[Json]) -> list[Json]:
    """Returns warnings about cut or failed results that the model now receives."""
    asked = next((turn for turn in tables_of(turns[::-1]) if turn.get("role") != "tool"), {})
    names = {str(call.get("id")): call.get("name") for call in tables_of(asked.get("calls"))}
    warnings: list[Json] = []
    for turn in (turn for turn in tables_of(turns) if str(turn.get("id")) in names):
        tool = f"tool {names[str(turn['id'])]!r:.200}"
        size = len(json_values.as_text(turn.get("value")))
        if "error" in turn:
            words = f"{tool} failed; the model got the error: {shorten(str(turn['error']), 300)}"
            warnings.append({"code": "P123", "message": words})
        elif size > RESULT_MAX:
            words = f"the model got {RESULT_MAX:,} of the {size:,} characters that {tool} returned"
            warnings.append({"code": "R117", "message": f"{words}: the middle was left out"})
    return warnings


def pins_of(turns: list[Json]) -> dict[str, str]:
    tables = [table_of(turn.get("tools")) for turn in tables_of(turns)]
    return {name: str(pin) for table in tables for name, pin in table.items()}


def next_turn(answer: Answer, turns: list[Json], pins: dict[str, Json]) -> tuple[Json, list[str]]:
    """Returns the model's message with its calls for the next turn, and unused ids for them."""
    earlier = (call for turn in tables_of(turns) for call in tables_of(turn.get("calls")))
    used = {str(call.get("id")) for call in earlier}
    ids: list[str] = []
    for call in answer.calls:
        name = _UNUSUAL.sub("-", call.id)
        if name in used or name in ids:
            name = f"{name}-{turn_number(turns)}-{len(ids) + 1}"
        ids.append(name)
    pairs = zip(ids, answer.calls, strict=True)
    calls: list[Json] = [{"id": n, "name": c.name, "arguments": c.arguments} for n, c in pairs]
    return {"role": "assistant", "content": answer.text, "calls": calls, "tools": pins}, ids


def turn_number(turns: list[Json]) -> int:
    return 1 + sum(turn.get("role") != "tool" for turn in tables_of(turns))


def fault_in(answer: Answer, conversation: Conversation, model: str) -> ProviderError | None:
    is_empty = not answer.text.strip() and not answer.calls
    if answer.refusal or answer.finish in _WITHHELD:
        text = " ".join((answer.refusal or answer.text).split())
        words = f": {shorten(text, _SHOWN_MAX)}" if text else f" (finish reason {answer.finish!r})"
        why = f"{model} refuses to answer{words}; change the prompt, or name another model"
        detail = {"finish": answer.finish, "refusal": text[:PARTIAL_MAX]}
        return ProviderError(why, code="P119", detail={**detail})
    # Whether the answer was cut at a limit that the file did not set.
    is_limited = conversation.max_tokens is None and answer.limit is not None
    is_capped = is_limited and answer.finish == "length" and not is_settled(answer, conversation)
    if answer.is_cut and (is_empty or is_capped):
        return _cut(answer, conversation, model, is_empty=is_empty)
    if answer.calls and not conversation.tools:
        names = ", ".join(sorted({repr(shorten(call.name, 60)) for call in answer.calls}))
        return malformed(model, f"the reply asks for the tool {names}, but no tool was offered")
    if is_empty:
        why = f"the reply has neither text nor tool calls (finish reason {answer.finish!r})"
        return malformed(model, why)
    return None


def is_settled(answer: Answer, conversation: Conversation) -> bool:
    """Whether the deciding word is in the answer, so that a cut after it does not matter."""
    first = spoken(answer.text).lstrip("*_`#\"' ")
    return bool(conversation.choices) and first.upper().startswith(conversation.choices)


def _cut(
    answer: Answer, conversation: Conversation, model: str, *, is_empty: bool
) -> ProviderError:
    what, limit = "before any text" if is_empty else "in the middle", answer.limit
    why = "by the model's own limit; ask for less"
    if limit is not None and answer.finish == "length":
        why = f"at {limit.field}, which is {limit.tokens:,}; raise max_tokens of the step"
        if conversation.max_tokens is None:
            tokens = answer.output_tokens or limit.tokens
            is_by_budget = limit.tokens <= tokens and limit.tokens < conversation.answer_most
            advice = "raise the budget" if is_by_budget else "ask for a shorter answer"
            why = (
                f"after {tokens:,} tokens: the step has no max_tokens, so Whorl sent {limit.field} "
                f"{limit.tokens:,}; set max_tokens on the step, or {advice}"
            )
    detail = {"finish": answer.finish, "partial": answer.text[-PARTIAL_MAX:]}
    message = f"the answer of {model} was cut {what} {why}"
    return ProviderError(message, code="P118", detail={**detail})


# Answers that fit a schema: how they are asked for, found among words, and corrected.

TRIES_MAX = 50
# How many characters are read in all in search of a value that words stand around.
TRIED_MAX = 2_000_000
_THOUGHT = re.compile(r"<(/?)think>", re.IGNORECASE)
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\r?\n(.*?)```", re.DOTALL)
_OPENING = re.compile(r"[{\[]")
# The values of these keys of a schema are lists of names or plain values, never schemas.
PLAIN_KEYS = ("enum", "const", "required", "default", "examples")


def spoken(text: str) -> str:
    """Returns the answer without the thinking that some models write before it."""
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


NOT_JSON = "the answer is not JSON"


def typed_answer(
    schema: Json, text: str, extra: dict[str, Json] | None = None
) -> tuple[Json, list[str]]:
    """Returns the value and faults of an answer; `extra` receives surplus fields."""
    answer = spoken(text)
    try:
        value = find_json(answer)
    except NotJson as cause:
        if table_of(schema).get("type") == "string":
            value = answer
        else:
            return None, [f"{NOT_JSON}: {cause}"]
    return fit(schema, without_nulls(schema, value), extra)


def fault_words(faults: list[str]) -> str:
    """Describes the first faults of an answer for people, with the names of the fields."""
    names = (re.sub(r"^\$\.?", "it" if fault[1:2] != "." else "", fault) for fault in faults[:3])
    return "; ".join(names).replace("that the schema does", "that `returns` does")


def without_nulls(schema: Json, value: Json) -> Json:
    """Returns the value without null optional fields: models write null for a missing value."""
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
    """Returns the text as JSON, or else its first fenced or other JSON value. Raises NotJson."""
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
    """Returns the schema with every object closed, unless the object says otherwise."""
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
