"""Turns whose slices take virtual time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from whorl.runtimes.simulated import VirtualLoop

if TYPE_CHECKING:
    from collections.abc import Callable


class JumpingTurns:
    """Turns that take a while of the virtual time each; `between` is called after each."""

    def __init__(self, seconds: float, between: Callable[[int], None] = lambda _: None) -> None:
        self.seconds = seconds
        self.between = between
        self.count = 0

    async def take(self, used_s: float, work: Callable[[], Any]) -> tuple[Any, float]:
        made = work()
        self.count += 1
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        loop.jump(self.seconds)
        self.between(self.count)
        await asyncio.sleep(0)
        return made, self.seconds
