"""What a person asks of a run: pause, cancel, resume, continue, accept, stop, decide, fork."""

from __future__ import annotations

import asyncio
import os
import time
from typing import TYPE_CHECKING

import click

from whorl.errors import StoreError, UsageError, safe
from whorl.interfaces.cli import options
from whorl.interfaces.cli.options import json_option, located, more_options, print_json
from whorl.interfaces.cli.session import (
    PATIENCE_S,
    POLL_S,
    Show,
    objections,
    on_run,
    run_session,
    show_options,
)
from whorl.interfaces.cli.terminal import badge, say
from whorl.interfaces.figures import line, plural
from whorl.interfaces.wording import ENDED, EXIT_CODES, advice, given_flags, more_words, with_help
from whorl.interpreter.budget import NAMES
from whorl.interpreter.requests import objection
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.forking import Fork
from whorl.services import steering
from whorl.services.files import preflight
from whorl.services.inspecting.places import loop_around
from whorl.services.inspecting.results import full_result, status_words, workflow_of
from whorl.services.programs import check_functions
from whorl.services.runs import RUNS_MAX, find_run, is_running

if TYPE_CHECKING:
    from whorl.interfaces.cli.session import RunSession
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.services.project import Project
    from whorl.services.steering import More

# How many loops are named before they go on.
LOOPS_MAX = 5
# How many runs `resume --all` drives at the same time.
_AT_ONCE = 50
_loop_option = click.option(
    "--at", default="", metavar="LOOP", help="Which loop, where there are several."
)


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
        run = find_run(session.store, text)
        status = session.store.run(run).status
        words = f"run {run} {status_words(status)} already"
        if status != wanted and status in ENDED:
            raise UsageError(words, help=f"`whorl show {run}`", code="W905")
        if status != wanted:
            words = await _bring(session, run, event, wanted)
        if as_json:
            print_json(with_help(full_result(session.store, run)))
        else:
            click.echo(words)


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
        return f"run {run} {status_words(wanted)}{after}"
    return f"run {run} has been asked, and {status_words(status)}: a step that runs now ends first"


@click.command()
@click.argument("run", metavar="[RUN]", default="")
@click.option("--all", "is_all", is_flag=True,
              help="Every run that was interrupted; a line for each.")  # fmt: skip
@more_options
@show_options
@located
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
            return await _resume(session, find_run(session.store, run), more=more)

    return asyncio.run(work())


async def _resume_all(session: RunSession, *, as_json: bool) -> int:
    """Drives every interrupted run, some at a time; tells what each came to."""
    turns = asyncio.Semaphore(_AT_ONCE)
    rows = session.store.runs(status="interrupted", limit=RUNS_MAX)
    with session.leaving_on_signals():
        documents = await asyncio.gather(*(_take_up(session, row, turns) for row in rows[::-1]))
    if as_json:
        print_json(documents)
    for document in () if as_json else documents:
        reason = f"  {document['reason']}" if document["reason"] else ""
        words = badge(document["status"] or "")[0]
        click.echo(f"{words}  {line(document['workflow'] or '', 40)}  {document['run']}{reason}")
    if not rows:
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
    status = store.run(row.id).status
    return {"run": row.id, "workflow": row.name, "status": status, "reason": safe(reason) or None}


async def _resume(session: RunSession, run: RunId, *, more: More) -> int:
    status = session.store.run(run).status
    if status in ("succeeded", "cancelled"):
        _say_ended(session, run, status, more)
        return session.finish(run)
    match "" if more.amounts() else status:
        case "running":
            say(str(is_running(run)))
            return await session.follow(run)
        case "waiting":
            # Whoever was asked may have been given a time, which is over by now.
            say(f"run {run} waits for a person")
            return await session.drive(run)
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
    say(ended)


@click.command(name="continue")
@click.option("--iterations", "-n", type=click.IntRange(1), metavar="N", help="How many more.")
@more_options
@_loop_option
@on_run
async def continue_command(
    session: RunSession, run: RunId, *, iterations: int | None, more: More, at: str
) -> int:
    """Reopen a loop of a RUN at its next iteration; later steps run again as second attempts.

    \b
      whorl continue last --iterations 3 --budget +0.50
      whorl continue last --budget +1       every loop that stopped for its budget

    A loop inside `each` has an address: --at 'all[2]/polish'. A run that is paused goes on with
    `whorl resume`.
    """
    event = steering.continued(session.store, run, at, iterations=iterations, more=more)
    _say_given(session, run, event)
    return await session.steer(run, event)


def _say_given(session: RunSession, run: RunId, event: Event) -> None:
    """Says what will happen, before anything does."""
    lines = steering.what_continues(session.store, run, event.body)
    if lines is None:
        return
    say(*lines[:LOOPS_MAX])
    if len(lines) > LOOPS_MAX:
        say(f"and {plural(len(lines) - LOOPS_MAX, 'more loop')} like these")
    if lines:
        _say_raised(session, run, event)
    elif event.body.get("at"):
        result = full_result(session.store, run)
        is_paused = result["status"] == "paused" and result.get("paused_by") != "budget"
        after = f"; the run stays paused until `whorl resume {run}`" if is_paused else ""
        say(f"{event.body['at']!r} gets {more_words(event.body)}{after}")


def _say_raised(session: RunSession, run: RunId, event: Event) -> None:
    amounts = {name: event.body[name] for name in NAMES if event.body.get(name)}
    places = steering.what_is_raised(session.store, run, event.body) if amounts else []
    shown = [repr(place) if place else "the run" for place in places]
    if len(shown) > LOOPS_MAX + 1:
        loops = [place for place in places if place]
        shown = [f"{len(loops):,} loops", *shown[len(loops) :]]
    if shown:
        say(f"{more_words(amounts)} for {'each of ' if len(places) > 1 else ''}{', '.join(shown)}")


