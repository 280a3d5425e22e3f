"""The limits of a provider: at once, and in a minute, with a clock of our own."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from provider_server import Seen, ask, completion, providers_for, send, serve, settings_for

from waiting import PATIENCE_S
from whorl.providers.models.client import RateLimit
from whorl.providers.settings import ProviderSettings


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


class Crowd:
    """Answers when as many calls as are wanted have come at once, and counts how many there are."""

    def __init__(self, wanted: int) -> None:
        self.most = 0
        self._busy = 0
        self._wanted = wanted
        self._is_full = asyncio.Event()

    async def answer(self, seen: Seen, writer: asyncio.StreamWriter) -> None:
        self._busy += 1
        self.most = max(self.most, self._busy)
        if self._busy >= self._wanted:
            self._is_full.set()
        await self._is_full.wait()
        await asyncio.sleep(0.01)
        self._busy -= 1
        send(writer, completion("ok"))


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


def test_a_call_that_is_cancelled_while_it_waits_takes_no_room() -> None:
    limited = pace(Time(), max_concurrent=1)
    order: list[str] = []

    async def work(name: str, hold: asyncio.Event | None = None) -> None:
        async with limited.turn(1):
            order.append(name)
            if hold is not None:
                await hold.wait()

    async def main() -> None:
        hold = asyncio.Event()
        first = asyncio.create_task(work("first", hold))
        await asyncio.sleep(0)
        second, third = asyncio.create_task(work("second")), asyncio.create_task(work("third"))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        hold.set()
        await asyncio.gather(first, third)
        fourth = asyncio.create_task(work("fourth", hold))
        fifth = asyncio.create_task(work("fifth"))
        await asyncio.sleep(0)
        fifth.cancel()  # in the very moment in which its turn comes
        await asyncio.gather(fourth, fifth, return_exceptions=True)
        await work("last")

    asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert order[:3] == ["first", "third", "fourth"]
    assert order[-1] == "last"


def test_a_call_to_an_address_in_a_file_leaves_the_limits_of_the_provider_alone() -> None:
    first, crowd = Crowd(1), Crowd(2)

    async def main() -> list[bool]:
        told: list[bool] = []
        request = replace(ask(), held=told.append)
        async with serve(crowd.answer) as server, serve(first.answer) as other:
            allowed = {"allow": {"private_network": True}}
            settings = settings_for(server.url, allowed, max_concurrent=2)
            async with providers_for(settings) as providers:
                kind = providers.kind("ask")
                await kind.perform(ask(provider="one", model_url=f"{other.url}/v1"), print)
                await asyncio.gather(*(kind.perform(request, print) for _ in range(8)))
        return told

    told = asyncio.run(asyncio.wait_for(main(), PATIENCE_S))
    assert (first.most, crowd.most) == (1, 2)
    # These limits hold for the calls of all runs.
    assert (told.count(True), told.count(False)) == (6, 6)
