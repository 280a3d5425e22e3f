"""Commands that continue a run or a loop: resume, continue, accept, fork."""

from __future__ import annotations

import asyncio
import os
from functools import partial
from typing import TYPE_CHECKING

import click

from whorl.errors import StoreError, UsageError, plural, safe
from whorl.interfaces.cli import options
from whorl.interfaces.cli.next_command import changed_words
from whorl.interfaces.cli.options import carrying, located, more_options, print_json
from whorl.interfaces.cli.session import Show, meant_run, on_run, run_session, show_options
from whorl.interfaces.cli.terminal import badge, echo, say
from whorl.interfaces.formatting import line
from whorl.interfaces.status_words import EXIT_CODES, more_words
from whorl.runtimes.journal.forking import Fork
from whorl.services import steering
from whorl.services.files import preflight
from whorl.services.inspecting.places import loop_around
from whorl.services.inspecting.results import status_words, workflow_of
from whorl.services.runs import changed_file, is_running

if TYPE_CHECKING:
    from whorl.interfaces.cli.session import RunSession
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.services.project import Project
    from whorl.services.steering import More

# How many loops are named before they continue, and how many runs `resume --all` drives at once.
_RUNS_MAX = 10_000
_AT_ONCE = 50
_loop_option = click.option(
    "--at", default="", metavar="LOOP", help="Which loop, if there are several."
)


@click.command()
@click.argument("run", metavar="[RUN]", default="")
@click.option("--all", "is_all", is_flag=True,
              help="Every run of this project that was interrupted; a line for each.")  # fmt: skip
@click.option("--new-code", is_flag=True,
              help="Keep the answers of a program whose words have changed.")  # fmt: skip
@more_options
@show_options
@partial(located, drives=True)
def resume(
    project: Project, *, run: str, is_all: bool, new_code: bool, more: More, show: Show
) -> int:
    """Resume a RUN that was interrupted or paused; retry what failed in a failed one.

    No call that has finished is sent again.

    \b
      whorl resume last
      whorl resume last --budget +0.50
      whorl resume --all
    """
    if bool(run) == is_all or (is_all and (more.amounts() or show.events)):
        words = "`whorl resume RUN`, or `whorl resume --all` without amounts"
        raise UsageError("say which run to resume: one, or --all", help=words)

    async def work() -> int:
        seen = Show(as_json=True) if is_all else show
        async with run_session(project, seen, creates=False) as session:
            if is_all:
                return await _resume_all(session, show)
            meant = meant_run(session.store, run)
            return await _resume(session, meant, more=more, new_code=new_code)

    return asyncio.run(work())


async def _resume_all(session: RunSession, show: Show) -> int:
    """Drives every interrupted run, some at a time; prints the result of each."""
    turns = asyncio.Semaphore(_AT_ONCE)
    found = session.store.runs(status="interrupted", limit=_RUNS_MAX)
    rows = [row for row in found if not row.belongs_to]
    with session.leaving_on_signals():
        documents = await asyncio.gather(*(_take_up(session, row, turns) for row in rows[::-1]))
    if show.as_json:
        print_json(documents)
    for row, document in () if show.as_json else zip(rows[::-1], documents, strict=True):
        reason = f"  {document['reason']}" if document["reason"] else ""
        echo(f"{badge(str(document['status']))[0]}  {line(row.name, 40)}  {row.id}{reason}")
        if document["changed_file"]:
            echo(f"  {carrying(safe(changed_words(session.store, row.id)))}")
    if others := len(found) - len(rows):
        words = f"{plural(others, 'run')} of other projects or configurations not resumed"
        say(carrying(f"{words}: see `whorl ls --status interrupted`"))
    elif not rows:
        say("no run is interrupted")
    is_short = show.strict and any(session.store.run(row.id).mark for row in rows)
    codes = (EXIT_CODES.get(str(each["status"]), 1) for each in documents)
    return max(codes, default=0) or int(is_short)


async def _take_up(
    session: RunSession, row: RunRow, turns: asyncio.Semaphore
) -> dict[str, str | None]:
    store = session.store
    try:
        steering.check_functions(store, session.providers, row.id)
        preflight.check_performable(workflow_of(store, row.id), session.providers)
        async with turns:
            await session.runtime.drive(row.id)
        reason = store.run(row.id).error
    except (UsageError, StoreError) as fault:
        reason = str(is_running(row.id) if fault.code == "R902" else fault)
    return {
        "run": row.id,
        "workflow": row.name,
        "status": store.run(row.id).status,
        "reason": safe(reason) or None,
        "changed_file": safe(changed_file(store, row.id)) or None,
    }


async def _resume(session: RunSession, run: RunId, *, more: More, new_code: bool = False) -> int:
    status = "" if more.amounts() or new_code else session.store.run(run).status
    if status in ("succeeded", "cancelled"):
        say(f"run {run} {status_words(status)} already")
        return session.finish(run)
    if status != "running":
        session.say_toy(workflow_of(session.store, run))
    rows = [row for row in session.store.loops(run) if "[" not in row.address and row.iterations]
    rows = [row for row in rows if not row.exit_reason] or rows
    after = f" after iteration {rows[-1].iterations} of {safe(rows[-1].address)}" if rows else ""
    match status:
        case "running":
            say(str(is_running(run)))
            return await session.follow(run)
        case "waiting":
            # The question may have had a time limit, which is over by now.
            say(f"run {run} waits for a person")
            return await session.take_up(run)
        case "interrupted":
            say(f"run {run}: resumed{after}")
            return await session.take_up(run)
    request = steering.resumed(more, new_code=new_code)
    return await session.steer(run, request, f"resumed{after}")


@click.command(name="continue")
@click.option(
    "--iterations",
    "-n",
    type=click.IntRange(1),
    metavar="N",
    help="The number of iterations to add.",
)
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

    A loop inside `each` has an address: --at 'all[2]/polish'. `whorl resume` resumes a paused
    run.
    """
    event = steering.continued(session.store, run, at, iterations=iterations, more=more)
    session.say_toy(workflow_of(session.store, run))
    loop = str(event.body.get("at") or "")
    words = f"continues with {more_words(event.body)}"
    if loop and iterations is not None:
        begun = next(row.iterations for row in session.store.loops(run) if row.address == loop)
        words = f"{safe(loop)} continues at iteration {begun + 1}, {iterations} more"
    return await session.steer(run, event, words)


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
    session.asked = "accept"
    event = steering.accepted(session.store, run, loop, number)
    return await session.steer(run, event, f"{safe(loop)} returns iteration {number}")


@click.command()
@click.option("--at", default="", metavar="LOOP[K]", help="The iteration to redo.")
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE",
              help="Another input, carried value or variable; also NAME:=JSON.")  # fmt: skip
@options.step_options
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
    steps: dict[str, dict[str, str]],
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
    if steps:
        changed = steering.with_steps(changed or workflow_of(session.store, run), steps)
    values = options.read_values(sets, "--set", options.read_stdin)
    now = changed or workflow_of(session.store, run)
    fork = Fork(
        at=at,
        values=options.with_paths(session.project, now, values),
        limits={} if budget is None else {"cost_usd": budget},
        workflow=changed,
        sources=dict(reading.sources) if reading else None,
        file=os.path.abspath(file) if file else "",
        steps=steps,
    )
    session.show.check(now)
    session.say_toy(now)
    new, _ = await steering.new_fork(session.runtime, session.providers, run, fork)
    say(f"run {new}: forked from {run} at {safe(at)}")
    if not file and (notice := changed_words(session.store, run)):
        say(carrying(safe(notice)))
    session.asked = "fork"
    return await session.drive(new)
