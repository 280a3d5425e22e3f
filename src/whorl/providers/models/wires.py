"""The wires: OpenAI's chat, which most servers support, Anthropic's, Ollama's, and a script.

Those of servers read streams, and plain replies from servers that send them. The scripted one gives
canned replies instead of a model: for tests, demonstrations and dry runs.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit, urlunsplit

from whorl.errors import ProviderError, plural
from whorl.language.patterns import TEXT_MAX, pattern
from whorl.providers import json_values
from whorl.providers.models import conversation as conversations
from whorl.providers.models.conversation import Answer, Limit, tool_calls
from whorl.providers.outbound import client
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.redaction import Secret
from whorl.providers.task import Emit, iteration_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate, Conversation, Message
    from whorl.providers.settings import ProviderSettings, ReplyRule

    Body = dict[str, Json]
    Fields = tuple[str, ...]

# What all wire formats of servers do the same way: requests, streams, answers event by event.

CALLS_MAX = 64


class AnswerReader:
    """Takes the events of an answer; `counts` names the tokens read and written in `usage`."""

    counts: ClassVar[tuple[str, str]]

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._pieces: list[str] = []
        self._calls: dict[str, dict[str, str]] = {}
        self._last_keys: dict[str, str] = {}
        self.usage: Body = {}
        self.finish = ""
        self.refusal = ""
        self.has_message = False

    def take(self, event: Body) -> bool:
        """Takes an event of a stream; returns True if it is the last one."""
        raise NotImplementedError

    def take_reply(self, reply: Body) -> None:
        self.take(reply)

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    def add_text(self, piece: Json) -> None:
        if piece and isinstance(piece, str):
            self._pieces.append(piece)
            self._emit(json_values.clean(piece))

    def add_call(
        self, place: Json, *, call_id: Json = None, name: Json = None, arguments: Json = None
    ) -> None:
        """Takes a piece of the call at a place (None: the next); another id begins another call."""
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
            call["arguments"] += json_values.as_text(arguments)

    def answer(self) -> Answer:
        """Returns the answer, with the token counts that the server reported."""
        return Answer(
            json_values.clean(self.text),
            self.finish,
            conversations.counted(self.usage.get(self.counts[0])),
            conversations.counted(self.usage.get(self.counts[1])),
            calls=tool_calls([{**call} for call in self._calls.values()]),
            refusal=self.refusal,
        )


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
# What the words in errors inside of a reply with status 200 stand for; other errors are faults of
# the server.
_STATUSES = (
    (429, re.compile("rate|quota")),
    (400, re.compile("invalid|authentication|billing|permission|not_found|too_large")),
)


class HttpWire:
    """Asks servers of one format, and learns which fields a model does not accept.

    `dispensable` are fields that some servers or models refuse, and that an answer does not need.
    `new_limit` is the name of `max_tokens` on newer servers. A format that requires a limit for
    every answer has `answer_tokens`. `end_mark` is the payload that ends a stream, if the format
    has one. With `is_json_lines` each line of a stream is a payload.
    """

    reader: ClassVar[type[AnswerReader]]
    stream_types: ClassVar[Fields] = ("text/event-stream",)
    is_json_lines: ClassVar[bool] = False
    dispensable: ClassVar[Fields] = ()
    new_limit: ClassVar[str] = ""
    answer_tokens: ClassVar[int | None] = None
    headers: ClassVar[tuple[tuple[str, str], ...]] = ()
    key_header: ClassVar[str] = "authorization"
    end_mark: ClassVar[str] = ""

    def __init__(self, outbound: client.Outbound) -> None:
        self._outbound = outbound
        # By address and model: another server with the same name speaks for itself.
        self._refused: dict[tuple[str, str], Fields] = {}
        self._most: dict[tuple[str, str], int] = {}

    @staticmethod
    def path(path: str, *, is_check: bool) -> str:
        """Returns the path for conversations or checks; people write the host or a longer path."""
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
        """Asks once; repeats without each optional field that the server refuses.

        A limit that the file did not set is lowered if the model allows less.
        """
        model = (candidate.provider.base_url, candidate.model)
        left_out = self._refused.get(model, ())
        cap = conversation.cap or self.answer_tokens
        if conversation.max_tokens is None and cap is not None:
            conversation = replace(conversation, cap=min(cap, self._most.get(model, cap)))
        while True:
            whole = self.body(candidate, conversation)
            body = {name: value for name, value in whole.items() if name not in left_out}
            if "stream" in left_out:
                body.pop("stream_options", None)
            if "max_tokens" in left_out and "max_tokens" in whole:
                body[self.new_limit] = whole["max_tokens"]
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
                    answer.detail["left_out"] = list(left_out)
                return replace(answer, limit=_limit(body))

    def _refused_field(self, body: Body, text: str) -> str | None:
        """Returns the field that a refusal names, if any: by 'streaming', but not by 'upstream'."""
        if self.new_limit and self.new_limit in text and "max_tokens" in body:
            return "max_tokens"
        named = (name for name in self.dispensable if re.search(rf"\b{name}", text))
        return next((name for name in named if name in body), None)

    async def check(self, provider: ProviderSettings) -> str:
        """Checks the provider with a free request; returns a description. Raises ProviderError."""
        call = replace(self._call(provider, None, ""), headers=self.headers, timeout_s=CHECK_S)
        received = await self._outbound.request(call, check_status=True)
        text = received.body.decode("utf-8", "replace")
        await json_values.beside(partial(_object_of, text, received.what), len(text))
        return f"answers at {received.url}"

    def _key(self, conversation: Conversation, left_out: Fields) -> str:
        """Returns the key of a request; another body gets another key, as it is a new request."""
        if not conversation.key:
            return ""
        key = conversation.key + (f"-{len(left_out)}" if left_out else "")
        if conversation.max_tokens is None and conversation.cap != self.answer_tokens:
            key += f"-{conversation.cap}"
        return key

    def _call(self, provider: ProviderSettings, body: Body | None, key: str) -> client.OutboundCall:
        """Builds a request with the provider's key and headers, which are bound to its host."""
        secrets = provider.headers
        if (own := provider.api_key) is not None:
            is_bearer = self.key_header == "authorization"
            header = Secret(f"Bearer {own.reveal()}") if is_bearer else own
            secrets = ((self.key_header, header), *secrets)
        accept = ", ".join((*self.stream_types, "application/json"))
        headers = (("content-type", "application/json"), ("accept", accept), *self.headers)
        credential = client.Credential(origin_of(provider.base_url), secrets) if secrets else None
        return client.OutboundCall(
            method="GET" if body is None else "POST",
            url=self.url(provider.base_url, is_check=body is None),
            headers=(*headers, ("idempotency-key", key)) if key else headers,
            body=b"" if body is None else json_values.json_bytes(body),
            credential=credential,
            # Each token of a stream comes in an envelope of some hundred bytes.
            bytes_max=client.BYTES_HARD_MAX,
            of_operator=True,
        )

    async def _ask(self, call: client.OutboundCall, emit: Emit) -> Answer:
        async with self._outbound.stream(call) as incoming:
            if not 200 <= incoming.status < 300:
                raise self._outbound.fault(incoming, await incoming.read())
            reader = self.reader(emit)
            if incoming.content_type in self.stream_types:
                await self._read_stream(incoming.lines(), incoming.what, reader)
                return reader.answer()
            text = (await incoming.read()).decode("utf-8", "replace")
            reader.take_reply(
                await json_values.beside(partial(_object_of, text, incoming.what), len(text))
            )
            if not reader.has_message:
                raise client.malformed(incoming.what, "the reply holds no message")
            return reader.answer()

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
                error.detail["partial"] = json_values.clean(reader.text)[-PARTIAL_MAX:]
                error.detail["characters"] = len(reader.text)
            raise

    async def _payloads(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        """Yields lines, or the data of server-sent events without comments and other fields."""
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


def _limit(body: Body) -> Limit | None:
    # Ollama has it among its options.
    options = body | json_values.table_of(body.get("options"))
    for field in _LIMIT_FIELDS:
        if isinstance(tokens := options.get(field), int):
            return Limit(field, tokens)
    return None


def _object_of(text: str, what: str) -> Body:
    """Returns the JSON object of a reply or event. Raises the failure in it, if any."""
    try:
        reply = json_values.parse_json(text, in_part=True)
    except json_values.NotJson as cause:
        why = f"the server's reply is not JSON ({cause}), so this is probably not a model server"
        raise client.malformed(what, f"{why}; check base_url") from None
    if not isinstance(reply, dict):
        raise client.malformed(what, "the reply is not a JSON object")
    error = reply.get("error")
    if not error:
        return reply
    fields = error if isinstance(error, dict) else {"message": error}
    code, words = fields.get("code"), f"{fields.get('type')} {fields.get('code')}".lower()
    status = next((status for status, sign in _STATUSES if sign.search(words)), 500)
    if isinstance(code, int) and 400 <= code <= 599:
        status = code
    inner = json.dumps({"error": {"message": str(error)} | fields})
    raise client.status_fault(f"{what} (an error inside a reply)", status, {}, inner)


OFFICIAL = "https://api.openai.com:443"


class OpenAIReader(AnswerReader):
    """Takes chunks, or a whole reply, which has a `message` instead of a chunk's `delta`."""

    counts = ("prompt_tokens", "completion_tokens")

    def take(self, event: Body) -> bool:
        self.usage = json_values.table_of(event.get("usage")) or self.usage
        choice = next(iter(json_values.tables_of(event.get("choices"))), {})
        given = choice.get("delta") or choice.get("message")
        if choice and not given:
            given = {"content": choice.get("text")}
        message = json_values.table_of(given)
        content, refusal = message.get("content"), message.get("refusal")
        if isinstance(content, list):
            texts = [part.get("text") for part in json_values.tables_of(content)]
            content = "".join(text for text in texts if isinstance(text, str))
        self.add_text(content)
        self.refusal += json_values.clean(refusal) if isinstance(refusal, str) else ""
        called = json_values.tables_of(message.get("tool_calls"))
        for number, call in enumerate(called):
            function, place = json_values.table_of(call.get("function")), call.get("index")
            place = number if place is None else place
            name, arguments = function.get("name"), function.get("arguments")
            self.add_call(place, call_id=call.get("id"), name=name, arguments=arguments)
        self.finish = str(choice.get("finish_reason") or self.finish)
        self.has_message = "content" in message or bool(called or self.refusal)
        return False

    def answer(self) -> Answer:
        cached = json_values.table_of(self.usage.get("prompt_tokens_details")).get("cached_tokens")
        return replace(super().answer(), cache_read_tokens=conversations.counted(cached) or 0)


class OpenAIWire(HttpWire):
    reader = OpenAIReader
    dispensable = ("response_format", "stream_options", "temperature", "top_p", "stream")
    takes = ("image", "document")
    new_limit = "max_completion_tokens"
    end_mark = "[DONE]"

    @staticmethod
    def path(path: str, *, is_check: bool) -> str:
        base = (path or "/v1").removesuffix("/chat/completions")
        return f"{base}/{'models' if is_check else 'chat/completions'}"

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        provider, schema = candidate.provider, conversation.schema
        messages: list[Json] = [_openai_message(message) for message in conversation.messages]
        body: Body = {"model": candidate.model, "messages": messages}
        if provider.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        usual = self.new_limit if origin_of(provider.base_url) == OFFICIAL else "max_tokens"
        body |= _options(conversation, limit=usual)
        if conversation.tools:
            body["tools"] = _functions(conversation)
            if conversation.must_answer:
                body["tool_choice"] = "none"
        if provider.structured and isinstance(schema, dict) and schema.get("type") == "object":
            form = conversations.closed(schema)
            described: Json = {
                "name": "answer",
                "schema": form,
                "strict": conversations.is_strict(form),
            }
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        return body


def _openai_message(message: Message) -> Body:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if not message.calls:
        parts: list[Json] = []
        for file in message.files:
            address = f"data:{file.type};base64,{file.base64}"
            named: Json = {"filename": file.name.rpartition("/")[2], "file_data": address}
            image: Json = {"type": "image_url", "image_url": {"url": address}}
            parts.append(image if file.is_image else {"type": "file", "file": named})
        text: list[Json] = [{"type": "text", "text": message.text}]
        return {"role": message.role, "content": [*text, *parts] if parts else message.text}
    calls: list[Json] = []
    for call in message.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        function: Json = {"name": call.name, "arguments": arguments}
        calls.append({"id": call.id, "type": "function", "function": function})
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def _options(conversation: Conversation, *, limit: str) -> Body:
    options: Body = {"temperature": conversation.temperature, "top_p": conversation.top_p}
    options[limit] = conversation.limit
    return {name: value for name, value in options.items() if value is not None}


def _functions(conversation: Conversation) -> list[Json]:
    functions: list[Json] = []
    for tool in conversation.tools:
        described: Body = {"description": tool.description} if tool.description else {}
        function: Body = {"name": tool.name, "parameters": dict(tool.schema), **described}
        functions.append({"type": "function", "function": function})
    return functions


class _OllamaReader(AnswerReader):
    counts = ("prompt_eval_count", "eval_count")

    def take(self, event: Body) -> bool:
        self.usage = event
        message = json_values.table_of(event.get("message"))
        self.has_message = isinstance(event.get("message"), dict)
        self.add_text(message.get("content"))
        for call in json_values.tables_of(message.get("tool_calls")):
            function = json_values.table_of(call.get("function"))
            name, arguments = function.get("name"), function.get("arguments")
            self.add_call(None, call_id=call.get("id"), name=name, arguments=arguments)
        return bool(event.get("done"))

    def answer(self) -> Answer:
        return replace(super().answer(), finish=str(self.usage.get("done_reason") or "stop"))


class OllamaWire(HttpWire):
    reader = _OllamaReader
    stream_types = ("application/x-ndjson", "application/ndjson", "application/jsonl")
    is_json_lines = True
    takes = ("image",)
    # A schema is stated in words too, and checked by us.
    dispensable = ("format", "tools")

    @staticmethod
    def path(path: str, *, is_check: bool) -> str:
        path = path.removesuffix("/chat").removesuffix("/api").removesuffix("/v1")
        return f"{path}/api/{'tags' if is_check else 'chat'}"

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        provider = candidate.provider
        messages: list[Json] = []
        for message in conversation.messages:
            sent: Body = {"role": message.role, "content": message.text}
            if message.files:
                sent["images"] = [file.base64 for file in message.files]
            if message.role == "tool":
                sent["tool_name"] = message.tool
            if message.calls:
                sent["tool_calls"] = [
                    {"function": {"name": call.name, "arguments": call.arguments}}
                    for call in message.calls
                ]
            messages.append(sent)
        body: Body = {"model": candidate.model, "messages": messages, "stream": provider.stream}
        # Else a prompt that is too long would be cut without a word.
        body["truncate"] = False
        if options := _options(conversation, limit="num_predict"):
            body["options"] = options
        if conversation.tools and not conversation.must_answer:
            # A model that is held to a schema asks for no tools, so it is only held to it last.
            body["tools"] = _functions(conversation)
        elif provider.structured and isinstance(conversation.schema, dict):
            body["format"] = conversation.schema
        return body


class ScriptedWire:
    """Answers by the rules of the provider; counts words as tokens and says that it is scripted."""

    takes = ("image", "document")

    def __init__(self, outbound: client.Outbound) -> None:
        self._counts: dict[tuple[str, int], int] = {}

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        prompt = "\n".join(message.text for message in conversation.messages)
        name = candidate.provider.name
        for at, rule in enumerate(candidate.provider.rules):
            if pattern(rule.match, dot_matches_newline=True).search(prompt[:TEXT_MAX]):
                number, most = self._number((name, at), rule, conversation), len(rule.replies)
                if number > most and rule.exhaust == "error":
                    why = f"the {most} replies of rule {rule.match!r} of the scripted provider"
                    advice = "are used up; add one, or set exhaust = 'repeat'"
                    raise ProviderError(f"{why} {name!r} {advice}", code="P112")
                reply = rule.replies[min(number, most) - 1]
                answer = _answer(reply, prompt, name, conversation.cap)
                emit(answer.text)
                return answer
        # What is asked comes last; before it stand the system's words, such as a whole schema.
        asked = conversation.messages[-1].text if conversation.messages else ""
        why = f"no rule of the scripted provider {name!r} matches the prompt {asked[:200]!r}"
        advice = f"add one below [providers.{name}] whose `match` is found in it"
        raise ProviderError(f"{why}; {advice}", code="P112")

    async def check(self, provider: ProviderSettings) -> str:
        return plural(len(provider.rules), "rule")

    def _number(self, key: tuple[str, int], rule: ReplyRule, conversation: Conversation) -> int:
        if rule.by == "iteration":
            return iteration_of(conversation.address)
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]


