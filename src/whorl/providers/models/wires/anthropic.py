"""The Anthropic messages wire format: streamed, or plain where a server is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.providers.models.tokens import counted
from whorl.providers.models.wire import Answer, Limit
from whorl.providers.models.wires.calls import Gathering
from whorl.providers.models.wires.speaking import Form, HttpWire
from whorl.providers.models.wires.sse import payloads
from whorl.providers.models.wires.streaming import (
    Saying,
    ended_early,
    lines_of,
    object_of,
    paid_so_far,
    raise_inner,
    read_to_end,
    table_of,
    tables_of,
)
from whorl.providers.outbound import Credential, origin_of
from whorl.providers.outbound.faults import malformed
from whorl.providers.texts import clean

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.language import Json
    from whorl.providers.models.wire import Candidate, Conversation, Message
    from whorl.providers.outbound import Outbound
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

    Body = dict[str, Json]

VERSION = "2023-06-01"
# The format wants a limit for every answer; a model that gives less says so, and is asked for that.
ANSWER_TOKENS = 16_384
# The tool through which a model gives an answer by schema: every model has tools.
ANSWER_TOOL = "give_answer"
# Without these the answer is still an answer; a schema is stated in words too, and checked by us.
DISPENSABLE = ("tool_choice", "temperature", "stop_sequences", "stream")

_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "tool_use": "tool_calls",
}


class AnthropicWire(HttpWire):
    """Speaks to servers with `/v1/messages`."""

    def __init__(self, outbound: Outbound) -> None:
        super().__init__(outbound, _FORM)

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once, and says that this format has no seed where one was given."""
        answer = await super().converse(candidate, conversation, timeout_s=timeout_s, emit=emit)
        if conversation.seed is not None:
            left_out = answer.detail.get("left_out")
            answer.detail["left_out"] = [*(left_out if isinstance(left_out, list) else ()), "seed"]
        return answer


def messages_url(base_url: str, last: str = "messages") -> str:
    """Where conversations go: people write the host, the version, or the whole path."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix("/messages")
    if not path.endswith("/v1"):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/{last}", parts.query, ""))


def credential_of(provider: ProviderSettings) -> Credential | None:
    """The provider's key and headers, bound to its host."""
    key = () if provider.api_key is None else (("x-api-key", provider.api_key),)
    headers = (*key, *provider.headers)
    return Credential(origin_of(provider.base_url), headers) if headers else None


def body_of(candidate: Candidate, conversation: Conversation) -> Body:
    """The body of the request."""
    system = [message.text for message in conversation.messages if message.role == "system"]
    body: Body = {
        "model": candidate.model,
        "max_tokens": conversation.limit or ANSWER_TOKENS,
        "messages": _messages(conversation),
    }
    if system:
        body["system"] = "\n\n".join(system)
    if candidate.provider.stream:
        body["stream"] = True
    if conversation.temperature is not None:
        # Other formats go up to 2, and files are written for those.
        body["temperature"] = min(conversation.temperature, 1.0)
    if conversation.stop:
        body["stop_sequences"] = list(conversation.stop)
    return body | _tools(candidate, conversation)


def _tools(candidate: Candidate, conversation: Conversation) -> Body:
    """The tools on offer; an answer by schema is given through a tool of our own."""
    offered: list[Json] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in conversation.tools
    ]
    schema = conversation.schema
    by_tool = candidate.provider.structured and isinstance(schema, dict)
    if by_tool and isinstance(schema, dict) and schema.get("type") == "object":
        described = "Gives the answer. Call it once, when the answer is known."
        offered.append({"name": ANSWER_TOOL, "description": described, "input_schema": schema})
        free = bool(conversation.tools) and not conversation.must_answer
        only: Body = {"type": "tool", "name": ANSWER_TOOL}
        return {"tools": offered, "tool_choice": {"type": "any"} if free else only}
    if not offered:
        return {}
    return {"tools": offered} | (
        {"tool_choice": {"type": "none"}} if conversation.must_answer else {}
    )


def _messages(conversation: Conversation) -> list[Json]:
    """The messages; results of tools that were asked for together stand together in one."""
    found: list[Json] = []
    together: list[Json] = []
    for message in conversation.messages:
        if message.role == "tool":
            if not together:
                found.append({"role": "user", "content": together})
            together.append(
                {
                    "type": "tool_result",
                    "tool_use_id": message.call,
                    "content": message.text or "(nothing)",
                    **({"is_error": True} if message.failed else {}),
                }
            )
            continue
        together = []
        if message.role != "system":
            found.append({"role": message.role, "content": _content(message)})
    return found


def _content(message: Message) -> Json:
    if not message.calls:
        # An empty message is refused, and a model may have said nothing before.
        return message.text or ("(nothing)" if message.role == "assistant" else "")
    said: list[Json] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    used: list[Json] = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in message.calls
    ]
    return said + used


