"""Ollama's own wire format: `/api/chat`, one JSON object a line, or one for all."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.providers.json_values import NotJson, clean, parse_json, table_of, tables_of
from whorl.providers.models.conversation import Answer, Limit, counted
from whorl.providers.models.http_wire import AnswerReader, HttpWire, function_json, options_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate, Conversation, Message
    from whorl.providers.task import Emit

    Body = dict[str, Json]


class _Reader(AnswerReader):
    """Takes in lines; the last one has the counts."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._last: Body = {}
        self._calls = 0

    def take(self, event: Body) -> bool:
        self._last = event
        self.served_by = event.get("model")
        message = table_of(event.get("message"))
        self.has_message = isinstance(event.get("message"), dict)
        self.pieces.add(message.get("content"))
        for call in tables_of(message.get("tool_calls")):
            function = table_of(call.get("function"))
            name, arguments = function.get("name"), function.get("arguments")
            self._calls += 1
            self.calls.add(self._calls, call_id=call.get("id"), name=name, arguments=arguments)
        return bool(event.get("done"))

    def answer(self) -> Answer:
        return Answer(
            clean(self.pieces.text),
            str(self._last.get("done_reason") or "stop"),
            counted(self._last.get("prompt_eval_count")),
            counted(self._last.get("eval_count")),
            self.detail(),
            self.calls.calls(),
        )


class OllamaWire(HttpWire):
    """Speaks to Ollama."""

    reader = _Reader
    stream_types = ("application/x-ndjson", "application/ndjson", "application/jsonl")
    # A schema is stated in words too, and checked by us.
    dispensable = ("format", "tools")

    def url(self, base_url: str, *, is_check: bool = False) -> str:
        return chat_url(base_url, "tags" if is_check else "chat")

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        provider = candidate.provider
        messages: list[Json] = [_message(message) for message in conversation.messages]
        body: Body = {"model": candidate.model, "messages": messages, "stream": provider.stream}
        options = options_of(
            conversation, temperature="temperature", limit="num_predict", stop="stop", seed="seed"
        )
        if options:
            body["options"] = options
        if conversation.tools and not conversation.must_answer:
            # A model that is held to a schema asks for no tools, so it is only held to it last.
            body["tools"] = [function_json(tool) for tool in conversation.tools]
        elif provider.structured and isinstance(conversation.schema, dict):
            body["format"] = conversation.schema
        return body

    def limit(self, candidate: Candidate, body: Body) -> Limit | None:
        tokens = table_of(body.get("options")).get("num_predict")
        return Limit("num_predict", tokens) if isinstance(tokens, int) else None

    def is_stream(self, text: str) -> bool:
        """Whether a reply is several lines of JSON, and not one value."""
        try:
            parse_json(text, in_part=True)
        except NotJson:
            return "\n" in text.strip()
        return False

    async def payloads(self, lines: AsyncIterator[str]) -> AsyncIterator[str]:
        """The lines that are not empty."""
        async for line in lines:
            if line.strip():
                yield line


def chat_url(base_url: str, last: str = "chat") -> str:
    """Where conversations go: people write the host, the host with `/v1`, or the whole path."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix("/chat").removesuffix("/api").removesuffix("/v1")
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/api/{last}", parts.query, ""))


def _message(message: Message) -> Body:
    if message.role == "tool":
        return {"role": "tool", "content": message.text, "tool_name": message.tool}
    body: Body = {"role": message.role, "content": message.text}
    if message.calls:
        body["tool_calls"] = [
            {"function": {"name": call.name, "arguments": call.arguments}} for call in message.calls
        ]
    return body
