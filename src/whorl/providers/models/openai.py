"""The OpenAI chat wire format, which most servers speak: streamed, or plain where a server is."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.errors import ProviderError
from whorl.providers.models.sse import DONE, payloads
from whorl.providers.models.strict import closed, is_strict
from whorl.providers.models.tokens import counted
from whorl.providers.models.wire import Answer
from whorl.providers.outbound import Call, Credential, origin_of
from whorl.providers.outbound.faults import malformed, status_fault
from whorl.providers.outbound.reading import BYTES_HARD_MAX
from whorl.providers.texts import NotJson, clean, parse_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.language import Json
    from whorl.providers.models.wire import Candidate, Conversation
    from whorl.providers.outbound import Incoming, Outbound
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

    Body = dict[str, Json]

OFFICIAL = "https://api.openai.com:443"
# Fields that some servers or models refuse; without them the answer is still an answer.
DISPENSABLE = ("response_format", "stream_options", "temperature", "seed", "stream")
# How long the end of a stream may take once its answer is complete.
REST_S = 0.5
_NEW_LIMIT = "max_completion_tokens"


class OpenAIWire:
    """Speaks to any server with `/chat/completions`; learns what a model does not accept."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        self._refused: dict[str, tuple[str, ...]] = {}

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once; where the server refuses a field that can be spared, asks without it."""
        left_out = self._refused.get(candidate.name, ())
        while True:
            body = _without(body_of(candidate, conversation), left_out)
            try:
                # Another body is another request, and must not be taken for the first one.
                key = f"{conversation.key}-{len(left_out)}" if left_out else conversation.key
                answer = await self._ask(candidate, body, key=key, timeout_s=timeout_s, emit=emit)
            except ProviderError as fault:
                refused = _refused_field(body, fault)
                if refused is None or refused in left_out:
                    raise
                left_out = (*left_out, refused)
                self._refused[candidate.name] = left_out
            else:
                if left_out:
                    answer.detail["left_out"] = list(left_out)
                return answer

    async def _ask(
        self, candidate: Candidate, body: Body, *, key: str, timeout_s: float, emit: Emit
    ) -> Answer:
        headers = [
            ("content-type", "application/json"),
            ("accept", "text/event-stream, application/json"),
        ]
        call = Call(
            method="POST",
            url=chat_url(candidate.provider.base_url),
            headers=(*headers, ("idempotency-key", key)) if key else tuple(headers),
            body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
            credential=credential_of(candidate.provider),
            timeout_s=timeout_s,
            # Each token of a stream comes in an envelope of some hundred bytes.
            bytes_max=BYTES_HARD_MAX,
        )
        async with self._outbound.stream(call) as incoming:
            if not 200 <= incoming.status < 300:
                raise self._outbound.fault(incoming, await incoming.read())
            if incoming.content_type == "text/event-stream":
                return await _streamed(incoming.lines(), incoming.what, emit)
            return await _plain(incoming, emit)


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
    messages: list[Json] = [{"role": m.role, "content": m.text} for m in conversation.messages]
    body: Body = {"model": candidate.model, "messages": messages}
    if provider.stream:
        body |= {"stream": True, "stream_options": {"include_usage": True}}
    if conversation.temperature is not None:
        body["temperature"] = conversation.temperature
    if conversation.max_tokens is not None:
        body[_limit_field(candidate)] = conversation.max_tokens
    if conversation.stop:
        body["stop"] = list(conversation.stop)
    if conversation.seed is not None:
        body["seed"] = conversation.seed
    schema = conversation.schema
    if provider.structured and isinstance(schema, dict) and schema.get("type") == "object":
        form = closed(schema)
        described: Json = {"name": "answer", "schema": form, "strict": is_strict(form)}
        body["response_format"] = {"type": "json_schema", "json_schema": described}
    return body


def _limit_field(candidate: Candidate) -> str:
    if candidate.provider.max_tokens_field:
        return candidate.provider.max_tokens_field
    official = origin_of(candidate.provider.base_url) == OFFICIAL
    return _NEW_LIMIT if official else "max_tokens"


def _without(body: Body, left_out: tuple[str, ...]) -> Body:
    kept = {name: value for name, value in body.items() if name not in left_out}
    if "stream" in left_out:
        kept.pop("stream_options", None)
    if "max_tokens" in left_out:
        kept[_NEW_LIMIT] = body["max_tokens"]
    return kept


def _refused_field(body: Body, fault: ProviderError) -> str | None:
    """The field that a server said it does not know."""
    if fault.detail.get("status") not in (400, 422):
        return None
    said = str(fault.detail.get("body", ""))
    if "max_tokens" in body and _NEW_LIMIT in said:
        return "max_tokens"
    return next((name for name in DISPENSABLE if name in body and name in said), None)


async def _plain(incoming: Incoming, emit: Emit) -> Answer:
    text = (await incoming.read()).decode("utf-8", "replace")
    if text.lstrip().startswith("data:"):  # a stream that does not say that it is one
        return await _streamed(_lines(text), incoming.what, emit)
    reply = _object(text, incoming.what)
    _raise_inner(reply, incoming.what)
    choice = _first(reply.get("choices"))
    said = _content(choice.get("message") or {"content": choice.get("text")})
    if not choice or said is None:
        raise malformed(incoming.what, "the reply holds no message")
    emit(clean(said))
    return _answer(said, str(choice.get("finish_reason") or ""), reply)


async def _lines(text: str) -> AsyncIterator[str]:
    for line in text.split("\n"):
        yield line.removesuffix("\r")


async def _streamed(lines: AsyncIterator[str], what: str, emit: Emit) -> Answer:
    said, finish, done = _Saying(emit), "", False
    last: Body = {}
    async for payload in payloads(lines):
        if payload.strip() == DONE:
            done = True
            await _read_to_end(lines)
            break
        event = _object(payload, what)
        _raise_inner(event, what)
        last = {**last, **{k: v for k, v in event.items() if k in ("usage", "model") and v}}
        choice = _first(event.get("choices"))
        said.add(_content(choice.get("delta") or choice.get("message")) or "")
        finish = str(choice.get("finish_reason") or finish)
    if not done and not finish:
        fault = malformed(what, "the stream ended before the answer did")
        fault.detail["partial"] = clean(said.text)[-2_000:]
        fault.detail["characters"] = len(said.text)
        raise fault
    said.end()
    return _answer(said.text, finish, last)


async def _read_to_end(lines: AsyncIterator[str]) -> None:
    """Reads what follows the end of the answer, so that the connection can be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(REST_S):
            async for _ in lines:
                pass


