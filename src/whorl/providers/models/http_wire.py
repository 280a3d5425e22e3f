"""What all wire formats of servers do the same way: requests, streams, tool calls."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from whorl.errors import ProviderError
from whorl.providers.json_values import NotJson, as_text, clean, parse_json
from whorl.providers.models.conversation import Answer, tool_call
from whorl.providers.outbound import Call, Credential, origin_of
from whorl.providers.outbound.client import BYTES_HARD_MAX
from whorl.providers.outbound.errors import cut_off, malformed, status_fault
from whorl.providers.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from whorl.language import Json
    from whorl.providers.models.conversation import (
        Candidate,
        Conversation,
        Limit,
        ToolCall,
        ToolOffer,
    )
    from whorl.providers.outbound import Incoming, Outbound
    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Emit

    Body = dict[str, Json]
    Fields = tuple[str, ...]

CALLS_MAX = 64
CHECK_S = 10.0
PARTIAL_MAX = 2_000
# How long the end of a stream may take once its answer is complete.
REST_S = 0.5
# Below this no limit is tried: what a server refuses then is something else.
CAP_LEAST = 1_024
_OF_LIMIT = re.compile(
    r"max(?:imum)?[_ ](?:completion[_ ]|output[_ ])?tokens|(?:output|completion) tokens|"
    r"context (?:length|window|size)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.-])\d{1,3}(?:,\d{3})+|(?<![\w.-])\d{1,9}(?![\w.-]*\w)")
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


class TextPieces:
    """Gathers a streamed text; half of a character that was cut in two waits for its other half."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._parts: list[str] = []
        self._held = ""

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._parts)

    def add(self, piece: Json) -> None:
        """Takes the next piece, and passes on what is whole."""
        if not piece or not isinstance(piece, str):
            return
        self._parts.append(piece)
        piece, self._held = self._held + piece, ""
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._held = piece[:-1], piece[-1]
        if piece:
            self._emit(clean(piece))

    def end(self) -> None:
        """Passes on what was held back."""
        if self._held:
            self._emit(clean(self._held))


class ToolCallPieces:
    """Calls whose names and arguments arrive in pieces; each piece names the place of its call."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, str]] = {}
        self._last: dict[str, str] = {}

    def add(
        self, place: Json, *, call_id: Json = None, name: Json = None, arguments: Json = None
    ) -> None:
        """Takes a piece; arguments are JSON, or a part of its text."""
        key = self._key(str(place), call_id)
        if key not in self._calls and len(self._calls) >= CALLS_MAX:
            return
        call = self._calls.setdefault(key, {"id": "", "name": "", "text": ""})
        for field, piece in (("id", call_id), ("name", name)):
            if isinstance(piece, str) and piece and not call[field]:
                call[field] = piece
        if arguments is not None:
            call["text"] += as_text(arguments)

    def _key(self, place: str, call_id: Json) -> str:
        """Some servers give all calls the same place; another id then begins another call."""
        key = self._last.get(place, place)
        earlier_id = self._calls.get(key, {}).get("id")
        if earlier_id and isinstance(call_id, str) and call_id and call_id != earlier_id:
            key = f"{place} {call_id}"
        self._last[place] = key
        return key

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls in the order in which they began."""
        return tuple(
            tool_call(number, call_id=call["id"], name=call["name"], arguments=call["text"])
            for number, call in enumerate(self._calls.values(), start=1)
        )


class AnswerReader:
    """What came of an answer so far; each wire format takes in its own events."""

    def __init__(self, emit: Emit) -> None:
        self.pieces = TextPieces(emit)
        self.calls = ToolCallPieces()
        self.finish = ""
        self.served_by: Json = None
        self.has_message = False

    def take(self, event: Body) -> bool:
        """Takes in an event of a stream; true where it is the last one."""
        raise NotImplementedError

    def take_reply(self, reply: Body) -> None:
        """Takes in a reply that was not streamed."""
        self.take(reply)

    def answer(self) -> Answer:
        """The answer, with the counts that the server gave."""
        raise NotImplementedError

    def detail(self) -> Body:
        """What people are told: the model that the server says it used."""
        is_named = isinstance(self.served_by, str) and self.served_by
        return {"served_by": clean(str(self.served_by))[:200]} if is_named else {}


