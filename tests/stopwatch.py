"""Limits on time that a busy machine, or the rubbish of other tests, does not break."""

from __future__ import annotations

import gc
import json
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

# What `_work` takes on a free core of the kind that the limits were found on.
_WORK_S = 0.04


def within(cpu_s: float, action: Callable[[], T], tries: int = 1) -> T:
    """What the action gives, if one of its tries keeps to so much of the processor.

    More than one try is for tight limits, where nothing is remembered from one to the next.
    Where others make every instruction take longer, by the caches that they share, it may, too.
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
    allowed_s = cpu_s * max(1.0, *(_cpu_s(_work) / _WORK_S for _ in range(5)))
    if min(took) < allowed_s:
        return found
    raise AssertionError(f"{min(took):.3f} s of the processor at best, {allowed_s:g} s allowed")


def _work() -> None:
    json.dumps([{"number": n, "texts": [str(n)] * 3} for n in range(20_000)])


def _cpu_s(action: Callable[[], object]) -> float:
    began = time.process_time()
    action()
    return time.process_time() - began
