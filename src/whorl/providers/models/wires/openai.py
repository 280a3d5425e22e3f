"""The OpenAI chat wire format, which most servers speak: streamed, or plain where a server is."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.providers.models.strict import closed, is_strict
from whorl.providers.models.tokens import counted
from whorl.providers.models.wire import Answer, Limit
from whorl.providers.models.wires.calls import Gathering, offered_json, tool_call
from whorl.providers.models.wires.speaking import Form, HttpWire
from whorl.providers.models.wires.sse import DONE, payloads
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
    from whorl.providers.models.wire import Candidate, Conversation, Message, ToolCall
    from whorl.providers.outbound import Outbound
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

    Body = dict[str, Json]

OFFICIAL = "https://api.openai.com:443"
# Fields that some servers or models refuse; without them the answer is still an answer.
DISPENSABLE = ("response_format", "stream_options", "temperature", "seed", "stream")
_NEW_LIMIT = "max_completion_tokens"


class OpenAIWire(HttpWire):
    """Speaks to any server with `/chat/completions`."""

    def __init__(self, outbound: Outbound) -> None:
        super().__init__(outbound, _FORM)


def chat_url(base_url: str) -> str:
    """Where conversations go: people write the host, the version, or the whole path."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/") or "/v1"
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def credential_of(provider: ProviderSettings) -> Credential | None:
    """The provider's key and headers, bound to its host."""
    headers = list(provider.headers)
    if provider.api_key is not None:
        from whorl.providers.secrets import Secret

        headers.insert(0, ("authorization", Secret(f"Bearer {provider.api_key.reveal()}")))
    return Credential(origin_of(provider.base_url), tuple(headers)) if headers else None


def body_of(candidate: Candidate, conversation: Conversation) -> Body:
    """The body of the request."""
    provider = candidate.provider
    messages: list[Json] = [_message(message) for message in conversation.messages]
    body: Body = {"model": candidate.model, "messages": messages}
    if provider.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if conversation.temperature is not None:
        body["temperature"] = conversation.temperature
    if conversation.limit is not None:
        body[_limit_field(candidate)] = conversation.limit
    if conversation.stop:
        body["stop"] = list(conversation.stop)
    if conversation.seed is not None:
        body["seed"] = conversation.seed
    if conversation.tools:
        body["tools"] = [offered_json(t.name, t.description, t.schema) for t in conversation.tools]
        if conversation.must_answer:
            body["tool_choice"] = "none"
    schema = conversation.schema
    if provider.structured and isinstance(schema, dict) and schema.get("type") == "object":
        form = closed(schema)
        described: Json = {"name": "answer", "schema": form, "strict": is_strict(form)}
        body["response_format"] = {"type": "json_schema", "json_schema": described}
    return body


def _message(message: Message) -> Body:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    said: Body = {"role": message.role, "content": message.text}
    if message.calls:
        said["content"] = message.text or None
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": call.name,
                    "arguments": json.dumps(call.arguments, ensure_ascii=False),
                },
            }
            for call in message.calls
        ]
    return said


def _limit_field(candidate: Candidate) -> str:
    if candidate.provider.max_tokens_field:
        return candidate.provider.max_tokens_field
    official = origin_of(candidate.provider.base_url) == OFFICIAL
    return _NEW_LIMIT if official else "max_tokens"


def _limit(candidate: Candidate, body: Body) -> Limit | None:
    for field in (_limit_field(candidate), _NEW_LIMIT):
        if isinstance(tokens := body.get(field), int):
            return Limit(field, tokens)
    return None


def _adapt(kept: Body, whole: Body, left_out: tuple[str, ...]) -> Body:
    if "stream" in left_out:
        kept.pop("stream_options", None)
    if "max_tokens" in left_out and "max_tokens" in whole:
        kept[_NEW_LIMIT] = whole["max_tokens"]
    return kept


def _refused(body: Body, said: str) -> str | None:
    return "max_tokens" if "max_tokens" in body and _NEW_LIMIT in said else None


async def _plain(text: str, what: str, emit: Emit) -> Answer:
    if text.lstrip().startswith("data:"):  # a stream that does not say that it is one
        return await _streamed(lines_of(text), what, emit)
    reply = object_of(text, what)
    raise_inner(reply, what)
    choice = _first(reply.get("choices"))
    message = choice.get("message") or {"content": choice.get("text")}
    calls = tuple(
        tool_call(
            number,
            call_id=called.get("id"),
            name=table_of(called.get("function")).get("name"),
            arguments=table_of(called.get("function")).get("arguments"),
        )
        for number, called in enumerate(tables_of(table_of(message).get("tool_calls")), start=1)
    )
    said, refusal = _content(message), _refusal(message)
    if not choice or (said is None and not calls and not refusal):
        raise malformed(what, "the reply holds no message")
    emit(clean(said or ""))
    finish = str(choice.get("finish_reason") or "")
    return replace(_answer(said or "", finish, reply, calls), refusal=refusal)


async def _streamed(lines: AsyncIterator[str], what: str, emit: Emit) -> Answer:
    said, calls, finish, done = Saying(emit), Gathering(), "", False
    refusal = ""
    last: Body = {}
    with paid_so_far(said):
        async for payload in payloads(lines):
            if payload.strip() == DONE:
                done = True
                await read_to_end(lines)
                break
            event = object_of(payload, what)
            raise_inner(event, what)
            last = {**last, **{k: v for k, v in event.items() if k in ("usage", "model") and v}}
            choice = _first(event.get("choices"))
            delta = choice.get("delta") or choice.get("message")
            said.add(_content(delta) or "")
            refusal += _refusal(delta)
            _gather(calls, delta)
            finish = str(choice.get("finish_reason") or finish)
        if not done and not finish:
            raise ended_early(what)
    said.end()
    return replace(_answer(said.text, finish, last, calls.calls()), refusal=refusal)


def _gather(calls: Gathering, delta: Json) -> None:
    for at, piece in enumerate(tables_of(table_of(delta).get("tool_calls"))):
        function = table_of(piece.get("function"))
        place = piece.get("index")
        calls.add(
            at if place is None else place,
            call_id=piece.get("id"),
            name=function.get("name"),
            text=function.get("arguments"),
        )


def _answer(text: str, finish: str, reply: Body, calls: tuple[ToolCall, ...]) -> Answer:
    usage = table_of(reply.get("usage"))
    detail: Body = {}
    if isinstance(model := reply.get("model"), str) and model:
        detail["served_by"] = clean(model)[:200]
    return Answer(
        clean(text),
        finish,
        counted(usage.get("prompt_tokens")),
        counted(usage.get("completion_tokens")),
        detail,
        calls,
        cache_read_tokens=counted(table_of(usage.get("prompt_tokens_details")).get("cached_tokens"))
        or 0,
    )


def _first(choices: Json) -> Body:
    first = choices[0] if isinstance(choices, list) and choices else {}
    return first if isinstance(first, dict) else {}


def _content(message: Json) -> str | None:
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    if isinstance(content, str):
        return content
    return "" if "content" in message else None


def _refusal(message: Json) -> str:
    said = table_of(message).get("refusal")
    return clean(said) if isinstance(said, str) else ""


_FORM = Form(
    stream_types=("text/event-stream",),
    url=chat_url,
    credential=credential_of,
    body=body_of,
    streamed=_streamed,
    plain=_plain,
    dispensable=DISPENSABLE,
    adapt=_adapt,
    refused=_refused,
    limit=_limit,
)
