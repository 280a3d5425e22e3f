"""The commands about runs: pause, cancel, stop, approve, reject, and add up their places."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import StoreError, UsageError, plural, safe
from whorl.interfaces import formatting
from whorl.interfaces.cli import options, summary
from whorl.interfaces.cli.commands import (
    delete_runs,
    deleting,
    open_if_any,
    since_option,
    with_json,
)
from whorl.interfaces.cli.options import NO_RUNS, output_option, pasted, print_json, with_help
from whorl.interfaces.cli.session import (
    PATIENCE_S,
    POLL_S,
    Show,
    meant_run,
    objections,
    on_run,
    run_session,
)
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.interfaces.status_words import ENDED
from whorl.runtimes.sqlite import Pruned, RunFilter
from whorl.services import steering
from whorl.services.inspecting import places
from whorl.services.inspecting.places import split_place
from whorl.services.inspecting.results import full_result, status_words
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from whorl.interfaces.cli.session import RunSession
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


@click.command()
@options.run_argument
@with_json
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
@with_json
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
        words = f"run {run} {status_words(status)} already"
        if status != wanted and status in ENDED:
            raise UsageError(words, help=f"`whorl show {run}`", code="W905")
        if status != wanted:
            words = await _bring(session, run, event, wanted)
        if as_json:
            print_json(with_help(full_result(session.store, run)))
        else:
            echo(words)
            say(*([f"next: {pasted('resume', run)}"] if wanted == "paused" else []))


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
        return f"run {run} {status_words(wanted)}"
    return f"run {run} will be {wanted} when the step that is running has ended"


@click.command()
@click.option("--at", default="", metavar="LOOP", help="Which loop, if there are several.")
@on_run
async def stop(session: RunSession, run: RunId, *, at: str) -> int:
    """End a loop of a RUN after the running iteration, with what it returns then.

    \b
      whorl runs stop last
      whorl runs stop last --at 'all[2]/polish'
    """
    event = steering.stopped(session.store, run, at)
    return await session.steer(
        run, event, f"{safe(str(event.body['at']))} stops after the running iteration"
    )


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
    option, written = ("--set", sets) if value is None else ("--value", (f"value={value}",))
    if value is not None and value.startswith(":="):
        written = (f"value{value}",)
    given = options.read_values(written, option, options.read_stdin)
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
@since_option
@click.option("--at", default="", metavar="ADDRESS", help="Only this loop, iteration or step.")
@click.option("--all", "with_tries", is_flag=True, help="Include the cost of tries.")
@with_json
@output_option(json="as_json")
def cost(
    project: Project,
    *,
    run: str,
    by: Any,
    since: float | None,
    at: str,
    with_tries: bool,
    as_json: bool,
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
    name, at = split_place(run, at)
    if at and not name:
        raise UsageError("--at is a place in one run", help="say which, such as `last`")
    found, begin = places.Costs(by), since or 0.0
    with open_if_any(project, is_needed=bool(name)) as store:
        if store is not None:
            chosen = find_run(store, name) if name else None
            found = places.costs_of(
                store, by, run=chosen, at=at, since=begin, with_tries=with_tries
            )
            oldest = store.list_runs(RunFilter(is_reversed=True), 1)
            begin = begin or (oldest[0].created_at if oldest and not name else 0.0)
    if as_json:
        print_json(found.document())
    elif store is None:
        say(NO_RUNS)
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
@deleting
@with_json
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

    delete_runs(project, delete, names=True, **how)
