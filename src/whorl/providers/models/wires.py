"""The wires: OpenAI's chat, which most servers speak, those of Anthropic and Ollama, a script.

Those of servers read streams, and plain replies where a server gives those. The scripted one gives
canned replies instead of a model: for tests, demonstrations and dry runs.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl.errors import ProviderError, plural
from whorl.language.faults import LanguageError
from whorl.language.patterns import TEXT_MAX, pattern
from whorl.providers.json_values import as_text, clean, table_of, tables_of
from whorl.providers.models.conversation import (
    Answer,
    Limit,
    closed,
    counted,
    is_strict,
    tool_calls,
)
from whorl.providers.models.http_wire import AnswerReader, HttpWire
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.outbound.client import status_fault
from whorl.providers.task import Emit, iteration_of

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.conversation import Attachment, Candidate, Conversation, Message
    from whorl.providers.models.http_wire import Body
    from whorl.providers.outbound.client import Outbound
    from whorl.providers.settings import ProviderSettings, ReplyRule

OFFICIAL = "https://api.openai.com:443"


class OpenAIReader(AnswerReader):
    """Takes in chunks, or a whole reply, which has a `message` where a chunk has a `delta`."""

    counts = ("prompt_tokens", "completion_tokens")

    def take(self, event: Body) -> bool:
        self.usage = table_of(event.get("usage")) or self.usage
        self.served_by = event.get("model") or self.served_by
        choice = next(iter(tables_of(event.get("choices"))), {})
        given = choice.get("delta") or choice.get("message")
        if choice and not given:
            given = {"content": choice.get("text")}
        message = table_of(given)
        content, refusal = message.get("content"), message.get("refusal")
        if isinstance(content, list):
            texts = [part.get("text") for part in tables_of(content)]
            content = "".join(text for text in texts if isinstance(text, str))
        self.add_text(content)
        self.refusal += clean(refusal) if isinstance(refusal, str) else ""
        called = tables_of(message.get("tool_calls"))
        for number, call in enumerate(called):
            function, place = table_of(call.get("function")), call.get("index")
            self.add_call(
                number if place is None else place,
                call_id=call.get("id"),
                name=function.get("name"),
                arguments=function.get("arguments"),
            )
        self.finish = str(choice.get("finish_reason") or self.finish)
        self.has_message = "content" in message or bool(called or self.refusal)
        return False

    def answer(self) -> Answer:
        cached = table_of(self.usage.get("prompt_tokens_details")).get("cached_tokens")
        return replace(super().answer(), cache_read_tokens=counted(cached) or 0)


class OpenAIWire(HttpWire):
    reader = OpenAIReader
    dispensable = ("response_format", "stream_options", "temperature", "top_p", "seed", "stream")
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
        is_official = origin_of(provider.base_url) == OFFICIAL
        usual = self.new_limit if is_official else "max_tokens"
        body |= _options(conversation, limit=provider.max_tokens_field or usual)
        if conversation.tools:
            body["tools"] = _functions(conversation)
            if conversation.must_answer:
                body["tool_choice"] = "none"
        if provider.structured and isinstance(schema, dict) and schema.get("type") == "object":
            form = closed(schema)
            described: Json = {"name": "answer", "schema": form, "strict": is_strict(form)}
            body["response_format"] = {"type": "json_schema", "json_schema": described}
        return body


def _openai_message(message: Message) -> Body:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.call, "content": message.text}
    if not message.calls:
        parts = [*map(_openai_file, message.files)]
        text: list[Json] = [{"type": "text", "text": message.text}]
        return {"role": message.role, "content": [*text, *parts] if parts else message.text}
    calls: list[Json] = []
    for call in message.calls:
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        function: Json = {"name": call.name, "arguments": arguments}
        calls.append({"id": call.id, "type": "function", "function": function})
    return {"role": message.role, "content": message.text or None, "tool_calls": calls}


def _openai_file(file: Attachment) -> Json:
    address = f"data:{file.type};base64,{file.base64}"
    if file.is_image:
        return {"type": "image_url", "image_url": {"url": address}}
    name = file.name.rpartition("/")[2]
    return {"type": "file", "file": {"filename": name, "file_data": address}}


def _options(conversation: Conversation, *, limit: str) -> Body:
    options: Body = {
        "temperature": conversation.temperature,
        "top_p": conversation.top_p,
        limit: conversation.limit,
        "stop": list(conversation.stop) or None,
        "seed": conversation.seed,
    }
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
        self.served_by = event.get("model")
        message = table_of(event.get("message"))
        self.has_message = isinstance(event.get("message"), dict)
        self.add_text(message.get("content"))
        for call in tables_of(message.get("tool_calls")):
            function = table_of(call.get("function"))
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


def _is_in(prompt: str, match: str) -> bool:
    """Whether an expression is found: by RE2 where it can, which takes no longer than it has to.

    The others need the trust of the operator.
    """
    try:
        program = pattern(match, dot_matches_newline=True)
    except LanguageError:
        return re.search(match, prompt, re.DOTALL) is not None
    return program.search(prompt[:TEXT_MAX]) is not None


class ScriptedWire:
    """Answers by the rules of the provider; counts words as tokens and says that it is scripted."""

    takes = ("image", "document")

    def __init__(self, outbound: Outbound) -> None:
        self._counts: dict[tuple[str, int], int] = {}

    async def converse(
        self, candidate: Candidate, conversation: Conversation, *, timeout_s: float, emit: Emit
    ) -> Answer:
        prompt = "\n".join(message.text for message in conversation.messages)
        name = candidate.provider.name
        for at, rule in enumerate(candidate.provider.rules):
            if _is_in(prompt, rule.match):
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
        if rule.by == "attempt":
            return conversation.attempt
        if rule.by == "iteration":
            return iteration_of(conversation.address)
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]


def _answer(reply: Json, prompt: str, name: str, cap: int | None) -> Answer:
    """The answer as a model gives it that is held to so many words by a budget."""
    fields = reply if isinstance(reply, dict) else {"text": reply}
    status = fields.get("status")
    if isinstance(status, int) and status >= 400:
        headers = {"retry-after": str(fields.get("retry_after", ""))}
        fault = str(fields.get("text", "scripted fault"))
        raise status_fault(f"scripted provider {name!r}", status, headers, fault)
    text = as_text(fields["json"] if "json" in fields else fields.get("text", ""))
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
