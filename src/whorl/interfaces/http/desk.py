"""What all requests share: the project, its runtime, who looks on, and what is known of runs."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.interfaces.http.faults import conflict
from whorl.interfaces.http.watch import Watch
from whorl.interfaces.wording import target_of
from whorl.services.catalogue import Catalogue
from whorl.services.driving import Driving
from whorl.services.results import loop_node, workflow_of
from whorl.services.runs import open_runtime
from whorl.source import resolve_beside

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from pydantic import BaseModel

    from whorl.interpreter.events import Event
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal import RunId, RunRow
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

_AIMS_MAX = 10_000
_TOLD_MAX = 1_000
_NAMES_S = 2.0


@dataclass(frozen=True, slots=True)
class Aim:
    """What a loop works towards, and whether it asks a person."""

    score: float | None = None
    ask: str = "never"


class Desk:
    """The state of a server."""

    def __init__(
        self, project: Project, providers: Providers, runtime: LocalRuntime, watch: Watch
    ) -> None:
        self.project = project
        self.providers = providers
        self.runtime = runtime
        self.watch = watch
        self.driving = Driving(runtime, watch.touch)
        self.catalogue = Catalogue(project)
        self._aims: dict[tuple[RunId, str], Aim] = {}
        self._told: dict[RunId, tuple[RunRow, str]] = {}
        self._names: tuple[float, list[str]] = (0.0, [])

    @property
    def store(self) -> SqliteStore:
        """The store of the project."""
        return self.runtime.store

    async def ask(self, run: RunId, make: Callable[[], Event], seen: int | None) -> None:
        """Carries a request out; what the run has against it is a conflict."""
        try:
            await self.driving.ask(run, make, seen)
        except UsageError as fault:
            raise conflict(fault) from fault

    def aim(self, run: RunId, loop: str) -> Aim:
        """What a loop works towards; a run pins its version, so this never changes."""
        key = (run, loop)
        if key not in self._aims:
            if len(self._aims) >= _AIMS_MAX:
                self._aims.clear()
            path = next((row.path for row in self.store.loops(run) if row.address == loop), "")
            node = loop_node(workflow_of(self.store, run), path)
            self._aims[key] = Aim() if node is None else Aim(target_of(node.until), node.ask)
        return self._aims[key]

    def told(self, row: RunRow, tell: Callable[[RunRow], BaseModel]) -> str:
        """A row as JSON, made once for all streams that tell of it."""
        known = self._told.get(row.id)
        if known is None or known[0] != row:
            if len(self._told) >= _TOLD_MAX:
                self._told.clear()
            known = self._told[row.id] = (row, tell(row).model_dump_json())
        return known[1]

    def names(self) -> list[str]:
        """The names of all workflows that have runs; a moment old at most."""
        at, names = self._names
        if time.monotonic() - at > _NAMES_S:
            names = sorted({total.name for total in self.store.totals()})
            self._names = (time.monotonic(), names)
        return names

    def file(self, name: str) -> Path:
        """A file of the project, by the one path rule. Raises InvalidWorkflow."""
        root = str(self.project.root)
        return resolve_beside(f"{root}/-", name, root=root)

    def shown_file(self, file: str) -> str:
        """A file as the project knows it."""
        return file.removeprefix(f"{self.project.root}/")


@asynccontextmanager
async def open_desk(project: Project) -> AsyncIterator[Desk]:
    """A desk on the project's store. Runs that it drives are left resumable when it closes."""
    from whorl.providers.registry import Providers

    providers = Providers(project.settings())
    watch = Watch()
    async with open_runtime(project, providers, watcher=watch) as runtime:
        desk = Desk(project, providers, runtime, watch)
        following = asyncio.create_task(watch.follow(runtime.store))
        try:
            yield desk
        finally:
            watch.end()
            following.cancel()
            await desk.driving.close()
