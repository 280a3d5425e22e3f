"""`whorl continue`: a loop that has ended, or waits at its limit, gets more iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import More, located, show_options
from whorl.interfaces.cli.stage import Show, Stage, on_stage, perform, say
from whorl.interfaces.cli.steering import steer
from whorl.interfaces.naming import run_meant
from whorl.interfaces.results import full_result
from whorl.interfaces.steering import continued
from whorl.interfaces.wording import more_words

if TYPE_CHECKING:
    from whorl.interfaces.project import Project
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import RunId


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
        run = run_meant(stage.store, text)
        event = continued(stage.store, run, at, iterations=iterations, cost_usd=budget)
        _say_given(stage, run, event)
        return await steer(stage, run, event)


def _say_given(stage: Stage, run: RunId, event: Event) -> None:
    """Says what a loop that is still under way gets: nothing else would show it."""
    loop, body = str(event.body["at"]), event.body
    row = next((row for row in stage.store.loops(run) if row.address == loop), None)
    if row is None or row.exit_reason:
        return
    is_paused = full_result(stage.store, run)["status"] == "paused"
    after = f"; the run stays paused until `whorl resume {run}`" if is_paused else ""
    say(f"{loop!r} gets {more_words(body.get('iterations'), body.get('cost_usd'))}{after}")  # type: ignore[arg-type]


COMMANDS = {"continue": continue_command}
