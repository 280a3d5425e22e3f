"""The cluster of a project: its runtime with the mirror, its memories, and its findings."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeVar

from whorl.errors import StoreError, UsageError
from whorl.runtimes.runtime import Cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.providers.registry import Providers
    from whorl.providers.settings import Settings, TemporalSettings
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.journal.keys import Registry
    from whorl.runtimes.runtime import Runtime, Watcher
    from whorl.runtimes.sqlite import MemoryRow, SqliteStore
    from whorl.services.project import Project
    from whorl.wings.automation.table import ScheduleTable
    from whorl.wings.cluster.memory import ClusterMemories
    from whorl.wings.cluster.mirror import Mirror

T = TypeVar("T")
INSTALL = "install it with `pip install 'whorl[temporal]'`"


def check_installed() -> None:
    """Checks that the package of the cluster is installed. Raises UsageError W920."""
    if find_spec("temporalio") is None:
        words = 'the package temporalio is not installed, and [runtime] kind is "temporal"'
        raise UsageError(words, help=INSTALL, code="W920")


@asynccontextmanager
async def open_cluster(
    providers: Providers,
    store: SqliteStore,
    *,
    redacted: Callable[[Json], Json],
    watcher: Watcher | None,
    is_watched: Callable[[RunId], bool],
    check: Callable[[Sequence[Event]], None],
    origin: str,
    url: str,
) -> AsyncIterator[Runtime]:
    """Opens the runtime of a cluster; the runtime of a server follows all runs."""
    check_installed()
    from whorl.wings.cluster.connection import connect
    from whorl.wings.cluster.runtime import TemporalRuntime

    settings = providers.settings.runtime.temporal
    runtime = TemporalRuntime(
        await connect(settings),
        store,
        settings,
        redacted=redacted,
        watcher=watcher,
        is_watched=is_watched,
        check=check,
        origin=origin,
        url=url,
    )
    following = asyncio.create_task(runtime.following.follow_all()) if origin == "server" else None
    try:
        yield runtime
    finally:
        if following is not None:
            following.cancel()
            await asyncio.wait({following})


def refresh_mirror(project: Settings, path: Path, registry: Registry) -> None:
    """Brings all new entries into a mirror, for processes that only read."""
    _with_mirror(project, path, registry, lambda mirror: mirror.bring_all())


def mirror_lag(project: Settings, path: Path, registry: Registry) -> tuple[int, float]:
    """Returns how many ended runs a mirror lacks in part, and when the first of them ended."""
    return _with_mirror(project, path, registry, lambda mirror: mirror.lag())


def _with_mirror(
    project: Settings, path: Path, registry: Registry, work: Callable[[Mirror], Awaitable[T]]
) -> T:
    """Runs `work` with a mirror, in a separate thread."""
    check_installed()
    settings, secrets = project.runtime.temporal, project.secrets()

    async def done() -> T:
        from whorl.providers.redaction import redact
        from whorl.runtimes.sqlite import SqliteStore
        from whorl.wings.cluster.connection import answering, connect_to_read
        from whorl.wings.cluster.mirror import Mirror

        server = await connect_to_read(settings)
        async with SqliteStore(
            path, seals=registry.seals, is_mirror=True, registry=registry
        ) as store:
            with answering(settings):
                return await work(Mirror(server, store, redacted=lambda v: redact(v, secrets)))

    # Those who look may do so in the midst of an event loop.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, done()).result()


def cluster_memory(settings: TemporalSettings) -> list[tuple[MemoryRow, list[Json]]]:
    """Returns a row for each key in the cluster's memory, with its newest record."""
    return asyncio.run(_with_memories(settings, lambda memories: memories.all()))


def forget_on_cluster(settings: TemporalSettings, key: str) -> int:
    """Deletes the cluster's records under a key; returns their number."""
    return asyncio.run(_with_memories(settings, lambda memories: memories.forget(key)))


async def _with_memories(
    settings: TemporalSettings, work: Callable[[ClusterMemories], Awaitable[T]]
) -> T:
    check_installed()
    from whorl.wings.cluster.connection import connect
    from whorl.wings.cluster.memory import ClusterMemories

    return await work(ClusterMemories(await connect(settings), settings))


async def cluster_findings(settings: TemporalSettings) -> list[tuple[str, bool, str]]:
    """Returns the requirements of a cluster, whether each is met, and what to do."""
    try:
        check_installed()
        from whorl.wings.cluster.worker import findings

        return [finding async for finding in findings(settings)]
    except (UsageError, StoreError) as fault:
        return [("Temporal", False, f"{fault}; {fault.help}")]


def cluster_schedules(project: Project, store: SqliteStore) -> ScheduleTable:
    """Returns the schedules of a cluster, which its server fires."""
    check_installed()
    from whorl.wings.cluster.schedules import ClusterSchedules

    return ClusterSchedules(store, project.settings().runtime.temporal)


CLUSTER = Cluster(
    open_cluster, refresh_mirror, mirror_lag, cluster_findings, cluster_memory, forget_on_cluster
)
