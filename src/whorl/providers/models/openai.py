"""The OpenAI chat wire format, which most servers speak: streamed, or plain where a server is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.providers.json_values import clean, table_of, tables_of
from whorl.providers.models.answers import closed, is_strict
from whorl.providers.models.conversation import Answer, Limit, counted
from whorl.providers.models.http_wire import AnswerReader, HttpWire, function_json, options_of
from whorl.providers.outbound import origin_of

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate, Conversation, Message
    from whorl.providers.task import Emit

    Body = dict[str, Json]

OFFICIAL = "https://api.openai.com:443"
_NEW_LIMIT = "max_completion_tokens"


class _Reader(AnswerReader):
    """Takes in chunks, or a whole reply, which has a `message` where a chunk has a `delta`."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._usage: Body = {}
        self._refusal = ""

    def take(self, event: Body) -> bool:
        self._usage = table_of(event.get("usage")) or self._usage
        self.served_by = event.get("model") or self.served_by
        choices = event.get("choices")
        choice = table_of(choices[0] if isinstance(choices, list) and choices else None)
        message = choice.get("delta") or choice.get("message")
        if choice and not message:
            message = {"content": choice.get("text")}
        content, refusal = _content(message), table_of(message).get("refusal")
        self.pieces.add(content)
        self._refusal += clean(refusal) if isinstance(refusal, str) else ""
        called = tables_of(table_of(message).get("tool_calls"))
        for number, call in enumerate(called):
            function, place = table_of(call.get("function")), call.get("index")
            self.calls.add(
                number if place is None else place,
                call_id=call.get("id"),
                name=function.get("name"),
                arguments=function.get("arguments"),
            )
        self.finish = str(choice.get("finish_reason") or self.finish)
        self.has_message = content is not None or bool(called or self._refusal)
        return False

    def answer(self) -> Answer:
        cached = table_of(self._usage.get("prompt_tokens_details")).get("cached_tokens")
        return Answer(
            clean(self.pieces.text),
            self.finish,
            counted(self._usage.get("prompt_tokens")),
            counted(self._usage.get("completion_tokens")),
            self.detail(),
            self.calls.calls(),
            cache_read_tokens=counted(cached) or 0,
            refusal=self._refusal,
        )


class OpenAIWire(HttpWire):
    """Speaks to any server with `/chat/completions`."""

    reader = _Reader
    dispensable = ("response_format", "stream_options", "temperature", "seed", "stream")
    end_mark = "[DONE]"

    def url(self, base_url: str, *, is_check: bool = False) -> str:
        return f"{base_url}/models" if is_check else chat_url(base_url)

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        provider, schema = candidate.provider, conversation.schema
        messages: list[Json] = [_message(message) for message in conversation.messages]
        body: Body = {"model": candidate.model, "messages": messages}
        if provider.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        body |= options_of(
            conversation,
            temperature="temperature",
            limit=_limit_field(candidate),
            stop="stop",
            seed="seed",
        )
        if conversation.tools:
            body["tools"] = [function_json(tool) for tool in conversation.tools]
            if conversation.must_answer:
                body["tool_choice"] = "none"
        if provider.structured and isinstance(schema, dict) and schema.get("type") == "object":
            form = closed(schema)
            described: Json = {"name": "answer", "schema": form, "strict": is_strict(form)}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        return body

    def limit(self, candidate: Candidate, body: Body) -> Limit | None:
        """The limit of the answer, under its old or its new name."""
        for field in (_limit_field(candidate), _NEW_LIMIT):
            if isinstance(tokens := body.get(field), int):
                return Limit(field, tokens)
        return None

    def adapt(self, body: Body, whole: Body, left_out: tuple[str, ...]) -> Body:
        """Without `stream` there are no options of it; a limit goes by its new name."""
        if "stream" in left_out:
            body.pop("stream_options", None)
        if "max_tokens" in left_out and "max_tokens" in whole:
            body[_NEW_LIMIT] = whole["max_tokens"]
        return body

    def refused_field(self, body: Body, text: str) -> str | None:
        """Also the old name of the limit, where the server names the new one."""
        if "max_tokens" in body and _NEW_LIMIT in text:
            return "max_tokens"
        return super().refused_field(body, text)


def chat_url(base_url: str) -> str:
    """Where conversations go: people write the host, the version, or the whole path."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/") or "/v1"
    if not path.endswith("/chat/completions"):
        path += "/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def _message(message: Message) -> Body:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if not message.calls:
        return {"role": message.role, "content": message.text}
    calls: list[Json] = []
    for call in message.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        function: Json = {"name": call.name, "arguments": arguments}
        calls.append({"id": call.id, "type": "function", "function": function})
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def _limit_field(candidate: Candidate) -> str:
    is_official = origin_of(candidate.provider.base_url) == OFFICIAL
    return candidate.provider.max_tokens_field or (_NEW_LIMIT if is_official else "max_tokens")


def _content(message: Json) -> str | None:
    content = table_of(message).get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in tables_of(content)]
        return "".join(text for text in texts if isinstance(text, str))
    if isinstance(content, str):
        return content
    return "" if "content" in table_of(message) else None
