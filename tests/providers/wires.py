"""What each of the three wire formats looks like on the wire, for tests that hold for all."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import (
    Answerer,
    Server,
    ask,
    begin,
    chunk,
    completion,
    delta,
    events,
    piece,
    providers_for,
    serve,
    settings_for,
)

from whorl.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable

    from provider_server import Seen

    from whorl.providers.task import Reply, Request

KEY = "secret-key-1"


@dataclass(frozen=True)
class Format:
    """One wire format: where it is spoken, what a plain reply is, what a stream is."""

    kind: str
    path: str
    stream_type: str
    plain: Callable[[str], dict[str, Any]]
    pieces: Callable[[list[str]], list[bytes]]
    error: Callable[[str], dict[str, Any]]

    def settings(self, url: str, **provider: Any) -> Any:
        return settings_for(url, kind=self.kind, base_url=url, **provider)


def _line(event: dict[str, Any]) -> bytes:
    return (json.dumps(event, ensure_ascii=False) + "\n").encode()


def anthropic_message(text: str, **more: Any) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "served"}
    content = [{"type": "text", "text": text}]
    usage = {"input_tokens": 7, "output_tokens": 3}
    return {**head, "stop_reason": "end_turn", "content": content, "usage": usage, **more}


def anthropic_event(event: dict[str, Any]) -> bytes:
    body = json.dumps(event, ensure_ascii=False)
    return f"event: {event['type']}\ndata: {body}\n\n".encode()


def _anthropic_stream(texts: list[str]) -> list[bytes]:
    start = anthropic_message("", content=[], stop_reason=None)
    start["usage"] = {"input_tokens": 7, "output_tokens": 1}
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    deltas = [{"index": 0, "delta": {"type": "text_delta", "text": text}} for text in texts]
    end = {
        "delta": {"stop_reason": "end_turn"},
        "usage": {"input_tokens": None, "output_tokens": 3},
    }
    stream: list[dict[str, Any]] = [
        {"type": "message_start", "message": start},
        {"type": "ping"},
        {"type": "content_block_start", **block},
        *({"type": "content_block_delta", **delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", **end},
        {"type": "message_stop"},
    ]
    return [anthropic_event(event) for event in stream]


def _ollama_plain(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_eval_count": 7, "eval_count": 3}
    return {"model": "served", "message": message, "done": True, "done_reason": "stop", **usage}


def _ollama_stream(texts: list[str]) -> list[bytes]:
    said = [
        {"model": "served", "message": {"role": "assistant", "content": text}, "done": False}
        for text in texts
    ]
    return [_line(event) for event in (*said, _ollama_plain(""))]


def _openai_stream(texts: list[str]) -> list[bytes]:
    counts = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    said = [events(delta(text), done=False) for text in texts]
    return [*said, events(delta("", "stop"), piece(usage=counts))]


def _error(text: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "api_error", "message": text}}


def _ollama_error(text: str) -> dict[str, Any]:
    return {"error": text}


SSE, LINES = "text/event-stream", "application/x-ndjson"
FORMATS = [
    Format("openai", "/v1/chat/completions", SSE, completion, _openai_stream, _error),
    Format("anthropic", "/v1/messages", SSE, anthropic_message, _anthropic_stream, _error),
    Format("ollama", "/api/chat", LINES, _ollama_plain, _ollama_stream, _ollama_error),
]
OPENAI, ANTHROPIC, OLLAMA = FORMATS


def streaming(form: Format, pieces: list[bytes], kind: str = "") -> Answerer:
    """Answers with a whole stream, a chunk for each piece."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        begin(writer, kind=kind or form.stream_type)
        for part in (*pieces, b""):
            chunk(writer, part)

    return answer


every_format = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.kind)


def perform(
    form: Format, answer: Answerer, request: Request | None = None, **provider: Any
) -> tuple[Reply, Server, list[str]]:
    """Asks once through the whole of the provider: the reply, what was sent, what was streamed."""

    async def main() -> tuple[Reply, Server, list[str]]:
        said: list[str] = []
        async with (
            serve(answer) as server,
            providers_for(form.settings(server.url, **provider)) as providers,
        ):
            asked = request or ask()
            reply = await providers.kind(asked.kind).perform(asked, said.append)
            return reply, server, said

    return asyncio.run(main())


def fault_of(
    form: Format, answer: Answerer, request: Request | None = None, **provider: Any
) -> ProviderError:
    """The error of asking once; it never holds the key."""
    with pytest.raises(ProviderError) as caught:
        perform(form, answer, request, **provider)
    fault = caught.value
    assert KEY not in str(fault) + repr(fault.detail)
    return fault
