"""A web service that remembers each call with its idempotency key, and when it came and went."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DELAY_S = 0.2


@dataclass(slots=True)
class Call:
    """One call, by the clock that nobody sets."""

    key: str
    path: str
    came_at: float
    went_at: float | None = None


@dataclass(eq=False)
class Witness:
    """The service; `calls` is all that it was asked."""

    calls: list[Call] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        witness = self

        class Answers(BaseHTTPRequestHandler):
            """Answers with a number that is one higher."""

            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length", "0"))
                body: dict[str, Any] = json.loads(self.rfile.read(size) or b"{}")
                call = witness.note(self.headers.get("Idempotency-Key", ""), self.path)
                time.sleep(DELAY_S)
                # The first attempt at what is said to be busy fails.
                is_busy = self.path.startswith("/busy") and "#" not in call.key
                answer = json.dumps({"n": int(body.get("n", 0)) + 1}).encode()
                self.send_response(503 if is_busy else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
                call.went_at = time.monotonic()

            def log_message(self, *words: object) -> None:
                """Nobody reads it."""

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512

            def handle_error(self, *about: object) -> None:
                """Whoever calls is killed at times."""

        self._server = Quiet(("127.0.0.1", 0), Answers)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def note(self, key: str, path: str) -> Call:
        call = Call(key, path, time.monotonic())
        with self._lock:
            self.calls.append(call)
        return call

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
