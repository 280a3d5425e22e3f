"""What happens in a run as it happens, typed: `async for event in run.stream()`.

Entries of the journal are read when the program is ready for them, and text that it has not taken
yet is put together: a slow reader holds up no run, and costs no memory.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import field
from typing import TYPE_CHECKING

from whorl.interfaces.python.events import (
    StepFailed,
    StepFinished,
    StepStarted,
    StreamEvent,
    Token,
    typed,
)
from whorl.lazily import dataclass
from whorl.services.inspecting.live_text import add_text, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from whorl.errors import StoreError
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.sqlite import SqliteStore

_POLL_S = 0.15
_MODELS = ("ask", "agent", "judge")
_ENDS = ("task.finished", "task.failed")


@dataclass(slots=True, eq=False)
class Listener:
    """One stream: what it has not taken yet, and whether there is news."""

    texts: dict[str, str] = field(default_factory=dict)
    awake: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, address: str, text: str) -> None:
        add_text(self.texts, address, text)
        self.awake.set()

    def take(self, before: dict[str, str]) -> None:
        """Puts what is new to what was taken before."""
        self.awake.clear()
        texts, self.texts = self.texts, {}
        for address, text in texts.items():
            add_text(before, address, text)


class Listeners:
    """The watcher of a session: whoever streams a run is told of its news."""

    def __init__(self) -> None:
        self._of: dict[str, list[Listener]] = {}
        # What steps have streamed that are under way, for late readers.
        self._texts: dict[str, dict[str, str]] = {}

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        texts = self._texts.get(run, {})
        for entry in entries:
            if entry.event.kind in _ENDS:
                texts.pop(entry.event.address, None)
            elif entry.event.kind == "run.finished":
                self._texts.pop(run, None)
        for listener in self._of.get(run, ()):
            listener.awake.set()

    def text(self, run: RunId, address: str, text: str) -> None:
        add_text(self._texts.setdefault(run, {}), address, text)
        for listener in self._of.get(run, ()):
            listener.add(address, text)

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Whoever drives the run raises it."""

    @contextmanager
    def listening(self, run: RunId) -> Iterator[Listener]:
        listener = Listener(dict(self._texts.get(run, {})))
        self._of.setdefault(run, []).append(listener)
        try:
            yield listener
        finally:
            self._of[run].remove(listener)
            if not self._of[run]:
                del self._of[run]


async def stream(
    store: SqliteStore,
    run: RunId,
    listeners: Listeners,
    *,
    folder: Path,
    is_driven: Callable[[], bool],
    after: int = 0,
) -> AsyncIterator[StreamEvent]:
    """All events of a run, until it has ended or waits for somebody.

    In `folder` other processes find those who listen.
    """
    streamed: set[str] = set()
    kinds: dict[str, str] = {}
    texts: dict[str, str] = {}
    with (
        listeners.listening(run) as listener,
        _elsewhere(folder, run, listener, is_driven) as fetch,
    ):
        while True:
            is_under_way = is_driven() or store.run(run).status == "running"
            version, before = store.version(), after
            listener.take(texts)
            for entry in store.read(run, after=after):
                after = entry.seq
                if entry.event.kind in _ENDS:
                    # What the step has streamed came before it.
                    fetch()
                    listener.take(texts)
                for event in _events(entry, texts, streamed, kinds):
                    yield event
            for address in list(texts):
                streamed.add(address)
                yield Token(address, texts.pop(address))
            if listener.awake.is_set() or after > before:
                continue
            if not is_under_way:
                return
            while not listener.awake.is_set() and store.version() == version:
                with suppress(TimeoutError):
                    await asyncio.wait_for(listener.awake.wait(), _POLL_S)
                if not is_driven():
                    break


def _elsewhere(
    folder: Path, run: RunId, listener: Listener, is_driven: Callable[[], bool]
) -> AbstractContextManager[Callable[[], None]]:
    """Has the listener told of what another process streams; what is driven here is known."""

    def hear(address: str, text: str) -> None:
        if not is_driven():
            listener.add(address, text)

    return nullcontext(lambda: None) if is_driven() else listening(folder, run, hear)


def _events(
    entry: Entry, texts: dict[str, str], streamed: set[str], kinds: dict[str, str]
) -> Iterator[StreamEvent]:
    """An entry as events; the text of a step comes before its end, in one piece if need be."""
    event, made = entry.event, typed(entry)
    if isinstance(made, StepStarted):
        kinds[event.address] = made.kind
    if isinstance(made, StepFinished | StepFailed):
        kind = kinds.pop(event.address, "")
        text = texts.pop(event.address, "")
        is_text = isinstance(made, StepFinished) and isinstance(made.value, str)
        if not text and kind in _MODELS and event.address not in streamed and is_text:
            text = str(made.value)  # type: ignore[union-attr]
        if text:
            yield Token(event.address, text)
        streamed.discard(event.address)
    if made is not None:
        yield made
