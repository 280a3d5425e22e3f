"""The wires: OpenAI's chat, which most servers speak, Ollama's, and a script.

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
from whorl.providers.models.answer_reader import AnswerReader
from whorl.providers.models.conversation import Answer, Limit, counted, tool_calls
from whorl.providers.models.http_wire import HttpWire
from whorl.providers.models.typed_answers import closed, is_strict
from whorl.providers.outbound.addresses import origin_of
from whorl.providers.outbound.faults import status_fault
from whorl.providers.task import Emit, iteration_of

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.models.answer_reader import Body
    from whorl.providers.models.conversation import Attachment, Candidate, Conversation, Message
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
