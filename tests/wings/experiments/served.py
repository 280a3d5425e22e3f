"""A model behind HTTP whose answers follow from what it is asked."""

from __future__ import annotations

import json
import random
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from answers import answering
from documents.model import Handler
from experiments.guess import FILE, GRADE, PLAIN, VARIANTS, run_json, whorl, write_cases

if TYPE_CHECKING:
    from collections.abc import Iterator


# What a million tokens cost.
INPUT_USD, OUTPUT_USD = 10.0, 100.0


class _Hashing(Handler):
    """A model whose answers follow from what it is asked, whoever asks and however often."""

    def do_POST(self) -> None:  # noqa: N802 - its own name
        asked = self.asked()
        drawn = random.Random(json.dumps(asked["messages"]))
        text = drawn.choice("abcdefgh") * drawn.randrange(1, 10)
        if "response_format" in asked:
            text = json.dumps({"score": round(drawn.random(), 2)})
        usage = {"prompt_tokens": drawn.randrange(5, 50), "completion_tokens": len(text)}
        usage["total_tokens"] = sum(usage.values())
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        choice["finish_reason"] = "stop"
        self.answer({"model": asked["model"], "choices": [choice], "usage": usage})


@pytest.fixture
def model() -> Iterator[str]:
    with answering(_Hashing) as url:
        yield f"{url}/v1"


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


@dataclass
class Billed:
    """A model whose answers have so many tokens, as far as it keeps to the limit that it is sent.

    Judges are answered yes, after so many tokens of thoughts. `failing` calls
    whose prompt has `fails_at` are answered that the key is not the right one.
    """

    url: str = ""
    tokens: int = 3_000
    keeps: bool = True
    fails_at: str = ""
    failing: int = 0
    billed_usd: float = 0.0
    calls: int = 0

    def answer(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """What is answered and billed; None: it refuses."""
        prompt = json.dumps(asked["messages"])
        if self.failing and self.fails_at in prompt:
            self.failing -= 1
            return None
        limit = asked.get("max_completion_tokens") or asked.get("max_tokens") or self.tokens
        written = min(self.tokens, limit) if self.keeps else self.tokens
        text = "YES" if "It is short" in prompt else f"text {len(prompt) % 7}"
        if "response_format" in asked:
            text = json.dumps({"score": 0.1})
        is_cut = written < self.tokens
        usage = {"prompt_tokens": 10, "completion_tokens": written, "total_tokens": written + 10}
        self.calls += 1
        self.billed_usd += (10 * INPUT_USD + written * OUTPUT_USD) / 1_000_000
        choice = {"index": 0, "message": {"role": "assistant", "content": text}}
        choice["finish_reason"] = "length" if is_cut else "stop"
        return {"model": asked["model"], "choices": [choice], "usage": usage}


@pytest.fixture
def billed() -> Iterator[Billed]:
    """A server that writes long answers, and what it bills for them."""
    model, lock = Billed(), threading.Lock()

    class Billing(Handler):
        def do_POST(self) -> None:  # noqa: N802 - its own name
            asked = self.asked()
            with lock:
                found = model.answer(asked)
            if found is None:
                self.send_error(401)
            else:
                self.answer(found)

    with answering(Billing) as url:
        model.url = f"{url}/v1"
        yield model


LOOP = """
whorl: 1
name: guess
inputs: {n: integer}
steps:
  polish:
    repeat:
      until: "iteration >= 3"
      at_most: 3
      steps: {write: {ask: "Guess {{ n }} now {{ iteration }}"}}
outputs: {text: "{{ polish.write }}"}
"""
ALONE = PLAIN.replace(VARIANTS, "")
JUDGED = ALONE.replace(
    GRADE, 'grade: {good: {judge: "It is short", of: "{{ outputs.text }} {{ case.n }}"}}\n'
)
# An answer of 3,000 tokens costs 30 cents, and the 1,024 that are reserved ten.
EACH_USD = 0.3001


def served(model: Billed, text: str = ALONE, *, cases: int = 12, flow: str = LOOP) -> None:
    """An experiment on a server that bills."""
    Path("whorl.toml").write_text(SERVED.format(url=model.url))
    Path("guess.yaml").write_text(flow)
    Path(FILE).write_text(text)
    write_cases(cases)


def recorded(model: Billed, text: str = ALONE, *, cases: int = 8, flow: str = LOOP) -> None:
    """An experiment that has run, with short answers."""
    model.tokens = 50
    served(model, text, cases=cases, flow=flow)
    run_json("experiment", "run", FILE)


def ran(*words: str) -> tuple[int, Any]:
    done = whorl("experiment", "run", FILE, *words, "--json")
    return done.exit_code, json.loads(done.stdout)
