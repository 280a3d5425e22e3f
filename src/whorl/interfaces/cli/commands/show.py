"""`whorl show`: where a run is and all of it, or what is at one address."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, safe
from whorl.interfaces import status_words
from whorl.interfaces.cli import summary
from whorl.interfaces.cli.commands import open_run
from whorl.interfaces.cli.next_command import next_command
from whorl.interfaces.cli.options import json_option, located, place_option, print_json, with_help
from whorl.interfaces.cli.summary import (
    is_quiet,
    place_lines,
    quiet_lines,
    result_lines,
    step_lines,
    steps_in,
)
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.interfaces.cli.watchers import (
    event_json,
    loop_of,
    loop_table,
    past_of,
    position_words,
    step_words,
    verdict,
)
from whorl.interfaces.formatting import allowed, clock, joined, line, written
from whorl.interfaces.progress import LoopProgress, Progress, name_of
from whorl.interpreter.events import split_iteration
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.inspecting import results
from whorl.services.inspecting.places import is_like, results_of, unknown_place
from whorl.services.records import RunRecords, document_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interfaces.progress import Step
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


# Of each result, so many lines among others.
_RESULT_LINES, _OUTPUT_LINES = 24, 200
_REQUESTS_MAX = 20
_ANSWERS_MAX = 1_000
# Of more loops than this each is one line; its address shows its iterations.
_TABLES_MAX = 20


class _Status:
    """The state of a run, as `whorl show` prints it."""

    def __init__(self, store: SqliteStore, run: RunId) -> None:
        self.store = store
        self.progress = past_of(store, run)
        self.row, self.machine = known = results.row_and_machine(store, run)
        self.result: dict[str, Any] = with_help(results.full_result(store, run, known))
        self.workflow = results.shown_workflow(store, run)

    def document(self) -> dict[str, object]:
        row, result = self.row, self.result
        steps = self.progress.steps.values()
        same = ("status", "parent", "usage", "waiting_for", "paused_by", "error")
        return {
            "run": row.id,
            "workflow": row.name,
            "key": row.key or None,
            "mark": row.mark or None,
            "steps": [step.address for step in steps if step.state == "running"],
            "loop": row.loop or None,
            "iteration": row.iteration,
            "iterations_max": row.iterations_max,
            "score": row.score,
            "started_at": row.created_at,
            "updated_at": row.updated_at,
            "budget_usd": row.budget_usd,
            **{name: result[name] for name in same},
        }

    def lines(self, *, is_brief: bool) -> Iterator[str]:
        """Yields how the run stands, in the words of its file's dialect if that has some.

        A brief status has a line about each loop; others have the tables of loops instead.
        """
        own = self._dialect_lines()
        yield from own
        yield summary.run_line(self.row, self.result)
        for key, words in self._rows():
            yield f"{f'{key}:' if key else '':<11} {words}".rstrip()
        loops = self.progress.loops.values() if is_brief and not own else ()
        if len(loops) > summary.ONE_BY_ONE_MAX:
            yield from summary.loops_lines(self.row.id, self.result["loops"])
        else:
            yield from (f"{safe(loop.address)}: {position_words(loop)}" for loop in loops)

    def _dialect_lines(self) -> list[str]:
        """The same as the dialect of its file says it; nothing while the run is in no loop."""
        loops = [loop for loop in self.progress.loops.values() if not loop.exit_reason]
        if not loops or self.result["status"] in status_words.ENDED:
            return []
        loop = loops[-1]
        until = time.time() if self.result["status"] == "running" else self.row.updated_at
        facts = {
            "workflow": line(self.row.name, 80),
            "status": str(self.result["status"]).capitalize(),
            "loop": line(name_of(loop.address), 60),
            "number": str(loop.number),
            "limit": str(loop.limit),
            "seconds": f"{max(0.0, until - loop.started_at):.0f}",
            "result": self._last_result(loop) or "null",
        }
        return status_words.status_lines(self.workflow.words, loop.path, facts)

    def _rows(self) -> Iterator[tuple[str, str]]:
        row, result = self.row, self.result
        if row.parent:
            yield "fork of", row.parent
        if row.key:
            yield "key", line(row.key, 80)
        if row.file:
            yield "file", line(row.file.removeprefix(f"{os.getcwd()}/"), 120)
        yield "started", clock(row.created_at)
        steps = self.progress.steps.values()
        running = [step for step in steps if step.state in ("running", "retrying")]
        if running:
            yield "step", ", ".join(safe(step.address) for step in running[:5])
        if usage := summary.usage_words(result["usage"]):
            budget = row.budget_usd
            of = f" of a budget of {allowed(budget)}" if budget is not None else ""
            yield "used", usage + of
        if result["paused_by"]:
            yield "paused", summary.pause_words(result)
        for gate in result["waiting_for"]:
            yield from _below("waits for", summary.gate_lines(gate))
        yield from _below("note", summary.note_lines(row, result))
        yield from _below("error", summary.error_lines(result["error"]))

    def _last_result(self, loop: LoopProgress) -> str:
        """Returns the newest result of a loop, or an empty text if it has none."""
        previous = results.loop_frame(self.machine, loop.address).get("previous") or {}
        found = {name: value for name, value in previous.items() if value is not None}
        given = [*results.without(found, results.hidden_names(self.workflow)).values()][-1:]
        return line(written(given[0]), 160) if given else ""


def _below(key: str, lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Pairs lines with keys: the first gets the key, all others an empty one."""
    return (("" if at else key, words) for at, words in enumerate(lines))


