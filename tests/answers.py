"""Servers of HTTP on this machine, which answer what a test wants."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class Answering(BaseHTTPRequestHandler):
    """Reads and writes JSON, and logs nothing."""

    def asked(self) -> Any:
        """The body of the request."""
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, value: Any, kind: str = "application/json") -> None:
        """Sends a value as JSON, or bytes as they are."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def say(self, model: str, content: str) -> None:
        """Sends the answer of a model, as OpenAI's servers do."""
        message = {"role": "assistant", "content": content}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.answer({"model": model, "choices": [choice], "usage": usage})

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        """Nothing."""


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server that answers with a handler."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
