"""`whorl server worker`: drives the runs of a cluster and makes their calls."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, WhorlError
from whorl.interfaces.cli.options import ask_for_trust, located
from whorl.interfaces.cli.terminal import say
from whorl.services.serving.triggers import starts_of
from whorl.wings.automation import firing
from whorl.wings.automation.registry import prepared
from whorl.wings.automation.rules import key_of
from whorl.wings.automation.table import Schedule
from whorl.wings.cluster.service import check_installed

if TYPE_CHECKING:
    from whorl.providers.registry import Providers
    from whorl.providers.settings import TemporalSettings
    from whorl.runtimes.driver import Workers
    from whorl.services.project import Project


@click.command()
@click.option("--queue", default="", metavar="NAME", help="The queue of the calls to make.")
@click.option("--calls-only", is_flag=True, help="Make calls only; other workers drive the runs.")
@click.option("--setup", is_flag=True, help="Add Whorl's search attributes to Temporal, then exit.")
@partial(located, drives=True)
def worker(project: Project, *, queue: str, calls_only: bool, setup: bool) -> None:
    """Run a cluster worker, with the providers and permissions of this project.

    \b
      whorl server worker
      whorl server worker --queue builders --calls-only
      whorl server worker --setup

    Any number of workers share the work. After Ctrl-C or SIGTERM, a worker takes nothing new, waits
    for its open calls, and ends. Needs [runtime] kind = "temporal" in whorl.toml.
    """
    from whorl.providers.registry import Providers
    from whorl.providers.settings import line_below
    from whorl.services.configuration.trust import check_trusted

    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    ask_for_trust(project)
    settings = project.settings()
    check_trusted(settings, ())
    if settings.runtime.kind != "temporal":
        words = "this project has no cluster, so there is nothing for a worker to do"
        line = line_below("runtime", 'kind = "temporal"')
        raise UsageError(words, help=f"write {line}", code="W920")
    check_installed()
    if setup:
        asyncio.run(_set_up(settings.runtime.temporal))
    else:
        asyncio.run(_work(project, Providers(settings), queue, calls_only=calls_only))


async def _set_up(settings: TemporalSettings) -> None:
    from whorl.wings.cluster.connection import answering, connect
    from whorl.wings.cluster.worker import set_up

    with answering(settings):
        made = await set_up(await connect(settings))
    say(f"added: {', '.join(made)}" if made else "the namespace has all that it needs")


async def _work(project: Project, providers: Providers, queue: str, *, calls_only: bool) -> None:
    from temporalio.service import RPCError

    from whorl.providers.tools.tool_cache import FILE_NAME, KnownTools
    from whorl.runtimes.time_slices import CPU_MAX_S
    from whorl.services.runs import ProviderWorkers
    from whorl.wings.cluster.connection import connect
    from whorl.wings.cluster.memory import ClusterMemories
    from whorl.wings.cluster.worker import set_up, tool_pins, working

    loop, left = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, left.set)
    settings = providers.settings.runtime.temporal
    workers = ProviderWorkers(providers)
    providers.tool_pins = tool_pins
    providers.known_tools = KnownTools(project.store.with_name(FILE_NAME), providers.secrets)
    client = await connect(settings)
    providers.memories = ClusterMemories(client, settings)
    with suppress(RPCError):  # who may not set up the namespace has it set up by others
        await set_up(client)
    try:
        async with working(
            client,
            settings,
            workers,
            queue=queue,
            calls_only=calls_only,
            fired=partial(_due_runs, project, providers, workers),
            cpu_max_s=providers.settings.limits.get("cpu", CPU_MAX_S),
        ):
            place = f"queue {queue or settings.queue!r} of {settings.address}"
            say(f"working on {place}; end with Ctrl-C")
            await left.wait()
            say(f"stopping after the open calls, at most {settings.grace_s:g} s")
    finally:
        await providers.close()


def _due_runs(
    project: Project, providers: Providers, workers: Workers, value: dict[str, Any], due: float
) -> dict[str, Any]:
    """Returns the runs that a schedule starts at a time, by its file on this machine."""
    from whorl.services.runs import USUAL_URL
    from whorl.wings.cluster.messages import id_of, new_beginning

    schedule = Schedule(**value)
    # The project may lie elsewhere on the machine of a worker.
    inside = os.path.relpath(schedule.file, schedule.root)
    if not inside.startswith(os.pardir):
        schedule = replace(schedule, file=str(project.root / inside))
    try:
        workflow, start = prepared(project, providers, schedule, key_of(schedule, due))
        start = firing.windowed(workflow, schedule, start, due)
        starts = starts_of(workflow, start, time.time())
        begun = [
            new_beginning(
                id_of(each.key),
                workflow,
                each,
                providers.settings.runtime.temporal,
                redacted=workers.redacted,
                url=providers.settings.server.url or USUAL_URL,
                origin="server",
            ).to_json()
            for each in starts.each
        ]
    except WhorlError as fault:
        return {"state": "failed", "reason": str(fault), "runs": []}
    state = "started" if begun else "skipped"
    return {"state": state, "reason": starts.reason, "runs": begun}
