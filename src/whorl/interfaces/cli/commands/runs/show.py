"""`whorl show`: all of a run, or what happened at one address of it."""

from __future__ import annotations

from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import safe
from whorl.interfaces import status_words
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.paste_options import with_help
from whorl.interfaces.cli.printing import summary
from whorl.interfaces.cli.printing.calls import clock, result_lines, step_lines, steps_in
from whorl.interfaces.cli.printing.records import is_quiet, place_lines, quiet_lines
from whorl.interfaces.cli.terminal import SIGNS, print_lines
from whorl.interfaces.cli.watchers import event_json, iteration_cells, past_of, verdict
from whorl.interfaces.formatting import joined, line, seconds, used, written
from whorl.interfaces.progress import LoopProgress, Progress
from whorl.interpreter.events import split_iteration
from whorl.runtimes.journal.fields import iterations_in
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.inspecting import results
from whorl.services.inspecting.iterations import results_of
from whorl.services.inspecting.places import is_like, split_place, unknown_place
from whorl.services.records import Records, RunRecords, document_of
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interfaces.progress import Step
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


# Of each result, so many lines among others.
_RESULT_LINES, _OUTPUT_LINES = 24, 200
_ANSWERS_MAX = 1_000
_REQUESTS_MAX = 20
# Of more loops than this each is one line; its address shows its iterations.
_TABLES_MAX = 20


@click.command()
@click.argument("run", metavar="[RUN[/ADDRESS]]", default="last")
@click.option("--full", "whole", is_flag=True, help="Do not shorten long lists and deep values.")
@json_option
@click.option("--deep", is_flag=True, help="With --json: records of iterations and items, too.")
@click.option("--as", "shape", metavar="SYSTEM", help="All records in its own JSON: azure.")
@located
def show(
    project: Project, *, run: str, whole: bool, as_json: bool, deep: bool, shape: str | None
) -> None:
    """Show a RUN: its steps, loops and results; or one place of it, with prompts and answers.

    Every step has a record, those that compute or are skipped too: status, inputs, output, error,
    times and cost.

    \b
      whorl show last
      whorl show "last/polish[3]/review"
      whorl show "last/polish[3]" --json
    """
    name, address = split_place(run)
    with closing(project.open_store()) as store:
        chosen = find_run(store, name)
        records = RunRecords(store, chosen, project.secrets())
        if shape is not None:
            print_json(records.history(shape, address.rstrip("/")))
        elif loops := _loops_like(store, chosen, address):
            print_lines(_loop_line(row) for row in loops)
        elif address and as_json:
            _print_place(records, address.rstrip("/"), deep=deep)
        elif address:
            print_lines(_place(records, address.rstrip("/"), whole=whole))
        elif as_json:
            found = records.of(depth=None if deep else 0)
            print_json({**_document(store, chosen), **document_of(found)})
        else:
            print_lines(_overview(records, whole=whole))


def _document(store: SqliteStore, run: RunId) -> dict[str, object]:
    row = store.run(run)
    first = next(iter(store.read(run, limit=1))).event
    # What each finished task gave; of a long run the latest.
    answers: dict[str, Json] = {}
    for entry in store.read_back(run, frozenset({"task.finished"})):
        answers.setdefault(entry.event.address, shown(entry.event).get("value"))
        if len(answers) == _ANSWERS_MAX:
            break
    about = {
        "workflow": row.name,
        "dialect": row.dialect,
        "file": row.file,
        "key": row.key or None,
        "input": first.body.get("input"),
        "started_at": row.created_at,
        "updated_at": row.updated_at,
        "answers": dict(reversed(answers.items())),
    }
    return {**with_help(results.full_result(store, run)), **about}


def _overview(records: RunRecords, *, whole: bool) -> Iterator[str]:
    store, run = records.store, records.run
    row = store.run(run)
    progress = past_of(store, run)
    key = f"  key {line(row.key, 60)}" if row.key else ""
    fork = f", fork of {row.parent}" if row.parent else ""
    yield f"{line(row.name, 80)}  run {run}  {clock(row.created_at)}{fork}{key}"
    given: Any = next(iter(store.read(run, limit=1))).event.body.get("input")
    for name, value in (given if isinstance(given, dict) else {}).items():
        yield f"  {line(name, 40)} = {line(written(value), 100)}"
    loops = store.loops(run)
    yield from _places(progress, is_short=len(loops) > _TABLES_MAX)
    yield from (_loop_line(row) for row in loops if row.address not in progress.loops)
    yield from quiet_lines(records, {*progress.steps, *(row.address for row in loops)})
    requests = results.requests_of(store, run)
    inside = [request for request in requests if request.place not in progress.steps]
    yield from (f"  {status_words.request_words(request)}" for request in inside[-_REQUESTS_MAX:])
    result: dict[str, Any] = with_help(results.full_result(store, run))
    for name, value in result["outputs"].items():
        yield f"output {line(name, 40)}:"
        yield from result_lines(value, _OUTPUT_LINES, whole=whole)
    yield from summary.final_lines(store, run, result, asked="show")


def _places(progress: Progress, *, is_short: bool) -> Iterator[str]:
    """Steps and loops in the order in which they began; of very many loops a line each."""
    places: list[Step | LoopProgress] = [*progress.steps.values(), *progress.loops.values()]
    for place in sorted(places, key=lambda place: place.started_at):
        if isinstance(place, LoopProgress):
            yield from islice(loop_table(place), 1 if is_short else None)
        else:
            yield step_words(place)


