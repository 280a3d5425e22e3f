"""`whorl continue`: a loop that has ended, or waits at its limit, gets more iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import More, located, show_options
from whorl.interfaces.cli.stage import Show, on_stage, perform
from whorl.interfaces.cli.steering import steer
from whorl.interfaces.steering import continued

if TYPE_CHECKING:
    from whorl.interfaces.project import Project


@click.command(name="continue")
@click.argument("run", metavar="RUN")
@click.option("--iterations", "-n", type=click.IntRange(1), metavar="N", help="How many more.")
@click.option("--budget", type=More(), help="Dollars to add to the budget, such as +0.50.")
@click.option("--at", default="", metavar="LOOP", help="Which loop, where there are several.")
@show_options
@located
def continue_command(
    project: Project,
    *,
    run: str,
    iterations: int | None,
    budget: float | None,
    at: str,
    as_json: bool,
    events: str | None,
    verbose: bool,
) -> int:
    """Reopen a loop of a RUN at its next iteration; later steps run again as second attempts.

    \b
      whorl continue last --iterations 3 --budget +0.50
    """
    if iterations is None and budget is None:
        raise UsageError(
            "say how much more: --iterations N, --budget +AMOUNT, or both",
            help="for example `whorl continue last --iterations 3`",
        )
    show = Show(as_json=as_json, events=events, verbose=verbose)
    return perform(_continue(project, run, at, show, iterations=iterations, budget=budget))


async def _continue(
    project: Project,
    text: str,
    at: str,
    show: Show,
    *,
    iterations: int | None,
    budget: float | None,
) -> int:
    project.open_store().close()
    async with on_stage(project, show) as stage:
        run = stage.store.resolve(text)
        event = continued(stage.store, run, at, iterations=iterations, cost_usd=budget)
        return await steer(stage, run, event)


COMMANDS = {"continue": continue_command}
