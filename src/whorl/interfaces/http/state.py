"""The server's state, which all requests share, and what routes are given of it."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path as FilePath
from typing import Annotated

from fastapi import Depends, Path, Request
from pydantic import BaseModel

from whorl.interfaces.http.faults import Refusal
from whorl.interfaces.http.schemas import ErrorAnswer
from whorl.interfaces.http.watcher import StreamWatcher
from whorl.interfaces.wording import target_of
from whorl.providers.registry import Providers
from whorl.runtimes.journal import RunId, RunRow
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.catalogue import Catalogue
from whorl.services.driving import Driving
from whorl.services.project import Project
from whorl.services.results import loop_node, workflow_of
from whorl.services.runs import open_runtime
from whorl.source.paths import resolve_beside

_TARGETS_MAX = 10_000
_ITEMS_MAX = 1_000
_NAMES_S = 2.0
_PROBLEMS = {
    400: "the request does not have its shape",
    401: "the token is missing or wrong",
    403: "the request comes from another site",
    404: "there is no such thing",
    405: "the address has no such method",
    408: "the request did not arrive in time",
    409: "it does not fit the run as it is",
    413: "the body is too large",
    415: "the body is no JSON",
    421: "the Host is not this server",
    429: "too many wrong tokens, or too many streams",
    503: "the store cannot be used, or the answer takes too long",
}
PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"model": ErrorAnswer, "description": words} for status, words in _PROBLEMS.items()
}


class ServerState:
    """The state of a server."""

    def __init__(
        self, project: Project, providers: Providers, runtime: LocalRuntime, watcher: StreamWatcher
    ) -> None:
        self.project = project
        self.providers = providers
        self.runtime = runtime
        self.watcher = watcher
        self.driving = Driving(runtime, watcher.touch)
        self.catalogue = Catalogue(project)
        self._targets: dict[tuple[RunId, str], float | None] = {}
        self._items: dict[RunId, tuple[RunRow, str]] = {}
        self._names: tuple[float, list[str]] = (0.0, [])

    @property
    def store(self) -> SqliteStore:
        """The store of the project."""
        return self.runtime.store

    def target(self, run: RunId, loop: str) -> float | None:
        """The score that a loop works towards; a run pins its version, so this never changes."""
        key = (run, loop)
        if key not in self._targets:
            if len(self._targets) >= _TARGETS_MAX:
                self._targets.clear()
            path = next((row.path for row in self.store.loops(run) if row.address == loop), "")
            node = loop_node(workflow_of(self.store, run), path)
            self._targets[key] = None if node is None else target_of(node.until)
        return self._targets[key]

    def item_text(self, row: RunRow, make: Callable[[RunRow], BaseModel]) -> str:
        """A row as JSON, made once for all streams that tell of it."""
        item = self._items.get(row.id)
        if item is None or item[0] != row:
            if len(self._items) >= _ITEMS_MAX:
                self._items.clear()
            item = self._items[row.id] = (row, make(row).model_dump_json())
        return item[1]

    def names(self) -> list[str]:
        """The names of all workflows that have runs; a moment old at most."""
        at, names = self._names
        if time.monotonic() - at > _NAMES_S:
            names = sorted({total.name for total in self.store.totals()})
            self._names = (time.monotonic(), names)
        return names

    def file(self, name: str) -> FilePath:
        """A file of the project, by the one path rule. Raises InvalidWorkflow."""
        root = str(self.project.root)
        return resolve_beside(f"{root}/-", name, root=root)

    def shown_file(self, file: str) -> str:
        """A file as the project knows it."""
        return file.removeprefix(f"{self.project.root}/")


@asynccontextmanager
async def open_state(project: Project) -> AsyncIterator[ServerState]:
    """The state on a project's store. Runs that it drives are left resumable when it closes."""
    providers = Providers(project.settings())
    watcher = StreamWatcher()
    async with open_runtime(project, providers, watcher=watcher) as runtime:
        state = ServerState(project, providers, runtime, watcher)
        following = asyncio.create_task(watcher.follow(runtime.store))
        try:
            yield state
        finally:
            watcher.end()
            following.cancel()
            await state.driving.close()


def _state(request: Request) -> ServerState:
    state = request.app.state.server
    assert isinstance(state, ServerState)
    return state


State = Annotated[ServerState, Depends(_state)]


def _run(state: State, run: Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,128}$")]) -> RunId:
    return state.store.run(run).id


# The id of a run, whole: an unknown one is answered with 404.
KnownRun = Annotated[RunId, Depends(_run)]


def no_query(request: Request) -> None:
    """Refuses a query where there is none to give."""
    if request.query_params:
        name = next(iter(request.query_params))
        raise Refusal(400, "W900", f"{name[:80]}: there is no such field")
