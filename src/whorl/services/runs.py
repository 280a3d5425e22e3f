"""The runs of a project: opens the runtime with its watchers, and finds runs."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whorl.errors import InvalidWorkflow, StoreError, UsageError, safe
from whorl.ir import from_json
from whorl.lazily import dataclass
from whorl.providers.redaction import HIDDEN, Secret, StreamedText, redact
from whorl.runtimes.journal.journal import tool_pins
from whorl.runtimes.journal.sealed_secrets import opened, redaction_of, secrets_of, shown_sources
from whorl.runtimes.sqlite.listing import EXPERIMENT, MOCKED
from whorl.services.configuration.trust import check_trusted
from whorl.services.inspecting.results import status_words
from whorl.source.paths import open_file

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from whorl.language import Json
    from whorl.providers.functions import Tasks
    from whorl.providers.registry import Providers
    from whorl.providers.settings import Retention
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.runtime import Runtime, Watcher
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.start_options import Start
    from whorl.services.project import Project


# The default address of the next server.
USUAL_URL = "http://127.0.0.1:7411"
_STREAMS_MAX = 10_000
QUEUED_S = 0.5
RETIRED_AT_ONCE = 50
RETIRED_PAUSE_S = 0.5
RETIRED_EVERY_S = 30.0

log = logging.getLogger("whorl")


@asynccontextmanager
async def open_runtime(
    project: Project,
    providers: Providers,
    *,
    origin: str = "",
    watcher: Watcher | None = None,
    is_watched: Callable[[RunId], bool] = lambda run: True,
) -> AsyncIterator[Runtime]:
    """Opens the runtime of a project; `origin` is who starts runs in it (see `NewRun`).

    `is_watched` says whether the watcher wants the streamed text of a run, if that is costly.
    """
    from whorl.providers.tools.tool_cache import FILE_NAME, KnownTools
    from whorl.runtimes.local import LocalRuntime
    from whorl.runtimes.time_slices import CPU_MAX_S

    async with AsyncExitStack() as stack:
        watchers = [] if watcher is None else [watcher]
        if project.environment.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
            from whorl.services.serving.watchers import telemetry_from

            telemetry = telemetry_from(project.environment)
            stack.callback(telemetry.close)
            watchers.append(telemetry)
        stack.push_async_callback(providers.close)
        store = await stack.enter_async_context(project.open_store(create=True))
        if providers.settings.notify.url:
            from whorl.services.serving.watchers import Notifier

            notifier = Notifier(providers.settings.notify, store, providers.secrets)
            stack.push_async_callback(notifier.close)
            watchers.append(notifier)
        providers.memories = store
        providers.tool_pins = partial(tool_pins, store)
        tools_file = project.store.with_name(FILE_NAME)
        providers.known_tools = KnownTools(tools_file, providers.secrets)
        workers, settings = ProviderWorkers(providers), providers.settings
        everybody = RedactedWatchers(watchers, providers.secrets) if watchers else None
        url = settings.server.url or USUAL_URL
        check = partial(check_trusted, settings)
        if settings.runtime.kind == "temporal":
            from whorl.runtimes.runtime import cluster

            yield await stack.enter_async_context(
                cluster().open(
                    providers,
                    store,
                    redacted=workers.redacted,
                    watcher=everybody,
                    is_watched=is_watched,
                    check=check,
                    origin=origin,
                    url=url,
                )
            )
            return
        yield LocalRuntime(
            store,
            workers,
            watcher=everybody,
            check=check,
            origin=origin,
            cpu_max_s=settings.limits.get("cpu", CPU_MAX_S),
            url=url,
            is_mocked=providers.is_mocked,
        )


async def keep_to(retention: Retention, project: Project, store: SqliteStore) -> None:
    """Keeps to the operator's retention limits: deletes runs, a few at a time."""
    while True:
        try:
            gone = await store.retire(retention, RETIRED_AT_ONCE)
        except StoreError as fault:
            log.warning("old runs cannot be deleted: %s", safe(str(fault)))
            gone = None
        if gone is not None and gone.runs:
            project.remove_workspaces(gone.runs)
            log.info("deleted %d runs, as [retention] says", len(gone.runs))
        is_more = gone is not None and len(gone.runs) == RETIRED_AT_ONCE
        await asyncio.sleep(RETIRED_PAUSE_S if is_more else RETIRED_EVERY_S)


