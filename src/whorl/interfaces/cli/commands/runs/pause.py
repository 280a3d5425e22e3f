"""Whether a run goes on: `pause`, `cancel` and `resume`."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

import click

from whorl.errors import StoreError, UsageError, plural, safe
from whorl.interfaces.advice import advice, given_flags
from whorl.interfaces.cli import options
from whorl.interfaces.cli.options import json_option, located, more_options, print_json
from whorl.interfaces.cli.output_options import Show, show_options
from whorl.interfaces.cli.paste_options import carrying, with_help
from whorl.interfaces.cli.printing.next_command import changed_words
from whorl.interfaces.cli.session import PATIENCE_S, POLL_S, meant_run, objections, run_session
from whorl.interfaces.cli.terminal import badge, echo, say
from whorl.interfaces.formatting import line
from whorl.interfaces.status_words import ENDED, EXIT_CODES
from whorl.interpreter.requests import objection
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import RunId
from whorl.services import steering
from whorl.services.files import preflight
from whorl.services.files.versions import changed_file
from whorl.services.inspecting.results import full_result, status_words, workflow_of
from whorl.services.runs import RUNS_MAX, is_running
from whorl.services.steering import check_functions

if TYPE_CHECKING:
    from whorl.interfaces.cli.session import RunSession
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunRow
    from whorl.services.project import Project
    from whorl.services.steering import More


# How many runs `resume --all` drives at the same time.
_AT_ONCE = 50


@click.command()
@options.run_argument
@json_option
@located
def pause(project: Project, *, run: str, as_json: bool) -> None:
    """Pause a RUN: what is under way ends, nothing new begins until `whorl resume`.

    \b
      whorl pause last
    """
    event = steering.asked("run.paused", {"by": "person"})
    asyncio.run(_stop(project, run, event, "paused", as_json))


@click.command()
@options.run_argument
@click.option("--feedback", default="", metavar="TEXT", help="Why; it is kept with the run.")
@json_option
@located
def cancel(project: Project, *, run: str, feedback: str, as_json: bool) -> None:
    """End a RUN for good. What it has made so far stays in the store.

    \b
      whorl cancel last --feedback "wrong file"
    """
    asyncio.run(_stop(project, run, steering.cancelled(feedback), "cancelled", as_json))


async def _stop(project: Project, text: str, event: Event, wanted: str, as_json: bool) -> None:
    async with run_session(project, Show(as_json=True), creates=False) as session:
        run = meant_run(session.store, text)
        status = session.store.run(run).status
        words = f"run {run} {status_words(status)} already"
        if status != wanted and status in ENDED:
            raise UsageError(words, help=f"`whorl show {run}`", code="W905")
        if status != wanted:
            words = await _bring(session, run, event, wanted)
        if as_json:
            print_json(with_help(full_result(session.store, run)))
        else:
            echo(words)


async def _bring(session: RunSession, run: RunId, event: Event, wanted: str) -> str:
    with objections(run):
        if not await session.runtime.request(run, event):
            try:
                await session.runtime.drive(run, [event])
            except StoreError as fault:
                # A server may have taken it up in between.
                if fault.code != "R902" or not await session.runtime.request(run, event):
                    raise
    deadline = time.monotonic() + PATIENCE_S
    while (status := session.store.run(run).status) == "running" and time.monotonic() < deadline:
        await asyncio.sleep(POLL_S)
    if status == wanted:
        after = "" if wanted == "cancelled" else f"; go on with `whorl resume {run}`"
        return f"run {run} {status_words(wanted)}{carrying(after)}"
    return f"run {run} has been asked, and {status_words(status)}: a step that runs now ends first"


@click.command()
@click.argument("run", metavar="[RUN]", default="")
@click.option("--all", "is_all", is_flag=True,
              help="Every run of this project that was interrupted; a line for each.")  # fmt: skip
@more_options
@show_options
@partial(located, drives=True)
def resume(project: Project, *, run: str, is_all: bool, more: More, show: Show) -> int:
    """Go on with a RUN that was interrupted or paused. Of a failed run, retry what failed.

    No call that has finished is sent again.

    \b
      whorl resume last
      whorl resume last --budget +0.50
      whorl resume --all
    """
    if bool(run) == is_all or (is_all and (more.amounts() or show.events)):
        advice = "`whorl resume RUN`, or `whorl resume --all`, which takes no amounts"
        raise UsageError("say which run goes on: one, or --all", help=advice)

    async def work() -> int:
        if is_all:
            quiet = Show(as_json=True)
            async with run_session(project, quiet, creates=False) as session:
                return await _resume_all(session, as_json=show.as_json)
        async with run_session(project, show, creates=False) as session:
            return await _resume(session, meant_run(session.store, run), more=more)

    return asyncio.run(work())


async def _resume_all(session: RunSession, *, as_json: bool) -> int:
    """Drives every interrupted run, some at a time; tells what each came to."""
    turns = asyncio.Semaphore(_AT_ONCE)
    found = session.store.runs(status="interrupted", limit=RUNS_MAX)
    rows = [row for row in found if not row.belongs_to]
    with session.leaving_on_signals():
        documents = await asyncio.gather(*(_take_up(session, row, turns) for row in rows[::-1]))
    if as_json:
        print_json(documents)
    for document in () if as_json else documents:
        reason = f"  {document['reason']}" if document["reason"] else ""
        words = badge(document["status"] or "")[0]
        echo(f"{words}  {line(document['workflow'] or '', 40)}  {document['run']}{reason}")
        if document["changed_file"]:
            run = RunId(str(document["run"]))
            echo(f"  {carrying(safe(changed_words(session.store, run)))}")
    if others := len(found) - len(rows):
        words = f"{plural(others, 'run')} of other projects or configurations not resumed"
        say(carrying(f"{words}: see `whorl ls --status interrupted`"))
    elif not rows:
        say("no run is interrupted")
    return max((EXIT_CODES.get(each["status"] or "", 1) for each in documents), default=0)


async def _take_up(
    session: RunSession, row: RunRow, turns: asyncio.Semaphore
) -> dict[str, str | None]:
    store = session.store
    try:
        check_functions(store, session.providers, row.id)
        preflight.check_performable(workflow_of(store, row.id), session.providers)
        async with turns:
            await session.runtime.drive(row.id)
        reason = store.run(row.id).error
    except (UsageError, StoreError) as fault:
        reason = str(is_running(row.id) if fault.code == "R902" else fault)
    document = {"run": row.id, "workflow": row.name, "status": store.run(row.id).status}
    changed = safe(changed_file(store, row.id)) or None
    return document | {"reason": safe(reason) or None, "changed_file": changed}


async def _resume(session: RunSession, run: RunId, *, more: More) -> int:
    status = session.store.run(run).status
    if status in ("succeeded", "cancelled"):
        _say_ended(session, run, status, more)
        return session.finish(run)
    if status != "running":
        session.say_toy(workflow_of(session.store, run))
    match "" if more.amounts() else status:
        case "running":
            say(str(is_running(run)))
            return await session.follow(run)
        case "waiting":
            # Whoever was asked may have been given a time, which is over by now.
            say(f"run {run} waits for a person")
            return await session.take_up(run)
        case "interrupted":
            return await session.take_up(run)
    return await session.steer(run, steering.resumed(more))


def _say_ended(session: RunSession, run: RunId, status: str, more: More) -> None:
    """A run that has ended needs no resuming; money for it would be dropped in silence."""
    loops = [row.address for row in session.store.loops(run)]
    ended = f"run {run} {status_words(status)} already"
    if status == "cancelled":
        new = f"`whorl fork {run} --at '{loops[0]}[K]'`" if loops else "`whorl run FILE`"
        ended = f"run {run} was cancelled; {new} starts a new one"
    elif more.amounts():
        refusal = objection(fold(session.store, run).machine, steering.resumed(more))
        at = f" --at '{loops[-1]}'" if len(loops) > 1 else ""
        amounts = given_flags(more.amounts())
        usual = f"`whorl continue {run}{at} --iterations 3 {amounts}` goes on with a loop of it"
        if not loops:
            usual = f"`whorl show {run}`"
        help_ = advice("W905", refusal.facts, run) if refusal else ""
        raise UsageError(str(refusal or ended), help=help_ or usual, code="W905")
    say(carrying(ended))