def _answer(reply: Json, prompt: str, name: str, cap: int | None) -> Answer:
    """Returns the reply as an answer, cut to `cap` words as if by a budget."""
    fields = reply if isinstance(reply, dict) else {"text": reply}
    status = fields.get("status")
    if isinstance(status, int) and status >= 400:
        headers = {"retry-after": str(fields.get("retry_after", ""))}
        fault = str(fields.get("text", "scripted fault"))
        raise client.status_fault(f"scripted provider {name!r}", status, headers, fault)
    text = json_values.as_text(fields["json"] if "json" in fields else fields.get("text", ""))
    calls, words = tool_calls(fields.get("calls")), text.split()
    finish = str(fields.get("finish", "tool_calls" if calls else "stop"))
    answer = Answer(text, finish, len(prompt.split()), len(words), {"scripted": True}, calls)
    if cap is None or len(words) <= cap:
        return answer
    text, limit = " ".join(words[:cap]), Limit("max_tokens", cap)
    return replace(answer, text=text, finish="length", output_tokens=cap, limit=limit)


# The wire of Anthropic: its messages, its streams, and answers by schema through a tool.

# The tool through which a model of Anthropic gives an answer by schema: every model has tools.
ANSWER_TOOL = "give_answer"
_ANTHROPIC_FINISHES = dict.fromkeys(("end_turn", "stop_sequence"), "stop")
_ANTHROPIC_FINISHES |= {"max_tokens": "length", "model_context_window_exceeded": "context"}
_ANTHROPIC_FINISHES["tool_use"] = "tool_calls"


