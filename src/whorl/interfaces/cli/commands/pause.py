"""`whorl pause` and `whorl cancel`."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.stage import PATIENCE_S, POLL_S, Show, Stage, on_stage, perform
from whorl.interfaces.wording import ENDED
from whorl.services.results import full_result, status_words
from whorl.services.runs import find_run
from whorl.services.steering import asked, cancelled, objections

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import RunId
    from whorl.services.project import Project


@click.command()
@click.argument("run", metavar="RUN")
@json_option
@located
def pause(project: Project, *, run: str, as_json: bool) -> int:
    """Pause a RUN: what is under way ends, nothing new begins until `whorl resume`.

    \b
      whorl pause last
    """
    return perform(_ask(project, run, asked("run.paused", {"by": "person"}), "paused", as_json))


@click.command()
@click.argument("run", metavar="RUN")
@click.option("--feedback", default="", metavar="TEXT", help="Why; it is kept with the run.")
@json_option
@located
def cancel(project: Project, *, run: str, feedback: str, as_json: bool) -> int:
    """End a RUN for good. What it has made so far stays in the store.

    \b
      whorl cancel last --feedback "wrong file"
    """
    return perform(_ask(project, run, cancelled(feedback), "cancelled", as_json))


async def _ask(project: Project, text: str, event: Event, wanted: str, as_json: bool) -> int:
    project.open_store().close()
    async with on_stage(project, Show(as_json=True)) as stage:
        run = find_run(stage.store, text)
        status = stage.store.run(run).status
        if status != wanted and status in ENDED:
            raise UsageError(
                f"run {run} {status_words(status)} already", help=f"`whorl show {run}`", code="W905"
            )
        words = f"run {run} {status_words(wanted)} already"
        if status != wanted:
            words = await _bring(stage, run, event, wanted)
        if as_json:
            print_json(full_result(stage.store, run))
        else:
            click.echo(words)
        return 0


async def _bring(stage: Stage, run: RunId, event: Event, wanted: str) -> str:
    with objections(run):
        if not await stage.runtime.request(run, event):
            await stage.runtime.drive(run, [event])
    deadline = time.monotonic() + PATIENCE_S
    while stage.store.run(run).status == "running" and time.monotonic() < deadline:
        await asyncio.sleep(POLL_S)
    status = stage.store.run(run).status
    if status == wanted:
        after = "" if wanted == "cancelled" else f"; go on with `whorl resume {run}`"
        return f"run {run} {status_words(wanted)}{after}"
    return f"run {run} has been asked, and {status_words(status)}: a step that runs now ends first"


COMMANDS = {"pause": pause, "cancel": cancel}