class _Reading:
    """What came of an answer so far, block by block."""

    def __init__(self, emit: Emit) -> None:
        self.said = Saying(emit)
        self.calls = Gathering()
        self.reply: Body = {}
        self.usage: Body = {}
        self.stop_reason = ""
        self._answers: set[str] = set()

    def begin_message(self, message: Body) -> None:
        self.reply = message
        self.usage |= table_of(message.get("usage"))
        self.stop_reason = str(message.get("stop_reason") or "")

    def begin_block(self, place: Json, block: Body) -> None:
        match block.get("type"):
            case "text":
                self.said.add(_text(block.get("text")))
            case "tool_use" if block.get("name") == ANSWER_TOOL:
                self._answers.add(str(place))
                self._add_input(place, block.get("input"))
            case "tool_use":
                self.calls.add(place, call_id=block.get("id"), name=block.get("name"))
                self._add_input(place, block.get("input"))

    def add(self, place: Json, delta: Body) -> None:
        match delta.get("type"):
            case "text_delta":
                self.said.add(_text(delta.get("text")))
            case "input_json_delta":
                self._add_json(place, _text(delta.get("partial_json")))

    def end_message(self, event: Body) -> None:
        self.stop_reason = str(table_of(event.get("delta")).get("stop_reason") or "")
        self.usage |= {k: v for k, v in table_of(event.get("usage")).items() if v is not None}

    def _add_input(self, place: Json, given: Json) -> None:
        """A stream begins with an empty input, whose text follows; a plain reply has all of it."""
        if given:
            self._add_json(place, json.dumps(given, ensure_ascii=False))

    def _add_json(self, place: Json, text: str) -> None:
        if str(place) in self._answers:
            self.said.add(text)
        else:
            self.calls.add(place, text=text)

    def answer(self) -> Answer:
        self.said.end()
        calls = self.calls.calls()
        # An answer by schema may be an empty object, of which a stream says nothing.
        text = clean(self.said.text) or ("{}" if self._answers else "")
        finish = _FINISHES.get(self.stop_reason, self.stop_reason)
        if finish == "tool_calls" and not calls:
            finish = "stop"
        detail: Body = {}
        if isinstance(model := self.reply.get("model"), str) and model:
            detail["served_by"] = clean(model)[:200]
        read = counted(self.usage.get("cache_read_input_tokens")) or 0
        written = counted(self.usage.get("cache_creation_input_tokens")) or 0
        if read or written:
            detail["cache"] = {"read_tokens": read, "written_tokens": written}
        fresh = counted(self.usage.get("input_tokens"))
        return Answer(
            text,
            finish,
            None if fresh is None else fresh + read + written,
            counted(self.usage.get("output_tokens")),
            detail,
            calls,
            cache_read_tokens=read,
            cache_written_tokens=written,
        )


async def _plain(text: str, what: str, emit: Emit) -> Answer:
    if text.lstrip().startswith(("data:", "event:")):  # a stream that does not say that it is one
        return await _streamed(lines_of(text), what, emit)
    reply = object_of(text, what)
    raise_inner(reply, what)
    if not isinstance(reply.get("content"), list):
        raise malformed(what, "the reply holds no message")
    reading = _Reading(emit)
    reading.begin_message(reply)
    for place, block in enumerate(tables_of(reply.get("content"))):
        reading.begin_block(place, block)
    return reading.answer()


async def _streamed(lines: AsyncIterator[str], what: str, emit: Emit) -> Answer:
    reading, done = _Reading(emit), False
    with paid_so_far(reading.said):
        async for payload in payloads(lines):
            event = object_of(payload, what)
            match event.get("type"):
                case "message_start":
                    reading.begin_message(table_of(event.get("message")))
                case "content_block_start":
                    reading.begin_block(event.get("index"), table_of(event.get("content_block")))
                case "content_block_delta":
                    reading.add(event.get("index"), table_of(event.get("delta")))
                case "message_delta":
                    reading.end_message(event)
                case "message_stop":
                    done = True
                    await read_to_end(lines)
                    break
                case _:
                    raise_inner(event, what)
        if not done and not reading.stop_reason:
            raise ended_early(what)
    return reading.answer()


def _limit(candidate: Candidate, body: Body) -> Limit | None:
    tokens = body.get("max_tokens")
    return Limit("max_tokens", tokens) if isinstance(tokens, int) else None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


_FORM = Form(
    stream_types=("text/event-stream",),
    url=messages_url,
    credential=credential_of,
    body=body_of,
    streamed=_streamed,
    plain=_plain,
    dispensable=DISPENSABLE,
    limit=_limit,
    answer_tokens=ANSWER_TOKENS,
    headers=(("anthropic-version", VERSION),),
)
