"""`whorl why`: why each loop of a run ended, with what its conditions were each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from whorl.interfaces.cli.options import json_option, located, print_json, run_option
from whorl.interfaces.cli.view.badges import badge
from whorl.interfaces.cli.view.closing import error_lines, gate_lines, next_command, pause_words
from whorl.interfaces.cli.view.loops import loops_lines
from whorl.interfaces.cli.view.paint import room
from whorl.interfaces.figures import line, plural, table
from whorl.interfaces.wording import (
    condition_words,
    ending_words,
    exit_words,
    reason_words,
    request_words,
    root_code,
    score_cell,
    verdict_words,
)
from whorl.runtimes.folding import fold
from whorl.services.inspection import limit_now, loop_named
from whorl.services.results import full_result, loop_node, requests_of, status_words, workflow_of
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.runtimes.journal import IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

ITERATIONS_MAX = 1_000
_LOOPS_MAX = 50
_REQUESTS_MAX = 50
_WARNINGS_MAX = 20


@click.command()
@run_option
@click.option("--at", default="", metavar="LOOP", help="Only this loop.")
@json_option
@located
def why(project: Project, *, run: str, at: str, as_json: bool) -> int:
    """Explain why the loops of a RUN ended: the conditions and their values per iteration.

    \b
      whorl why last
      whorl why last --at "all[2]/polish"
    """
    store = project.open_store()
    try:
        found = find_run(store, run)
        meant = loop_named(store, found, at) if at else None
        loops = [row for row in store.loops(found) if meant in (None, row.address)]
        if as_json:
            print_json(_document(store, found, loops))
        else:
            for said in _told(store, found, loops):
                click.echo(said)
    finally:
        store.close()
    return 0


def _document(store: SqliteStore, run: RunId, rows: list[LoopRow]) -> dict[str, object]:
    result: dict[str, Any] = full_result(store, run)
    loops = [
        {
            "path": row.address,
            "exit_reason": row.exit_reason or None,
            "stopped_by": row.stopped_by or None,
            "iterations": [one.note for one in _iterations(store, run, row)],
        }
        for row in rows
    ]
    told = ("status", "paused_by", "waiting_for", "warnings", "error")
    people = [{"kind": one.kind, "place": one.place, "body": one.body}
              for one in requests_of(store, run)]  # fmt: skip
    return {"run": run, "loops": loops, "people": people} | {name: result[name] for name in told}


def _told(store: SqliteStore, run: RunId, loops: list[LoopRow]) -> Iterator[str]:
    result: dict[str, Any] = full_result(store, run)
    following = next_command(store, run, result)
    workflow = workflow_of(store, run)
    found = store.run(run)
    mark = f": {badge(found.status, found.mark)[0]}" if found.mark else ""
    yield f"run {run} of {line(found.name, 60)} {status_words(str(result['status']))}{mark}"
    machine = fold(store, run).machine
    if len(loops) > _LOOPS_MAX:
        yield ""
        yield from loops_lines(result["loops"])
        shown = [row for row in loops if row.exit_reason != "condition_met"][:_LOOPS_MAX]
        yield f"below: {len(shown)} that did not meet their condition; --at shows any other"
        loops = shown
    for row in loops:
        yield ""
        yield from _loop_told(store, run, row, workflow=workflow, machine=machine)
    if not result["loops"] and not result["error"] and result["status"] == "succeeded":
        yield "it has no loop; all its steps are done"
    requests = [f"  {request_words(one)}" for one in requests_of(store, run)]
    yield from ["", "people:", *requests[-_REQUESTS_MAX:]] if requests else []
    warned = [_warning(one) for one in result["warnings"]]
    yield from ["", *warned[-_WARNINGS_MAX:]] if warned else []
    if result["paused_by"]:
        yield from ["", pause_words(result)]
    if result["error"]:
        yield from ["", *error_lines(result["error"])]
        yield f"  `whorl explain {root_code(result['error'])}` says more"
    for gate in result["waiting_for"]:
        yield from ["", *gate_lines(gate)]
    yield from ["", f"next: {following}"] if not following.startswith("whorl why") else []


def _warning(found: dict[str, Any]) -> str:
    where = f" ({line(str(found.get('path', '')), 60)})" if found.get("path") else ""
    return f"warning[{found.get('code')}]{where}: {line(str(found.get('message', '')), 300)}"


def _loop_told(
    store: SqliteStore, run: RunId, row: LoopRow, *, workflow: Workflow, machine: Machine
) -> Iterator[str]:
    node = loop_node(workflow, row.path)
    limit = limit_now(machine, row)
    of = f" of at most {limit}" if limit is not None else ""
    head = f"{line(row.address, 60)}  {plural(row.iterations, 'iteration')}{of}"
    if row.exit_reason:
        words = reason_words(row.exit_reason, row.stopped_by)
        yield f"{head}; it ended because {words}: {exit_words(row.exit_reason, row.stopped_by)}"
    else:
        yield f"{head}; it has not ended"
    if node is not None and node.until is not None:
        yield f"  until: {condition_words(node.until)}"
    if row.returned_iteration is not None:
        yield f"  returned: iteration {row.returned_iteration}"
    rows = _iterations(store, run, row)
    if rows:
        cells = [
            (
                str(one.number),
                score_cell(one.note, one.score) + ("★" if one.number == row.best_iteration else ""),
                _verdict(one),
                verdict_words(one.note, 400),
            )
            for one in rows
        ]
        heads = ("#", "score", "verdict", "why")
        width = room()
        inner = None if width is None else width - 2
        for said in table([heads, *cells], right=frozenset({0}), width=inner, shrink=(3,)):
            yield f"  {said}"


def _iterations(store: SqliteStore, run: RunId, row: LoopRow) -> list[IterationRow]:
    rows = store.newest_iterations(run, row.address, ITERATIONS_MAX)
    return [one for one in rows if one.status != "not_begun"]


def _verdict(row: IterationRow) -> str:
    if row.status != "succeeded":
        return ending_words(row.status)
    if row.note.get("met"):
        return "met"
    return "not met" if row.note.get("facts") else "done"


COMMANDS = {"why": why}
