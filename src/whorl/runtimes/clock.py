"""The clock, passed in wherever time matters."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """Tells the time in seconds since the epoch, and waits."""

    def now(self) -> float:
        """The time of day."""

    async def sleep(self, seconds: float) -> None:
        """Waits; a change of the time of day does not change how long."""


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """The time of day."""
        return time.time()

    async def sleep(self, seconds: float) -> None:
        """Waits by the monotonic clock of the event loop."""
        await asyncio.sleep(seconds)
