"""What every wire format is given and gives back: conversations, answers, tokens, tools."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from whorl.ir.worst_case import TURNS
from whorl.providers.json_values import (
    NotJson,
    as_text,
    clean,
    parse_json,
    table_of,
    tables_of,
    without_middle,
)

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]

CHARACTERS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 3
RESULT_MAX = 50_000
_UNUSUAL = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """A tool that a model may ask for; `schema` describes its arguments."""

    name: str
    description: str
    schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model asks for a tool. `fault` says why its arguments cannot be read."""

    id: str
    name: str
    arguments: dict[str, Json]
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    A model's own message may hold `calls`; one of role `tool` answers the call of that id.
    """

    role: Role
    text: str
    calls: tuple[ToolCall, ...] = ()
    call: str = ""
    tool: str = ""
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a model is asked, in no wire format. `schema` is what its answer must fit.

    `key` is the same when this very call is sent again. `cap` limits the answer where the file does
    not (`max_tokens`). `choices` are the only words that count as an answer, for wires that can
    hold a model to them. With `must_answer` the tools are there only because earlier messages
    speak of them: the model may ask for no more.
    """

    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    cap: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    schema: Json = None
    choices: tuple[str, ...] = ()
    tools: tuple[ToolOffer, ...] = ()
    must_answer: bool = False
    key: str = ""
    address: str = ""
    attempt: int = 1

    @property
    def limit(self) -> int | None:
        """The most output tokens that the answer may have: by the file, or else by the budget."""
        return self.cap if self.max_tokens is None else self.max_tokens


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model of a provider."""

    provider: ProviderSettings
    model: str

    @property
    def name(self) -> str:
        """The name as people write it."""
        return f"{self.provider.name}/{self.model}"


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of an answer as it was sent: the name of its field, and the tokens."""

    field: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said. Token counts are None where the server gave none that can be believed.

    `finish` is `stop`, `length` (cut at its limit), `context` (cut where the model can read no
    more), `tool_calls`, or the server's own word. Tokens of a prompt cache are part of
    `input_tokens`, and told for their price. `refusal` is what a model says instead of an answer.
    `limit` is what was sent, if anything was.
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


class Wire(Protocol):
    """A wire format: turns a conversation into requests and replies into an answer."""

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once. Raises ProviderError."""


def text_tokens(text: str) -> int:
    """About how many tokens a text has, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _call_tokens(calls: tuple[ToolCall, ...]) -> int:
    return sum(text_tokens(call.name + json.dumps(call.arguments)) for call in calls)


def input_tokens(conversation: Conversation) -> int:
    """About how many tokens the model reads: the messages, and the tools that it is offered."""
    offered = sum(
        text_tokens(tool.name + tool.description + json.dumps(tool.schema))
        for tool in conversation.tools
    )
    return offered + sum(
        text_tokens(message.text) + _call_tokens(message.calls) + TOKENS_PER_MESSAGE
        for message in conversation.messages
    )


def output_tokens(answer: Answer) -> int:
    """About how many tokens the model wrote."""
    return text_tokens(answer.text) + _call_tokens(answer.calls)


def counted(value: object) -> int | None:
    """A server's count of tokens, if it can be believed; a wrong one never lowers spending."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)


def tool_calls(listed: Json) -> tuple[ToolCall, ...]:
    """The calls of a list of `{id, name, arguments}`; one without an id is known by its number."""
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
            arguments, fault = {}, "its arguments are no JSON object"
        call_id = call.get("id")
        used_id = clean(call_id) if isinstance(call_id, str) and call_id else f"call{number}"
        name = clean(str(call.get("name") or ""))
        calls.append(ToolCall(used_id[:200], name[:200], arguments, fault))
    return tuple(calls)


def turn_messages(turns: list[Json]) -> list[Message]:
    """What was said and done since the prompt, when a model has asked for tools: as messages."""
    messages: list[Message] = []
    names: dict[str, str] = {}
    for turn in tables_of(turns):
        if turn.get("role") == "tool":
            call_id = str(turn.get("id"))
            text, failed = _result(turn)
            name = names.get(call_id, "")
            messages.append(Message("tool", text, call=call_id, tool=name, failed=failed))
            continue
        calls = tool_calls(turn.get("calls"))
        names |= {call.id: call.name for call in calls}
        messages.append(Message("assistant", clean(str(turn.get("content") or "")), calls))
    return messages


def is_last_turn(turns: list[Json], most: int | None) -> bool:
    """Whether the model may ask for no more tools."""
    return _turn_number(turns) >= (most or TURNS)


def pins_of(turns: list[Json]) -> dict[str, str]:
    """The hashes of all descriptions of tools that the model was told in earlier turns."""
    tables = [table_of(turn.get("tools")) for turn in tables_of(turns)]
    return {name: str(pin) for table in tables for name, pin in table.items()}


def next_turn(answer: Answer, turns: list[Json], pins: dict[str, Json]) -> tuple[Json, list[str]]:
    """What a model said that wants tools, for its next turn; and ids that no turn has used yet."""
    used = {
        str(call.get("id")) for turn in tables_of(turns) for call in tables_of(turn.get("calls"))
    }
    ids: list[str] = []
    for call in answer.calls:
        name = _UNUSUAL.sub("-", call.id)
        if name in used or name in ids:
            name = f"{name}-{_turn_number(turns)}-{len(ids) + 1}"
        ids.append(name)
    calls: list[Json] = [
        {"id": call_id, "name": call.name, "arguments": call.arguments}
        for call_id, call in zip(ids, answer.calls, strict=True)
    ]
    turn: Json = {"role": "assistant", "content": answer.text, "calls": calls, "tools": pins}
    return turn, ids


def _turn_number(turns: list[Json]) -> int:
    return 1 + sum(turn.get("role") != "tool" for turn in tables_of(turns))


def _result(turn: dict[str, Json]) -> tuple[str, bool]:
    """The text that a model sees of a result, and whether it is one of a failure."""
    if "error" in turn:
        return clean(f"error: {turn['error']}")[:RESULT_MAX], True
    return without_middle(clean(as_text(turn.get("value"))), RESULT_MAX)[0], False
