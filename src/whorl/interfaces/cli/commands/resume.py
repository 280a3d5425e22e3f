"""`whorl resume`: goes on after a crash, an interruption or a pause, or tries again what failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import located, more_options, show_options
from whorl.interfaces.cli.stage import Show, Stage, on_stage, perform, say
from whorl.interfaces.cli.steering import steer
from whorl.interfaces.naming import run_meant
from whorl.interfaces.steering import resumed
from whorl.interfaces.wording import status_words, with_run
from whorl.interpreter.requests import flags, objection
from whorl.runtimes.folding import fold

if TYPE_CHECKING:
    from whorl.interfaces.project import Project
    from whorl.interfaces.steering import More
    from whorl.runtimes.journal import RunId


@click.command()
@click.argument("run", metavar="RUN")
@more_options
@show_options
@located
def resume(
    project: Project,
    *,
    run: str,
    more: More,
    as_json: bool,
    events: str | None,
    verbose: bool,
) -> int:
    """Go on with a RUN that was interrupted or paused. Of a failed run, retry what failed.

    No call that has finished is sent again.

    \b
      whorl resume last
      whorl resume last --budget +0.50
    """
    show = Show(as_json=as_json, events=events, verbose=verbose)
    return perform(_resume(project, run, more, show))


async def _resume(project: Project, text: str, more: More, show: Show) -> int:
    project.open_store().close()
    async with on_stage(project, show) as stage:
        run = run_meant(stage.store, text)
        status = stage.store.run(run).status
        match status:
            case "succeeded" | "cancelled":
                _say_ended(stage, run, status, more)
                return stage.finish(run)
            case "running" if not more.amounts():
                say(f"run {run} is running already, in another process")
                return await stage.follow(run)
            case "waiting" if not more.amounts():
                # Whoever was asked may have been given a time, which is over by now.
                say(f"run {run} waits for a person")
                return await stage.drive(run)
            case "interrupted" if not more.amounts():
                return await stage.drive(run)
        return await steer(stage, run, resumed(more))


def _say_ended(stage: Stage, run: RunId, status: str, more: More) -> None:
    """A run that has ended needs no resuming; money for it would be dropped in silence."""
    loops = [row.address for row in stage.store.loops(run)]
    ended = f"run {run} {status_words(status)} already"
    if status == "cancelled":
        new = f"`whorl fork {run} --at '{loops[0]}[K]'`" if loops else "`whorl run FILE`"
        ended = f"run {run} was cancelled; {new} starts a new one"
    elif more.amounts():
        words = objection(fold(stage.store, run).machine, resumed(more)) or ended
        at = f" --at '{loops[-1]}'" if len(loops) > 1 else ""
        amounts = flags(more.amounts())
        advice = f"`whorl continue {run}{at} --iterations 3 {amounts}` goes on with a loop of it"
        if not loops or "whorl continue" in words:
            advice = f"`whorl show {run}`"
        raise UsageError(with_run(words, run), help=advice, code="W905")
    say(ended)


@click.command(hidden=True)
@click.argument("run", metavar="RUN")
@located
def drive(project: Project, *, run: str) -> int:
    """Drive a RUN that was just made, in the background."""
    return perform(_drive(project, run))


async def _drive(project: Project, text: str) -> int:
    async with on_stage(project, Show(verbose=True)) as stage:
        return await stage.drive(run_meant(stage.store, text))


COMMANDS = {"resume": resume, "drive": drive}
