"""The wire of Anthropic: its messages, its streams, and answers by schema through a tool."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.providers.json_values import as_text, table_of, tables_of
from whorl.providers.models.answer_reader import AnswerReader
from whorl.providers.models.conversation import Answer, counted
from whorl.providers.models.http_wire import HttpWire

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.answer_reader import Body
    from whorl.providers.models.conversation import Attachment, Candidate, Conversation
    from whorl.providers.task import Emit

# The tool through which a model of Anthropic gives an answer by schema: every model has tools.
ANSWER_TOOL = "give_answer"
_ANTHROPIC_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "context",
    "tool_use": "tool_calls",
}


class _AnthropicReader(AnswerReader):
    counts = ("input_tokens", "output_tokens")

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
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
                    self.add_text(delta.get("text"))
                elif delta.get("type") == "input_json_delta":
                    self._add_input(event.get("index"), delta.get("partial_json") or "")
            case "message_delta":
                self.finish = str(table_of(event.get("delta")).get("stop_reason") or "")
                usage = table_of(event.get("usage"))
                self.usage |= {name: n for name, n in usage.items() if n is not None}
        return event.get("type") == "message_stop"

    def take_reply(self, reply: Body) -> None:
        self.has_message = isinstance(reply.get("content"), list)
        self._begin(reply)
        for place, block in enumerate(tables_of(reply.get("content"))):
            self._begin_block(place, block)

    def _begin(self, message: Body) -> None:
        self.served_by = message.get("model")
        self.usage |= table_of(message.get("usage"))
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
            self.add_text(as_text(given))
        else:
            self.add_call(place, arguments=given)

    def answer(self) -> Answer:
        answer, finish = super().answer(), _ANTHROPIC_FINISHES.get(self.finish, self.finish)
        read = counted(self.usage.get("cache_read_input_tokens")) or 0
        written = counted(self.usage.get("cache_creation_input_tokens")) or 0
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
    dispensable = ("tool_choice", "temperature", "top_p", "stop_sequences", "stream")
    # The format wants a limit for every answer; a model that gives less says so.
    answer_tokens = 16_384
    headers = (("anthropic-version", "2023-06-01"),)
    key_header = "x-api-key"
    has_seed = False
    takes = ("image", "document")

    @staticmethod
    def path(path: str, *, is_check: bool) -> str:
        path = path.removesuffix("/messages").removesuffix("/v1")
        return f"{path}/v1/{'models' if is_check else 'messages'}"

    def body(self, candidate: Candidate, conversation: Conversation) -> Body:
        system = [message.text for message in conversation.messages if message.role == "system"]
        body: Body = {
            "model": candidate.model,
            "max_tokens": conversation.limit or self.answer_tokens,
            "messages": _anthropic_messages(conversation),
        }
        if system:
            body["system"] = "\n\n".join(system)
        if candidate.provider.stream:
            body["stream"] = True
        if conversation.temperature is not None:
            # Other formats go up to 2, and files are written for those.
            body["temperature"] = min(conversation.temperature, 1.0)
        if conversation.top_p is not None:
            body["top_p"] = conversation.top_p
        if conversation.stop:
            body["stop_sequences"] = list(conversation.stop)
        return body | _anthropic_tools(candidate, conversation)


def _anthropic_tools(candidate: Candidate, conversation: Conversation) -> Body:
    """The tools on offer; an answer by schema is given through a tool of our own."""
    offered: list[Json] = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.schema}
        for tool in conversation.tools
    ]
    choice: Body = {"type": "none"} if conversation.must_answer else {}
    schema = conversation.schema
    if candidate.provider.structured and table_of(schema).get("type") == "object":
        is_free = bool(offered) and not conversation.must_answer
        choice = {"type": "any"} if is_free else {"type": "tool", "name": ANSWER_TOOL}
        described = "Gives the answer. Call it once, when the answer is known."
        offered.append({"name": ANSWER_TOOL, "description": described, "input_schema": schema})
    if not offered:
        return {}
    return {"tools": offered} | ({"tool_choice": choice} if choice else {})


def _anthropic_messages(conversation: Conversation) -> list[Json]:
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
            content = [*map(_anthropic_file, message.files), {"type": "text", "text": message.text}]
        if message.role != "system":
            messages.append({"role": message.role, "content": content})
    return messages


def _anthropic_file(file: Attachment) -> Json:
    source: Json = {"type": "base64", "media_type": file.type, "data": file.base64}
    return {"type": "image" if file.is_image else "document", "source": source}
