"""A model on this machine that holds one of its answers back: a loop can be seen in its turn."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# What the reviewer says of each text; content with the last one.
WORDS = ("It has no types.", "It has no test.", "Good.")


class HeldModel:
    """Writes code and reviews it, in the wire format of OpenAI.

    The answer that writes the text of iteration `held` waits for `go`.
    """

    def __init__(self, held: int) -> None:
        self.held = held
        self.go = threading.Event()
        self.go.set()
        self._lock = threading.Lock()
        self._counts = {"write": 0, "review": 0}
        model = self

        class Connection(_Connection):
            told = model

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def close(self) -> None:
        self.go.set()
        self._server.shutdown()
        self._server.server_close()

    def hold(self) -> None:
        """The next run is held."""
        self.go.clear()

    def answer(self, prompt: str) -> str:
        verb = "review" if "Review this" in prompt else "write"
        with self._lock:
            number = self._counts[verb] % len(WORDS) + 1
            self._counts[verb] += 1
        if verb == "review":
            told = {"approved": number == len(WORDS), "feedback": WORDS[number - 1]}
            return json.dumps(told)
        if number == self.held:
            self.go.wait()
        return f"def add(a, b): return a + b  # {number}"


class _Connection(BaseHTTPRequestHandler):
    told: HeldModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = "\n".join(str(message["content"]) for message in asked["messages"])
        message = {"role": "assistant", "content": self.told.answer(prompt)}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._send({"model": asked["model"], "choices": [choice], "usage": usage})

    def _send(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        """Nothing."""
