"""What is streamed while a task goes on, without the operator's secrets, whoever looks on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.providers.redaction import StreamedText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.errors import StoreError
    from whorl.providers.redaction import Secret
    from whorl.runtimes.driver import Watcher
    from whorl.runtimes.journal import Entry, RunId

_STREAMS_MAX = 10_000


class Discreet:
    """Stands before a watcher; what the journal tells has been cleared of secrets already."""

    def __init__(self, watcher: Watcher, secrets: Sequence[Secret]) -> None:
        self._watcher = watcher
        self._secrets = secrets
        self._streams: dict[tuple[RunId, str], StreamedText] = {}

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """These entries are durable."""
        for entry in entries:
            if entry.event.kind in ("task.finished", "task.failed"):
                stream = self._streams.pop((run, entry.event.address), None)
                rest = stream.rest() if stream is not None else ""
                if rest:
                    self._watcher.text(run, entry.event.address, rest)
        self._watcher.entries(run, entries)

    def text(self, run: RunId, address: str, text: str) -> None:
        """A task has streamed some text."""
        key = (run, address)
        if key not in self._streams:
            if len(self._streams) >= _STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            self._streams[key] = StreamedText(self._secrets)
        shown = self._streams[key].take(text)
        if shown:
            self._watcher.text(run, address, shown)

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """The store cannot be written; the run waits until it can."""
        self._watcher.trouble(run, fault)