def _say_next(status: _Status) -> None:
    following = next_command(status.store, status.row.id, status.result, "show")
    say(*([f"next: {following}"] if following else []))


@click.command()
@place_option
@click.option("--brief", is_flag=True, help="Only positions: as lines or as JSON.")
@click.option("--full", "whole", is_flag=True, help="Do not shorten long lists and deep values.")
@json_option
@click.option("--deep", is_flag=True, help="With --json: records of iterations and items, too.")
@located
def show(
    project: Project, *, run: str, brief: bool, whole: bool, as_json: bool, deep: bool
) -> None:
    """Show a RUN: where it is, its steps, loops and results; or a place of it, with its texts.

    Every step has a record, those that compute or are skipped too: status, inputs, output, error,
    times and cost.

    \b
      whorl show last
      whorl show last --brief
      whorl show "last/polish[3]/review"
      whorl show "last/polish[3]" --json
    """
    with open_run(project, run) as (store, chosen, address):
        if brief and address:
            raise UsageError("--brief is about a whole run", help=f"whorl show {chosen} --brief")
        if brief:
            status = _Status(store, chosen)
            if as_json:
                print_json(status.document())
                return
            print_lines(status.lines(is_brief=True))
            if (output := status.result["output"]) is not None:
                echo(f"output:     {line(written(output), 200)}")
            _say_next(status)
            return
        records = RunRecords(store, chosen, project.secrets())
        if address and (loops := _loops_like(store, chosen, address)):
            print_lines(next(_loop_table(loop_of(row))) for row in loops)
        elif as_json:
            found = document_of(records.of(address, depth=None if deep else 0))
            print_json({**_document(records, address, found["records"]), **found})
        elif address:
            print_lines(_place(records, address, whole=whole))
        else:
            status = _Status(store, chosen)
            print_lines(_overview(records, status, whole=whole))
            _say_next(status)


def _document(records: RunRecords, address: str, found: object) -> dict[str, object]:
    """Returns the document of a run, or of a place in it, without the records that were found."""
    store, run = records.store, records.run
    if address:
        entries = _entries(records, address, found)
        events = [event_json(run, entry) for entry in entries]
        return {"run": run, "address": address, "entries": events}
    row = store.run(run)
    # What each finished task gave; of a long run the latest.
    answers: dict[str, Json] = {}
    for entry in store.read_back(run, frozenset({"task.finished"})):
        answers.setdefault(entry.event.address, shown(entry.event).get("value"))
        if len(answers) == _ANSWERS_MAX:
            break
    return {
        **with_help(results.full_result(store, run)),
        "workflow": row.name,
        "dialect": row.dialect,
        "file": row.file,
        "key": row.key or None,
        "input": _given(store, run),
        "started_at": row.created_at,
        "updated_at": row.updated_at,
        "answers": dict(reversed(answers.items())),
    }


