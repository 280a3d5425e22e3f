"""All runs of a project: `ls` lists them, `cost` adds up what they cost."""

from __future__ import annotations

import re
import time
from contextlib import closing
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, did_you_mean, plural, safe
from whorl.interfaces import formatting
from whorl.interfaces.cli.options import (
    NO_RUNS,
    dollars_given,
    json_option,
    located,
    print_json,
    read_labels,
)
from whorl.interfaces.cli.printing import summary
from whorl.interfaces.cli.printing.calls import clock
from whorl.interfaces.cli.terminal import badge, echo, paint, print_lines, room, say
from whorl.interfaces.formatting import age, cost_words, line, table, written
from whorl.interfaces.status_words import EXIT_REASONS
from whorl.runtimes.sqlite import RunFilter
from whorl.runtimes.sqlite.listing import EXPERIMENT, RESTORED, SORTS, UNLISTED
from whorl.services.inspecting import costs, results
from whorl.services.inspecting.places import split_place
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project


STATUSES = ("running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled")
_SPARKS = 8
_COST = "COST / BUDGET"
# Each column of `ls` with the facts that it is made of.
_COLUMNS = {
    "STATUS": "{status}",
    "WORKFLOW": "{workflow}",
    "RUN": "{run}",
    "KEY": "{key}",
    "LOOP": "{loop} {iteration}",
    "SCORE": "{curve} {score}",
    _COST: "{cost}{budget}",
    "EXIT": "{exit}",
    "WHY": "{held}",
    "PROJECT": "{project}",
    "AGE": "{age}",
}
# These are shown where they are asked for.
_MORE_COLUMNS = {
    "INPUT": "{input}",
    "STARTED": "{started}",
    "TIME": "{time}",
    "CALLS": "{calls}",
    "TOKENS": "{tokens}",
    "ERROR": "{error}",
    "FILE": "{file}",
    "ORIGIN": "{origin}",
    "LABELS": "{labels}",
}
_NAMES = {name.partition(" ")[0].lower(): name for name in (*_COLUMNS, *_MORE_COLUMNS)}
# These are always there, others only where a run has something in them.
_ALWAYS = ("STATUS", "WORKFLOW", "RUN")
_RIGHT = ("AGE", "TIME", "CALLS", "TOKENS")
# What a narrow terminal goes without, in this order; the columns that are cut without names.
_LESS = ("curve", "budget", "loop", "exit")
_SHRINKING = ("WORKFLOW", "KEY", "EXIT", "WHY", "PROJECT", "INPUT", "ERROR", "FILE", "LABELS")
# What `--exit` knows: why loops end, and the mark of a run in which one ended at a limit.
_ENDS = (*EXIT_REASONS, "limit")
_EMPTY = ("parent", "key", "loop", "exit_reason", "error", "mark", "origin", "held", "project")
_TIMES = "write how long ago (7d, 12h, 2w) or a date (2026-11-30)"
_AGO = re.compile(r"[0-9.]+ *[a-z]+", re.IGNORECASE)


def _moment(text: str) -> float:
    """A time that is told as how long ago it was, or as a date."""
    from whorl.ir.values import parse_duration

    try:
        if _AGO.fullmatch(text.strip()):
            return time.time() - parse_duration(text)
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as fault:
        raise click.BadParameter(f"{text!r} is not a time: {_TIMES}") from fault


def _columns(text: str) -> list[str]:
    wanted = [name.strip().lower() for name in text.split(",") if name.strip()]
    for name in wanted:
        if name not in _NAMES:
            hint = did_you_mean(name, _NAMES) or f"there are: {', '.join(_NAMES)}"
            raise UsageError(f"`ls` has no column {name!r}", help=hint)
    return [_NAMES[name] for name in wanted]


since_option = click.option("--since", type=_moment, metavar="TIME",
                            help="Only since then: 7d or 12h ago, or a date.")  # fmt: skip


@click.command(name="ls")
@click.argument("text", metavar="[TEXT]", default="")
@click.option("--status", type=click.Choice(STATUSES), help="Only runs in this state.")
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option("--exit", "ended", metavar="REASON",
              help="Only runs with a loop that ended for this reason, such as budget.")  # fmt: skip
@since_option
@click.option("--until", type=_moment, metavar="TIME", help="Only runs that began before then.")
@click.option("--min-cost", "cost_min", type=dollars_given, metavar="DOLLARS",
              help="Only runs that cost at least this.")  # fmt: skip
@click.option("--max-cost", "cost_max", type=dollars_given, metavar="DOLLARS",
              help="Only runs that cost at most this.")  # fmt: skip
