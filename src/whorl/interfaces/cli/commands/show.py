"""Looks into runs: `show` a run or a place, `why` its loops ended, `diff` two iterations."""

from __future__ import annotations

import os
import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, did_you_mean, safe
from whorl.interfaces import formatting, status_words
from whorl.interfaces.advice import advised, root_code
from whorl.interfaces.cli import options, summary, watchers
from whorl.interfaces.cli.commands import open_run, with_json
from whorl.interfaces.cli.next_command import next_command
from whorl.interfaces.cli.options import print_json, with_help
from whorl.interfaces.cli.terminal import echo, paint, print_lines, say
from whorl.interfaces.formatting import dollars, joined, line, seconds, written
from whorl.interfaces.progress import LoopProgress, Progress, name_of, usage_of
from whorl.interpreter.events import split_iteration
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.inspecting import places, results
from whorl.services.records import RunRecords, document_of
from whorl.services.runs import find_run
from whorl.services.steering import chosen_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interfaces.progress import Step
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


# Of each result, so many lines among others.
_RESULT_LINES, _OUTPUT_LINES = 24, 200
_REQUESTS_MAX = 20
_ANSWERS_MAX = 1_000
# Of more loops than this each is one line; its address shows its iterations.
_TABLES_MAX = 20
# What `why` shows.
_LOOPS_MAX, _PEOPLE_MAX, _WARNINGS_MAX = 50, 50, 20
_DIFF_COLORS = {"+": "green", "-": "red", "@": "cyan"}


class _Status:
    """The state of a run, as `whorl show` prints it."""

    def __init__(self, store: SqliteStore, run: RunId) -> None:
        self.store = store
        self.progress = watchers.past_of(store, run)
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
        yield from (own := self._dialect_lines())
        yield summary.run_line(self.row, self.result)
        for key, words in self._rows():
            yield f"{f'{key}:' if key else '':<11} {words}".rstrip()
        loops = self.progress.loops.values() if is_brief and not own else ()
        if len(loops) > summary.ONE_BY_ONE_MAX:
            yield from summary.loops_lines(self.row.id, self.result["loops"])
        else:
            yield from (f"{safe(loop.address)}: {watchers.position_words(loop)}" for loop in loops)

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
        yield "started", formatting.clock(row.created_at)
        steps = self.progress.steps.values()
        if running := [step for step in steps if step.state in ("running", "retrying")]:
            yield "step", ", ".join(safe(step.address) for step in running[:5])
        if usage := summary.usage_words(result["usage"]):
            budget = row.budget_usd
            of = f" of a budget of {formatting.allowed(budget)}" if budget is not None else ""
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


def _say_next(store: SqliteStore, run: RunId, result: dict[str, Any], asked: str) -> None:
    following = next_command(store, run, result, asked)
    say(*([f"next: {following}"] if following else []))


@click.command()
@options.place_option
@click.option("--brief", is_flag=True, help="Only positions: as lines or as JSON.")
@click.option("--full", "whole", is_flag=True, help="Do not shorten long lists and deep values.")
@options.json_option
@click.option("--deep", is_flag=True, help="With --json: records of iterations and items, too.")
@options.located
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
            _say_next(store, chosen, status.result, "show")
            return
        records = RunRecords(store, chosen, project.secrets())
        # Those that match an address without numbers, if it has no entries itself.
        has_entries = not address or next(store.entries_at(chosen, address), None) is not None
        rows = () if has_entries else store.loops(chosen)
        if loops := [row for row in rows if places.is_like(row.address, address)]:
            print_lines(next(_loop_table(watchers.loop_of(row))) for row in loops)
        elif as_json:
            found = document_of(records.of(address, depth=None if deep else 0))
            print_json({**_document(records, address, found["records"]), **found})
        elif address:
            print_lines(_place(records, address, whole=whole))
        else:
            status = _Status(store, chosen)
            print_lines(_overview(records, status, whole=whole))
            _say_next(store, chosen, status.result, "show")


def _document(records: RunRecords, address: str, found: object) -> dict[str, object]:
    """Returns the document of a run, or of a place in it, without the records that were found."""
    store, run = records.store, records.run
    if address:
        entries = _entries(records, address, found)
        events = [watchers.event_json(run, entry) for entry in entries]
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
        raise places.unknown_place(records.store, records.run, address)
    return entries