class ProviderWorkers:
    """Implements `Workers` with the configured providers."""

    def __init__(self, providers: Providers) -> None:
        self.kind = providers.kind
        self.effect = providers.effect
        self._secrets = providers.secrets
        self._providers = providers

    @property
    def functions(self) -> Tasks:
        """The functions that programs call by name."""
        return self._providers.functions

    def redacted(self, value: Json) -> Json:
        return redact(value, self._secrets)


@dataclass(slots=True, eq=False)
class RedactedWatchers:
    """Removes secrets from streamed text before watchers get it; entries have none."""

    watchers: Sequence[Watcher]
    secrets: Sequence[Secret]
    _streams: dict[tuple[RunId, str], StreamedText] = field(default_factory=dict)

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        for entry in entries:
            if entry.event.kind in ("task.finished", "task.failed"):
                stream = self._streams.pop((run, entry.event.address), None)
                self._show(run, entry.event.address, stream.rest() if stream is not None else "")
        for watcher in self.watchers:
            watcher.entries(run, entries)

    def text(self, run: RunId, address: str, text: str) -> None:
        key = (run, address)
        if key not in self._streams:
            if len(self._streams) >= _STREAMS_MAX:
                del self._streams[next(iter(self._streams))]
            self._streams[key] = StreamedText(self.secrets)
        self._show(run, address, self._streams[key].take(text))

    def trouble(self, run: RunId, fault: StoreError) -> None:
        for watcher in self.watchers:
            watcher.trouble(run, fault)

    def _show(self, run: RunId, address: str, text: str) -> None:
        for watcher in self.watchers if text else ():
            watcher.text(run, address, text)


def find_run(store: SqliteStore, text: str) -> RunId:
    """Returns the run of a key, an id, its beginning, or `last`. Raises UsageError W902 or W903."""
    keyed = store.keyed(text) if text else None
    return store.resolve(text) if keyed is None else keyed


def check_key(store: SqliteStore, run: RunId, start: Start, name: str = "") -> None:
    """Refuses a key whose run was started with other files or inputs: it is another request.

    With the `name` of its workflow, a request is the same even if files have changed since.
    """
    row = store.run(run)
    workflow = from_json(store.workflow(run))
    first = next(iter(store.read(run, limit=1))).event
    before: Any = opened(first, run, store.seals).body.get("input")
    # What the file has for secrets was given to the run.
    filled = {port.name: before.get(port.name) for port in workflow.inputs if port.secret}
    sources = shown_sources(start.sources, redaction_of(secrets_of(workflow, before)))
    is_same_file = sorted(store.sources(run).values()) == sorted(sources.values())
    known = (before, first.body.get("steps") or {}, row.labels.get(MOCKED))
    asked = (filled | start.input, start.steps, start.labels.get(MOCKED))
    if known != asked or not (row.name == name if name else is_same_file):
        words = f"the key {start.key!r} belongs to run {run} of {row.name!r}, which "
        words += f"{status_words(row.status)} and was started with other files, inputs, models or "
        advice = f"choose another key, or look at that run: `whorl show {run}`"
        raise UsageError(f"{words}mocks", help=advice, code="W905")


def changed_file(store: SqliteStore, run: RunId) -> str:
    """Returns the path of the first file that changed since the run began, or "" if unknown."""
    file, kept = Path(store.run(run).file), store.sources(run)
    if any(HIDDEN in text for text in kept.values()):
        return ""

    def now(path: Path) -> str | None:
        try:
            return open_file(str(path))
        except InvalidWorkflow:
            return None

    own = now(file)
    if own is None:
        return ""
    # A run of an experiment is named after its file, which is none of its sources.
    if own not in kept.values() and not store.run(run).key.startswith(EXPERIMENT):
        return str(file)
    # The others are named as they are seen from the project, which lies around the file.
    for name, text in kept.items():
        places = {str(folder / name): now(folder / name) for folder in file.parents}
        there = [path for path, found in places.items() if found is not None]
        if there and text != own and text not in places.values():
            return there[0]
    return ""


def is_running(run: RunId) -> UsageError:
    """Returns the error for a resume of a run that is already running."""
    words, advice = f"run {run} is running already", f"watch it with `whorl watch {run}`"
    return UsageError(words, help=advice, code="R902")