class HttpWire:
    """Asks servers of one format; learns what a model does not accept.

    `dispensable` are fields that some servers or models refuse, and without which an answer is
    still an answer. A format that wants a limit for every answer has `answer_tokens`. `end_mark` is
    the payload that ends a stream, where the format has one.
    """

    reader: ClassVar[type[AnswerReader]]
    stream_types: ClassVar[Fields] = ("text/event-stream",)
    dispensable: ClassVar[Fields] = ()
    answer_tokens: ClassVar[int | None] = None
    headers: ClassVar[tuple[tuple[str, str], ...]] = ()
    end_mark: ClassVar[str] = ""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound
        # By address and model: another server with the same name speaks for itself.
        self._refused: dict[tuple[str, str], Fields] = {}
        self._most: dict[tuple[str, str], int] = {}

    def url(self, base_url: str, *, is_check: bool = False) -> str:
        """Where conversations go, or where can be asked what costs nothing."""
        raise NotImplementedError

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        """The body of the request."""
        raise NotImplementedError

    def limit(self, candidate: Candidate, body: Body) -> Limit | None:
        """The limit of the answer in a body."""
        raise NotImplementedError

    def key_header(self, key: Secret) -> tuple[str, Secret]:
        """The header that holds the provider's key."""
        return "authorization", Secret(f"Bearer {key.reveal()}")

    def adapt(self, body: Body, whole: Body, left_out: Fields) -> Body:
        """What is left of a body without some fields."""
        return body

    def refused_field(self, body: Body, text: str) -> str | None:
        """The field that a refusal means: an upstream server is no `stream`, but streaming is."""
        named = (name for name in self.dispensable if re.search(rf"\b{name}", text))
        return next((name for name in named if name in body), None)

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once; where the server refuses a field that can be spared, asks without it.

        A limit of the answer that the file did not set is lowered where the model gives less.
        """
        model = (candidate.provider.base_url, candidate.model)
        left_out = self._refused.get(model, ())
        conversation = self._limited(model, conversation)
        while True:
            whole = self.body(candidate, conversation)
            kept = {name: value for name, value in whole.items() if name not in left_out}
            body = self.adapt(kept, whole, left_out)
            key = self._key(conversation, left_out)
            call = self._call(candidate.provider, body, key=key, timeout_s=timeout_s)
            try:
                answer = await self._ask(call, emit)
            except ProviderError as error:
                # What a server says of a request that it refuses, and does not fail at.
                is_refused = error.detail.get("status") in (400, 422)
                text = str(error.detail.get("body", "")) if is_refused else ""
                field, lower = self.refused_field(body, text), lower_cap(conversation, text)
                if field is not None and field not in left_out:
                    left_out = (*left_out, field)
                elif lower is not None:
                    conversation = replace(conversation, cap=lower)
                    if "context" not in text:
                        self._most[model] = lower
                else:
                    raise
            else:
                # A field that is spared in vain was not what the server refused.
                if left_out:
                    self._refused[model] = left_out
                    answer.detail["left_out"] = list(left_out)
                return replace(answer, limit=self.limit(candidate, body))

    async def check(self, provider: ProviderSettings) -> str:
        """Asks for something that costs nothing; what to tell. Raises ProviderError."""
        call = Call(
            method="GET",
            url=self.url(provider.base_url, is_check=True),
            headers=self.headers,
            credential=self._credential(provider),
            timeout_s=CHECK_S,
            of_operator=True,
        )
        received = await self._outbound.request(call, check_status=True)
        return f"answers at {received.url}"

    def _credential(self, provider: ProviderSettings) -> Credential | None:
        """The provider's key and headers, bound to its host."""
        key = () if provider.api_key is None else (self.key_header(provider.api_key),)
        headers = (*key, *provider.headers)
        return Credential(origin_of(provider.base_url), headers) if headers else None

    def _limited(self, model: tuple[str, str], conversation: Conversation) -> Conversation:
        """The conversation with a limit that the model is known to accept."""
        cap = conversation.cap or self.answer_tokens
        if conversation.max_tokens is not None or cap is None:
            return conversation
        return replace(conversation, cap=min(cap, self._most.get(model, cap)))

    def _key(self, conversation: Conversation, left_out: Fields) -> str:
        """The key of a request: another body is another one, and not to be taken for the first."""
        if not conversation.key:
            return ""
        key = conversation.key + (f"-{len(left_out)}" if left_out else "")
        if conversation.max_tokens is None and conversation.cap != self.answer_tokens:
            key += f"-{conversation.cap}"
        return key

    def _call(self, provider: ProviderSettings, body: Body, *, key: str, timeout_s: float) -> Call:
        accept = ", ".join((*self.stream_types, "application/json"))
        headers = (("content-type", "application/json"), ("accept", accept), *self.headers)
        return Call(
            method="POST",
            url=self.url(provider.base_url),
            headers=(*headers, ("idempotency-key", key)) if key else headers,
            body=json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"),
            credential=self._credential(provider),
            timeout_s=timeout_s,
            # Each token of a stream comes in an envelope of some hundred bytes.
            bytes_max=BYTES_HARD_MAX,
            of_operator=True,
        )

    async def _ask(self, call: Call, emit: Emit) -> Answer:
        async with self._outbound.stream(call) as incoming:
            if not 200 <= incoming.status < 300:
                raise self._outbound.fault(incoming, await incoming.read())
            reader = self.reader(emit)
            if incoming.content_type in self.stream_types:
                await self._read_stream(incoming.lines(), incoming.what, reader)
            else:
                await self._read_reply(incoming, reader)
            reader.pieces.end()
            return reader.answer()

    async def _read_reply(self, incoming: Incoming, reader: AnswerReader) -> None:
        text = (await incoming.read()).decode("utf-8", "replace")
        if self.is_stream(text):
            return await self._read_stream(_lines_of(text), incoming.what, reader)
        reply = object_of(text, incoming.what)
        raise_inner(reply, incoming.what)
        reader.take_reply(reply)
        if not reader.has_message:
            raise malformed(incoming.what, "the reply holds no message")
        return None

    def is_stream(self, text: str) -> bool:
        """Whether a reply is a stream that does not say that it is one."""
        return text.lstrip().startswith(("data:", "event:"))

    async def _read_stream(
        self, lines: AsyncIterator[str], what: str, reader: AnswerReader
    ) -> None:
        is_done = False
        with _paid_so_far(reader.pieces):
            async for payload in self.payloads(lines):
                is_done = bool(self.end_mark) and payload.strip() == self.end_mark
                if not is_done:
                    event = object_of(payload, what)
                    raise_inner(event, what)
                    is_done = reader.take(event)
                if is_done:
                    await _read_to_end(lines)
                    break
            if not is_done and not reader.finish:
                raise cut_off(what, "the stream ended before the answer did")

    async def payloads(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        """The data of each server-sent event; comments and other fields are left out."""
        gathered: list[str] = []
        async for line in lines:
            if line.startswith("data:"):
                gathered.append(line[5:].removeprefix(" "))
            elif not line and gathered:
                yield "\n".join(gathered)
                gathered = []
        if gathered:
            yield "\n".join(gathered)


def lower_cap(conversation: Conversation, text: str) -> int | None:
    """The next limit to try for a model that gives no answers as long as was asked for.

    Servers name the number that they accept in many ways, some only that of their whole context:
    the largest that is named, but at least half.
    """
    cap = conversation.cap
    if cap is None or conversation.max_tokens is not None or not _OF_LIMIT.search(text):
        return None
    named = (int(number.replace(",", "")) for number in _NUMBER.findall(text))
    lower = max([cap // 2, *(number for number in named if number < cap)])
    return lower if lower >= CAP_LEAST else None


def options_of(conversation: Conversation, **fields: str) -> Body:
    """The options of a conversation that are set, by the format's fields for them."""
    options: dict[str, Json] = {
        "temperature": conversation.temperature,
        "limit": conversation.limit,
        "stop": list(conversation.stop) or None,
        "seed": conversation.seed,
    }
    return {field: options[name] for name, field in fields.items() if options[name] is not None}


def function_json(tool: ToolOffer) -> Json:
    """A tool in the form that OpenAI and Ollama share."""
    function: Body = {"name": tool.name, "parameters": dict(tool.schema)}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


@contextmanager
def _paid_so_far(pieces: TextPieces) -> Iterator[None]:
    """Notes in the error of a stream that broke how much of the answer had come."""
    try:
        yield
    except ProviderError as error:
        if pieces.text:
            error.detail["partial"] = clean(pieces.text)[-PARTIAL_MAX:]
            error.detail["characters"] = len(pieces.text)
        raise


async def _read_to_end(lines: AsyncIterator[str]) -> None:
    """Reads what follows the end of the answer, so that the connection can be used again."""
    with suppress(TimeoutError):
        async with asyncio.timeout(REST_S):
            async for _ in lines:
                pass


async def _lines_of(text: str) -> AsyncIterator[str]:
    """The lines of a text that was not read as a stream, but is one."""
    for line in text.split("\n"):
        yield line.removesuffix("\r")


def object_of(text: str, what: str) -> Body:
    """The JSON object that a reply, or an event of it, must be."""
    try:
        parsed = parse_json(text, in_part=True)
    except NotJson as cause:
        raise malformed(what, f"the reply is not JSON: {cause}") from None
    if not isinstance(parsed, dict):
        raise malformed(what, "the reply is no JSON object")
    return parsed


def raise_inner(reply: Body, what: str) -> None:
    """Raises the failure that some servers put inside of a reply or a stream with status 200."""
    error = reply.get("error")
    if not error:
        return
    fields = error if isinstance(error, dict) else {"message": error}
    code, kind = fields.get("code"), fields.get("type")
    status = code if isinstance(code, int) and 400 <= code <= 599 else _STATUSES.get(str(kind), 0)
    if not status:
        words = f"{kind} {code}".lower()
        status = 429 if "rate" in words else 400 if "invalid" in words else 500
    text = json.dumps({"error": {"message": str(error)} | fields})
    raise status_fault(f"{what} (an error inside a reply)", status, {}, text)
