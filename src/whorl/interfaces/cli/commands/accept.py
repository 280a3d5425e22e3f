"""`whorl accept`: ends a loop with the result of an iteration that a person chose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import located, show_options
from whorl.interfaces.cli.stage import Show, Stage, on_stage, perform, say
from whorl.interfaces.cli.steering import asked, loop_at, steer
from whorl.interfaces.history import iteration_results

if TYPE_CHECKING:
    from whorl.interfaces.project import Project
    from whorl.runtimes.journal import RunId


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
        run = stage.store.resolve(text)
        loop = loop_at(stage, run, at)
        if _is_accepted(stage, run, loop, number):
            say(f"iteration {number} of {loop!r} is accepted already")
            return stage.finish(run)
        found = iteration_results(stage.store, run, loop, (number,)).get(number)
        if found is None:
            done = [row.number for row in stage.store.newest_iterations(run, loop, 20)]
            known = ", ".join(map(str, done)) or "none"
            raise UsageError(f"{loop!r} has no iteration {number} with a result; it has {known}")
        body = {"at": loop, "iteration": number, **found}
        return await steer(stage, run, asked("run.accepted", body))


def _is_accepted(stage: Stage, run: RunId, loop: str, number: int) -> bool:
    rows = [row for row in stage.store.loops(run) if row.address == loop]
    return any(row.exit_reason == "accepted" and row.returned_iteration == number for row in rows)


COMMANDS = {"accept": accept}
