"""`whorl cost`: what runs cost, by model, step, loop, iteration, workflow or day."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.figures import count, dollars, line, plural, table
from whorl.services.inspection import WAYS, Line, roll_up, unknown_place
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from whorl.runtimes.journal import RunId
    from whorl.services.inspection import By
    from whorl.services.project import Project

RUNS_MAX = 10_000


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--by", type=click.Choice(WAYS), help="What to add up by. [default: model]")
@click.option("--at", default="", metavar="ADDRESS", help="Only this loop, iteration or step.")
@click.option("--limit", "-n", type=click.IntRange(1, RUNS_MAX), default=1_000, show_default=True,
              help="How many runs, newest first.")  # fmt: skip
@json_option
@located
def cost(project: Project, *, run: str | None, by: Any, at: str, limit: int, as_json: bool) -> int:
    """Show what a RUN, or all runs, cost.

    \b
      whorl cost
      whorl cost last --by iteration
      whorl cost last --at "all[2]/polish"
      whorl cost --by day --json

    Each call is counted once. Calls of models without a known price are told beside the sum:
    give their prices in [prices.MODEL] of whorl.toml.
    """
    if at and run is None:
        raise UsageError("--at is a place in one run", help="say which, such as `last`")
    number, lines = _counted(project, run, by or "model", limit, at)
    total = _total(lines)
    if as_json:
        print_json(
            {"by": by or "model", "lines": [asdict(o) for o in lines], "total": asdict(total)}
        )
        return 0
    if not number:
        click.echo(NO_RUNS, err=True)
        return 0
    for said in _told(lines, total, by or "model"):
        click.echo(said)
    click.echo(f"{plural(number, 'run')}, {plural(total.calls, 'call')}")
    if total.unpriced_calls:
        unknown = plural(total.unpriced_calls, "call")
        click.echo(f"{unknown} had no known price and are not in the sum: set [prices.MODEL]")
    return 0


def _counted(
    project: Project, run: str | None, by: By, limit: int, at: str
) -> tuple[int, list[Line]]:
    """How many runs were looked at, and what they used."""
    if run is None and not project.has_runs():
        return 0, []
    store = project.open_store()
    try:
        chosen: list[RunId]
        if run is not None:
            chosen = [find_run(store, run)]
        else:
            chosen = [row.id for row in store.runs(limit=limit)]
        if at and next(store.entries_at(chosen[0], at), None) is None:
            raise unknown_place(store, chosen[0], at)
        return len(chosen), roll_up(store, chosen, by, at)
    finally:
        store.close()


def _total(lines: list[Line]) -> Line:
    total = Line("total")
    for one in lines:
        total.calls += one.calls
        total.input_tokens += one.input_tokens
        total.output_tokens += one.output_tokens
        total.cost_usd += one.cost_usd
        total.unpriced_calls += one.unpriced_calls
        total.in_doubt += one.in_doubt
    return total


def _told(lines: list[Line], total: Line, by: str) -> list[str]:
    rows = [(by.upper(), "CALLS", "INPUT", "OUTPUT", "COST", "IN DOUBT")]
    for one in (*lines, total):
        priced = dollars(one.cost_usd)
        if one.unpriced_calls:
            priced = f"{priced} + ?" if one.cost_usd else "not known"
        rows.append(
            (
                line(one.name, 60),
                str(one.calls),
                count(one.input_tokens),
                count(one.output_tokens),
                priced,
                str(one.in_doubt or ""),
            )
        )
    return list(table(rows, right=frozenset({1, 2, 3, 4, 5})))


COMMANDS = {"cost": cost}