def _overview(records: RunRecords, status: _Status, *, whole: bool) -> Iterator[str]:
    store, run = records.store, records.run
    loops = store.loops(run)
    progress, result = status.progress, status.result
    yield from status.lines(is_brief=False)
    given = _given(store, run)
    for name, value in (given if isinstance(given, dict) else {}).items():
        yield f"  {line(name, 40)} = {line(written(value), 100)}"
    for step, chosen in chosen_steps(store, run).items():
        of = f" of {line(step, 60)}" if step else ""
        yield from (f"  {name}{of}: {line(text, 100)} (--{name})" for name, text in chosen.items())
    yield from _places(progress, is_short=len(loops) > _TABLES_MAX)
    older = (row for row in loops if row.address not in progress.loops)
    yield from (next(_loop_table(watchers.loop_of(row))) for row in older)
    yield from summary.quiet_lines(records, {*progress.steps, *(row.address for row in loops)})
    requests = results.requests_of(store, run)
    inside = [request for request in requests if request.place not in progress.steps]
    yield from (f"  {status_words.request_words(request)}" for request in inside[-_REQUESTS_MAX:])
    for name, value in result["outputs"].items():
        yield f"output {line(name, 40)}:"
        yield from summary.result_lines(value, _OUTPUT_LINES, whole=whole)


def _places(progress: Progress, *, is_short: bool) -> Iterator[str]:
    """Steps and loops in the order in which they began; of very many loops a line each."""
    places: list[Step | LoopProgress] = [*progress.steps.values(), *progress.loops.values()]
    for place in sorted(places, key=lambda place: place.started_at):
        if isinstance(place, LoopProgress):
            yield from islice(_loop_table(place), 1 if is_short else None)
        else:
            yield watchers.step_words(place)


def _loop_table(loop: LoopProgress) -> Iterator[str]:
    """A loop with a row for each of its finished iterations."""
    ended = status_words.exit_words(loop.exit_reason, loop.stopped_by)
    head = f"{'!' if loop.mark else '↻'} {safe(loop.address)}"
    legend = "★ is the best one" if loop.best and loop.iterations else ""
    yield joined(head, loop.count(), ended, legend)
    yield from watchers.loop_table(loop)
    yield from summary.explored_lines(loop.number, loop.explored)


def _place(records: RunRecords, address: str, *, whole: bool) -> Iterator[str]:
    store, run = records.store, records.run
    found = records.of(address, depth=0).records
    entries = _entries(records, address, found)
    yield f"run {run}  {safe(address)}"
    loops = {row.address for row in store.loops(run)} if entries else set()
    inside = [loop for loop in loops if loop.startswith((f"{address}/", f"{address}["))]
    steps = summary.steps_in(entries)
    if summary.is_quiet(entries):
        yield from summary.place_lines(records, found, address, whole=whole)
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
            yield from summary.step_lines(run, events, whole=whole)


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
    yield from map(watchers.step_words, steps.values())
    for row in progress.loops[loop].iterations:
        measured = f"score {row.shown_score}" if row.score is not None else ""
        if row.number == number and (words := joined(measured, watchers.verdict(row))):
            yield words
    for name, value in places.results_of(store, run, loop, (number,)).get(number, {}).items():
        yield f"{line(name, 60)}:"
        yield from summary.result_lines(value, _RESULT_LINES, whole=whole)


@click.command()
@options.place_option
@click.option("--at", default="", metavar="ADDRESS", help="Only loops at this place, or around it.")
@with_json
def why(project: Project, *, run: str, at: str, as_json: bool) -> None:
    """Explain why the loops of a RUN ended: the conditions and their values per iteration.

    \b
      whorl why last
      whorl why "last/all[2]/polish"
    """
    with open_run(project, run, at) as (store, chosen, place):
        loops = store.loops(chosen)
        if place:
            meant = places.loops_meant(place, [row.address for row in loops])
            meant = meant or [places.loop_named(store, chosen, place)]
            loops = [row for row in loops if row.address in meant]
        if as_json:
            print_json(with_help(status_words.why_document(store, chosen, loops)))
        else:
            result: dict[str, Any] = with_help(results.full_result(store, chosen))
            print_lines(_why_lines(store, chosen, loops, result))
            _say_next(store, chosen, result, "why")


