"""`whorl why`: why each loop of a run ended, with what its conditions were each time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import safe
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.figures import line, plural, score, table
from whorl.interfaces.history import loop_node, workflow_of
from whorl.interfaces.inspection import limit_now
from whorl.interfaces.results import open_gates, result_of
from whorl.interfaces.wording import condition_words, exit_words, reason_words, verdict_words
from whorl.runtimes.folding import fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interfaces.project import Project
    from whorl.interpreter.machine import Machine
    from whorl.ir import Workflow
    from whorl.runtimes.journal import IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore

ITERATIONS_MAX = 1_000
_LOOPS_MAX = 50


@click.command()
@click.argument("run", metavar="RUN")
@json_option
@located
def why(project: Project, *, run: str, as_json: bool) -> int:
    """Explain why the loops of a RUN ended: the conditions and their values per iteration.

    \b
      whorl why last
    """
    store = project.open_store()
    try:
        found = store.resolve(run)
        if as_json:
            print_json(_document(store, found))
        else:
            for said in _told(store, found):
                click.echo(said)
    finally:
        store.close()
    return 0


def _document(store: SqliteStore, run: RunId) -> dict[str, object]:
    result = result_of(store, run)
    loops = [
        {
            "path": row.address,
            "exit_reason": row.exit_reason or None,
            "stopped_by": row.stopped_by or None,
            "iterations": [one.note for one in _iterations(store, run, row)],
        }
        for row in store.loops(run)
    ]
    return {"run": run, "status": result["status"], "loops": loops, "error": result["error"]}


def _told(store: SqliteStore, run: RunId) -> Iterator[str]:
    result = result_of(store, run)
    workflow = workflow_of(store, run)
    yield f"run {run} of {line(store.run(run).name, 60)} {_status_words(str(result['status']))}"
    loops = store.loops(run)
    machine = fold(store, run).machine
    if len(loops) > _LOOPS_MAX:
        yield f"(the last {_LOOPS_MAX} of {len(loops)} loops)"
    for row in loops[-_LOOPS_MAX:]:
        yield ""
        yield from _loop_told(store, run, row, workflow=workflow, machine=machine)
    error = result["error"]
    if isinstance(error, dict):
        yield ""
        yield f"error[{error['code']}]: {safe(str(error['message']))}"
        yield f"  `whorl explain {error['code']}` says more"
    for gate in open_gates(store, run):
        yield ""
        yield f"{line(gate.address, 60)} waits for a person: {line(gate.message, 200)}"
    if not loops and not error:
        yield "it has no loop"


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
                score(one.score) + ("★" if one.number == row.best_iteration else ""),
                _verdict(one),
                verdict_words(one.note, 120),
            )
            for one in rows
        ]
        for said in table([("#", "score", "verdict", "why"), *cells], right=frozenset({0})):
            yield f"  {said}"


def _iterations(store: SqliteStore, run: RunId, row: LoopRow) -> list[IterationRow]:
    rows = store.newest_iterations(run, row.address, ITERATIONS_MAX)
    return [one for one in rows if one.status != "not_begun"]


def _verdict(row: IterationRow) -> str:
    if row.status != "succeeded":
        return row.status.replace("_", " ")
    if row.note.get("met"):
        return "met"
    return "not met" if row.note.get("facts") else "done"


def _status_words(status: str) -> str:
    verb = "has" if status in ("succeeded", "failed") else "is"
    return f"{verb} {status}"


COMMANDS = {"why": why}
