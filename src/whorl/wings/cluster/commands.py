"""`whorl worker`: drives the runs of a cluster, and makes their calls."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, WhorlError
from whorl.interfaces.cli.options import located
from whorl.interfaces.cli.terminal import say
from whorl.interfaces.cli.trust import ask_for_trust
from whorl.lazily import dataclass
from whorl.services.serving.triggers import starts_of
from whorl.wings.automation import firing
from whorl.wings.automation.registry import prepared
from whorl.wings.automation.rules import key_of
from whorl.wings.automation.table import Schedule

if TYPE_CHECKING:
    from whorl.providers.registry import Providers
    from whorl.runtimes.performing import Workers
    from whorl.services.project import Project


@click.command()
@click.option("--queue", default="", metavar="NAME", help="The queue that calls are taken from.")
@click.option("--calls-only", is_flag=True, help="Make calls, and drive no runs.")
@click.option("--setup", is_flag=True, help="Set up what the namespace lacks, and end.")
@partial(located, drives=True)
def worker(project: Project, *, queue: str, calls_only: bool, setup: bool) -> None:
    """Do the work of a cluster here, with the providers and permissions of this project.

    \b
      whorl worker
      whorl worker --queue builders --calls-only
      whorl worker --setup

    Any number of workers share the work. Ctrl-C or SIGTERM: it takes nothing new, waits for the
    calls that are under way, and leaves. Needs [runtime] kind = "temporal" in whorl.toml.
    """
    from whorl.providers.registry import Providers
    from whorl.providers.settings import line_below
    from whorl.services.configuration.trust import check_trusted

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    ask_for_trust(project)
    settings = project.settings()
    check_trusted(settings, ())
    if settings.runtime.kind != "temporal":
        words = "runs are driven by the processes that start them: there is nothing for a worker"
        line = line_below("runtime", 'kind = "temporal"')
        raise UsageError(words, help=f"write {line}", code="W920")
    if setup:
        from whorl.wings.cluster.service import set_up_cluster

        made = asyncio.run(set_up_cluster(settings.runtime.temporal))
        say(f"made: {', '.join(made)}" if made else "the namespace has all that it needs")
        return
    asyncio.run(_work(project, Providers(settings), queue, calls_only=calls_only))


async def _work(project: Project, providers: Providers, queue: str, *, calls_only: bool) -> None:
    from whorl.providers.tools.tool_cache import FILE_NAME
    from whorl.services.runs import ProviderWorkers
    from whorl.wings.cluster.service import open_worker

    loop, left = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, left.set)
    temporal = providers.settings.runtime.temporal
    workers = ProviderWorkers(providers)
    tools = project.store.with_name(FILE_NAME)
    fired = ScheduleStarts(project, providers, workers)
    async with open_worker(providers, workers, tools, fired, queue=queue, calls_only=calls_only):
        say(f"working on queue {queue or temporal.queue!r} of {temporal.address}; end with Ctrl-C")
        await left.wait()
        say(f"stopping, once the calls under way have ended, within {temporal.grace_s:g} s")


# What a worker of a cluster starts when the server of the cluster says that a schedule is due.


@dataclass(frozen=True, slots=True)
class ScheduleStarts:
    """On a cluster, makes of a schedule and a time what a worker starts, as files are there."""

    project: Project
    providers: Providers
    workers: Workers

    def __call__(self, value: dict[str, Any], due: float) -> dict[str, Any]:
        from whorl.services.runs import USUAL_URL
        from whorl.wings.cluster.messages import id_of, new_beginning

        schedule = Schedule(**value)
        # The project may lie elsewhere on the machine of a worker.
        inside = os.path.relpath(schedule.file, schedule.root)
        if not inside.startswith(os.pardir):
            schedule = replace(schedule, file=str(self.project.root / inside))
        settings, key = self.providers.settings, key_of(schedule, due)
        try:
            workflow, start = prepared(self.project, self.providers, schedule, key)
            starts = starts_of(
                workflow, firing.windowed(workflow, schedule, start, due), time.time()
            )
            begun = [
                new_beginning(
                    id_of(each.key),
                    workflow,
                    each,
                    settings.runtime.temporal,
                    redacted=self.workers.redacted,
                    url=settings.server.url or USUAL_URL,
                    origin="server",
                ).to_json()
                for each in starts.each
            ]
        except WhorlError as fault:
            return {"state": "failed", "reason": str(fault), "runs": []}
        state = "started" if begun else "skipped"
        return {"state": state, "reason": starts.reason, "runs": begun}
