"""`whorl show`: a run as a whole, or what happened at one address of it."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import safe
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.stage import past_of
from whorl.interfaces.cli.view.audience import event_json, verdict
from whorl.interfaces.cli.view.closing import final_lines, gate_lines
from whorl.interfaces.cli.view.paint import room
from whorl.interfaces.figures import (
    count,
    difference,
    dollars,
    line,
    paragraphs,
    seconds,
    table,
    written,
)
from whorl.interfaces.inspection import computed, results_of, unknown_place
from whorl.interfaces.naming import run_meant
from whorl.interfaces.progress import LoopProgress, Progress, usage_of
from whorl.interfaces.results import Request, full_result, requests_of
from whorl.interfaces.secrecy import shown
from whorl.interfaces.wording import exit_words, request_words
from whorl.interpreter.events import split_iteration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interfaces.progress import Iteration, Step
    from whorl.interfaces.project import Project
    from whorl.language import Json
    from whorl.runtimes.journal import Entry, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore

MARKS = {"succeeded": "✓", "failed": "✗", "skipped": "-", "running": "●", "retrying": "↻"}
MARKS |= {"waiting": "⏸", "rejected": "✗", "timed_out": "✗", "cancelled": "✗"}
_VALUE_MAX = 400
_ANSWERS_MAX = 1_000
_REQUESTS_MAX = 20
# Of more loops than this each is one line; its address shows its iterations.
_TABLES_MAX = 20


@click.command()
@click.argument("run", metavar="[RUN[/ADDRESS]]", default="last")
@json_option
@located
def show(project: Project, *, run: str, as_json: bool) -> int:
    """Show a RUN: its steps, loops and results; or one place of it, with prompts and answers.

    \b
      whorl show last
      whorl show "last/polish[3]/review"
    """
    name, _, address = run.partition("/")
    store = project.open_store()
    try:
        found = run_meant(store, name)
        if address:
            _show_place(store, found, address.rstrip("/"), as_json=as_json)
        elif as_json:
            print_json(_document(store, found))
        else:
            for said in _overview(store, found):
                click.echo(said)
    finally:
        store.close()
    return 0


def _document(store: SqliteStore, run: RunId) -> dict[str, object]:
    row = store.run(run)
    first = next(iter(store.read(run, limit=1))).event
    about = {
        "workflow": row.name,
        "dialect": row.dialect,
        "file": row.file,
        "key": row.key or None,
        "input": first.body.get("input"),
        "started_at": row.created_at,
        "updated_at": row.updated_at,
        "answers": _answers(store, run),
    }
    return {**full_result(store, run), **about}


def _answers(store: SqliteStore, run: RunId) -> dict[str, Json]:
    """What each finished task gave, by its address; of a long run the latest."""
    found: dict[str, Json] = {}
    for entry in store.read(run):
        if entry.event.kind == "task.finished":
            found.pop(entry.event.address, None)
            found[entry.event.address] = shown(entry.event).get("value")
            if len(found) > _ANSWERS_MAX:
                del found[next(iter(found))]
    return found


def _overview(store: SqliteStore, run: RunId) -> Iterator[str]:
    row = store.run(run)
    progress = past_of(store, run)
    when = _clock(row.created_at)
    key = f"  key {line(row.key, 60)}" if row.key else ""
    fork = f", fork of {row.parent}" if row.parent else ""
    yield f"{line(row.name, 80)}  run {run}  {when}{fork}{key}"
    given: Any = next(iter(store.read(run, limit=1))).event.body.get("input")
    for name, value in (given if isinstance(given, dict) else {}).items():
        yield f"  {line(name, 40)} = {line(written(value), 100)}"
    loops = store.loops(run)
    yield from _places(progress, is_short=len(loops) > _TABLES_MAX)
    yield from (_loop_line(row) for row in loops if row.address not in progress.loops)
    inside = [one for one in requests_of(store, run) if one.place not in progress.steps]
    yield from (f"  {request_words(one)}" for one in inside[-_REQUESTS_MAX:])
    result: dict[str, Any] = full_result(store, run)
    for name, value in result["outputs"].items():
        yield f"output {line(name, 40)}:"
        yield from _indented(value, _VALUE_MAX * 10)
    yield from final_lines(store, run, result, asked="show")


def _places(progress: Progress, *, is_short: bool) -> Iterator[str]:
    """Steps and loops in the order in which they began; of very many loops a line each."""
    places: dict[str, Step | LoopProgress] = {**progress.steps, **progress.loops}
    for address in sorted(places, key=lambda one: places[one].started_at):
        place = places[address]
        if address in progress.steps:
            yield step_words(place)  # type: ignore[arg-type]
        else:
            yield from islice(loop_table(place), 1 if is_short else None)  # type: ignore[arg-type]


def _loop_line(row: LoopRow) -> str:
    """A loop that lies further back than what is kept of a run's progress."""
    told = LoopProgress(row.address, number=row.iterations, exit_reason=row.exit_reason)
    told.stopped_by, told.mark = row.stopped_by, row.mark
    limit = row.limits.get("iterations") if isinstance(row.limits, dict) else None
    told.limit = limit if isinstance(limit, int) else 0
    return next(loop_table(told))


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def step_words(step: Step) -> str:
    """A step in one line."""
    parts = [f"{MARKS.get(step.state, '·')} {line(step.address, 60)}", line(step.model, 40)]
    if step.ended_at is not None and step.ended_at > step.started_at:
        parts.append(seconds(step.ended_at - step.started_at))
    parts.append(f"{count(step.tokens)} tok" if step.tokens else "")
    parts.append(dollars(step.cost_usd) if step.cost_usd else "")
    parts.append(f"attempt {step.attempt}" if step.attempt > 1 else "")
    parts.append(f"→ {line(step.branch, 40)}" if step.branch else "")
    parts.append(step.error if step.state == "failed" else "")
    if step.state == "rejected" or step.feedback:
        words = "rejected" if step.state == "rejected" else "approved"
        parts.append(f"{words}{f': {step.feedback}' if step.feedback else ''}")
    return "  ".join(part for part in parts if part)


