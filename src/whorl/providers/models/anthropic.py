"""The Anthropic messages wire format: streamed, or plain where a server is."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from whorl.providers.json_values import as_text, clean, table_of, tables_of
from whorl.providers.models.conversation import Answer, Limit, counted
from whorl.providers.models.http_wire import AnswerReader, HttpWire, options_of

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.conversation import Candidate, Conversation, Message
    from whorl.providers.redaction import Secret
    from whorl.providers.task import Emit

    Body = dict[str, Json]

# The tool through which a model gives an answer by schema: every model has tools.
ANSWER_TOOL = "give_answer"
_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "tool_use": "tool_calls",
}


class _Reader(AnswerReader):
    """Takes in an answer block by block."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._usage: Body = {}
        self._answers: set[str] = set()

    def take(self, event: Body) -> bool:
        match event.get("type"):
            case "message_start":
                self._begin(table_of(event.get("message")))
            case "content_block_start":
                self._begin_block(event.get("index"), table_of(event.get("content_block")))
            case "content_block_delta":
                delta = table_of(event.get("delta"))
                if delta.get("type") == "text_delta":
                    self.pieces.add(delta.get("text"))
                elif delta.get("type") == "input_json_delta":
                    self._add_input(event.get("index"), delta.get("partial_json") or "")
            case "message_delta":
                self.finish = str(table_of(event.get("delta")).get("stop_reason") or "")
                usage = table_of(event.get("usage"))
                self._usage |= {name: n for name, n in usage.items() if n is not None}
        return event.get("type") == "message_stop"

    def take_reply(self, reply: Body) -> None:
        self.has_message = isinstance(reply.get("content"), list)
        self._begin(reply)
        for place, block in enumerate(tables_of(reply.get("content"))):
            self._begin_block(place, block)

    def _begin(self, message: Body) -> None:
        self.served_by = message.get("model")
        self._usage |= table_of(message.get("usage"))
        self.finish = str(message.get("stop_reason") or "")

    def _begin_block(self, place: Json, block: Body) -> None:
        if block.get("type") == "text":
            self.pieces.add(block.get("text"))
        elif block.get("type") == "tool_use":
            if block.get("name") == ANSWER_TOOL:
                self._answers.add(str(place))
            else:
                self.calls.add(place, call_id=block.get("id"), name=block.get("name"))
            # A stream begins with an empty input, whose text follows; a plain reply has all of it.
            self._add_input(place, block.get("input") or "")

    def _add_input(self, place: Json, given: Json) -> None:
        if str(place) in self._answers:
            self.pieces.add(as_text(given))
        else:
            self.calls.add(place, arguments=given)

    def answer(self) -> Answer:
        calls, finish = self.calls.calls(), _FINISHES.get(self.finish, self.finish)
        if finish == "tool_calls" and not calls:
            finish = "stop"
        read = counted(self._usage.get("cache_read_input_tokens")) or 0
        written = counted(self._usage.get("cache_creation_input_tokens")) or 0
        fresh = counted(self._usage.get("input_tokens"))
        detail = self.detail()
        if read or written:
            detail["cache"] = {"read_tokens": read, "written_tokens": written}
        return Answer(
            # An answer by schema may be an empty object, of which a stream says nothing.
            clean(self.pieces.text) or ("{}" if self._answers else ""),
            finish,
            None if fresh is None else fresh + read + written,
            counted(self._usage.get("output_tokens")),
            detail,
            calls,
            cache_read_tokens=read,
            cache_written_tokens=written,
        )


class AnthropicWire(HttpWire):
    """Speaks to servers with `/v1/messages`."""

    reader = _Reader
    # A schema is stated in words too, and checked by us.
    dispensable = ("tool_choice", "temperature", "stop_sequences", "stream")
    # The format wants a limit for every answer; a model that gives less says so.
    answer_tokens = 16_384
    headers = (("anthropic-version", "2023-06-01"),)

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        """Asks once, and says that this format has no seed where one was given."""
        answer = await super().converse(candidate, conversation, timeout_s=timeout_s, emit=emit)
        if conversation.seed is not None:
            left_out = answer.detail.get("left_out")
            answer.detail["left_out"] = [*(left_out if isinstance(left_out, list) else ()), "seed"]
        return answer

    def url(self, base_url: str, *, is_check: bool = False) -> str:
        return messages_url(base_url, "models" if is_check else "messages")

    def key_header(self, key: Secret) -> tuple[str, Secret]:
        return "x-api-key", key

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        system = [message.text for message in conversation.messages if message.role == "system"]
        body: Body = {
            "model": candidate.model,
            "max_tokens": conversation.limit or self.answer_tokens,
            "messages": _messages(conversation),
        }
        if system:
            body["system"] = "\n\n".join(system)
        if candidate.provider.stream:
            body["stream"] = True
        if conversation.temperature is not None:
            # Other formats go up to 2, and files are written for those.
            body["temperature"] = min(conversation.temperature, 1.0)
        body |= options_of(conversation, stop="stop_sequences")
        return body | _tools(candidate, conversation)

    def limit(self, candidate: Candidate, body: Body) -> Limit | None:
        tokens = body.get("max_tokens")
        return Limit("max_tokens", tokens) if isinstance(tokens, int) else None


def messages_url(base_url: str, last: str = "messages") -> str:
    """Where conversations go: people write the host, the version, or the whole path."""
    parts = urlsplit(base_url)
    path = parts.path.rstrip("/").removesuffix("/messages")
    if not path.endswith("/v1"):
        path += "/v1"
    return urlunsplit((parts.scheme, parts.netloc, f"{path}/{last}", parts.query, ""))


def _tools(candidate: Candidate, conversation: Conversation) -> Body:
    """The tools on offer; an answer by schema is given through a tool of our own."""
    offered: list[Json] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in conversation.tools
    ]
    schema = conversation.schema
    is_object = isinstance(schema, dict) and schema.get("type") == "object"
    if candidate.provider.structured and is_object:
        described = "Gives the answer. Call it once, when the answer is known."
        offered.append({"name": ANSWER_TOOL, "description": described, "input_schema": schema})
        is_free = bool(conversation.tools) and not conversation.must_answer
        only: Body = {"type": "tool", "name": ANSWER_TOOL}
        return {"tools": offered, "tool_choice": {"type": "any"} if is_free else only}
    if not offered:
        return {}
    return {"tools": offered} | (
        {"tool_choice": {"type": "none"}} if conversation.must_answer else {}
    )


def _messages(conversation: Conversation) -> list[Json]:
    """The messages; results of tools that were asked for together stand together in one."""
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
        if message.role != "system":
            messages.append({"role": message.role, "content": _content(message)})
    return messages


def _content(message: Message) -> Json:
    if not message.calls:
        # An empty message is refused, and a model may have said nothing before.
        return message.text or ("(nothing)" if message.role == "assistant" else "")
    text: list[Json] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls: list[Json] = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
        for call in message.calls
    ]
    return text + calls
