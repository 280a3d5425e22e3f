"""The cluster of a project: its runtime with the mirror, and the worker that it has here."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

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
    from whorl.runtimes.performing import Workers
    from whorl.runtimes.runtime import Runtime, Watcher
    from whorl.runtimes.sqlite import MemoryRow, SqliteStore
    from whorl.services.project import Project
    from whorl.wings.automation.table import ScheduleTable
    from whorl.wings.cluster.memory import ClusterMemories
    from whorl.wings.cluster.mirror import Mirror

T = TypeVar("T")
INSTALL = "install it with `pip install 'whorl[temporal]'`"


def check_installed() -> None:
    """Refuses to go on without the package of the cluster. Raises UsageError W920."""
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
    """The runtime of a cluster; for a server it follows all runs."""
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
    if origin != "server":
        yield runtime
        return
    following = asyncio.create_task(runtime.follow_all())
    try:
        yield runtime
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


def refresh_mirror(project: Settings, path: Path, registry: Registry) -> None:
    """Brings all that is new into a mirror, for those who only look."""
    _with_mirror(project, path, registry, lambda mirror: mirror.bring_all())


def mirror_lag(project: Settings, path: Path, registry: Registry) -> tuple[int, float]:
    """How many runs have ended of which a mirror has not all, and when the first of them did."""
    return _with_mirror(project, path, registry, lambda mirror: mirror.lag())


def _with_mirror(
    project: Settings, path: Path, registry: Registry, work: Callable[[Mirror], Awaitable[T]]
) -> T:
    """What is done with a mirror, in a thread of its own."""
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

    found: list[T] = []
    faults: list[Exception] = []

    def go() -> None:
        try:
            found.append(asyncio.run(done()))
        except Exception as fault:  # noqa: BLE001 - it is raised below
            faults.append(fault)

    # Those who look may do so in the midst of an event loop.
    thread = threading.Thread(target=go)
    thread.start()
    thread.join()
    if faults:
        raise faults[0]
    return found[0]


async def set_up_cluster(settings: TemporalSettings) -> list[str]:
    """Makes what a namespace lacks; gives what that was. Raises StoreError R922."""
    check_installed()
    from whorl.wings.cluster.connection import answering, connect
    from whorl.wings.cluster.worker import set_up

    with answering(settings):
        return await set_up(await connect(settings), is_needed=True)


def cluster_memory(settings: TemporalSettings) -> list[tuple[MemoryRow, list[Json]]]:
    """What runs of a cluster remember under each key, and the newest record of each."""

    async def listed() -> list[tuple[MemoryRow, list[Json]]]:
        return await (await _memories(settings)).all()

    return asyncio.run(listed())


def forget_on_cluster(settings: TemporalSettings, key: str) -> int:
    """Deletes what runs of a cluster remember under a key; gives how many records there were."""

    async def forgotten() -> int:
        return await (await _memories(settings)).forget(key)

    return asyncio.run(forgotten())


async def _memories(settings: TemporalSettings) -> ClusterMemories:
    check_installed()
    from whorl.wings.cluster.connection import connect
    from whorl.wings.cluster.memory import ClusterMemories

    return ClusterMemories(await connect(settings), settings)


async def cluster_findings(settings: TemporalSettings) -> list[tuple[str, bool, str]]:
    """What a cluster needs, whether it has it, and what to do."""
    try:
        check_installed()
        from whorl.wings.cluster.worker import findings

        return [finding async for finding in findings(settings)]
    except (UsageError, StoreError) as fault:
        return [("Temporal", False, f"{fault}; {fault.help}")]


@asynccontextmanager
async def open_worker(
    providers: Providers,
    workers: Workers,
    known_tools: Path,
    fired: Callable[[dict[str, Any], float], dict[str, Any]],
    *,
    queue: str,
    calls_only: bool,
) -> AsyncIterator[None]:
    """A worker with the providers of a project; when it is left, it waits for its calls.

    `fired` makes of a schedule and a time what is to be started.
    """
    check_installed()
    from whorl.providers.tools.tool_cache import KnownTools
    from whorl.runtimes.time_slices import CPU_MAX_S
    from whorl.wings.cluster.connection import connect
    from whorl.wings.cluster.memory import ClusterMemories
    from whorl.wings.cluster.worker import set_up, tool_pins, working

    settings = providers.settings.runtime.temporal
    providers.tool_pins = tool_pins
    providers.known_tools = KnownTools(known_tools, providers.secrets)
    client = await connect(settings)
    providers.memories = ClusterMemories(client, settings)
    await set_up(client)
    try:
        async with working(
            client,
            settings,
            workers,
            queue=queue,
            calls_only=calls_only,
            fired=fired,
            cpu_max_s=providers.settings.limits.get("cpu", CPU_MAX_S),
        ):
            yield
    finally:
        await providers.close()


def cluster_schedules(project: Project, store: SqliteStore) -> ScheduleTable:
    """The schedules of a cluster, which its server fires."""
    check_installed()
    from whorl.wings.cluster.schedules import ClusterSchedules

    return ClusterSchedules(store, project.settings().runtime.temporal)


CLUSTER = Cluster(
    open_cluster,
    refresh_mirror,
    mirror_lag,
    cluster_findings,
    cluster_memory,
    forget_on_cluster,
)
