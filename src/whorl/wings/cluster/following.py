"""Who follows which runs of a cluster: each is brought into the mirror once for all who want it."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from typing import TYPE_CHECKING

from temporalio.service import RPCError

from whorl.errors import StoreError
from whorl.lazily import dataclass
from whorl.wings.cluster.connection import client_of
from whorl.wings.cluster.streams import stream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.runtime import Watcher
    from whorl.wings.cluster.mirror import Mirror

# Whoever waits for news looks at the store that often, too, which others may have written to.
NEWS_S = 0.5
# How often a server looks for runs that others have started, and how many it follows.
LOOK_S = 1.0
FOLLOWED_MAX = 500
# How late a server may tell that a run has ended.
LAG_S = 15.0
log = logging.getLogger("whorl")


@dataclass(eq=False)
class Following:
    """Brings what comes of runs; the `watcher` is told what their tasks stream."""

    mirror: Mirror
    watcher: Watcher | None
    is_watched: Callable[[RunId], bool]
    # Who waits for news of a run.
    _waiting: dict[RunId, set[asyncio.Future[None]]] = field(default_factory=dict)
    _following: dict[RunId, tuple[int, asyncio.Task[None]]] = field(default_factory=dict)
    # The runs that `follow_all` has joined those who follow them; None: it is not asked to.
    _kept: set[RunId] | None = None
    _unreadable: set[RunId] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.mirror.brought = self._tell

    @asynccontextmanager
    async def followed(self, run: RunId) -> AsyncIterator[asyncio.Task[None]]:
        """Brings what comes of a run, once for all who want it, by a task that ends with it.

        Raises what has kept the task from doing so.
        """
        task = self._join(run)
        try:
            yield task
            if task.done():
                task.result()
        finally:
            await self._leave(run)

    async def news(self, run: RunId, following: asyncio.Task[None]) -> None:
        """Waits until something of a run was brought, or it is followed no longer; not for long."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run, set()).add(waiting)
        try:
            await asyncio.wait(
                {waiting, following}, timeout=NEWS_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            others = self._waiting.get(run, set())
            others.discard(waiting)
            if not others:
                self._waiting.pop(run, None)

    def _tell(self, run: RunId) -> None:
        for waiting in self._waiting.pop(run, ()):
            if not waiting.done():
                waiting.set_result(None)

    async def follow_all(self) -> None:
        """Brings what comes of all runs, until it is cancelled."""
        kept = self._kept = set()
        since = 0.0
        try:
            while True:
                try:
                    now = time.time()
                    if not since:
                        await self.mirror.bring_all()
                    await self.mirror.bring_schedules()
                    for run in await self.mirror.stale_runs(FOLLOWED_MAX, since or now):
                        self.keep(run)
                    since = now - LAG_S
                except (RPCError, StoreError) as fault:
                    log.warning("the runs of the cluster cannot be followed: %s", fault)
                for run in tuple(kept):
                    # Meanwhile others may have begun to follow it again.
                    if self._following[run][1].done():
                        await self._part(run)
                await asyncio.sleep(LOOK_S)
        finally:
            self._kept = None
            await asyncio.gather(*map(self._leave, kept), return_exceptions=True)

    def keep(self, run: RunId) -> None:
        """Where all runs are followed, follows this one to its end."""
        if self._kept is not None and run not in self._kept | self._unreadable:
            self._kept.add(run)
            self._join(run)

    async def _part(self, run: RunId) -> None:
        """Follows a run no longer that has ended, or that cannot be read."""
        assert self._kept is not None
        self._kept.discard(run)
        fault = self._following[run][1].exception()
        if fault is not None:
            self._unreadable.add(run)
            log.warning("run %s cannot be followed: %s", run, fault)
        await self._leave(run)

    def _join(self, run: RunId) -> asyncio.Task[None]:
        count, task = self._following.get(run, (0, None))
        if task is None or task.done():
            task = asyncio.create_task(self._bring(run))
        self._following[run] = (count + 1, task)
        return task

    async def _leave(self, run: RunId) -> None:
        count, task = self._following[run]
        self._following[run] = (count - 1, task)
        if count == 1:
            del self._following[run]
            task.cancel()
            await asyncio.wait({task})

    async def _bring(self, run: RunId) -> None:
        client, watcher = client_of(self.mirror.server), self.watcher
        streaming = asyncio.create_task(stream(client, run, watcher, self.is_watched))
        try:
            while True:
                try:
                    await self.mirror.bring(run, wait=True)
                    return
                except RPCError as fault:
                    log.warning("run %s cannot be followed at present: %s", run, fault)
                    await asyncio.sleep(LOOK_S)
        finally:
            streaming.cancel()
            with suppress(asyncio.CancelledError):
                await streaming
