"""Limits on time that a busy machine, or the rubbish of other tests, does not break."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


def within(cpu_s: float, action: Callable[[], T], tries: int = 1) -> T:
    """What the action gives, if one of its tries keeps to so much of the processor.

    More than one try is for tight limits, where nothing is remembered from one to the next.
    """
    took = []
    for _ in range(tries):
        gc.disable()
        began = time.process_time()
        try:
            found = action()
        finally:
            took.append(time.process_time() - began)
            gc.enable()
        if took[-1] < cpu_s:
            return found
    raise AssertionError(f"{min(took):.3f} s of the processor at best, {cpu_s:g} s allowed")
