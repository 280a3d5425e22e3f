"""Limits of calls to a provider, at once and in a minute, and of the length of an answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from provider_server import answering, ask, say, scripted, send
from wires import ANTHROPIC, OPENAI, Format, every_format, fault_of, perform

from whorl.errors import ProviderError
from whorl.providers.models.client import RateLimit
from whorl.providers.settings import ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from provider_server import Seen

    from whorl.providers.task import Request


class Time:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


def pace(time: Time, **limits: int) -> RateLimit:
    provider = ProviderSettings(name="p", base_url="https://x.example", **limits)  # type: ignore[arg-type]
    return RateLimit(provider, clock=time.clock, sleep=time.sleep)


def test_requests_per_minute() -> None:
    time, told, at = Time(), list[bool](), list[float]()
    limited = pace(time, requests_per_minute=2)

    async def main() -> None:
        for _ in range(5):
            async with limited.turn(1, told.append):
                at.append(time.now - 100)
                time.now += 1

    asyncio.run(main())
    assert at == [0, 1, 60, 61, 120]
    assert told == [True, False] * 2


def test_tokens_per_minute_are_settled() -> None:
    time, at = Time(), list[float]()
    limited = pace(time, tokens_per_minute=100)

    async def main() -> None:
        for expected, used in [(60, 10), (60, 90), (10, 10), (500, 500), (1, 1)]:
            async with limited.turn(expected) as turn:
                at.append(time.now - 100)
                turn.tokens = used

    asyncio.run(main())
    assert at == [0, 0, 60, 120, 180]


def test_max_concurrent_is_first_come_first_served() -> None:
    told: list[bool] = []
    limited = pace(Time(), max_concurrent=2)
    order: list[int] = []
    running = 0

    async def work(number: int) -> None:
        nonlocal running
        async with limited.turn(1, told.append):
            running += 1
            assert running <= 2
            order.append(number)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            running -= 1

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(work(number))

    asyncio.run(main())
    assert order == list(range(8))
    assert (told.count(True), told.count(False)) == (6, 6)


LIMITS: dict[str, Callable[[Any], Any]] = {
    "openai": lambda body: body.get("max_tokens"),
    "anthropic": lambda body: body.get("max_tokens"),
    "ollama": lambda body: body.get("options", {}).get("num_predict"),
}


def capped(cap: int | None, **inputs: Any) -> Request:
    return replace(ask(**inputs), cap=cap)


@every_format
def test_the_cap_is_sent_in_the_field_of_the_format(form: Format) -> None:
    """Where the file has a limit, that one; where there is none, none, if the format permits."""
    answer = answering(form.plain("hello"))
    for request, limit in (
        (capped(700), 700),
        (capped(700, max_tokens=50), 50),
        (capped(None), 16_384 if form is ANTHROPIC else None),
    ):
        _, server, _ = perform(form, answer, request)

        assert LIMITS[form.kind](server.seen[0].json) == limit


REFUSALS = [
    (OPENAI, "max_tokens is too large: {n}. This model supports at most 4096 completion tokens"),
    (OPENAI, "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]"),
    (OPENAI, "This model's maximum context length is 4096 tokens, your request has 9 input tokens"),
    (ANTHROPIC, "max_tokens: {n} > 4096, which is the maximum allowed number of output tokens"),
]


@pytest.mark.parametrize(("form", "said"), REFUSALS)
def test_a_model_that_gives_less_is_asked_for_less(form: Format, said: str) -> None:
    """What the file wants is not changed; what only the budget allows may be less."""

    async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
        limit = seen.json["max_tokens"]
        if limit > 4096 - 9 * ("context" in said):
            send(writer, form.error(said.format(n=limit)), status=400)
        else:
            send(writer, form.plain("hello"))

    reply, server, _ = perform(form, answer, capped(16_384))

    assert reply.value == "hello"
    assert server.seen[-1].json["max_tokens"] == (2048 if "context" in said else 4096)
    keys = [seen.headers["idempotency-key"] for seen in server.seen]
    assert len(set(keys)) == len(keys)
    fault = fault_of(form, answer, capped(None, max_tokens=16_384))
    assert fault.code == ("P106" if "context" in said else "P104")


def test_a_scripted_reply_is_cut_at_the_cap() -> None:
    settings = scripted({"match": "", "replies": ["one two three"]})

    whole, cut = say(settings, capped(3), capped(2))

    assert whole.value == "one two three"
    assert isinstance(cut, ProviderError)
    assert (cut.code, cut.detail["partial"]) == ("P118", "one two")
    assert cut.detail["usage"]["output_tokens"] == 2  # type: ignore[index]
