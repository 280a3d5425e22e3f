"""`whorl ls`: the runs of a project, in a table whose columns are chosen."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import plural, safe
from whorl.interfaces import formatting
from whorl.interfaces.cli import summary
from whorl.interfaces.cli.commands import open_if_any, since_option, with_json
from whorl.interfaces.cli.options import NO_RUNS, print_json, read_labels
from whorl.interfaces.cli.terminal import badge, echo, paint, room, say
from whorl.interfaces.formatting import line
from whorl.interfaces.status_words import EXIT_REASONS, exit_words
from whorl.runtimes.sqlite import RunFilter
from whorl.runtimes.sqlite.listing import EXPERIMENT, MOCKED, RESTORED, SORTS, UNLISTED
from whorl.services.inspecting import results

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

    Cells = dict[str, str]

STATUSES = ("running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled")
_SPARKS = 8
# These are always there, all others only if a run has something in them.
_ALWAYS = ("STATUS", "WORKFLOW", "RUN")
# These are cut on a narrow terminal.
_SHRINKING = ("WORKFLOW", "KEY", "LOOP", "EXIT", "WHY", "PROJECT")
# Below this width, these and budgets are left out.
_NARROW, _LATER = 90, ("KEY", "EXIT")
# What `--exit` knows: why loops end, and the mark of a run in which one ended at a limit.
_ENDS = (*EXIT_REASONS, "limit")
_EMPTY = ("parent", "key", "loop", "exit_reason", "error", "mark", "origin", "project")


@click.command(name="ls")
@click.argument("text", metavar="[TEXT]", default="")
@click.option("--status", type=click.Choice(STATUSES), help="Only runs in this state.")
@click.option("--workflow", "name", metavar="NAME", help="Only runs of this workflow.")
@click.option("--exit", "ended", metavar="REASON", type=click.Choice(_ENDS),
              help="Only runs with a loop that ended for this reason, such as budget.")  # fmt: skip
@since_option
@click.option("--sort", type=click.Choice(SORTS), default="started", show_default=True,
              help="Sort by this, the largest first.")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE",
              help="Only runs with this label, those of experiments too. Repeatable.")  # fmt: skip
@click.option("--all", "shows_all", is_flag=True, help="Include runs of experiments, and tries.")
@click.option("--limit", "-n", type=click.IntRange(1), default=20, show_default=True,
              help="The number of rows.")  # fmt: skip
@with_json
def ls(
    project: Project,
    *,
    limit: int,
    as_json: bool,
    labels: tuple[str, ...],
    shows_all: bool,
    **which: Any,
) -> None:
    """List runs, newest first; with TEXT only those that have it in an input, name, file or id.

    \b
      whorl ls --status waiting
      whorl ls harbour --since 7d
      whorl ls --exit budget --sort cost
      whorl ls --label experiment=polish --label variant=large
    """
    asked = RunFilter(labels=tuple(read_labels(labels).items()), **which)
    hidden = () if shows_all or labels else UNLISTED
    rows: list[RunRow] = []
    cells: list[Cells] = []
    more: int | None = 0
    with open_if_any(project) as store:
        if store is not None:
            rows = store.list_runs(replace(asked, without_key=hidden), limit)
            more = store.count_runs(replace(asked, key=EXPERIMENT)) if hidden else 0
            if not as_json:
                left = list(results.each_left(rows, lambda row: _cells(store, row)))
                rows, cells = [row for row, _ in left], [made for _, made in left]
    if as_json:
        print_json([_document(row) for row in rows])
        return
    if rows:
        _show(rows, cells)
    else:
        say(NO_RUNS if store is None else "no run matches")
    if more:
        say(f"{plural(more, 'run')} of experiments not listed: --all, or --label experiment=NAME")


def _document(row: RunRow) -> dict[str, object]:
    """A row under the names that all documents of runs have."""
    columns = asdict(row) | {"cost_usd": row.known_usd, "waiting_for": row.waiting_for}
    del columns["held"]
    document = {"run": columns.pop("id"), "workflow": columns.pop("name"), **columns}
    return document | {name: document[name] or None for name in _EMPTY}


def _show(rows: list[RunRow], cells: list[Cells]) -> None:
    """Prints the table without its empty columns, as wide as the terminal at most."""
    width = room()
    used = [name for name in cells[0] if name in _ALWAYS or any(row[name] for row in cells)]
    if width < _NARROW:
        used = [name for name in used if name not in _LATER]
        cells = [row | {"COST": row["COST"].partition(" / ")[0]} for row in cells]
    has_budget = any(" / " in row["COST"] for row in cells)
    head = ["COST / BUDGET" if has_budget and name == "COST" else name for name in used]
    table = [head, *([row[name] for name in used] for row in cells)]
    shrink = [used.index(name) for name in _SHRINKING if name in used]
    lines = formatting.table(table, right={used.index("AGE")}, width=width, shrink=shrink)
    echo(paint(lines[0], dim=True))
    for text, row in zip(lines[1:], rows, strict=True):
        words, color = badge(row.status, row.mark)
        echo(paint(words, color) + text[len(words) :])


def _cells(store: SqliteStore, row: RunRow) -> Cells:
    """Returns the cells of a run by column."""
    # Of the loops of a list none speaks for the others.
    exits = store.exits(row.id) if "[" in row.loop else {}
    if sum(exits.values()) > 1:
        loop, iteration, ended = "", plural(sum(exits.values()), "loop"), summary.ends_words(exits)
        curve = score = ""
    else:
        of = f"/{row.iterations_max}" if row.iterations_max else ""
        of = " (exploring)" if row.iterations_max and row.iteration > row.iterations_max else of
        loop, iteration, ended = (
            safe(row.loop),
            f"{row.iteration}{of}",
            exit_words(row.exit_reason, row.stopped_by),
        )
        iteration = iteration if row.loop else ""
        newest = store.newest_iterations(row.id, row.loop, _SPARKS) if row.loop else []
        curve = formatting.sparkline([each.score for each in newest])
        score = formatting.score(row.score) if row.loop else ""
    cost = formatting.cost_words(row) if row.cost_usd or row.unpriced_calls else "-"
    budget = f" / {formatting.allowed(row.budget_usd)}" if row.budget_usd is not None else ""
    backup = row.labels.get(RESTORED)
    restored = f"calls may be made twice: from a backup of {backup}" if backup else ""
    return {
        "STATUS": badge(row.status, row.mark)[0],
        "WORKFLOW": line(row.name, 24),
        "RUN": row.id,
        "KEY": line(row.key, 24),
        "LOOP": f"{loop} {iteration}".strip(),
        "SCORE": f"{curve} {score}".strip(),
        "COST": MOCKED if MOCKED in row.labels else f"{cost}{budget}",
        "EXIT": ended,
        "WHY": line(row.held or restored, 60),
        "PROJECT": line(row.belongs_to, 120),
        "AGE": formatting.age(time.time() - row.updated_at),
    }
