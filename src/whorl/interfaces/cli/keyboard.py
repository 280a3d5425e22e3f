"""What a person types at the terminal: single keys, and lines that hold up no event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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


_LOOK_S = 0.3


def is_attended() -> bool:
    """Whether a person sees what is said and can answer: this process has the terminal."""
    try:
        import termios  # noqa: F401

        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        # A process in the background that reads from its terminal is stopped by the system.
        return os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (ImportError, OSError, ValueError):
        return False


def forget_typed() -> None:
    """What was typed before a question was seen is no answer to it."""
    import termios

    termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


async def read_line(words: str, is_of_interest: Callable[[], bool]) -> str | None:
    """The line that is typed; None after Ctrl-C or Ctrl-D, or once nobody wants it any more."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str | None] = loop.create_future()
    number, parts = sys.stdin.fileno(), bytearray()

    def take() -> None:
        part = os.read(number, 4096)
        parts.extend(part)
        if not typed.done() and (not part or part.endswith(b"\n")):
            typed.set_result(parts.decode("utf-8", "replace").strip() if part else None)

    def leave() -> None:
        if not typed.done():
            typed.set_result(None)

    loop.add_reader(number, take)
    try:
        with _on_interrupt(leave):
            click.echo(words, nl=False, err=True)
            while not typed.done() and is_of_interest():
                await asyncio.wait({typed}, timeout=_LOOK_S)
    finally:
        loop.remove_reader(number)
    line = typed.result() if typed.done() else None
    if line is None:
        click.echo(err=True)
    return line


@contextmanager
def _on_interrupt(leave: Callable[[], object]) -> Iterator[None]:
    """Ctrl-C does this instead of ending the command."""
    loop = asyncio.get_running_loop()
    before = signal.signal(signal.SIGINT, lambda *_: loop.call_soon_threadsafe(leave))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
