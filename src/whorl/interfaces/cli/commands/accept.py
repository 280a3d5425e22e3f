"""`whorl accept`: ends a loop with the result of an iteration that a person chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.interfaces.cli.options import located, show_options
from whorl.interfaces.cli.stage import Show, on_stage, perform, say
from whorl.interfaces.cli.steering import steer
from whorl.services.runs import find_run
from whorl.services.steering import accepted, is_accepted, loop_at

if TYPE_CHECKING:
    from whorl.services.project import Project


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--iteration", "-n", "number", type=click.IntRange(1), required=True, metavar="K",
              help="The iteration whose result is taken.")  # fmt: skip
@click.option("--at", default="", metavar="LOOP", help="Which loop, where there are several.")
@show_options
@located
def accept(
    project: Project,
    *,
    run: str,
    number: int,
    at: str,
    as_json: bool,
    events: str | None,
    verbose: bool,
) -> int:
    """End a loop of a RUN with the result of iteration K; later steps run (again) with it.

    \b
      whorl accept last --iteration 2
    """
    show = Show(as_json=as_json, events=events, verbose=verbose)
    return perform(_accept(project, run, number, at, show))


async def _accept(project: Project, text: str, number: int, at: str, show: Show) -> int:
    project.open_store().close()
    async with on_stage(project, show) as stage:
        run = find_run(stage.store, text)
        loop = loop_at(stage.store, run, at)
        if is_accepted(stage.store, run, loop, number):
            say(f"iteration {number} of {loop!r} is accepted already")
            return stage.finish(run)
        return await steer(stage, run, accepted(stage.store, run, loop, number))


COMMANDS = {"accept": accept}
