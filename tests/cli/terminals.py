"""Commands in pseudo terminals."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import pytest

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMAND = (sys.executable, "-m", "whorl.interfaces.cli")
STEERING = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command in a pseudo terminal, and all that it has shown."""

    def __init__(self, *words: str, program: tuple[str, ...] = COMMAND) -> None:
        path = os.pathsep.join(filter(None, sys.path))
        sizes = {"TERM": "xterm", "COLUMNS": "100", "LINES": "40", "PYTHONPATH": path}
        import pty

        self.shown = ""
        self._code: int | None = None
        self._process, self._master = pty.fork()
        if self._process == 0:
            os.execve(program[0], [*program, *words], os.environ | sizes)

    def press(self, key: str) -> None:
        os.write(self._master, key.encode())

    def read_until(self, words: str, seconds: float = PATIENCE_S) -> None:
        self.read_while(lambda: words not in self.shown, seconds, words)

    def read_while(
        self, holds: Callable[[], bool], seconds: float = PATIENCE_S, words: str = "what is wanted"
    ) -> None:
        deadline = time.monotonic() + seconds
        while holds():
            left = deadline - time.monotonic()
            assert left > 0, f"{words!r} was not shown: {self.shown[-2000:]}"
            if select.select([self._master], [], [], left)[0]:
                try:
                    read = os.read(self._master, 65_536).decode("utf-8", "replace")
                    self.shown = STEERING.sub("", self.shown + read)
                except OSError:  # the other side is closed
                    assert not holds(), self.shown[-2000:]

    def talk(self, *turns: tuple[str, str], until: str, code: int) -> None:
        """Reads up to each question and types its answer; then it ends so, with these words."""
        seen = 0
        for words, typed in (*turns, (until, "")):
            self.read_while(lambda at=seen, text=words: text not in self.shown[at:], words=words)
            seen = self.shown.index(words, seen) + len(words)
            self.press(typed)
        assert self.code() == code

    def code(self) -> int:
        if self._code is None:
            _, status = os.waitpid(self._process, 0)
            self._code = os.waitstatus_to_exitcode(status)
        return self._code

    def close(self) -> None:
        if self._code is None:
            os.kill(self._process, signal.SIGKILL)
            self.code()
        os.close(self._master)


At: TypeAlias = Callable[..., Terminal]


@pytest.fixture
def at(project: Path) -> Iterator[At]:
    """Opens commands in terminals of their own."""
    pytest.importorskip("pty", reason="this system has no pseudo terminals")
    opened: list[Terminal] = []

    def open_one(*words: str) -> Terminal:
        opened.append(Terminal(*words))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()
