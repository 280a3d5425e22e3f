"""The runs of a project: the runtime with all who look on, and the run that a person means."""

from __future__ import annotations

from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from whorl.errors import UsageError, nearest
from whorl.providers.redaction import redact
from whorl.services.results import status_words

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.runtimes.driver import Watcher
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.local import LocalRuntime, Start
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

# How many of the newest runs are looked through for a key or a name that is near.
RUNS_MAX = 10_000
# A shorter text is near to anything.
_HINT_LENGTH_MIN = 4


@asynccontextmanager
async def open_runtime(
    project: Project, providers: Providers, *, watcher: Watcher | None = None
) -> AsyncIterator[LocalRuntime]:
    """A runtime on the project's store; store and providers are closed with it."""
    from whorl.runtimes.journal import tool_pins
    from whorl.runtimes.local import LocalRuntime
    from whorl.services.redaction import RedactedWatchers

    async with AsyncExitStack() as stack:
        watchers = [] if watcher is None else [watcher]
        if project.environment.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
            from whorl.services.telemetry import telemetry_from

            telemetry = telemetry_from(project.environment)
            if telemetry is not None:
                stack.callback(telemetry.close)
                watchers.append(telemetry)
        stack.push_async_callback(providers.close)
        store = await stack.enter_async_context(project.open_store(create=True))
        if providers.settings.notify.url:
            from whorl.services.notify import Notifier

            notifier = Notifier(providers.settings.notify, store, providers.secrets)
            stack.push_async_callback(notifier.close)
            watchers.append(notifier)
        providers.memories = store
        providers.tool_pins = partial(tool_pins, store)
        everybody = RedactedWatchers(watchers, providers.secrets) if watchers else None
        yield LocalRuntime(store, ProviderWorkers(providers), watcher=everybody)


class ProviderWorkers:
    """Implements `Workers` with the configured providers."""

    def __init__(self, providers: Providers) -> None:
        self.kind = providers.kind
        self.effect = providers.effect
        self._secrets = providers.secrets

    def redacted(self, value: Json) -> Json:
        """The same value without the operator's secrets."""
        return redact(value, self._secrets)


def find_run(store: SqliteStore, text: str) -> RunId:
    """The run that a person means: by its id, the beginning of one, its key, or `last`.

    Raises UsageError W902, or W903 where it may be several.
    """
    try:
        return store.resolve(text)
    except UsageError as fault:
        if fault.code != "W902":
            raise
        rows = store.runs(limit=RUNS_MAX)
        keyed = next((row.id for row in rows if text and row.key == text), None)
        if keyed is not None:
            return keyed
        if sum(row.id.startswith(text) for row in rows) > 1 and text:
            raise UsageError(str(fault), help=fault.help, code="W903") from None
        names = [name for row in rows for name in (row.id, row.key) if name]
        raise _unknown(text, names) from None


def check_key(store: SqliteStore, run: RunId, start: Start) -> None:
    """Refuses a key whose run was started with other files or inputs: it is another request."""
    row = store.run(run)
    before = next(iter(store.read(run, limit=1))).event.body.get("input")
    different = "other inputs" if before != start.input else ""
    if sorted(store.sources(run).values()) != sorted(start.sources.values()):
        different = f"another workflow ({row.name!r})"
    if different:
        raise UsageError(
            f"the key {start.key!r} belongs to run {run}, which {status_words(row.status)} "
            f"and was started with {different}",
            help=f"choose another key, or look at that run: `whorl show {run}`",
            code="W905",
        )


def _unknown(text: str, names: list[str]) -> UsageError:
    """The error for a run that is not there, with the name that is near, if one is."""
    hint = ""
    if len(text) >= _HINT_LENGTH_MIN:
        near = nearest(text, names) or nearest(text, [name[: len(text)] for name in names])
        hint = f"did you mean {near!r}? " if near else ""
    return UsageError(
        f"there is no run {text!r} in the store",
        help=f"{hint}`whorl ls` lists the runs",
        code="W902",
    )
