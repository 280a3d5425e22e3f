"""Holds back calls to a provider: how many at once, how many requests and tokens in a minute."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.providers.settings import ProviderSettings
    from whorl.providers.task import Held

WINDOW_S = 60.0

# Told when a call begins to wait: the provider, the setting that holds it back, and for how many
# seconds (None: until another call ends).
Waiting: TypeAlias = Callable[[str, str, float | None], None]
Clock: TypeAlias = Callable[[], float]
Sleep: TypeAlias = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class Turn:
    """A call that was let through; `tokens` is corrected when they have been counted."""

    at: float
    tokens: int


class RateLimit:
    """One provider's limits, shared by all runs of the process. First come, first served."""

    def __init__(
        self,
        provider: ProviderSettings,
        *,
        waiting: Waiting | None = None,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._provider = provider
        self._waiting = waiting
        self._clock = clock
        self._sleep = sleep
        self._running = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._recent: deque[Turn] = deque()
        self._entry: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None

    @asynccontextmanager
    async def turn(self, tokens: int, held: Held | None = None) -> AsyncIterator[Turn]:
        """Waits for the call's turn; gives what `Turn.tokens` is settled on.

        Where it has to wait, `held` is told so, and when that is over.
        """
        is_held = held is not None and self._is_busy(tokens)
        if held is not None and is_held:
            held(True)
        await self._enter()
        try:
            async with self._lock():
                turn = await self._wait_for_room(tokens)
            if held is not None and is_held:
                held(False)
            yield turn
        finally:
            self._leave()

    def _is_busy(self, tokens: int) -> bool:
        """Whether a call would have to wait now."""
        limit = self._provider.max_concurrent
        is_full = limit is not None and (self._running >= limit or bool(self._queue))
        is_locked = self._entry is not None and self._entry[1].locked()
        return is_full or is_locked or self._shortage(self._clock(), tokens)[1] > 0

    def _lock(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._entry is None or self._entry[0] is not loop:
            self._entry = (loop, asyncio.Lock())
        return self._entry[1]

    async def _enter(self) -> None:
        limit = self._provider.max_concurrent
        if limit is None or (self._running < limit and not self._queue):
            self._running += 1
            return
        self._tell("max_concurrent", None)
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._leave()
            else:
                self._queue.remove(place)
            raise

    def _leave(self) -> None:
        """Ends a call; its room goes straight to the one that has waited longest."""
        while self._queue:
            place = self._queue.popleft()
            if not place.done():
                place.set_result(None)
                return
        self._running -= 1

    async def _wait_for_room(self, tokens: int) -> Turn:
        while True:
            now = self._clock()
            while self._recent and now - self._recent[0].at >= WINDOW_S:
                self._recent.popleft()
            name, seconds = self._shortage(now, tokens)
            if seconds <= 0:
                turn = Turn(now, tokens)
                if self._provider.requests_per_minute or self._provider.tokens_per_minute:
                    self._recent.append(turn)
                return turn
            self._tell(name, seconds)
            await self._sleep(seconds)

    def _shortage(self, now: float, tokens: int) -> tuple[str, float]:
        """Which setting holds the call back and for how long; 0 when it may go."""
        requests, budget = self._provider.requests_per_minute, self._provider.tokens_per_minute
        if requests is not None and len(self._recent) >= requests:
            return "requests_per_minute", self._recent[-requests].at + WINDOW_S - now
        if budget is None:
            return "", 0.0
        spent, wait_s = sum(turn.tokens for turn in self._recent), 0.0
        for turn in self._recent:
            # A call over the whole budget goes when nothing else is in the window.
            if spent + tokens <= budget:
                break
            spent -= turn.tokens
            wait_s = turn.at + WINDOW_S - now
        return "tokens_per_minute", wait_s

    def _tell(self, setting: str, seconds: float | None) -> None:
        if self._waiting is not None:
            self._waiting(self._provider.name, setting, seconds)
