"""A model on this machine that holds one of its answers back: a loop can be seen in its turn."""

from __future__ import annotations

import json
import threading
from contextlib import ExitStack

from answers import Answering, answering

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

        self._server = ExitStack()
        self.url = f"{self._server.enter_context(answering(Connection))}/v1"

    def close(self) -> None:
        self.go.set()
        self._server.close()

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


class _Connection(Answering):
    told: HeldModel
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:  # noqa: N802 - its own name
        asked = self.asked()
        prompt = "\n".join(str(message["content"]) for message in asked["messages"])
        self.say(asked["model"], self.told.answer(prompt))
