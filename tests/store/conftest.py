"""A store in a folder of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from waiting import PATIENCE_S
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(path)
    yield opened
    opened.close()


class Child:
    """A process that works on the same store."""

    def __init__(self, path: Path, task: str, *words: str) -> None:
        script = Path(__file__).with_name("other_process.py")
        self.started = subprocess.Popen(
            [sys.executable, str(script), str(path), task, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self.started.pid

    def hear(self) -> str:
        assert self.started.stdout is not None
        return self.started.stdout.readline().strip()

    def tell(self) -> None:
        assert self.started.stdin is not None
        self.started.stdin.write("\n")
        self.started.stdin.flush()

    def close(self) -> int:
        assert self.started.stdin is not None
        assert self.started.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.started.stdin.close()
        self.started.stdout.close()
        try:
            return self.started.wait(PATIENCE_S)
        finally:
            self.started.kill()
            self.started.wait()


@pytest.fixture
def child(path: Path) -> Iterator[Callable[..., Child]]:
    """Starts processes that work on the same store, and ends them."""
    children: list[Child] = []

    def start(task: str, *words: str) -> Child:
        children.append(Child(path, task, *words))
        return children[-1]

    yield start
    for one in children:
        if one.started.poll() is None:
            one.started.kill()
        one.close()
