"""Ollama's own wire format: `/api/chat`, one JSON object a line, or one for all."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.providers.models.tokens import counted
from whorl.providers.models.wire import Answer, Limit
from whorl.providers.models.wires.calls import CALLS_MAX, offered_json, tool_call
from whorl.providers.models.wires.openai import credential_of
from whorl.providers.models.wires.speaking import Form, HttpWire
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
from whorl.providers.outbound.faults import malformed
from whorl.providers.texts import NotJson, clean, parse_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.language import Json
    from whorl.providers.models.wire import Candidate, Conversation, Message, ToolCall
    from whorl.providers.outbound import Outbound
    from whorl.providers.task import Emit

    Body = dict[str, Json]

# Without these the answer is still an answer; a schema is stated in words too, and checked by us.
DISPENSABLE = ("format", "tools")


class OllamaWire(HttpWire):
    """Speaks to Ollama."""

    def __init__(self, outbound: Outbound) -> None:
        super().__init__(outbound, _FORM)


def chat_url(base_url: str, last: str = "chat") -> str:
    """Where conversations go: people write the host, the host with `/v1`, or the whole path."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix("/chat").removesuffix("/api").removesuffix("/v1")
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/api/{last}", parts.query, ""))


def body_of(candidate: Candidate, conversation: Conversation) -> Body:
    """The body of the request."""
    messages: list[Json] = [_message(message) for message in conversation.messages]
    body: Body = {
        "model": candidate.model,
        "messages": messages,
        "stream": candidate.provider.stream,
    }
    options: Body = {}
    if conversation.temperature is not None:
        options["temperature"] = conversation.temperature
    if conversation.limit is not None:
        options["num_predict"] = conversation.limit
    if conversation.stop:
        options["stop"] = list(conversation.stop)
    if conversation.seed is not None:
        options["seed"] = conversation.seed
    if options:
        body["options"] = options
    if conversation.tools and not conversation.must_answer:
        # A model that is held to a schema asks for no tools, so it is held to it at the end only.
        body["tools"] = [offered_json(t.name, t.description, t.schema) for t in conversation.tools]
    elif candidate.provider.structured and isinstance(conversation.schema, dict):
        body["format"] = conversation.schema
    return body


def _message(message: Message) -> Body:
    if message.role == "tool":
        return {"role": "tool", "content": message.text, "tool_name": message.tool}
    said: Body = {"role": message.role, "content": message.text}
    if message.calls:
        said["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in message.calls
        ]
    return said


async def _plain(text: str, what: str, emit: Emit) -> Answer:
    try:
        parse_json(text, in_part=True)
    except NotJson:
        if "\n" in text.strip():  # a stream that does not say that it is one
            return await _streamed(lines_of(text), what, emit)
    reply = object_of(text, what)
    raise_inner(reply, what)
    message = reply.get("message")
    if not isinstance(message, dict):
        raise malformed(what, "the reply holds no message")
    said = _text(message.get("content"))
    emit(clean(said))
    return _answer(said, reply, tuple(_calls(message, 0)))


async def _streamed(lines: AsyncIterator[str], what: str, emit: Emit) -> Answer:
    said, calls, done = Saying(emit), list["ToolCall"](), False
    last: Body = {}
    with paid_so_far(said):
        async for line in lines:
            if not line.strip():
                continue
            last = object_of(line, what)
            raise_inner(last, what)
            message = table_of(last.get("message"))
            said.add(_text(message.get("content")))
            calls += _calls(message, len(calls))
            if last.get("done"):
                done = True
                await read_to_end(lines)
                break
        if not done:
            raise ended_early(what)
    said.end()
    return _answer(said.text, last, tuple(calls))


def _calls(message: Body, known: int) -> list[ToolCall]:
    found = tables_of(message.get("tool_calls"))[: CALLS_MAX - known]
    return [
        tool_call(
            number,
            call_id=called.get("id"),
            name=table_of(called.get("function")).get("name"),
            arguments=table_of(called.get("function")).get("arguments"),
        )
        for number, called in enumerate(found, start=known + 1)
    ]


def _answer(text: str, reply: Body, calls: tuple[ToolCall, ...]) -> Answer:
    detail: Body = {}
    if isinstance(model := reply.get("model"), str) and model:
        detail["served_by"] = clean(model)[:200]
    return Answer(
        clean(text),
        str(reply.get("done_reason") or "stop"),
        counted(reply.get("prompt_eval_count")),
        counted(reply.get("eval_count")),
        detail,
        calls,
    )


def _limit(candidate: Candidate, body: Body) -> Limit | None:
    tokens = table_of(body.get("options")).get("num_predict")
    return Limit("num_predict", tokens) if isinstance(tokens, int) else None


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


_FORM = Form(
    stream_types=("application/x-ndjson", "application/ndjson", "application/jsonl"),
    url=chat_url,
    credential=credential_of,
    body=body_of,
    streamed=_streamed,
    plain=_plain,
    dispensable=DISPENSABLE,
    limit=_limit,
)
