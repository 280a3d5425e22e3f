"""Several who look on at the runs of a process, as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whorl.errors import StoreError
    from whorl.runtimes.driver import Watcher
    from whorl.runtimes.journal import Entry, RunId


def together(*watchers: Watcher | None) -> Watcher | None:
    """All that there are of them as one; None where there is none."""
    present = [watcher for watcher in watchers if watcher is not None]
    return Together(*present) if len(present) > 1 else present[0] if present else None


class Together:
    """Several watchers as one."""

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = watchers

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        """Tells everybody."""
        for watcher in self._watchers:
            watcher.entries(run, entries)

    def text(self, run: RunId, address: str, text: str) -> None:
        """Tells everybody."""
        for watcher in self._watchers:
            watcher.text(run, address, text)

    def trouble(self, run: RunId, fault: StoreError) -> None:
        """Tells everybody."""
        for watcher in self._watchers:
            watcher.trouble(run, fault)
