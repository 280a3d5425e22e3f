"""The limits of a provider: at once, and in a minute, with a clock of our own."""

from __future__ import annotations

import asyncio

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
