"""Notices when the event loop of a server is held up, and for how long."""

from __future__ import annotations

import asyncio
import time

BUSY_S = 0.02
IDLE_S = 1.0
# Older stalls are forgotten.
KEPT_S = 60.0


class Heartbeat:
    """Wakes up often while runs are driven; how late it does is how long others were held up."""

    def __init__(self) -> None:
        self._worst: list[tuple[float, float]] = []

    @property
    def stall_ms(self) -> float:
        """The longest time within the last minute in which the event loop did nothing else."""
        self._forget(time.monotonic())
        return round(max((late for _, late in self._worst), default=0.0) * 1000, 1)

    async def beat(self, is_busy: object) -> None:
        """Beats for ever; `is_busy` is true while runs are driven."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + (BUSY_S if is_busy else IDLE_S)
            await asyncio.sleep(due - loop.time())
            self.note(loop.time() - due)

    def note(self, late_s: float) -> None:
        now = time.monotonic()
        # What is shorter than a later one can never be the longest again.
        while self._worst and self._worst[-1][1] <= late_s:
            self._worst.pop()
        self._worst.append((now, late_s))
        self._forget(now)

    def _forget(self, now: float) -> None:
        while self._worst and self._worst[0][0] < now - KEPT_S:
            del self._worst[0]
