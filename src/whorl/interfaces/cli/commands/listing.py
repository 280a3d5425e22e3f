"""`whorl ls`: the runs of the store, newest first."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.cli.view.badges import badge
from whorl.interfaces.cli.view.paint import paint, room
from whorl.interfaces.figures import age, allowed, dollars, line, score, sparkline, table

if TYPE_CHECKING:
    from whorl.runtimes.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

STATUSES = ("running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled")
_SPARKS = 8
_COST = "COST / BUDGET"
_HEAD = ("STATUS", "WORKFLOW", "RUN", "KEY", "LOOP", "SCORE", _COST, "EXIT", "AGE")
# The first columns are always there, others only where a run has something in them.
_ALWAYS = 3
# What a narrow terminal goes without, in this order; the columns that are cut without names.
_LESS = ("curve", "budget", "loop", "exit")
_SHRINKING = (1, 3, 7)
_EMPTY_AS_NULL = ("parent", "key", "loop", "exit_reason", "error", "mark")


@click.command(name="ls")
@click.option("--status", type=click.Choice(STATUSES), help="Only runs in this state.")
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option("--limit", "-n", type=click.IntRange(1), default=20, show_default=True,
              help="How many.")  # fmt: skip
@json_option
@located
def ls(
    project: Project, *, status: str | None, workflow: str | None, limit: int, as_json: bool
) -> int:
    """List runs, newest first.

    \b
      whorl ls --status waiting
    """
    if not project.has_runs():
        _show_nothing(as_json=as_json, words=NO_RUNS)
        return 0
    store = project.open_store()
    try:
        rows = store.runs(status=status, name=workflow, limit=limit)
        if as_json:
            print_json([_document(row) for row in rows])
        elif rows:
            _show(store, rows)
        else:
            _show_nothing(as_json=False, words="no such runs")
    finally:
        store.close()
    return 0


def _show_nothing(*, as_json: bool, words: str) -> None:
    if as_json:
        print_json([])
    else:
        click.echo(words, err=True)


def _document(row: RunRow) -> dict[str, object]:
    """A row under the names that all documents of runs have."""
    fields = asdict(row)
    told = {"run": fields.pop("id"), "workflow": fields.pop("name"), **fields}
    return told | {name: told[name] or None for name in _EMPTY_AS_NULL}


def _show(store: SqliteStore, rows: list[RunRow]) -> None:
    facts = [_facts(store, row) for row in rows]
    width = room()
    lines: list[str] = []
    for left_out in range(len(_LESS) + 1):
        lines = _lines(facts, frozenset(_LESS[:left_out]), width)
        if width is None or max(map(len, lines)) <= width:
            break
    click.echo(paint(lines[0], dim=True))
    for said, row in zip(lines[1:], rows, strict=True):
        words, color = badge(row.status, row.mark)
        click.echo(paint(words, color) + said[len(words) :])


def _lines(facts: list[dict[str, str]], without: frozenset[str], width: int | None) -> list[str]:
    """The table; columns in which no run has anything are left out."""
    cells = [_cells({name: "" if name in without else fact[name] for name in fact})
             for fact in facts]  # fmt: skip
    used = [at for at in range(len(_HEAD)) if at < _ALWAYS or any(row[at] for row in cells)]
    has_budget = any(" / " in row[_HEAD.index(_COST)] for row in cells)
    head = [name if has_budget or name != _COST else "COST" for name in _HEAD]
    is_narrow = "loop" in without
    shrink = [used.index(at) for at in _SHRINKING if at in used and is_narrow]
    return table(
        [[row[at] for at in used] for row in (head, *cells)],
        right=frozenset({len(used) - 1}),
        width=width,
        shrink=shrink,
    )


def _facts(store: SqliteStore, row: RunRow) -> dict[str, str]:
    newest = store.newest_iterations(row.id, row.loop, _SPARKS) if row.loop else []
    of = f"/{row.iterations_max}" if row.iterations_max else ""
    return {
        "status": badge(row.status, row.mark)[0],
        "workflow": line(row.name, 24),
        "run": row.id,
        "key": line(row.key, 24),
        "loop": line(row.loop, 24),
        "iteration": f"{row.iteration}{of}" if row.loop else "",
        "score": score(row.score) if row.loop else "",
        "curve": sparkline([one.score for one in newest]),
        "cost": dollars(row.cost_usd) if row.cost_usd else "-",
        "budget": f" / {allowed(row.budget_usd)}" if row.budget_usd is not None else "",
        "exit": row.exit_reason,
        "age": age(time.time() - row.updated_at),
    }


def _cells(fact: dict[str, str]) -> tuple[str, ...]:
    return (
        fact["status"],
        fact["workflow"],
        fact["run"],
        fact["key"],
        f"{fact['loop']} {fact['iteration']}".strip(),
        f"{fact['curve']} {fact['score']}".strip(),
        fact["cost"] + fact["budget"],
        fact["exit"],
        fact["age"],
    )


COMMANDS = {"ls": ls}
