"""The server's state, which all requests share."""

import asyncio
import contextlib
import hmac
import json
import logging
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path as FilePath
from typing import Annotated, Protocol, TypeAlias, TypeVar, cast
from urllib.parse import quote

from fastapi import Depends, Path, Request
from fastapi.dependencies.utils import get_flat_params

from whorl.errors import WhorlError
from whorl.interfaces.formatting import line
from whorl.interfaces.http.auth import IDENTITY, Identity, operation_of
from whorl.interfaces.http.journal import StreamWatcher
from whorl.interfaces.http.limits import RateLimit
from whorl.interfaces.http.models import ErrorAnswer
from whorl.interfaces.http.models import RunId as Id
from whorl.interfaces.http.problems import Refusal
from whorl.interfaces.operations import OPERATIONS
from whorl.interfaces.status_words import target_of
from whorl.interpreter.evaluation import call_signature
from whorl.plugins import load_reference, wings
from whorl.providers.registry import Providers
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.runtime import Runtime
from whorl.runtimes.service.tables import Audit
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.inspecting.results import input_of, loop_node, shown_workflow
from whorl.services.project import Catalogue, Project
from whorl.services.records import RunRecords
from whorl.services.run_driver import Driving
from whorl.services.runs import keep_to, open_runtime
from whorl.services.serving.upkeep import Upkeep
from whorl.services.steering import check_drivable
from whorl.source.paths import resolve_beside

ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_GIVEN_MAX = 300
_KEPT_MAX = 10_000
_NAMES_S = 2.0
SAVES_MAX = 10
_BUSY_S = 0.02
_IDLE_S = 1.0
# Older stalls do not count.
_STALLS_S = 60.0
_BEGINNING = ("start", "fork", "try", "run experiment")
STOPPING = "the server is stopping"
_AGAIN_S = 5
_PROBLEMS = {
    400: "the request is not valid",
    401: "the token is missing or wrong",
    403: "the role is too low, another site asks, or the folder or its store is not trusted",
    404: "it does not exist",
    405: "the address has no such method",
    408: "the request did not arrive in time",
    409: "it does not fit the current state of the run",
    413: "the body is too large",
    415: "the body is not JSON",
    421: "the Host is not this server",
    429: "too many wrong tokens, or too many streams",
    503: "the store cannot be used, the server is stopping, or the answer takes too long",
}
PROBLEMS: dict[int | str, dict[str, object]] = {
    status: {"model": ErrorAnswer, "description": words} for status, words in _PROBLEMS.items()
}

log = logging.getLogger("whorl.http")


class Job(Protocol):
    """What a wing does in a server beside its runs."""

    async def work(self) -> None:
        """Works until it is cancelled."""

    def run_left(self) -> None:
        """Learns that a run is not driven any more."""

    def health(self) -> dict[str, float]:
        """Returns numbers for `/healthz`."""

    async def close(self) -> None:
        """Ends the job, since the server is being stopped."""


J = TypeVar("J")
MakeJob: TypeAlias = "Callable[[ServerState], Job]"


