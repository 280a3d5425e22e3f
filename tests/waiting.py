"""How long tests wait for what others do: until it has happened, however busy the machine is.

The limit is only there so that a test that waits for something that never happens ends some day.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_S = 180.0


def wait_until(holds: Callable[[], bool]) -> None:
    """Waits for what another thread or process does."""
    deadline, pause_s = time.monotonic() + PATIENCE_S, 0.01
    while not holds():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(pause_s)
        # Whoever asks all the time keeps others from making it happen.
        pause_s = min(2 * pause_s, 0.2)