def _loops_like(store: SqliteStore, run: RunId, address: str) -> list[LoopRow]:
    """The loops that an address without numbers means, where nothing is exactly there."""
    if not address or next(store.entries_at(run, address), None) is not None:
        return []
    return [row for row in store.loops(run) if is_like(row.address, address)]


def _loop_line(row: LoopRow) -> str:
    """A loop that lies further back than what is kept of a run's progress."""
    loop = LoopProgress(row.address, limit=iterations_in(row.limits), number=row.iterations)
    loop.exit_reason, loop.stopped_by, loop.mark = row.exit_reason, row.stopped_by, row.mark
    return next(loop_table(loop))


def step_words(step: Step) -> str:
    took = (step.ended_at or 0.0) - step.started_at
    answer = f": {step.feedback}" if step.feedback else ""
    if step.state == "rejected" or step.feedback:
        answer = ("rejected" if step.state == "rejected" else "approved") + answer
    return joined(
        f"{SIGNS.get(step.state, '·')[0]} {safe(step.address)}",
        line(step.model, 40),
        seconds(took) if took > 0 else "",
        used(step.tokens, step.cost_usd),
        f"attempt {step.attempt}" if step.attempt > 1 else "",
        f"→ {line(step.branch, 40)}" if step.branch else "",
        step.error if step.state == "failed" else "",
        answer,
    )


def loop_table(loop: LoopProgress) -> Iterator[str]:
    """A loop with a row for each of its finished iterations."""
    of = f"/{loop.limit}" if loop.limit else ""
    ended = status_words.exit_words(loop.exit_reason, loop.stopped_by)
    head = f"{'!' if loop.mark else '↻'} {safe(loop.address)}"
    legend = "★ is the best one" if loop.best and loop.iterations else ""
    yield joined(head, f"{loop.number}{of}", ended, legend)
    rows: list[tuple[str, ...]] = [("#", "score", "Δ", "time", "tokens", "cost", "verdict")]
    for done in loop.iterations:
        number, measured, *others = iteration_cells(done)
        star = "★" if loop.best and loop.best[0] == done.number else ""
        rows.append((number, measured + star, *others, verdict(done)))
    if len(rows) > 1:
        yield from summary.inner_table(rows, right=6, shrink=6)
        yield from summary.explored_lines(loop.number, loop.explored)


def _print_place(records: RunRecords, address: str, *, deep: bool) -> None:
    entries, found = _found(records, address, depth=None if deep else 0)
    events = [event_json(records.run, entry) for entry in entries]
    place = {"run": records.run, "address": address, "entries": events}
    print_json({**place, **document_of(found)})


def _found(records: RunRecords, address: str, depth: int | None = 0) -> tuple[list[Entry], Records]:
    """What has happened at a place, and the records of it."""
    entries = list(records.store.entries_at(records.run, address))
    found = records.of(address, depth=depth)
    if not entries and not found.records:
        raise unknown_place(records.store, records.run, address)
    return entries, found


def _place(records: RunRecords, address: str, *, whole: bool) -> Iterator[str]:
    store, run = records.store, records.run
    entries, found = _found(records, address)
    yield f"run {run}  {safe(address)}"
    loops = {row.address for row in store.loops(run)} if entries else set()
    inside = [loop for loop in loops if loop.startswith((f"{address}/", f"{address}["))]
    if is_quiet(entries):
        yield from place_lines(records, found.records, address, whole=whole)
    elif split_iteration(address)[0] in loops:
        yield from _inside(store, run, address, entries, whole=whole)
    elif inside:
        yield from _places(_progress(entries), is_short=len(inside) > _TABLES_MAX)
    else:
        yield from _calls(run, entries, whole=whole)


def _progress(entries: Iterable[Entry]) -> Progress:
    progress = Progress()
    for entry in entries:
        progress.take(entry.event)
    return progress


def _calls(run: RunId, entries: list[Entry], *, whole: bool) -> Iterator[str]:
    """Each step with what it was given and what it gave; of many, a line each."""
    steps = steps_in(entries)
    if len(steps) > _TABLES_MAX:
        yield from map(step_words, _progress(entries).steps.values())
        return
    for events in steps.values():
        yield from step_lines(run, events, whole=whole)


def _inside(
    store: SqliteStore, run: RunId, address: str, entries: list[Entry], *, whole: bool
) -> Iterator[str]:
    """A loop or an iteration: its steps in order, its table, its results."""
    loop, number = split_iteration(address)
    progress = Progress()
    steps: dict[str, Step] = {}
    for entry in entries:
        progress.take(entry.event)
        steps |= progress.steps
    if number is None:
        yield from loop_table(progress.loops[address])
        return
    yield from map(step_words, steps.values())
    for row in progress.loops[loop].iterations:
        measured = f"score {row.shown_score}" if row.score is not None else ""
        if row.number == number and (words := joined(measured, verdict(row))):
            yield words
    for name, value in results_of(store, run, loop, (number,)).get(number, {}).items():
        yield f"{line(name, 60)}:"
        yield from result_lines(value, _RESULT_LINES, whole=whole)
