"""`whorl fork`: a new run that keeps the iterations before one of another run, and redoes it."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import Amount, located, read_stdin, show_options
from whorl.interfaces.cli.stage import Show, on_stage, perform, say
from whorl.interfaces.inputs import read_values
from whorl.services.results import workflow_of
from whorl.services.runs import find_run
from whorl.services.steering import check_fork

if TYPE_CHECKING:
    from whorl.dialects import Reading
    from whorl.runtimes.forking import Fork
    from whorl.services.project import Project


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--at", required=True, metavar="LOOP[K]", help="The iteration to redo.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE",
              help="Another input, carried value or variable; also NAME:=JSON.")  # fmt: skip
@click.option("--file", metavar="FILE", help="Another version of the workflow.")
@click.option("--budget", type=Amount(), help="The most that the new run may spend.")
@show_options
@located
def fork(
    project: Project,
    *,
    run: str,
    at: str,
    sets: tuple[str, ...],
    file: str | None,
    budget: float | None,
    as_json: bool,
    events: str | None,
    verbose: bool,
) -> int:
    """Start a new run that keeps the iterations of a RUN before LOOP[K] and redoes that one.

    \b
      whorl fork last --at "polish[2]" --set feedback="shorter, please"
    """
    from whorl.runtimes.forking import Fork

    reading = project.read(file) if file else None
    made = Fork(
        at=at,
        values=read_values(sets, "--set", read_stdin),
        limits={} if budget is None else {"cost_usd": budget},
        workflow=reading.workflow if reading else None,
        sources=dict(reading.sources) if reading else None,
        file=os.path.abspath(file) if file else "",
    )
    show = Show(as_json=as_json, events=events, verbose=verbose)
    return perform(_fork(project, run, made, reading, show))


async def _fork(
    project: Project, text: str, fork: Fork, reading: Reading | None, show: Show
) -> int:
    from whorl.runtimes.forking import fork_run
    from whorl.runtimes.local import new_run_id
    from whorl.services.preflight import check_models, refusal

    project.open_store().close()
    async with on_stage(project, show) as stage:
        source = find_run(stage.store, text)
        workflow = fork.workflow or workflow_of(stage.store, source)
        show.check(workflow)
        check_fork(stage.store, source, workflow, fork)
        settings = project.settings()
        refused = refusal(workflow, settings)
        if refused is not None:
            raise UsageError(str(refused["message"]), code=str(refused["code"]))
        check_models(workflow, stage.providers)
        now = time.time()
        run = new_run_id(now)
        await fork_run(stage.store, source, fork, run=run, now=now)
        say(f"run {run} is a fork of {source} at {fork.at}")
        return await stage.drive(run)


COMMANDS = {"fork": fork}
