"""The commands about runs: continue, steer, add up and delete them."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import StoreError, UsageError, plural, safe
from whorl.interfaces import formatting
from whorl.interfaces.cli import commands, options, summary
from whorl.interfaces.cli.next_command import changed_words
from whorl.interfaces.cli.session import Show, meant_run, on_run, run_session, show_options
from whorl.interfaces.cli.terminal import badge, echo, print_lines, say
from whorl.interfaces.status_words import ENDED, EXIT_CODES, more_words
from whorl.runtimes.journal.forking import Fork
from whorl.runtimes.sqlite import Pruned, RunFilter
from whorl.services import steering
from whorl.services.files import preflight
from whorl.services.inspecting import places, results
from whorl.services.runs import changed_file, find_run, is_running

if TYPE_CHECKING:
    from whorl.interfaces.cli.session import RunSession
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId, RunRow
    from whorl.runtimes.sqlite import SqliteStore
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
@options.more_options
@show_options
@partial(options.located, drives=True)
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
        options.print_json(documents)
    for row, document in () if show.as_json else zip(rows[::-1], documents, strict=True):
        reason = f"  {document['reason']}" if document["reason"] else ""
        words = f"{badge(str(document['status']))[0]}  {formatting.line(row.name, 40)}"
        echo(f"{words}  {row.id}{reason}")
        if document["changed_file"]:
            echo(f"  {options.carrying(safe(changed_words(session.store, row.id)))}")
    if others := len(found) - len(rows):
        words = f"{plural(others, 'run')} of other projects or configurations not resumed"
        say(options.carrying(f"{words}: see `whorl ls --status interrupted`"))
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
        preflight.check_performable(results.workflow_of(store, row.id), session.providers)
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
        say(f"run {run} {results.status_words(status)} already")
        return session.finish(run)
    if status != "running":
        session.say_toy(results.workflow_of(session.store, run))
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
@click.option("--iterations", "-n", type=click.IntRange(1), metavar="N",
              help="The number of iterations to add.")  # fmt: skip
@options.more_options
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
    session.say_toy(results.workflow_of(session.store, run))
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
    number = number or places.loop_around(at, [loop])[1]
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
        changed = steering.with_steps(changed or results.workflow_of(session.store, run), steps)
    values = options.read_values(sets, "--set", options.read_stdin)
    now = changed or results.workflow_of(session.store, run)
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
        say(options.carrying(safe(notice)))
    session.asked = "fork"
    return await session.drive(new)


@click.command()
@options.run_argument
@commands.with_json
def pause(project: Project, *, run: str, as_json: bool) -> None:
    """Pause a RUN: open calls finish, and nothing new begins until `whorl resume`.

    \b
      whorl runs pause last
    """
    event = steering.asked("run.paused", {"by": "person"})
    asyncio.run(_stop(project, run, event, "paused", as_json))


@click.command()
@options.run_argument
@click.option("--reason", "-m", default="", metavar="TEXT", help="Why; it is kept with the run.")
@commands.with_json
def cancel(project: Project, *, run: str, reason: str, as_json: bool) -> None:
    """End a RUN for good. What it has made so far stays in the store.

    \b
      whorl runs cancel last --reason "wrong file"
    """
    asyncio.run(_stop(project, run, steering.cancelled(reason), "cancelled", as_json))


async def _stop(project: Project, text: str, event: Event, wanted: str, as_json: bool) -> None:
    async with run_session(project, Show(as_json=True), creates=False) as session:
        run = meant_run(session.store, text)
        status = session.store.run(run).status
        words = f"run {run} {results.status_words(status)} already"
        if status != wanted and status in ENDED:
            raise UsageError(words, help=f"`whorl show {run}`", code="W905")
        if status != wanted:
            status = await session.send(run, event)
            words = f"run {run} {results.status_words(wanted)}"
            if status != wanted:
                words = f"run {run} will be {wanted} when the step that is running has ended"
        if as_json:
            options.print_json(options.with_help(results.full_result(session.store, run)))
        else:
            echo(words)
            say(*([f"next: {options.pasted('resume', run)}"] if wanted == "paused" else []))


@click.command()
@_loop_option
@on_run
async def stop(session: RunSession, run: RunId, *, at: str) -> int:
    """End a loop of a RUN after the running iteration, with what it returns then.

    \b
      whorl runs stop last
      whorl runs stop last --at 'all[2]/polish'
    """
    event = steering.stopped(session.store, run, at)
    loop = safe(str(event.body["at"]))
    return await session.steer(run, event, f"{loop} stops after the running iteration")


_feedback_option = click.option(
    "--feedback", "-m", default="", metavar="TEXT", help="Feedback for the run."
)
_question_option = click.option(
    "--at", default="", metavar="ADDRESS", help="Which approval, if several wait."
)


@click.command()
@_feedback_option
@_question_option
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE",
              help="Use this instead of a result of the loop; also NAME=@FILE.")  # fmt: skip
@click.option("--value", metavar="VALUE",
              help="Use this instead of what an approval shows; also @FILE, :=JSON.")  # fmt: skip
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
    """Approve what a RUN asks, or accept its iteration, as it is or edited.

    \b
      whorl runs approve last --feedback "good, but mention the price"
      whorl runs approve last --set draft=@better.md
    """
    if value is not None and sets:
        raise UsageError("give --set for results of a loop, or --value for what an approval shows")
    if value is not None:
        sets = (f"value{'' if value.startswith(':=') else '='}{value}",)
    option = "--set" if value is None else "--value"
    given = options.read_values(sets, option, options.read_stdin)
    edits = steering.Edits(given if value is None else given["value"]) if given else None
    event = steering.decided(session.store, run, at, approved=True, feedback=feedback, edits=edits)
    return await session.steer(run, event, f"{_place(event)} approved")


@click.command()
@_feedback_option
@_question_option
@on_run
async def reject(session: RunSession, run: RunId, *, feedback: str, at: str) -> int:
    """Reject what a RUN asks, or send its iteration back.

    \b
      whorl runs reject last --feedback "the second paragraph is wrong"
    """
    event = steering.decided(session.store, run, at, approved=False, feedback=feedback)
    return await session.steer(run, event, f"{_place(event)} rejected")


def _place(event: Event) -> str:
    return safe(event.address.partition("/:")[0])


@click.command()
@click.argument("run", metavar="[RUN[/ADDRESS]]", default="")
@click.option("--by", type=click.Choice(places.WAYS), default="model",
              help="Group the costs by this. [default: model]")  # fmt: skip
@commands.since_option
@click.option("--at", default="", metavar="ADDRESS", help="Only this loop, iteration or step.")
@click.option("--all", "tries", is_flag=True, help="Include the cost of tries.")
@commands.with_json
@options.output_option(json="as_json")
def cost(
    project: Project, *, run: str, by: Any, since: float | None, at: str, tries: bool, as_json: bool
) -> None:
    """Show what a RUN, or all runs, cost.

    \b
      whorl runs cost
      whorl runs cost --since 7d --by workflow
      whorl runs cost last --by iteration
      whorl runs cost "last/all[2]/polish"
      whorl runs cost --by day --json

    Each call is counted once, in the full hour in which it ended, and days are those of UTC. Calls
    of models without a known price are counted beside the sum: set prices in [prices.MODEL] of
    whorl.toml.
    """
    name, at = places.split_place(run, at)
    if at and not name:
        raise UsageError("--at is a place in one run", help="say which, such as `last`")
    found, begin = places.Costs(by), since or 0.0
    with commands.open_if_any(project, is_needed=bool(name)) as store:
        if store is not None:
            chosen = find_run(store, name) if name else None
            found = places.costs_of(store, by, run=chosen, at=at, since=begin, with_tries=tries)
            oldest = store.list_runs(RunFilter(is_reversed=True), 1)
            begin = begin or (oldest[0].created_at if oldest and not name else 0.0)
    if as_json:
        options.print_json(found.document())
    elif store is None:
        say(options.NO_RUNS)
    else:
        total = summary.cost_words(asdict(found.total) | {"cost_usd": found.total.known_usd})
        date = f" since {formatting.clock(begin, '%d %B').removeprefix('0')}" if begin else ""
        where = f"run {chosen}" if chosen else plural(found.runs, "run")
        echo(f"{total or formatting.dollars(0)} in {where}{date}")
        print_lines(_cost_lines(found))


def _cost_lines(found: places.Costs) -> list[str]:
    total = found.total
    head = (found.by.upper(), "MODEL CALLS", "OTHER CALLS", "INPUT", "OUTPUT", "COST", "IN DOUBT")
    cells = [head, *map(_cost_cells, (*found.lines, total))]
    used = [at for at in range(len(head)) if any(row[at] for row in cells[1:])]
    lines = formatting.table([[row[at] for at in used] for row in cells], right=range(1, len(used)))
    lines.append(summary.calls_made(asdict(total)))
    if found.more:
        lines.append(f"only the {places.RUNS_MAX:,} runs that were changed last are looked into")
    if total.unpriced_calls:
        unknown = plural(total.unpriced_calls, "call")
        lines.append(f"not in the sum: {unknown} without a known price; set [prices.MODEL]")
    return lines


def _cost_cells(usage: places.Line) -> tuple[str, ...]:
    tokens = map(formatting.count, (usage.input_tokens, usage.output_tokens))
    calls = (usage.model_calls, usage.calls - usage.model_calls)
    numbers = (*(str(number or "") for number in calls), *tokens)
    name, doubtful = formatting.line(usage.name, 60), str(usage.in_doubt or "")
    return (name, *numbers, formatting.cost_words(usage), doubtful)


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@commands.deleting
@commands.with_json
def rm(project: Project, *, runs: tuple[str, ...], **how: bool) -> None:
    """Delete RUNs, however old: each has ended, or its journal is damaged.

    \b
      whorl runs rm last
    """
    with closing(project.open_store()) as store:
        # `last` may be another one after a question.
        named = dict.fromkeys(meant_run(store, run) for run in runs)

    async def delete(store: SqliteStore, *, dry_run: bool) -> Pruned:
        # Nothing is deleted where one of them cannot be.
        for is_tried in (True,) if dry_run else (True, False):
            done = [await store.remove_run(run, dry_run=is_tried) for run in named]
        sizes = (sum(each.entries for each in done), sum(each.bytes for each in done))
        return Pruned(tuple(run for each in done for run in each.runs), *sizes, dry_run)

    commands.delete_runs(project, delete, names=True, **how)
