"""`whorl worker`: drives the runs of a cluster, and makes their calls."""

from __future__ import annotations

import asyncio
import logging
import signal
from functools import partial
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import located
from whorl.interfaces.cli.terminal import say
from whorl.interfaces.cli.trust import ask_for_trust

if TYPE_CHECKING:
    from whorl.providers.registry import Providers
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
    from whorl.wings.cluster.schedule_starts import ScheduleStarts
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
