"""`whorl watch`: a run as it goes on, also one that another process drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.interfaces.cli.options import located, run_option, show_options
from whorl.interfaces.cli.stage import Show, on_stage, perform
from whorl.interfaces.cli.view.audience import Events
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from whorl.services.project import Project


@click.command()
@run_option
@show_options
@located
def watch(project: Project, *, run: str, as_json: bool, events: str | None, verbose: bool) -> int:
    """Watch a RUN until it ends, pauses or waits. Ctrl-C leaves it alone.

    \b
      whorl watch last
    """
    return perform(_watch(project, run, Show(as_json=as_json, events=events, verbose=verbose)))


async def _watch(project: Project, text: str, show: Show) -> int:
    project.open_store().close()
    async with on_stage(project, show) as stage:
        run = find_run(stage.store, text)
        if isinstance(stage.audience, Events):
            for entry in stage.store.read(run):
                stage.audience.entries(run, [entry])
        return await stage.follow(run)


COMMANDS = {"watch": watch}