class _AnthropicReader(AnswerReader):
    counts = ("input_tokens", "output_tokens")

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._answers: set[str] = set()

    def take(self, event: Body) -> bool:
        match event.get("type"):
            case "message_start":
                self._begin(json_values.table_of(event.get("message")))
            case "content_block_start":
                self._begin_block(
                    event.get("index"), json_values.table_of(event.get("content_block"))
                )
            case "content_block_delta":
                delta = json_values.table_of(event.get("delta"))
                if delta.get("type") == "text_delta":
                    self.add_text(delta.get("text"))
                elif delta.get("type") == "input_json_delta":
                    self._add_input(event.get("index"), delta.get("partial_json") or "")
            case "message_delta":
                self.finish = str(json_values.table_of(event.get("delta")).get("stop_reason") or "")
                usage = json_values.table_of(event.get("usage"))
                self.usage |= {name: n for name, n in usage.items() if n is not None}
        return event.get("type") == "message_stop"

    def take_reply(self, reply: Body) -> None:
        self.has_message = isinstance(reply.get("content"), list)
        self._begin(reply)
        for place, block in enumerate(json_values.tables_of(reply.get("content"))):
            self._begin_block(place, block)

    def _begin(self, message: Body) -> None:
        self.usage |= json_values.table_of(message.get("usage"))
        self.finish = str(message.get("stop_reason") or "")

    def _begin_block(self, place: Json, block: Body) -> None:
        if block.get("type") == "text":
            self.add_text(block.get("text"))
        elif block.get("type") == "tool_use":
            if block.get("name") == ANSWER_TOOL:
                self._answers.add(str(place))
            else:
                self.add_call(place, call_id=block.get("id"), name=block.get("name"))
            # A stream begins with an empty input, whose text follows; a plain reply has all of it.
            self._add_input(place, block.get("input") or "")

    def _add_input(self, place: Json, given: Json) -> None:
        if str(place) in self._answers:
            self.add_text(json_values.as_text(given))
        else:
            self.add_call(place, arguments=given)

    def answer(self) -> Answer:
        answer, finish = super().answer(), _ANTHROPIC_FINISHES.get(self.finish, self.finish)
        read = conversations.counted(self.usage.get("cache_read_input_tokens")) or 0
        written = conversations.counted(self.usage.get("cache_creation_input_tokens")) or 0
        fresh = answer.input_tokens
        if read or written:
            answer.detail["cache"] = {"read_tokens": read, "written_tokens": written}
        return replace(
            answer,
            # An answer by schema may be an empty object, of which a stream says nothing.
            text=answer.text or ("{}" if self._answers else ""),
            finish="stop" if finish == "tool_calls" and not answer.calls else finish,
            input_tokens=None if fresh is None else fresh + read + written,
            cache_read_tokens=read,
            cache_written_tokens=written,
        )


