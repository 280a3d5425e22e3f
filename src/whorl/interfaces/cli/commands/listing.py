"""`whorl ls`: the runs of the store, newest first."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.cli.view.closing import MARKS
from whorl.interfaces.cli.view.paint import paint
from whorl.interfaces.figures import age, dollars, line, score, sparkline, table

if TYPE_CHECKING:
    from whorl.interfaces.project import Project
    from whorl.runtimes.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore

STATUSES = ("running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled")
_SPARKS = 8
_HEAD = ("STATUS", "WORKFLOW", "RUN", "LOOP", "SCORE", "COST / BUDGET", "EXIT", "AGE")


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
            print_json([asdict(row) for row in rows])
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


def _show(store: SqliteStore, rows: list[RunRow]) -> None:
    now = time.time()
    lines = table([_HEAD, *(_cells(store, row, now) for row in rows)], right=frozenset({7}))
    click.echo(paint(lines[0], dim=True))
    for said, row in zip(lines[1:], rows, strict=True):
        mark = f"{MARKS[row.status][0]} {row.status}"
        click.echo(paint(mark, MARKS[row.status][1]) + said[len(mark) :])


def _cells(store: SqliteStore, row: RunRow, now: float) -> tuple[str, ...]:
    loop, curve = "", ""
    if row.loop:
        of = f"/{row.iterations_max}" if row.iterations_max else ""
        loop = f"{line(row.loop, 24)} {row.iteration}{of}"
        newest = store.newest_iterations(row.id, row.loop, _SPARKS)
        curve = f"{sparkline([one.score for one in newest])} {score(row.score)}".strip()
    cost = dollars(row.cost_usd) if row.cost_usd else "-"
    budget = f" / {dollars(row.budget_usd)}" if row.budget_usd is not None else ""
    mark = MARKS[row.status][0]
    return (
        f"{mark} {row.status}",
        line(row.name, 24),
        row.id,
        loop,
        curve,
        cost + budget,
        row.exit_reason,
        age(now - row.updated_at),
    )


COMMANDS = {"ls": ls}
