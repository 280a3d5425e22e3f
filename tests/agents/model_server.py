"""A model on this machine for agent programs: it says what it is told, in their wire formats."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

INPUT_TOKENS = 120
OUTPUT_TOKENS = 7
TITLE = '{"title": "A test"}'


@dataclass
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class ModelServer:
    """What it will say, in order, and everything that it was asked; the last reply is repeated.

    A reply is a text, or `{tool, input}` for the use of a tool, or a function of the request that
    gives one of these.
    """

    replies: list[Any]
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    status: int = 200
    hangs: bool = False
    said: int = 0
    closing: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def turns(self) -> list[Any]:
        """The bodies of the requests for an answer."""
        return [a.body for a in self.asked if a.method == "POST" and _form(a.path)]

    def reply(self, body: Any) -> Any:
        with self.lock:
            found = self.replies[min(self.said, len(self.replies) - 1)]
            self.said += 1
        return found(body) if callable(found) else found


@contextmanager
def model_server(*replies: Any, status: int = 200, hangs: bool = False) -> Iterator[ModelServer]:
    told = ModelServer(list(replies), status=status, hangs=hangs)

    class Connection(_Connection):
        server_told = told

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
    listening.daemon_threads = True
    told.port = listening.server_address[1]
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield told
    finally:
        told.closing.set()
        listening.shutdown()
        listening.server_close()
        thread.join()


class _Connection(BaseHTTPRequestHandler):
    """Answers these formats; everything else is 404."""

    server_told: ModelServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        # 426 tells codex at once that there is no WebSocket here.
        status = 426 if self._note(None) == "/v1/responses" else 404
        self._send(status, "application/json", b'{"error": {"message": "not here"}}')

    def do_HEAD(self) -> None:
        self._note(None)
        self._send(200, "text/plain", b"")

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("content-length", "0")))
        try:
            body = json.loads(text)
        except ValueError:
            body = None
        path = self._note(body)
        told, form = self.server_told, _form(path)
        if form and told.hangs:
            told.closing.wait()
            self.close_connection = True
            return
        if not form:
            self._send(404, "application/json", b'{"error": {"message": "not here"}}')
        elif told.status != 200:
            fault = {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}}
            self._send(told.status, "application/json", json.dumps(fault).encode())
        elif form == "anthropic":
            reply = TITLE if _wants_title(body) else told.reply(body)
            self._send(200, "text/event-stream", _events(_anthropic(reply, body)))
        elif form == "openai":
            self._send(200, "text/event-stream", _events(_openai(told.reply(body))))
        elif form == "chat":
            self._send(200, "application/json", json.dumps(_chat(told.reply(body), body)).encode())
        else:
            content = f"data: {json.dumps(_gemini(told.reply(body)))}\n\n".encode()
            self._send(200, "text/event-stream", content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Says nothing."""

    def _note(self, body: Any) -> str:
        path = self.path.partition("?")[0]
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server_told.asked.append(Asked(self.command, path, headers, body))
        return path

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def _form(path: str) -> str:
    """Which wire format a path belongs to."""
    if path.endswith(":streamGenerateContent"):
        return "gemini"
    forms = {"/v1/messages": "anthropic", "/v1/responses": "openai", "/v1/chat/completions": "chat"}
    return forms.get(path, "")


def _wants_title(body: Any) -> bool:
    """Whether claude asks for a title of the session, which it does beside the conversation."""
    form = body.get("output_config", {}).get("format", {})
    return "title" in form.get("schema", {}).get("properties", {})


def _events(events: list[dict[str, Any]]) -> bytes:
    lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
    return "".join(lines).encode()


def _anthropic(reply: Any, body: Any) -> list[dict[str, Any]]:
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": 1}
    open_end = {"stop_reason": None, "stop_sequence": None, "usage": usage, "content": []}
    message = {"id": "msg_1", "type": "message", "role": "assistant", **open_end}
    block: dict[str, Any]
    if isinstance(reply, dict):
        block = {"type": "tool_use", "id": "toolu_1", "name": reply["tool"], "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": json.dumps(reply["input"])}]
    else:
        block = {"type": "text", "text": ""}
        pieces = [reply[: len(reply) // 2], reply[len(reply) // 2 :]]
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
    reason = "tool_use" if isinstance(reply, dict) else "end_turn"
    end = {"delta": {"stop_reason": reason, "stop_sequence": None}}
    return [
        {"type": "message_start", "message": {**message, "model": body["model"]}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", **end, "usage": {"output_tokens": OUTPUT_TOKENS}},
        {"type": "message_stop"},
    ]


def _openai(reply: Any) -> list[dict[str, Any]]:
    content = [{"type": "output_text", "text": reply}]
    item = {"type": "message", "role": "assistant", "id": "msg_1", "content": content}
    usage = {"input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0}}
    usage |= {"output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0}}
    usage["total_tokens"] = INPUT_TOKENS + OUTPUT_TOKENS
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]


def _chat(reply: Any, body: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": reply}
    return {
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS},
    }


def _gemini(reply: Any) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": reply}]}
    usage = {"promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS}
    usage["totalTokenCount"] = INPUT_TOKENS + OUTPUT_TOKENS
    candidate = {"content": content, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage}
