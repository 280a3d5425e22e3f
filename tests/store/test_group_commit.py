"""All that waits goes into one commit, and is acknowledged after it."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest
from journal_makers import iteration, started

from whorl.errors import StoreError
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite import store as writer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event


class Crash(BaseException):
    """The end of the process, as far as its code can tell."""


class Points:
    """Where the writer has been; may stop it there."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str, int]] = []
        self.fail_at = ""

    def __call__(self, point: str, run: str, events: Sequence[Event]) -> None:
        self.seen.append((point, run, len(events)))
        if point == self.fail_at:
            raise Crash


@pytest.mark.parametrize(("point", "stored"), [("before", 1), ("inside", 1), ("after", 4)])
def test_nothing_is_acknowledged_when_the_writer_dies(
    path: Path, point: str, stored: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    died = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _: died.set())
    monkeypatch.setattr(writer, "_QUICK_S", -1.0)
    points = Points()
    store = SqliteStore(path, crash_hook=points)
    run, owner = asyncio.run(started(store))
    points.fail_at = point

    with pytest.raises(StoreError, match="has ended"):
        asyncio.run(store.append(run, owner, iteration(1)))
    with pytest.raises(StoreError, match="has ended"):
        asyncio.run(store.append(run, owner, iteration(2)))
    store.close()
    assert died.is_set()

    again = SqliteStore(path)
    assert again.run(run).last_seq == stored
    again.close()
