"""What all wire formats of servers do the same way: requests, streams, answers event by event."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit, urlunsplit

from whorl.errors import ProviderError
from whorl.providers.json_values import (
    NotJson,
    as_text,
    beside,
    clean,
    json_bytes,
    parse_json,
    table_of,
)
from whorl.providers.models.conversation import Answer, Limit, counted, tool_calls
from whorl.providers.outbound import client
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate, Conversation
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit


# An answer that is taken in event by event, as a server streams it.

if TYPE_CHECKING:
    Body = dict[str, Json]

CALLS_MAX = 64


class AnswerReader:
    """Takes in the events of an answer; `counts` names the tokens read and written in `usage`."""

    counts: ClassVar[tuple[str, str]]

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._pieces: list[str] = []
        self._calls: dict[str, dict[str, str]] = {}
        self._last_keys: dict[str, str] = {}
        self.usage: Body = {}
        self.finish = ""
        self.refusal = ""
        self.served_by: Json = None
        self.has_message = False

    def take(self, event: Body) -> bool:
        """Takes in an event of a stream; true where it is the last one."""
        raise NotImplementedError

    def take_reply(self, reply: Body) -> None:
        self.take(reply)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add_text(self, piece: Json) -> None:
        if piece and isinstance(piece, str):
            self._pieces.append(piece)
            self._emit(clean(piece))

    def add_call(
        self, place: Json, *, call_id: Json = None, name: Json = None, arguments: Json = None
    ) -> None:
        """Takes a piece of the call at a place (None: the next); another id begins another."""
        place = str(len(self._calls) if place is None else place)
        key = self._last_keys.get(place, place)
        earlier_id = self._calls.get(key, {}).get("id")
        if earlier_id and isinstance(call_id, str) and call_id and call_id != earlier_id:
            key = f"{place} {call_id}"
        self._last_keys[place] = key
        if key not in self._calls and len(self._calls) >= CALLS_MAX:
            return
        call = self._calls.setdefault(key, {"id": "", "name": "", "arguments": ""})
        for field, piece in (("id", call_id), ("name", name)):
            if isinstance(piece, str) and piece and not call[field]:
                call[field] = piece
        if arguments is not None:
            call["arguments"] += as_text(arguments)

    def answer(self) -> Answer:
        """The answer, with the counts that the server gave and the model that it says it used."""
        is_named = isinstance(self.served_by, str) and self.served_by
        return Answer(
            clean(self.text),
            self.finish,
            counted(self.usage.get(self.counts[0])),
            counted(self.usage.get(self.counts[1])),
            {"served_by": clean(str(self.served_by))[:200]} if is_named else {},
            tool_calls([{**call} for call in self._calls.values()]),
            refusal=self.refusal,
        )


if TYPE_CHECKING:
    Fields = tuple[str, ...]

CHECK_S = 25.0
PARTIAL_MAX = 2_000
# How long the end of a stream may take once its answer is complete.
REST_S = 0.5
# Below this no limit is tried: what a server refuses then is something else.
CAP_LEAST = 1_024
# How the formats call the limit of an answer.
_LIMIT_FIELDS = ("max_tokens", "max_completion_tokens", "num_predict")
_OF_LIMIT = re.compile(
    r"max(?:imum)?[_ ](?:completion[_ ]|output[_ ])?tokens|(?:output|completion) tokens|"
    r"context (?:length|window|size)",
    re.IGNORECASE,
)
# What the types of errors inside of a reply with status 200 stand for.
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


class HttpWire:
    """Asks servers of one format; learns what a model does not accept.

    `dispensable` are fields that some servers or models refuse, and without which an answer is
    still an answer; `new_limit` is what newer servers call `max_tokens`. A format that wants a
    limit for every answer has `answer_tokens`. `end_mark` is the payload that ends a stream, where
    the format has one; with `is_json_lines` each line of a stream is a payload.
    """

    reader: ClassVar[type[AnswerReader]]
    stream_types: ClassVar[Fields] = ("text/event-stream",)
    is_json_lines: ClassVar[bool] = False
    dispensable: ClassVar[Fields] = ()
    new_limit: ClassVar[str] = ""
    answer_tokens: ClassVar[int | None] = None
    headers: ClassVar[tuple[tuple[str, str], ...]] = ()
    key_header: ClassVar[str] = "authorization"
    has_seed: ClassVar[bool] = True
    end_mark: ClassVar[str] = ""

    def __init__(self, outbound: client.Outbound) -> None:
        self._outbound = outbound
        # By address and model: another server with the same name speaks for itself.
        self._refused: dict[tuple[str, str], Fields] = {}
        self._most: dict[tuple[str, str], int] = {}

    @staticmethod
    def path(path: str, *, is_check: bool) -> str:
        """Where conversations go, or a check; people write the host, or more of the path."""
        raise NotImplementedError

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        raise NotImplementedError

    @classmethod
    def url(cls, base_url: str, *, is_check: bool = False) -> str:
        parts = urlsplit(base_url)
        path = cls.path(parts.path.rstrip("/"), is_check=is_check)
        return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once; where the server refuses a field that can be spared, asks without it.

        A limit of the answer that the file did not set is lowered where the model gives less.
        """
        model = (candidate.provider.base_url, candidate.model)
        left_out = self._refused.get(model, ())
        cap = conversation.cap or self.answer_tokens
        if conversation.max_tokens is None and cap is not None:
            conversation = replace(conversation, cap=min(cap, self._most.get(model, cap)))
        while True:
            body = self._without(self.body(candidate, conversation), left_out)
            call = self._call(candidate.provider, body, self._key(conversation, left_out))
            try:
                answer = await self._ask(replace(call, timeout_s=timeout_s), emit)
            except ProviderError as error:
                # What a server says of a request that it refuses, and does not fail at.
                is_refused = error.detail.get("status") in (400, 422)
                text = str(error.detail.get("body", "")) if is_refused else ""
                field = self._refused_field(body, text)
                # Servers name the number that they accept in many ways, some not at all.
                lower = (conversation.cap or 0) // 2 if _OF_LIMIT.search(text) else 0
                if field is not None and field not in left_out:
                    left_out = (*left_out, field)
                elif lower >= CAP_LEAST and conversation.max_tokens is None:
                    conversation = replace(conversation, cap=lower)
                    if "context" not in text:
                        self._most[model] = lower
                else:
                    raise
            else:
                # A field that is spared in vain was not what the server refused.
                if left_out:
                    self._refused[model] = left_out
                if conversation.seed is not None and not self.has_seed:
                    left_out = (*left_out, "seed")
                if left_out:
                    answer.detail["left_out"] = list(left_out)
                return replace(answer, limit=_limit(candidate, body))

    def _without(self, whole: Body, left_out: Fields) -> Body:
        """A body without some fields, and with the limit by its new name where it has one."""
        body = {name: value for name, value in whole.items() if name not in left_out}
        if "stream" in left_out:
            body.pop("stream_options", None)
        if "max_tokens" in left_out and "max_tokens" in whole:
            body[self.new_limit] = whole["max_tokens"]
        return body

    def _refused_field(self, body: Body, text: str) -> str | None:
        """The field that a refusal means: an upstream server is no `stream`, but streaming is."""
        if self.new_limit and self.new_limit in text and "max_tokens" in body:
            return "max_tokens"
        named = (name for name in self.dispensable if re.search(rf"\b{name}", text))
        return next((name for name in named if name in body), None)

    async def check(self, provider: ProviderSettings) -> str:
        """Asks for something that costs nothing; what to tell. Raises ProviderError."""
        call = replace(self._call(provider, None, ""), headers=self.headers, timeout_s=CHECK_S)
        received = await self._outbound.request(call, check_status=True)
        text = received.body.decode("utf-8", "replace")
        await beside(partial(_object_of, text, received.what), len(text))
        return f"answers at {received.url}"

    def _key(self, conversation: Conversation, left_out: Fields) -> str:
        """The key of a request: another body is another one, and not to be taken for the first."""
        if not conversation.key:
            return ""
        key = conversation.key + (f"-{len(left_out)}" if left_out else "")
        if conversation.max_tokens is None and conversation.cap != self.answer_tokens:
            key += f"-{conversation.cap}"
        return key

    def _call(self, provider: ProviderSettings, body: Body | None, key: str) -> client.Call:
        """A request with the provider's key and headers, which are bound to its host."""
        secrets = provider.headers
        if (own := provider.api_key) is not None:
            is_bearer = self.key_header == "authorization"
            header = Secret(f"Bearer {own.reveal()}") if is_bearer else own
            secrets = ((self.key_header, header), *secrets)
        accept = ", ".join((*self.stream_types, "application/json"))
        headers = (("content-type", "application/json"), ("accept", accept), *self.headers)
        credential = client.Credential(origin_of(provider.base_url), secrets) if secrets else None
        return client.Call(
            method="GET" if body is None else "POST",
            url=self.url(provider.base_url, is_check=body is None),
            headers=(*headers, ("idempotency-key", key)) if key else headers,
            body=b"" if body is None else json_bytes(body),
            credential=credential,
            # Each token of a stream comes in an envelope of some hundred bytes.
            bytes_max=client.BYTES_HARD_MAX,
            of_operator=True,
        )

    async def _ask(self, call: client.Call, emit: Emit) -> Answer:
        async with self._outbound.stream(call) as incoming:
            if not 200 <= incoming.status < 300:
                raise self._outbound.fault(incoming, await incoming.read())
            reader = self.reader(emit)
            if incoming.content_type in self.stream_types:
                await self._read_stream(incoming.lines(), incoming.what, reader)
            else:
                await self._read_reply(incoming, reader)
            return reader.answer()

    async def _read_reply(self, incoming: client.Received, reader: AnswerReader) -> None:
        text = (await incoming.read()).decode("utf-8", "replace")
        reader.take_reply(await beside(partial(_object_of, text, incoming.what), len(text)))
        if not reader.has_message:
            raise client.malformed(incoming.what, "the reply holds no message")

    async def _read_stream(
        self, lines: AsyncIterator[str], what: str, reader: AnswerReader
    ) -> None:
        is_done = False
        try:
            async for payload in self._payloads(lines):
                is_done = bool(self.end_mark) and payload.strip() == self.end_mark
                is_done = is_done or reader.take(_object_of(payload, what))
                if is_done:
                    break
            if not is_done and not reader.finish:
                raise client.cut_off(what, "the stream ended before the answer did")
            # What follows the answer is read, so that the connection can be used again.
            with suppress(TimeoutError):
                async with asyncio.timeout(REST_S):
                    async for _ in lines:
                        pass
        except ProviderError as error:
            # So much of the answer is paid for.
            if reader.text:
                error.detail["partial"] = clean(reader.text)[-PARTIAL_MAX:]
                error.detail["characters"] = len(reader.text)
            raise

    async def _payloads(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        """The lines, or the data of server-sent events without comments and other fields."""
        gathered: list[str] = []
        async for line in lines:
            if self.is_json_lines and line.strip():
                yield line
            elif line.startswith("data:"):
                gathered.append(line[5:].removeprefix(" "))
            elif not line and gathered:
                yield "\n".join(gathered)
                gathered = []
        if gathered:
            yield "\n".join(gathered)


def _limit(candidate: Candidate, body: Body) -> Limit | None:
    # Ollama has it among its options.
    options = body | table_of(body.get("options"))
    for field in (candidate.provider.max_tokens_field, *_LIMIT_FIELDS):
        if isinstance(tokens := options.get(field), int):
            return Limit(field, tokens)
    return None


def _object_of(text: str, what: str) -> Body:
    """The JSON object that a reply or event must be; a failure inside of it is raised."""
    try:
        reply = parse_json(text, in_part=True)
    except NotJson as cause:
        raise client.malformed(what, f"the reply is not JSON: {cause}") from None
    if not isinstance(reply, dict):
        raise client.malformed(what, "the reply is not a JSON object")
    error = reply.get("error")
    if not error:
        return reply
    fields = error if isinstance(error, dict) else {"message": error}
    code, kind = fields.get("code"), fields.get("type")
    status = code if isinstance(code, int) and 400 <= code <= 599 else _STATUSES.get(str(kind), 0)
    if not status:
        words = f"{kind} {code}".lower()
        status = 429 if "rate" in words else 400 if "invalid" in words else 500
    inner = json.dumps({"error": {"message": str(error)} | fields})
    raise client.status_fault(f"{what} (an error inside a reply)", status, {}, inner)
