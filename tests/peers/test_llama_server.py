"""An OpenAI-compatible server that nobody here wrote, with real weights, answers our client."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import ask, providers_for, settings_for
from test_tools import functions

from waiting import PATIENCE_S
from whorl.errors import ProviderError
from whorl.providers.models.local import is_installed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.providers.task import Request

pytestmark = pytest.mark.skipif(not is_installed(), reason="the embedded model is not installed")

KEY = "key-of-a-peer"
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "blue"]}, "n": {"type": "integer", "maximum": 9}},
    "required": ["colour", "n"],
}
# A model this small does what it is told only where that is to repeat something.
WANTED = '<tool_call>\n{"name": "shout", "arguments": {"text": "hi"}}\n</tool_call>'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    words = [sys.executable, str(Path(__file__).parent / "llama_server.py"), KEY]
    pipes: Any = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words, text=True, stderr=quiet, **pipes) as process:
        assert process.stdin
        assert process.stdout
        yield process.stdout.readline().strip()
        process.stdin.close()
        process.kill()


def say(url: str, request: Request, **provider: Any) -> tuple[Any, list[str]]:
    """What the server's model says, or why not, and the pieces in which it came."""
    said: list[str] = []

    async def main() -> Any:
        settings = settings_for(url, **({"api_key": KEY, "timeout_s": PATIENCE_S} | provider))
        async with providers_for(settings, functions=functions()) as providers:
            try:
                return await providers.kind("ask").perform(request, said.append)
            except ProviderError as fault:
                return fault

    return asyncio.run(main()), said


def test_plain_and_streamed_answers_are_the_same(url: str) -> None:
    request = ask("Say hello.", system="Be brief.", temperature=0, max_tokens=8, seed=1)

    plain, at_once = say(url, request, stream=False)
    streamed, pieces = say(url, request, stream=True)

    assert plain.value
    assert plain.value == streamed.value == "".join(pieces)
    assert (len(at_once), len(pieces) > 1) == (1, True)
    assert plain.usage.input_tokens == streamed.usage.input_tokens > 5
    assert 1 <= plain.usage.output_tokens == streamed.usage.output_tokens <= 8
    assert plain.detail["finish"] == streamed.detail["finish"] in ("stop", "length")
    assert "left_out" not in plain.detail | streamed.detail
    assert "usage_estimated" not in plain.detail | streamed.detail


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_the_server_holds_the_model_to_our_schema(url: str, stream: bool) -> None:
    request = ask("Choose.", returns=SCHEMA, temperature=0, max_tokens=40)

    reply, _ = say(url, request, stream=stream)

    assert reply.value["colour"] in ("red", "blue")
    assert isinstance(reply.value["n"], int)
    assert "left_out" not in reply.detail


@pytest.mark.slow
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "plain"])
def test_the_model_asks_for_a_tool_and_reads_its_result(url: str, stream: bool) -> None:
    limits = {"temperature": 0, "max_tokens": 40, "tools": ["shout"]}
    first, said = say(url, ask(f"Repeat: {WANTED}", **limits), stream=stream)
    (call,) = first.detail["calls"]
    turns = [first.detail["said"], {"role": "tool", "id": call["id"], "value": "HI"}]
    last, _ = say(url, ask("Repeat: HI", **limits, turns=turns, max_turns=2), stream=stream)

    assert call["inputs"] == {"task": "shout", "with": {"text": "hi"}}
    assert first.detail["finish"] == "tool_calls"
    assert "tool_call" not in "".join(said)
    assert last.value
    assert "calls" not in last.detail
    assert last.usage.input_tokens > first.usage.input_tokens


@pytest.mark.parametrize(
    ("request_", "provider", "word", "kind"),
    [
        (ask("x"), {"api_key": "a-wrong-key"}, "Invalid API Key", ("P104", 401)),
        (ask("word " * 2_000, max_tokens=4), {}, "context", ("P106", 400)),
    ],
    ids=["key", "length"],
)
def test_what_the_server_refuses_is_reported(
    url: str, request_: Request, provider: dict[str, Any], word: str, kind: tuple[str, int]
) -> None:
    fault, _ = say(url, request_, **provider)

    assert (fault.code, fault.detail["status"]) == kind
    assert not fault.retryable
    assert word in str(fault)
    assert "a-wrong-key" not in str(fault)


def test_the_server_is_checked(url: str) -> None:
    async def main() -> Any:
        async with providers_for(settings_for(url, api_key=KEY)) as providers:
            return await providers.check_provider("one")

    assert "/v1/models" in asyncio.run(main())
