"""The time of a run: its clock, and the timers that wait for a time of it or for a time of day."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

from whorl.interpreter.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.events import SetTimer

# A clock that goes on while the machine is suspended, unlike that of an event loop.
_THROUGHOUT = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
_SUSPENDED_MIN_S = 0.5
# How often a wait for a time of day looks at the clock, which somebody may have set.
DATE_POLL_S = 1.0
# A machine learns the time from events alone. While one only computes, the driver has a timer fire
# at this address, which nobody waits for, once the run is so far behind its clock.
CLOCK = ":clock"
TICK_S = 0.02


def throughout() -> float:
    """Seconds by a clock that nobody sets, and that all processes of a machine share."""
    return time.monotonic() if _THROUGHOUT is None else time.clock_gettime(_THROUGHOUT)


class RunClock:
    """The time of a run: the time of day at its `start`, counted on by the event loop.

    Whoever sets the clock of the machine thereby changes no wait.
    """

    def __init__(self, start: float) -> None:
        self._passed = asyncio.get_running_loop().time
        # How long the machine has been suspended since it started.
        self._suspended_s = throughout() - time.monotonic()
        self._start = start - self._passed()

    def __call__(self) -> float:
        suspended_s = throughout() - time.monotonic() - self._suspended_s
        # A little is the time between reading two clocks.
        if suspended_s > _SUSPENDED_MIN_S:
            self._start += suspended_s
            self._suspended_s += suspended_s
        return self._start + self._passed()


class Timers:
    """The timers of a run that is driven; `clock` tells its time, `wall` the time of day."""

    def __init__(
        self,
        clock: Callable[[], float],
        wall: Callable[[], float],
        deliver: Callable[[Event], None],
    ) -> None:
        self._clock = clock
        self._wall = wall
        self._deliver = deliver
        self._timers: dict[str, tuple[SetTimer, asyncio.TimerHandle]] = {}

    def __bool__(self) -> bool:
        return bool(self._timers)

    def set(self, timer: SetTimer) -> None:
        """Sets a timer in the place of the one that its address has."""
        self.drop(timer.address)
        delay = timer.due - (self._wall() if timer.is_date else self._clock())
        if timer.is_date:
            delay = min(delay, DATE_POLL_S)
        later = asyncio.get_running_loop().call_later(max(0.0, delay), self._fire, timer.address)
        self._timers[timer.address] = (timer, later)

    def drop(self, address: str) -> None:
        timer = self._timers.pop(address, None)
        if timer is not None:
            timer[1].cancel()

    def drop_all(self) -> None:
        for address in list(self._timers):
            self.drop(address)

    def due(self) -> tuple[float, float]:
        """The time of the run, and the time of day, at which one fires next."""
        timers = [timer for timer, _ in self._timers.values()]
        due = min((timer.due for timer in timers if not timer.is_date), default=math.inf)
        return due, min((timer.due for timer in timers if timer.is_date), default=math.inf)

    def left_s(self) -> float:
        """How long it is until one fires."""
        due, date = self.due()
        return min(due - self._clock(), date - self._wall())

    def _fire(self, address: str) -> None:
        timer, _ = self._timers.pop(address)
        if timer.is_date and self._wall() < timer.due:
            self.set(timer)
            return
        at = self._clock() if timer.is_date else max(timer.due, self._clock())
        self._deliver(Event("timer.fired", address, at))
