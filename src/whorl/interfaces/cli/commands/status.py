"""`whorl status`: where a run is, in a few lines."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from whorl.interfaces.cli.options import json_option, located, print_json, run_option
from whorl.interfaces.cli.stage import past_of
from whorl.interfaces.cli.view.badges import badge
from whorl.interfaces.cli.view.closing import (
    error_lines,
    gate_lines,
    next_command,
    pause_words,
    usage_words,
)
from whorl.interfaces.cli.view.loops import ONE_BY_ONE_MAX, all_loops, loops_lines
from whorl.interfaces.cli.view.paint import paint
from whorl.interfaces.figures import allowed, line, seconds, written
from whorl.interfaces.progress import name_of
from whorl.interfaces.wording import condition_words, exit_words, status_lines
from whorl.providers.secrets import HIDDEN
from whorl.runtimes.folding import fold
from whorl.services.redaction import hidden_names
from whorl.services.results import full_result, loop_node, workflow_of
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interfaces.progress import LoopProgress, Progress
    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


@click.command()
@run_option
@json_option
@located
def status(project: Project, *, run: str, as_json: bool) -> int:
    """Show where a RUN is: step, iteration, condition, last result, what it waits for.

    \b
      whorl status last
    """
    store = project.open_store()
    try:
        found = find_run(store, run)
        progress = past_of(store, found)
        result = full_result(store, found)
        if as_json:
            print_json(_document(store, found, progress, result))
        else:
            told = _in_own_words(store, found, progress, result)
            for text in told:
                click.echo(text)
            for key, words in _rows(store, found, progress, result):
                if not told or key not in _TOLD:
                    click.echo(f"{f'{key}:' if key else '':<11} {words}".rstrip())
    finally:
        store.close()
    return 0


# The rows that a dialect's own lines take the place of.
_TOLD = frozenset({"workflow", "status", "duration", "iteration", "until", "last", "result"})


def _in_own_words(
    store: SqliteStore, run: RunId, progress: Progress, result: dict[str, Any]
) -> list[str]:
    """Where a run is, as the dialect of its file says it; nothing while it is in no loop."""
    workflow = workflow_of(store, run)
    loop = next((one for one in reversed(progress.loops.values()) if not one.exit_reason), None)
    if loop is None or result["status"] in ("succeeded", "failed", "cancelled"):
        return []
    row = store.run(run)
    until = time.time() if result["status"] == "running" else row.updated_at
    last = next(
        (words for _, words in _last_result(fold(store, run).machine, loop, workflow)), "null"
    )
    facts = {
        "workflow": line(row.name, 80),
        "status": str(result["status"]).capitalize(),
        "loop": line(name_of(loop.address), 60),
        "number": str(loop.number),
        "limit": str(loop.limit),
        "seconds": f"{max(0.0, until - loop.started_at):.0f}",
        "result": last.partition(": ")[2] or last,
    }
    return status_lines(workflow.vocabulary, loop.path, facts)


def _document(
    store: SqliteStore, run: RunId, progress: Progress, result: dict[str, Any]
) -> dict[str, object]:
    row = store.run(run)
    steps = [step.address for step in progress.steps.values() if step.state == "running"]
    return {
        "run": run,
        "workflow": row.name,
        "key": row.key or None,
        "parent": row.parent or None,
        "status": result["status"],
        "mark": row.mark or None,
        "steps": steps,
        "loop": row.loop or None,
        "iteration": row.iteration,
        "iterations_max": row.iterations_max,
        "score": row.score,
        "started_at": row.created_at,
        "updated_at": row.updated_at,
        "usage": result["usage"],
        "budget_usd": row.budget_usd,
        "waiting_for": result["waiting_for"],
        "paused_by": result["paused_by"],
        "error": result["error"],
    }


def _rows(
    store: SqliteStore, run: RunId, progress: Progress, result: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    row = store.run(run)
    workflow = workflow_of(store, run)
    now_status = str(result["status"])
    yield "run", f"{run}{f'  (fork of {row.parent})' if row.parent else ''}"
    if row.key:
        yield "key", line(row.key, 80)
    yield "workflow", f"{line(row.name, 80)}  {line(row.file, 120)}".rstrip()
    yield "status", paint(*badge(now_status, row.mark))
    until = time.time() if now_status == "running" else row.updated_at
    yield "duration", seconds(until - row.created_at)
    running = [step for step in progress.steps.values() if step.state in ("running", "retrying")]
    if running:
        yield "step", ", ".join(line(step.address, 60) for step in running[:5])
    machine = fold(store, run).machine
    if len(result["loops"]) > ONE_BY_ONE_MAX:
        told = [*loops_lines(result["loops"]), *all_loops(run, result["loops"])]
        yield from (("" if at else "loops", said) for at, said in enumerate(told))
    else:
        for loop in progress.loops.values():
            yield from _loop_rows(loop, workflow)
            yield from _last_result(machine, loop, workflow)
    used = usage_words(result["usage"])
    if used:
        of = f" of a budget of {allowed(row.budget_usd)}" if row.budget_usd is not None else ""
        yield "used", used + of
    if result["paused_by"]:
        yield "paused", pause_words(result)
    for gate in result["waiting_for"]:
        asked, *about = gate_lines(gate)
        yield "waits for", asked
        yield from (("", said) for said in about)
    if result["output"] is not None:
        yield "output", line(written(result["output"]), 200)
    for at, said in enumerate(error_lines(result["error"])):
        yield "" if at else "error", said
    yield "next", next_command(store, run, result)


def _loop_rows(loop: LoopProgress, workflow: Workflow) -> Iterator[tuple[str, str]]:
    of = f"/{loop.limit}" if loop.limit else ""
    ended = f"  {exit_words(loop.exit_reason, loop.stopped_by)}" if loop.exit_reason else ""
    yield "iteration", f"{loop.number}{of} of {line(loop.address, 60)}{ended}"
    node = loop_node(workflow, loop.path)
    if node is not None and node.until is not None:
        yield "until", condition_words(node.until)
    if loop.iterations:
        last = loop.iterations[-1]
        measured = f", score {last.shown_score}" if last.score is not None else ""
        words = f": {last.words}" if last.words else ""
        yield "last", f"iteration {last.number}{measured}{words}"


def _last_result(
    machine: Machine, loop: LoopProgress, workflow: Workflow
) -> Iterator[tuple[str, str]]:
    hidden = hidden_names(workflow)
    for frame in machine.frames.values():
        if frame["kind"] == "loop" and frame["address"] == loop.address:
            results = {k: v for k, v in (frame.get("previous") or {}).items() if v is not None}
            for name, value in list(results.items())[-1:]:
                words = HIDDEN if name in hidden else line(written(value), 160)
                yield "result", f"{line(name, 40)}: {words}"


COMMANDS = {"status": status}
