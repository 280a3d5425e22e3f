"""Single keys from a terminal, without Enter; Ctrl-C stays what it is."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


class Keys:
    """Reads keys while it is open, and leaves the terminal as it was."""

    def __init__(self, stream: TextIO, pressed: Callable[[str], None]) -> None:
        self._stream = stream
        self._pressed = pressed
        self._before: list[object] | None = None

    def open(self) -> None:
        """Begins to listen, where there is a terminal and it is ours."""
        try:
            import termios
            import tty
        except ImportError:
            return
        if not self._stream.isatty():
            return
        number = self._stream.fileno()
        try:
            # A process in the background that changes its terminal is stopped by the system.
            if os.tcgetpgrp(number) != os.getpgrp():
                return
            self._before = termios.tcgetattr(number)
        except (OSError, termios.error):
            return
        tty.setcbreak(number)
        asyncio.get_running_loop().add_reader(number, self._read)

    def close(self) -> None:
        """Stops listening."""
        if self._before is not None:
            asyncio.get_running_loop().remove_reader(self._stream.fileno())
            self.restore()

    def restore(self) -> None:
        """Makes the terminal what it was before."""
        if self._before is None:
            return
        import termios

        before, self._before = self._before, None
        termios.tcsetattr(self._stream.fileno(), termios.TCSADRAIN, before)  # type: ignore[arg-type]

    def _read(self) -> None:
        for key in os.read(self._stream.fileno(), 32).decode("utf-8", "ignore"):
            self._pressed(key)
            if self._before is None:
                return
