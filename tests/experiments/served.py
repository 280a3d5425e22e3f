"""A model behind HTTP whose answers follow from what it is asked."""

from __future__ import annotations

import json
import random
import threading
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from documents.model import Handler

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Hashing(Handler):
    """A model whose answers follow from what it is asked, whoever asks and however often."""

    def do_POST(self) -> None:  # noqa: N802 - its own name
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        drawn = random.Random(json.dumps(asked["messages"]))
        text = drawn.choice("abcdefgh") * drawn.randrange(1, 10)
        if "response_format" in asked:
            text = json.dumps({"score": round(drawn.random(), 2)})
        usage = {"prompt_tokens": drawn.randrange(5, 50), "completion_tokens": len(text)}
        usage["total_tokens"] = sum(usage.values())
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        choice["finish_reason"] = "stop"
        self._answer({"model": asked["model"], "choices": [choice], "usage": usage})


@pytest.fixture
def model() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hashing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()


SERVED = """
[defaults]
provider = "served"
model = "hash"
[providers.served]
kind = "openai"
base_url = "{url}"
api_key = "none"
[prices.hash]
input = 10.0
output = 100.0
"""