class _Saying:
    """Gathers a streamed text; half of a character that was cut in two waits for its other half."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._parts: list[str] = []
        self._held = ""

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def add(self, piece: str) -> None:
        if not piece:
            return
        self._parts.append(piece)
        piece, self._held = self._held + piece, ""
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        if piece:
            self._emit(clean(piece))

    def end(self) -> None:
        if self._held:
            self._emit(clean(self._held))


def _answer(text: str, finish: str, reply: Body) -> Answer:
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    detail: Body = {}
    if isinstance(model := reply.get("model"), str) and model:
        detail["served_by"] = clean(model)[:200]
    return Answer(
        clean(text),
        finish,
        counted(usage.get("prompt_tokens")),
        counted(usage.get("completion_tokens")),
        detail,
    )


def _object(text: str, what: str) -> Body:
    try:
        parsed = parse_json(text, in_part=True)
    except NotJson as cause:
        raise malformed(what, f"the reply is not JSON: {cause}") from None
    if not isinstance(parsed, dict):
        raise malformed(what, "the reply is no JSON object")
    return parsed


def _raise_inner(reply: Body, what: str) -> None:
    """Some servers answer 200 and put the failure inside."""
    error = reply.get("error")
    if not error:
        return
    fields = error if isinstance(error, dict) else {"message": error}
    said, code = str(fields.get("message") or error), fields.get("code")
    status = code if isinstance(code, int) and 400 <= code <= 599 else 0
    kind = f"{fields.get('type')} {code}".lower()
    if not status:
        status = 429 if "rate" in kind else 400 if "invalid" in kind else 500
    raise status_fault(f"{what} (an error inside a reply)", status, {}, said)


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
    refusal = message.get("refusal")
    if isinstance(refusal, str):
        return refusal
    return "" if "content" in message else None
