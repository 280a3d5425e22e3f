"""Turns: long work is computed beside the event loop, a slice at a time, one run at a time.

The run that has computed least goes first, so that no run holds up the others.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from whorl.language.chunked_json import is_large

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from whorl.interpreter.events import Event
    from whorl.interpreter.machine import Machine

Made = TypeVar("Made")
# How far a run computes before others have their turn: a few milliseconds.
SLICE_STEPS = 200
SLICE_FUEL = 4_000
SLICE_S = 0.005
# How long a run may compute while a process drives it, in seconds of CPU.
CPU_MAX_S = 600.0
# A thread without work ends; the next work begins another one.
IDLE_S = 10.0


class _Slice(NamedTuple):
    used_s: float
    number: int
    work: Callable[[], Any]
    done: asyncio.Future[tuple[Any, float]]
    loop: asyncio.AbstractEventLoop


class CpuScheduler:
    """Gives the runs of a process their turns to compute.

    There is one thread for all of them: each further one would hold up the event loop some more.
    """

    def __init__(self) -> None:
        self._waiting: list[_Slice] = []
        self._changed = threading.Condition()
        self._has_thread = False
        self._numbers = count()
        # How much is waited for.
        self.under_way = 0

    async def take(self, used_s: float, work: Callable[[], Made]) -> tuple[Made, float]:
        """Does some work in a turn; returns its result and the seconds of CPU."""
        loop = asyncio.get_running_loop()
        wanted = _Slice(used_s, next(self._numbers), work, loop.create_future(), loop)
        with self._changed:
            heappush(self._waiting, wanted)
            if self._has_thread:
                self._changed.notify()
            else:
                self._has_thread = True
                # It must not keep a process from ending.
                threading.Thread(target=self._work, name="whorl-turns", daemon=True).start()
        self.under_way += 1
        try:
            return await wanted.done
        finally:
            self.under_way -= 1

    async def go_through(
        self, steps: Generator[None, None, Made], is_stopped: Callable[[], bool]
    ) -> Made | None:
        """Does work of many steps, some in each turn; returns its result.

        Returns None if it was stopped before the end.
        """
        used_s = 0.0
        while not is_stopped():
            ended, seconds = await self.take(used_s, partial(_some, steps, is_stopped))
            if ended is not None:
                return ended[0]
            used_s += seconds
        return None

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._waiting and not self._changed.wait(IDLE_S) and not self._waiting:
                    self._has_thread = False
                    return
                wanted = heappop(self._waiting) if self._waiting else None
            if wanted is not None and not wanted.done.cancelled():
                _do(wanted)


def _some(steps: Generator[None, None, Made], is_stopped: Callable[[], bool]) -> tuple[Made] | None:
    end = time.thread_time() + SLICE_S
    try:
        while time.thread_time() < end and not is_stopped():
            next(steps)
    except StopIteration as ended:
        return (ended.value,)
    return None


def _do(wanted: _Slice) -> None:
    begun, value, fault = time.thread_time(), None, None
    try:
        value = wanted.work()
    except Exception as error:  # noqa: BLE001 - it belongs to the one who waits for it
        fault = error
    used_s = time.thread_time() - begun
    with suppress(RuntimeError):  # the event loop is closed: no task waits any more
        wanted.loop.call_soon_threadsafe(_tell, wanted.done, (value, used_s), fault)


def _tell(
    done: asyncio.Future[tuple[Any, float]], outcome: tuple[Any, float], fault: Exception | None
) -> None:
    if done.cancelled():
        return
    if fault is None:
        done.set_result(outcome)
    else:
        done.set_exception(fault)


class Computing:
    """Computes for one run: short work in the event loop, long work in turns.

    Without turns all work is done in the event loop. `cpu_s` is the CPU time of the turns.
    """

    def __init__(
        self, machine: Machine, turns: CpuScheduler | None, cpu_s: float, cpu_max_s: float
    ) -> None:
        self._machine = machine
        self._turns = turns
        self.is_light = machine.plan.is_light and not is_large(machine.state)
        self.cpu_s = cpu_s
        self._cpu_max_s = cpu_max_s
        self.is_stopped = self.is_draining = False
        # Readers of the machine wait until no thread uses it.
        self.lock = asyncio.Lock()

    def at_once(self, event: Event) -> bool:
        """Feeds an event and computes for a slice, if the run is light; otherwise returns False."""
        if not self.is_light and self._turns is not None:
            return False
        machine, before = self._machine, self._machine.meter.fuel
        machine.take(event)
        if not self.is_stopped:
            machine.advance(steps=SLICE_STEPS, fuel=SLICE_FUEL)
        self.is_light = not machine.is_busy and machine.meter.fuel - before < SLICE_FUEL
        return True

    async def in_turn(self, event: Event | None = None) -> bool:
        """Does so when the turn comes; returns True once when the CPU limit is reached."""
        if self._turns is None:
            self._work(event)
            await asyncio.sleep(0)
            return False
        async with self.lock:
            _, seconds = await self._turns.take(self.cpu_s, partial(self._work, event))
        self.cpu_s += seconds
        if self.cpu_s <= self._cpu_max_s:
            return False
        self._cpu_max_s = math.inf
        return True

    def _work(self, event: Event | None) -> None:
        if event is not None:
            self._machine.take(event)
        if not self.is_stopped and not (self.is_draining and event is None):
            self._machine.advance(steps=SLICE_STEPS, fuel=SLICE_FUEL)

    async def aside(self, work: Callable[[], Made], *, is_long: bool = False) -> Made:
        """Does some work for the run, beside the event loop if it may take long.

        After work that `is_long`, all work of the run counts as long.
        """
        self.is_light = self.is_light and not is_long
        if self._turns is None or self.is_light:
            return work()
        made, seconds = await self._turns.take(self.cpu_s, work)
        self.cpu_s += seconds
        return made