def loop_table(loop: LoopProgress) -> Iterator[str]:
    """A loop with a row for each of its finished iterations."""
    of = f"/{loop.limit}" if loop.limit else ""
    ended = f"  {exit_words(loop.exit_reason, loop.stopped_by)}" if loop.exit_reason else ""
    yield f"{'!' if loop.mark else '↻'} {line(loop.address, 60)}  {loop.number}{of}{ended}"
    head = ("#", "score", "Δ", "time", "tokens", "cost", "verdict")
    cells = [iteration_cells(one, loop) for one in loop.iterations]
    width = room()
    inner = None if width is None else width - 2
    rows = [head, *cells] if cells else []
    for said in table(rows, right=frozenset(range(6)), width=inner, shrink=(6,)):
        yield f"  {said}"


def iteration_cells(done: Iteration, loop: LoopProgress) -> tuple[str, ...]:
    """A finished iteration as cells of a table."""
    star = "★" if loop.best and loop.best[0] == done.number else ""
    return (
        str(done.number),
        done.shown_score + star,
        difference(done.score, done.before),
        seconds(done.seconds),
        count(done.tokens) if done.tokens else "",
        dollars(done.cost_usd) if done.cost_usd else "",
        verdict(done),
    )


def _show_place(store: SqliteStore, run: RunId, address: str, *, as_json: bool) -> None:
    entries = list(store.entries_at(run, address))
    value = computed(store, run, address) if not entries else None
    if not entries and value is None:
        raise unknown_place(store, run, address)
    if as_json:
        told = [event_json(run, entry) for entry in entries]
        print_json({"run": run, "address": address, "value": value, "entries": told})
        return
    loops = {row.address for row in store.loops(run)}
    if not entries:
        lines: Iterable[str] = _indented(value)
    elif address in loops or split_iteration(address)[1] is not None:
        lines = _inside(store, run, address, entries)
    else:
        lines = _attempts(entries)
    click.echo(f"run {run}  {line(address, 100)}")
    for said in lines:
        click.echo(said)


def _inside(store: SqliteStore, run: RunId, address: str, entries: list[Entry]) -> Iterator[str]:
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
    rows = [row for row in progress.loops[loop].iterations if row.number == number]
    for row in rows:
        measured = f"score {row.shown_score}" if row.score is not None else ""
        words = "  ".join(part for part in (measured, verdict(row)) if part)
        yield from [words] if words else []
    for name, value in results_of(store, run, loop, (number,)).get(number, {}).items():
        yield f"{line(name, 60)}:"
        yield from _indented(value, _VALUE_MAX)


def _attempts(entries: list[Entry]) -> Iterator[str]:
    """A task: for each attempt what it was given, what it gave, what it used."""
    for entry in entries:
        event = entry.event
        body: dict[str, Any] = shown(event)
        match event.kind:
            case "task.started":
                yield f"{line(event.address, 100)}  {body.get('kind', '')}"
                for name, value in (body.get("inputs") or {}).items():
                    yield f"  {line(name, 40)}:"
                    yield from (f"  {said}" for said in _indented(value))
            case "task.finished":
                yield f"  answer:  {_about(body)}".rstrip()
                yield from (f"  {said}" for said in _indented(body.get("value")))
            case "task.failed":
                error = body.get("error") or {}
                yield f"  ✗ [{error.get('code')}] {safe(str(error.get('message')))}"
            case "task.in_doubt":
                yield "  in doubt: sent before the run was interrupted, and its answer is lost"
            case "gate.waiting":
                yield from gate_lines({"address": event.address, "show": None, "reason": ""} | body)
            case "gate.decided":
                yield f"  {request_words(Request(event.kind, event.address, body))}"
            case "warning":
                yield f"  warning[{body.get('code')}]: {safe(str(body.get('message')))}"
            case "timer.fired" if event.address.endswith("/:wait"):
                yield f"  the wait was over at {_clock(event.at)}"
            case "node.skipped":
                yield f"  skipped: {body.get('cause') or 'not needed'}"
            case "node.finished":
                yield f"  finished: {body.get('branch') or body.get('status') or 'succeeded'}"


def _about(body: dict[str, Any]) -> str:
    calls, tokens, cost = usage_of(body)
    parts = [line(str(body.get("model", "")), 60), f"{count(tokens)} tok" if tokens else ""]
    parts += [dollars(cost) if cost else ""]
    return "  ".join(part for part in parts if part) if calls or body.get("model") else ""


def _indented(value: Json, length_max: int | None = None) -> Iterator[str]:
    text = written(value)
    if length_max is not None and len(text) > length_max:
        text = text[:length_max] + "…"
    for said in paragraphs(text).split("\n"):
        yield f"  {said}"


COMMANDS = {"show": show}
