"""What is kept from everybody who looks at a run: the operator's secrets, and secure outputs.

The journal holds the outputs of secure tasks, since nothing that was paid for may be lost; nobody
is shown them. Secrets are taken out of what is journaled by the driver, of streamed text here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.ir.walk import index_nodes, is_hidden
from whorl.providers.redaction import HIDDEN, StreamedText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from whorl.errors import StoreError
    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.redaction import Secret
    from whorl.runtimes.driver import Watcher
    from whorl.runtimes.journal import Entry, RunId

_KEPT = ("status", "type", "secure")
_KEPT_OF_TASKS = ("secure", "usage", "model", "provider", "status", "error")
_ENDS = ("task.finished", "task.failed")
_STREAMS_MAX = 10_000


def shown(event: Event) -> dict[str, Json]:
    """The body of an event as people and programs may see it."""
    body = event.body
    if body.get("secure") is True:
        if event.kind in _ENDS:
            body = {name: body[name] for name in _KEPT_OF_TASKS if name in body}
        if event.kind != "task.failed":
            body = body | {"value": HIDDEN}
    error: Any = body.get("error")
    detail = error.get("detail") if isinstance(error, dict) else None
    if isinstance(detail, dict) and detail.get("secure") is True:
        kept = {name: detail[name] for name in _KEPT if name in detail}
        body = body | {"error": error | {"detail": kept}}
        if "value" in body:
            body = body | {"value": HIDDEN}
    return body


def hidden_names(workflow: Workflow) -> frozenset[str]:
    """The names of the tasks whose outputs are shown to nobody, and of what holds them."""
    nodes, called = index_nodes(workflow).values(), dict(workflow.workflows)
    return frozenset(node.name for node in nodes if is_hidden(node, called))


def without(values: Mapping[str, Json], hidden: frozenset[str]) -> dict[str, Json]:
    """The values by name, with stars for those that are shown to nobody."""
    return {name: HIDDEN if name in hidden else value for name, value in values.items()}


class RedactedWatchers:
    """Stands before watchers; what the journal tells has been cleared of secrets already."""

    def __init__(self, watchers: Sequence[Watcher], secrets: Sequence[Secret]) -> None:
        self._watchers = watchers
        self._secrets = secrets
        self._streams: dict[tuple[RunId, str], StreamedText] = {}

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """These entries are durable."""
        for entry in entries:
            if entry.event.kind in _ENDS:
                stream = self._streams.pop((run, entry.event.address), None)
                self._show(run, entry.event.address, stream.rest() if stream is not None else "")
        for watcher in self._watchers:
            watcher.entries(run, entries)

    def text(self, run: RunId, address: str, text: str) -> None:
        """A task has streamed some text."""
        key = (run, address)
        if key not in self._streams:
            if len(self._streams) >= _STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            self._streams[key] = StreamedText(self._secrets)
        self._show(run, address, self._streams[key].take(text))

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """The store cannot be written; the run waits until it can."""
        for watcher in self._watchers:
            watcher.trouble(run, fault)

    def _show(self, run: RunId, address: str, text: str) -> None:
        for watcher in self._watchers if text else ():
            watcher.text(run, address, text)