@click.command()
@click.option("--iteration", "-n", "number", type=click.IntRange(1), metavar="K",
              help="The iteration whose result is taken.")  # fmt: skip
@_loop_option
@on_run
async def accept(session: RunSession, run: RunId, *, number: int | None, at: str) -> int:
    """End a loop of a RUN with the result of iteration K; later steps run (again) with it.

    \b
      whorl accept last --iteration 2
      whorl accept "last/polish[2]"
    """
    loop = steering.loop_at(session.store, run, at)
    number = number or loop_around(at, [loop])[1]
    if number is None:
        raise UsageError("say which iteration", help=f"for example '{loop}[1]', or --iteration 1")
    if steering.is_accepted(session.store, run, loop, number):
        say(f"iteration {number} of {loop!r} is accepted already")
        return session.finish(run)
    return await session.steer(run, steering.accepted(session.store, run, loop, number))


@click.command()
@_loop_option
@on_run
async def stop(session: RunSession, run: RunId, *, at: str) -> int:
    """End a loop of a RUN after the iteration that is under way, with what it returns then.

    \b
      whorl stop last
      whorl stop last --at 'all[2]/polish'
    """
    return await session.steer(run, steering.stopped(session.store, run, at))


_feedback_option = click.option(
    "--feedback", "-m", default="", metavar="TEXT", help="Your words to it."
)
_question_option = click.option(
    "--at", default="", metavar="ADDRESS", help="Which one, if several wait."
)


@click.command()
@_feedback_option
@_question_option
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE",
              help="Use this instead of a result of the loop; also NAME=@FILE.")  # fmt: skip
@click.option("--value", metavar="VALUE",
              help="Use this instead of what a gate shows; also @FILE, :=JSON.")  # fmt: skip
@on_run
async def approve(
    session: RunSession,
    run: RunId,
    *,
    feedback: str,
    at: str,
    sets: tuple[str, ...],
    value: str | None,
) -> int:
    """Say yes to what a RUN asks: open a gate, or take an iteration, as it is or edited.

    \b
      whorl approve last --feedback "good, but mention the price"
      whorl approve last --set draft=@better.md
    """
    if value is not None and sets:
        raise UsageError("give --set for results of a loop, or --value for what a gate shows")
    option, written = ("--set", sets) if value is None else ("--value", (f"value={value}",))
    if value is not None and value.startswith(":="):
        written = (f"value{value}",)
    given = options.read_values(written, option, options.read_stdin)
    edits = steering.Edits(given if value is None else given["value"]) if given else None
    event = steering.decided(session.store, run, at, approved=True, feedback=feedback, edits=edits)
    return await session.steer(run, event)


@click.command()
@_feedback_option
@_question_option
@on_run
async def reject(session: RunSession, run: RunId, *, feedback: str, at: str) -> int:
    """Say no to what a RUN asks: close a gate, or send an iteration back.

    \b
      whorl reject last --feedback "the second paragraph is wrong"
    """
    event = steering.decided(session.store, run, at, approved=False, feedback=feedback)
    return await session.steer(run, event)


@click.command()
@click.option("--at", default="", metavar="LOOP[K]", help="The iteration to redo.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE",
              help="Another input, carried value or variable; also NAME:=JSON.")  # fmt: skip
@click.option("--model", "models", multiple=True, metavar="STEP=MODEL",
              help="Another model for a step.")  # fmt: skip
@click.option("--prompt", "prompts", multiple=True, metavar="STEP=TEXT",
              help="Another prompt for a step; also STEP=@FILE.")  # fmt: skip
@click.option("--file", metavar="FILE", help="Another version of the workflow.")
@options.workflow_option
@options.budget_option("The most that the new run may spend.")
@on_run
async def fork(
    session: RunSession,
    run: RunId,
    *,
    at: str,
    sets: tuple[str, ...],
    models: tuple[str, ...],
    prompts: tuple[str, ...],
    file: str | None,
    workflow: str,
    budget: float | None,
) -> int:
    """Start a new run that keeps the iterations of a RUN before LOOP[K] and redoes that one.

    \b
      whorl fork last --at "polish[2]" --set feedback="shorter, please"
      whorl fork last --at "polish[2]" --model write=gpt-5 --prompt write=@shorter.md
    """
    if not at:
        raise UsageError("say which iteration to redo", help="for example --at 'polish[2]'")
    reading = session.project.read(file, workflow) if file else None
    changed = reading.workflow if reading else None
    steps: dict[str, dict[str, str]] = {}
    for field, written in (("model", models), ("prompt", prompts)):
        for name, text in options.read_values(written, f"--{field}", options.read_stdin).items():
            steps.setdefault(name, {})[field] = str(text)
    if steps:
        changed = steering.with_steps(changed or workflow_of(session.store, run), steps)
    fork = Fork(
        at=at,
        values=options.read_values(sets, "--set", options.read_stdin),
        limits={} if budget is None else {"cost_usd": budget},
        workflow=changed,
        sources=dict(reading.sources) if reading else None,
        file=os.path.abspath(file) if file else "",
    )
    session.show.check(fork.workflow or workflow_of(session.store, run))
    new, _ = await steering.new_fork(session.runtime, session.providers, run, fork)
    say(f"run {new} is a fork of {run} at {at}")
    return await session.drive(new)