@click.option("--sort", type=click.Choice(SORTS), default="started", show_default=True,
              help="Sort by this, the largest first.")  # fmt: skip
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE",
              help="Only runs with this label, those of experiments too. Repeatable.")  # fmt: skip
@click.option("--all", "shows_all", is_flag=True, help="Also the runs of experiments, and tries.")
@click.option("--reverse", "is_reversed", is_flag=True, help="In reverse order.")
@click.option("--columns", metavar="NAMES", help=f"Which columns: {', '.join(_NAMES)}.")
@click.option("--limit", "-n", type=click.IntRange(1), default=20, show_default=True,
              help="How many.")  # fmt: skip
@json_option
@located
def ls(
    project: Project,
    *,
    limit: int,
    columns: str | None,
    as_json: bool,
    workflow: str,
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
      whorl ls --columns run,input,time,cost
    """
    wanted = _columns(columns) if columns else []
    rows: list[RunRow] = []
    facts: list[dict[str, str]] = []
    more: int | None = 0
    has_runs = project.has_runs()
    if has_runs:
        with closing(project.open_store()) as store:
            asked = RunFilter(name=workflow, labels=tuple(read_labels(labels).items()), **which)
            hidden = () if shows_all or labels else UNLISTED
            rows = store.list_runs(replace(asked, without_key=hidden), limit)
            more = store.count_runs(replace(asked, key=EXPERIMENT)) if hidden else 0
            if not as_json:
                left = list(results.each_left(rows, lambda row: _run_facts(store, row, wanted)))
                rows, facts = [row for row, _ in left], [fact for _, fact in left]
    ended = which.get("ended")
    if not rows and ended and ended not in _ENDS:
        advice = did_you_mean(ended, _ENDS) or f"there is {', '.join(_ENDS)}"
        raise UsageError(f"no loop ends for the reason {ended!r}", help=advice)
    if rows and not as_json:
        _show_runs(rows, facts, wanted)
    elif not as_json:
        say("no such runs" if has_runs else NO_RUNS)
    else:
        print_json([_run_document(row) for row in rows])
    if more and not as_json:
        say(f"{plural(more, 'run')} of experiments not listed: --all, or --label experiment=NAME")


def _run_document(row: RunRow) -> dict[str, object]:
    """A row under the names that all documents of runs have."""
    columns = asdict(row)
    columns["cost_usd"] = row.known_usd
    document = {"run": columns.pop("id"), "workflow": columns.pop("name"), **columns}
    return document | {name: document[name] or None for name in _EMPTY}


def _show_runs(rows: list[RunRow], facts: list[dict[str, str]], wanted: list[str]) -> None:
    width = room()
    left_out = 0
    lines = _run_lines(facts, (), width, wanted)
    while width is not None and max(map(len, lines)) > width and left_out < len(_LESS):
        left_out += 1
        lines = _run_lines(facts, _LESS[:left_out], width, wanted)
    echo(paint(lines[0], dim=True))
    for text, row in zip(lines[1:], rows, strict=True):
        words, color = badge(row.status, row.mark)
        if wanted and wanted[0] != "STATUS":
            words = ""
        echo((paint(words, color) if words else "") + text[len(words) :])


def _run_lines(
    facts: list[dict[str, str]], without: tuple[str, ...], width: int | None, wanted: list[str]
) -> list[str]:
    """The table; unless columns are `wanted`, those in which no run has anything are left out."""
    texts = _COLUMNS | _MORE_COLUMNS
    kept = [fact | dict.fromkeys(without, "") for fact in facts]
    cells = [{n: text.format(**fact).strip() for n, text in texts.items()} for fact in kept]
    used = wanted or [n for n in _COLUMNS if n in _ALWAYS or any(row[n] for row in cells)]
    has_budget = any(" / " in row[_COST] for row in cells)
    head = [name if has_budget or name != _COST else "COST" for name in used]
    narrow = _SHRINKING if "loop" in without else ()
    return table(
        [head, *([row[name] for name in used] for row in cells)],
        right={at for at, name in enumerate(used) if name in _RIGHT},
        width=width,
        shrink=[used.index(name) for name in narrow if name in used],
    )


def _restored(row: RunRow) -> str:
    backup = row.labels.get(RESTORED)
    return f"calls may be made twice: from a backup of {backup}" if backup else ""


def _run_facts(store: SqliteStore, row: RunRow, wanted: list[str]) -> dict[str, str]:
    newest = store.newest_iterations(row.id, row.loop, _SPARKS) if row.loop else []
    of = f"/{row.iterations_max}" if row.iterations_max else ""
    # Of the loops of a list none speaks for the others.
    exits = store.exits(row.id) if "[" in row.loop else {}
    is_many = sum(exits.values()) > 1
    iteration = f"{row.iteration}{of}" if row.loop else ""
    given = results.input_of(store, row.id) if "INPUT" in wanted else ""
    return {
        "status": badge(row.status, row.mark)[0],
        "workflow": line(row.name, 24),
        "run": row.id,
        "key": line(row.key, 24),
        "loop": "" if is_many else safe(row.loop),
        "iteration": plural(sum(exits.values()), "loop") if is_many else iteration,
        "score": formatting.score(row.score) if row.loop and not is_many else "",
        "curve": "" if is_many else formatting.sparkline([each.score for each in newest]),
        "cost": cost_words(row) if row.cost_usd or row.unpriced_calls else "-",
        "budget": f" / {formatting.allowed(row.budget_usd)}" if row.budget_usd is not None else "",
        "exit": summary.ends_words(exits) if is_many else row.exit_reason,
        "held": line(row.held or _restored(row), 60),
        "project": line(row.belongs_to, 120),
        "age": age(time.time() - row.updated_at),
        "input": line(written(given), 60) if given else "",
        "started": clock(row.created_at),
        "time": formatting.seconds(worked) if (worked := formatting.worked(row)) else "-",
        "calls": str(row.calls or ""),
        "tokens": formatting.count(row.tokens) if row.tokens else "",
        "error": line(row.error, 60),
        "file": line(row.file, 60),
        "origin": row.origin,
        "labels": line(", ".join(f"{n}={v}" for n, v in row.labels.items()), 60),
    }


@click.command()
@click.argument("run", metavar="[RUN[/ADDRESS]]", required=False)
@click.option("--by", type=click.Choice(costs.WAYS), default="model",
              help="What to add up by. [default: model]")  # fmt: skip
@since_option
@click.option("--at", default="", metavar="ADDRESS", help="Only this loop, iteration or step.")
@click.option("--all", "with_tries", is_flag=True, help="Also what tries cost.")
@json_option
@located
def cost(
    project: Project,
    *,
    run: str | None,
    by: Any,
    since: float | None,
    at: str,
    with_tries: bool,
    as_json: bool,
) -> None:
    """Show what a RUN, or all runs, cost.

    \b
      whorl cost
      whorl cost --since 7d --by workflow
      whorl cost last --by iteration
      whorl cost "last/all[2]/polish"
      whorl cost --by day --json

    Each call is counted once, in the full hour in which it ended, and days are those of UTC. Calls
    of models without a known price are counted beside the sum: set prices in [prices.MODEL] of
    whorl.toml.
    """
    if at and run is None:
        raise UsageError("--at is a place in one run", help="say which, such as `last`")
    found = costs.Costs(by)
    if has_runs := run is not None or project.has_runs():
        with closing(project.open_store()) as store:
            name, at = split_place(run or "", at)
            chosen = find_run(store, name) if name else None
            found = costs.costs_of(
                store, by, run=chosen, at=at, since=since or 0.0, with_tries=with_tries
            )
    if as_json:
        print_json(found.document())
    elif not has_runs:
        say(NO_RUNS)
    else:
        print_lines(_cost_lines(found))


def _cost_lines(found: costs.Costs) -> list[str]:
    total = found.total
    head = (found.by.upper(), "MODEL CALLS", "OTHER CALLS", "INPUT", "OUTPUT", "COST", "IN DOUBT")
    cells = [head, *map(_cost_cells, (*found.lines, total))]
    used = [at for at in range(len(head)) if any(row[at] for row in cells[1:])]
    lines = table([[row[at] for at in used] for row in cells], right=range(1, len(used)))
    lines.append(f"{plural(found.runs, 'run')}, {summary.calls_made(asdict(total))}")
    if found.more:
        lines.append(f"only the {costs.RUNS_MAX:,} runs that were changed last are looked into")
    if total.unpriced_calls:
        unknown = plural(total.unpriced_calls, "call")
        are = "is" if total.unpriced_calls == 1 else "are"
        lines.append(f"{unknown} had no known price and {are} not in the sum: set [prices.MODEL]")
    return lines


def _cost_cells(usage: costs.Line) -> tuple[str, ...]:
    tokens = map(formatting.count, (usage.input_tokens, usage.output_tokens))
    others = usage.calls - usage.model_calls
    calls = (str(number or "") for number in (usage.model_calls, others))
    return (line(usage.name, 60), *calls, *tokens, cost_words(usage), str(usage.in_doubt or ""))
