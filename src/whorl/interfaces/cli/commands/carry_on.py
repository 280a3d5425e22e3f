"""`whorl continue`: a loop that has ended, or waits at its limit, gets more iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import located, more_options, show_options
from whorl.interfaces.cli.stage import Show, Stage, on_stage, perform, say
from whorl.interfaces.cli.steering import steer
from whorl.interfaces.figures import plural
from whorl.interfaces.wording import more_words
from whorl.services.results import full_result
from whorl.services.runs import find_run
from whorl.services.steering import continued, what_continues

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import RunId
    from whorl.services.project import Project
    from whorl.services.steering import More

# How many loops are named before they go on.
SHOWN_MAX = 5


@click.command(name="continue")
@click.argument("run", metavar="RUN")
@click.option("--iterations", "-n", type=click.IntRange(1), metavar="N", help="How many more.")
@more_options
@click.option("--at", default="", metavar="LOOP", help="Which loop, where there are several.")
@show_options
@located
def continue_command(
    project: Project,
    *,
    run: str,
    iterations: int | None,
    more: More,
    at: str,
    as_json: bool,
    events: str | None,
    verbose: bool,
) -> int:
    """Reopen a loop of a RUN at its next iteration; later steps run again as second attempts.

    \b
      whorl continue last --iterations 3 --budget +0.50
      whorl continue last --budget +1       every loop that stopped for its budget

    A loop inside `each` has an address: --at 'all[2]/polish'. A run that is paused goes on with
    `whorl resume`.
    """
    if iterations is None and not more.amounts():
        raise UsageError(
            "say how much more: --iterations N, --budget +AMOUNT, --tokens +N, --calls +N",
            help="for example `whorl continue last --iterations 3`",
        )
    show = Show(as_json=as_json, events=events, verbose=verbose)
    return perform(_continue(project, run, at, show, iterations=iterations, more=more))


async def _continue(
    project: Project,
    text: str,
    at: str,
    show: Show,
    *,
    iterations: int | None,
    more: More,
) -> int:
    project.open_store().close()
    async with on_stage(project, show) as stage:
        run = find_run(stage.store, text)
        event = continued(stage.store, run, at, iterations=iterations, more=more)
        _say_given(stage, run, event)
        return await steer(stage, run, event)


def _say_given(stage: Stage, run: RunId, event: Event) -> None:
    """Says what will happen, before anything does."""
    lines = what_continues(stage.store, run, event.body)
    for line in lines[:SHOWN_MAX]:
        say(line)
    if len(lines) > SHOWN_MAX:
        say(f"and {plural(len(lines) - SHOWN_MAX, 'more loop')} like these")
    loop = event.body.get("at")
    if lines or not loop:
        return
    result = full_result(stage.store, run)
    is_paused = result["status"] == "paused" and result.get("paused_by") != "budget"
    after = f"; the run stays paused until `whorl resume {run}`" if is_paused else ""
    say(f"{loop!r} gets {more_words(event.body)}{after}")


COMMANDS = {"continue": continue_command}