def _why_lines(
    store: SqliteStore, run: RunId, loops: list[LoopRow], result: dict[str, Any]
) -> Iterator[str]:
    workflow, machine = results.shown_workflow(store, run), fold(store, run).machine
    if not loops:
        yield summary.run_line(store.run(run), result)
    if len(loops) > _LOOPS_MAX:
        yield from summary.loops_lines(run, result["loops"])
        loops = [row for row in loops if row.exit_reason != "condition_met"][:_LOOPS_MAX]
        yield f"below: {len(loops)} that did not meet their condition; --at shows any other"
    stopped = results.stopped_loops(store, run)
    for at, loop in enumerate(loops):
        yield from [""] if at else []
        rows = results.begun_iterations(store, run, loop)
        is_stopped = loop.address in stopped
        yield from summary.loop_lines(
            loop, rows, workflow=workflow, machine=machine, is_stopped=is_stopped
        )
    error, asked = result["error"], results.requests_of(store, run)[-_PEOPLE_MAX:]
    if not result["loops"] and not error and result["status"] == "succeeded":
        yield "the run has no loop; all its steps are done"
    yield from ["", "people:"] if asked else []
    yield from (f"  {status_words.request_words(request)}" for request in asked)
    yield from [""] if result["warnings"] else []
    for warning in result["warnings"][-_WARNINGS_MAX:]:
        where = f" ({safe(str(warning['path']))})" if warning.get("path") else ""
        yield f"warning[{warning['code']}]{where}: {line(options.carrying(advised(warning)), 300)}"
    yield from ["", summary.pause_words(result)] if result["paused_by"] else []
    if error:
        yield from ["", *summary.error_lines(error)]
        if root_code(error) == error["code"]:
            yield f"  `whorl help {error['code']}` says more"
    for gate in result["waiting_for"]:
        yield from ["", *summary.gate_lines(gate)]


@click.command()
@click.argument("words", metavar="[RUN[/ADDRESS]] FIRST SECOND", nargs=-1, required=True)
@click.option("--step", metavar="NAME", help="Only the result of this step.")
@click.option("--at", default="", metavar="ADDRESS", help="Which loop, if there are several.")
@click.option("--with", "with_run", metavar="RUN", help="SECOND is an iteration of this run.")
@with_json
def diff(
    project: Project,
    *,
    words: tuple[str, ...],
    step: str | None,
    at: str,
    with_run: str | None,
    as_json: bool,
) -> None:
    """Compare two iterations of a loop of a RUN (the newest): results, score, cost, time.

    \b
      whorl diff 2 4
      whorl diff last 2 4 --step write
      whorl diff 4 4 --with OTHER_RUN
      whorl diff "last/all[2]/polish" 2 4

    Texts are compared by line (of long lines by word: [-gone-] {+new+}), other values by key.
    """
    text, first, second = _iterations_meant(words)
    with open_run(project, text, at) as (store, run, place):
        loop = places.loop_named(store, run, place)
        other = run if with_run is None else find_run(store, with_run)
        both = (places.side(store, run, loop, first), places.side(store, other, loop, second))
    before, after = (each.results for each in both)
    names = list(dict.fromkeys([*before, *after]))
    if step is not None and step not in names:
        hint = did_you_mean(step, names) or f"steps: {', '.join(names) or 'none'}"
        raise UsageError(f"there is no result of a step {step!r}", help=hint)
    chosen = names if step is None else [step]
    changed = {name: list(formatting.changes(before.get(name), after.get(name))) for name in chosen}
    if as_json:
        iterations = [{"note": each.row.note, "results": each.results} for each in both]
        texts = {name: "\n".join(map("".join, lines)) for name, lines in changed.items()}
        print_json({"loop": loop, "iterations": iterations, "diff": texts})
        return
    of_other = "" if other == run else f" of {other}"
    figures = ", ".join(_figures(both[0].row, both[1].row))
    echo(f"{safe(loop)} {first} -> {second}{of_other}{figures and f': {figures}'}")
    for name, lines in changed.items():
        echo(f"\n{line(name, 80)}{'' if lines else ': no change'}")
        for mark, text in lines:
            echo(paint(mark + text, _DIFF_COLORS.get(mark)))


def _iterations_meant(words: tuple[str, ...]) -> tuple[str, int, int]:
    """The run, which may be left out, and the numbers of the iterations."""
    if len(words) not in (2, 3):
        raise UsageError("say which two iterations", help="for example `whorl diff last 2 4`")
    run, *numbers = ("last", *words)[-3:]
    for word in numbers:
        if not word.isdecimal() or int(word) < 1:
            message = f"{word!r} is not the number of an iteration"
            raise UsageError(message, help="name two of them: `whorl diff last 1 2`")
    return run, int(numbers[0]), int(numbers[1])


def _figures(first: IterationRow, second: IterationRow) -> Iterator[str]:
    notes: list[Any] = [first.note, second.note]
    if first.score is not None or second.score is not None:
        old, new = (formatting.score(side.score) or "-" for side in (first, second))
        yield f"score {old} -> {new}"
    yield from (formatting.outside_words(note["outside"]) for note in notes if note.get("outside"))
    costs = [usage_of(note)[2] for note in notes]
    if any(costs):
        yield f"{dollars(costs[0])} -> {dollars(costs[1])}"
    times = [note.get("seconds") or 0.0 for note in notes]
    if any(times):
        yield f"{seconds(times[0])} -> {seconds(times[1])}"
