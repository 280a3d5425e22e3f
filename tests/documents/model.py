"""A model's server for the documents: it answers what it is asked for, better each time."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROMAN = """```python
def roman(n):
    signs = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
             (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    return next((s + roman(n - v) for v, s in signs if n >= v), "")
```"""


def reply(asked: dict[str, Any], count: int) -> str:
    """Words, or an object of the shape that is asked for: every second one says yes."""
    shape = asked.get("response_format")
    if shape is None:
        prompt = json.dumps(asked["messages"])
        return ROMAN if "solution.py" in prompt else f"Rain on the tin roof, draft {count}."
    values = {
        "boolean": count % 2 == 0,
        "number": 0.95 if count % 2 == 0 else 0.5,
        "string": f"advice {count}",
    }
    fields = shape["json_schema"]["schema"]["properties"]
    answer = {name: values[field["type"]] for name, field in fields.items()}
    # What is urgent calls a service, which is not there.
    return json.dumps(answer | {name: False for name in fields if name == "urgent"})


class Handler(BaseHTTPRequestHandler):
    """Speaks as OpenAI's servers do."""

    counts: dict[bool, int]

    def do_GET(self) -> None:
        self._answer({"object": "list", "data": [{"id": "gpt-5-mini", "object": "model"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        has_shape = "response_format" in asked
        self.counts[has_shape] = self.counts.get(has_shape, 0) + 1
        message = {"role": "assistant", "content": reply(asked, self.counts[has_shape])}
        usage = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self._answer({"model": asked["model"], "choices": [choice], "usage": usage})

    def _answer(self, value: dict[str, Any]) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        """Nothing."""


@contextmanager
def served_model() -> Iterator[str]:
    """The address of a server that counts from one."""
    handler = type("Counting", (Handler,), {"counts": {}})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