@dataclass(eq=False)
class ServerState:
    """The state of a server."""

    project: Project
    providers: Providers
    runtime: Runtime
    watcher: StreamWatcher
    edits: bool = False

    def __post_init__(self) -> None:
        self.store = self.runtime.store
        self.watcher.runtime = self.runtime
        check = partial(check_drivable, self.store, self.providers)
        self.driving = Driving(self.runtime, self._left, has_alarms=False, check=check)
        most = self.providers.settings.server.max_concurrent
        self.upkeep = Upkeep(self.driving, self.providers, most)
        self.heartbeat = Heartbeat()
        self.catalogue = Catalogue(self.project, self.providers.settings.programs)
        self.audit = Audit(self.store)
        makers = (cast("MakeJob", load_reference(each)) for wing in wings() for each in wing.jobs)
        self.jobs = tuple(make(self) for make in makers)
        # Neither of both ever changes.
        self.given = lru_cache(_KEPT_MAX)(partial(_given, self.store))
        self.target = lru_cache(_KEPT_MAX)(partial(_target, self.store))
        names = self.store.names
        self._names = lru_cache(1)(lambda _: names())
        self.saves = RateLimit(SAVES_MAX, 1.0)
        self.hook_calls = RateLimit(self.providers.settings.server.hooks_per_minute, 60.0)

    def _left(self, run: RunId) -> None:
        self.watcher.touch(run)
        # It may wait, with a time limit.
        self.upkeep.awake.set()
        for job in self.jobs:
            job.run_left()

    def job(self, kind: type[J]) -> J:
        """Returns the job of a wing."""
        return next(job for job in self.jobs if isinstance(job, kind))

    def names(self) -> list[str]:
        """Returns the names of all workflows that have runs; it reads all runs, so it is cached."""
        return self._names(time.monotonic() // _NAMES_S)

    def file(self, name: str) -> FilePath:
        root = str(self.project.root)
        if name in self.catalogue.programs:
            return FilePath(root, name)
        return resolve_beside(f"{root}/-", name, root=root)

    def trigger_url(self, workflow: str, trigger: str) -> str:
        """Returns the address that starts a workflow, with its signature."""
        path = f"/hooks/workflows/{quote(workflow, safe='')}/{quote(trigger, safe='')}"
        return f"{self.runtime.url}{path}?sig={self._trigger_signature(workflow, trigger)}"

    def answer_url(self, run: RunId) -> str:
        """Returns the address at which the client that started a run fetches its answer."""
        signature = self.store.seals.signature("answer", run)
        return f"{self.runtime.url}/hooks/runs/{run}?sig={signature}"

    def is_signed(self, path: str, signature: str) -> bool:
        """Returns whether this server, or another one of this project, signed an address."""
        match path.split("/")[2:]:
            case ["workflows", workflow, trigger, *_]:
                wanted = self._trigger_signature(workflow, trigger)
            case ["runs", run]:
                wanted = self.store.seals.signature("answer", run)
            # Who made the run knows it.
            case ["runs", run, *address] if ID.fullmatch(run):
                wanted = self._call_signature(run, "/".join(address))
            case _:
                wanted = ""
        return bool(wanted) and hmac.compare_digest(wanted, signature)

    def _trigger_signature(self, workflow: str, trigger: str) -> str:
        names = (workflow.lower(), trigger.lower())
        return self.store.seals.signature("trigger", str(self.project.root), *names)

    def _call_signature(self, run: str, address: str) -> str:
        """Returns the signature of the address at which a task of a run waits for a call."""
        try:
            first = next(iter(self.store.read(RunId(run), limit=1)), None)
        except WhorlError:
            return ""
        callback = first.event.body.get("callback") if first is not None else None
        token = callback.get("token") if isinstance(callback, dict) else None
        return call_signature(token, address) if isinstance(token, str) else ""

    def shown_file(self, file: str) -> str:
        return file.removeprefix(f"{self.project.root}/")

    def records(self, run: RunId) -> RunRecords:
        return RunRecords(self.store, run, self.providers.secrets)


@contextlib.asynccontextmanager
async def open_state(project: Project, *, edits: bool = False) -> AsyncIterator[ServerState]:
    providers, watcher = Providers(project.settings()), StreamWatcher()
    opening = open_runtime(
        project, providers, origin="server", watcher=watcher, is_watched=watcher.is_watched
    )
    async with opening as runtime:
        state = ServerState(project, providers, runtime, watcher, edits)
        retention, store = providers.settings.retention, runtime.store
        works = [watcher.follow(store), state.heartbeat.beat(state.driving), state.upkeep.work()]
        works += [job.work() for job in state.jobs]
        if retention:
            works.append(keep_to(retention, project, store))
        if retention.audit_s is not None:
            works.append(state.audit.keep(retention.audit_s))
        tasks = [asyncio.create_task(work) for work in works]
        try:
            yield state
        finally:
            watcher.end()
            for task in tasks:
                task.cancel()
            await state.driving.close()
            for job in state.jobs:
                await job.close()


def _state(request: Request) -> ServerState:
    state: ServerState = request.app.state.server
    return state


State = Annotated[ServerState, Depends(_state)]


def _asking(request: Request) -> Identity:
    identity: Identity = request.scope[IDENTITY]
    return identity


# Who asks, at an address that needs a token.
Asking = Annotated[Identity, Depends(_asking)]


def _run(state: State, run: Annotated[Id, Path()]) -> RunId:
    return state.store.run(run).id


# The id of a run, whole: an unknown one is answered with 404.
KnownRun = Annotated[RunId, Depends(_run)]


def check_query(request: Request) -> None:
    """Refuses a name in the query that the address does not take."""
    known = {field.alias for field in get_flat_params(request.scope["route"].dependant)}
    for name in request.query_params:
        if name not in known or name in request.path_params:
            raise Refusal(400, "W900", f"{name[:80]}: there is no such field")


async def check_open(request: Request) -> None:
    """Refuses requests that begin something while the server is being stopped.

    Runs that are still driven here accept requests as before.
    """
    state, run = request.app.state.server, request.path_params.get("run", "")
    if not state.driving.is_closing:
        return
    name = operation_of(request)
    is_steered = OPERATIONS[name].role == "steer" and run and not state.driving.is_driven(run)
    if name in _BEGINNING or is_steered:
        advice = "send it again once the next server is running"
        raise Refusal(503, "W900", f"{STOPPING} and starts nothing new", advice, _AGAIN_S)


def _given(store: SqliteStore, run: RunId) -> str:
    """Returns the inputs of a run in a line: its only input, or all of them with their names."""
    given = input_of(store, run)
    inputs = given if isinstance(given, dict) else {"": given}
    texts = {name: v if isinstance(v, str) else json.dumps(v) for name, v in inputs.items()}
    words = (f"{name}: {text[:_GIVEN_MAX]}" if name else text for name, text in texts.items())
    return line(", ".join(words), _GIVEN_MAX)


def _target(store: SqliteStore, run: RunId, loop: str) -> float | None:
    """Returns the target score of a loop, in the version of the workflow that the run pins."""
    path = next((row.path for row in store.loops(run) if row.address == loop), "")
    node = loop_node(shown_workflow(store, run), path)
    return None if node is None else target_of(node.until)


class Heartbeat:
    """Wakes up often while runs are driven; its delay shows how long the event loop was blocked."""

    def __init__(self) -> None:
        self._late: deque[tuple[float, float]] = deque(maxlen=round(_STALLS_S / _BUSY_S))

    @property
    def stall_ms(self) -> float:
        """Returns the longest time within the last minute in which the event loop was blocked."""
        since = time.monotonic() - _STALLS_S
        stalls = (late_s for at, late_s in self._late if at >= since)
        return round(max(stalls, default=0.0) * 1000, 1)

    async def beat(self, is_busy: object) -> None:
        """Runs for ever; `is_busy` is true while runs are driven."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + (_BUSY_S if is_busy else _IDLE_S)
            await asyncio.sleep(due - loop.time())
            self._late.append((time.monotonic(), loop.time() - due))