def _given(store: SqliteStore, run: RunId) -> Any:
    return next(iter(store.read(run, limit=1))).event.body.get("input")


def _entries(records: RunRecords, address: str, found: object) -> list[Entry]:
    """Returns the entries at a place; raises an error if it has no records either."""
    entries = list(records.store.entries_at(records.run, address))
    if not entries and not found:
        raise unknown_place(records.store, records.run, address)
    return entries


def _overview(records: RunRecords, status: _Status, *, whole: bool) -> Iterator[str]:
    store, run = records.store, records.run
    loops = store.loops(run)
    progress, result = status.progress, status.result
    yield from status.lines(is_brief=False)
    given = _given(store, run)
    for name, value in (given if isinstance(given, dict) else {}).items():
        yield f"  {line(name, 40)} = {line(written(value), 100)}"
    yield from summary.choice_lines(store, run)
    yield from _places(progress, is_short=len(loops) > _TABLES_MAX)
    older = (row for row in loops if row.address not in progress.loops)
    yield from (next(_loop_table(loop_of(row))) for row in older)
    yield from quiet_lines(records, {*progress.steps, *(row.address for row in loops)})
    requests = results.requests_of(store, run)
    inside = [request for request in requests if request.place not in progress.steps]
    yield from (f"  {status_words.request_words(request)}" for request in inside[-_REQUESTS_MAX:])
    for name, value in result["outputs"].items():
        yield f"output {line(name, 40)}:"
        yield from result_lines(value, _OUTPUT_LINES, whole=whole)


def _places(progress: Progress, *, is_short: bool) -> Iterator[str]:
    """Steps and loops in the order in which they began; of very many loops a line each."""
    places: list[Step | LoopProgress] = [*progress.steps.values(), *progress.loops.values()]
    for place in sorted(places, key=lambda place: place.started_at):
        if isinstance(place, LoopProgress):
            yield from islice(_loop_table(place), 1 if is_short else None)
        else:
            yield step_words(place)


def _loops_like(store: SqliteStore, run: RunId, address: str) -> list[LoopRow]:
    """Returns the loops that match an address without numbers, if it has no entries itself."""
    if next(store.entries_at(run, address), None) is not None:
        return []
    return [row for row in store.loops(run) if is_like(row.address, address)]


def _loop_table(loop: LoopProgress) -> Iterator[str]:
    """A loop with a row for each of its finished iterations."""
    ended = status_words.exit_words(loop.exit_reason, loop.stopped_by)
    head = f"{'!' if loop.mark else '↻'} {safe(loop.address)}"
    legend = "★ is the best one" if loop.best and loop.iterations else ""
    yield joined(head, loop.count(), ended, legend)
    yield from loop_table(loop)
    yield from summary.explored_lines(loop.number, loop.explored)


def _place(records: RunRecords, address: str, *, whole: bool) -> Iterator[str]:
    store, run = records.store, records.run
    found = records.of(address, depth=0).records
    entries = _entries(records, address, found)
    yield f"run {run}  {safe(address)}"
    loops = {row.address for row in store.loops(run)} if entries else set()
    inside = [loop for loop in loops if loop.startswith((f"{address}/", f"{address}["))]
    steps = steps_in(entries)
    if is_quiet(entries):
        yield from place_lines(records, found, address, whole=whole)
    elif split_iteration(address)[0] in loops:
        yield from _inside(store, run, address, entries, whole=whole)
    elif inside or len(steps) > _TABLES_MAX:
        progress = Progress()
        for entry in entries:
            progress.take(entry.event)
        yield from _places(progress, is_short=len(inside) > _TABLES_MAX)
    else:
        # Each step with what it was given and what it gave.
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
        yield from _loop_table(progress.loops[address])
        return
    yield from map(step_words, steps.values())
    for row in progress.loops[loop].iterations:
        measured = f"score {row.shown_score}" if row.score is not None else ""
        if row.number == number and (words := joined(measured, verdict(row))):
            yield words
    for name, value in results_of(store, run, loop, (number,)).get(number, {}).items():
        yield f"{line(name, 60)}:"
        yield from result_lines(value, _RESULT_LINES, whole=whole)