class AnthropicWire(HttpWire):
    reader = _AnthropicReader
    # A schema is stated in words too, and checked by us.
    dispensable = ("tool_choice", "temperature", "top_p", "stream")
    # The format wants a limit for every answer; a model that gives less says so.
    answer_tokens = 16_384
    headers = (("anthropic-version", "2023-06-01"),)
    key_header = "x-api-key"
    takes = ("image", "document")

    @staticmethod
    def path(path: str, *, is_check: bool) -> str:
        path = path.removesuffix("/messages").removesuffix("/v1")
        return f"{path}/v1/{'models' if is_check else 'messages'}"

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        system = [message.text for message in conversation.messages if message.role == "system"]
        limit = conversation.limit or self.answer_tokens
        body: Body = {"model": candidate.model, "max_tokens": limit}
        body["messages"] = _anthropic_messages(conversation)
        if system:
            body["system"] = "\n\n".join(system)
        if candidate.provider.stream:
            body["stream"] = True
        if conversation.temperature is not None:
            # Other formats go up to 2, and files are written for those.
            body["temperature"] = min(conversation.temperature, 1.0)
        if conversation.top_p is not None:
            body["top_p"] = conversation.top_p
        return body | _anthropic_tools(candidate, conversation)


def _anthropic_tools(candidate: Candidate, conversation: Conversation) -> Body:
    """Returns the tools on offer; an answer by schema is given through a tool of Whorl's own."""
    offered: list[Json] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in conversation.tools
    ]
    choice: Body = {"type": "none"} if conversation.must_answer else {}
    schema = conversation.schema
    if candidate.provider.structured and json_values.table_of(schema).get("type") == "object":
        is_free = bool(offered) and not conversation.must_answer
        choice = {"type": "any"} if is_free else {"type": "tool", "name": ANSWER_TOOL}
        described = "Gives the answer. Call it once, when the answer is known."
        offered.append({"name": ANSWER_TOOL, "description": described, "input_schema": schema})
    if not offered:
        return {}
    return {"tools": offered} | ({"tool_choice": choice} if choice else {})


def _anthropic_messages(conversation: Conversation) -> list[Json]:
    """Returns the messages; results of tools that were requested together share one message."""
    messages: list[Json] = []
    results: list[Json] = []
    for message in conversation.messages:
        if message.role == "tool":
            if not results:
                messages.append({"role": "user", "content": results})
            result: Body = {"type": "tool_result", "tool_use_id": message.call}
            result["content"] = message.text or "(nothing)"
            results.append(result | ({"is_error": True} if message.failed else {}))
            continue
        results = []
        # An empty message is refused, and a model may have said nothing before.
        content: Json = message.text or ("(nothing)" if message.role == "assistant" else "")
        if message.calls:
            text = message.text if message.text.strip() else ""
            content = [{"type": "text", "text": text}] if text else []
            content += [
                {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
                for call in message.calls
            ]
        if message.files:
            files: list[Json] = []
            for file in message.files:
                source: Json = {"type": "base64", "media_type": file.type, "data": file.base64}
                files.append({"type": "image" if file.is_image else "document", "source": source})
            content = [*files, {"type": "text", "text": message.text}]
        if message.role != "system":
            messages.append({"role": message.role, "content": content})
    return messages
