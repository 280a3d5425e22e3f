"""The store: `ls` lists runs, `prune` deletes old ones, `memory` is of loops, `backup` copies."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces import figures
from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.cli.terminal import badge, paint, print_lines, room, say
from whorl.interfaces.figures import age, bytes_words, line, plural, table
from whorl.runtimes.sqlite import Pruned

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.runtimes.journal import RunRow
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.copies import Copied
    from whorl.services.project import Project


R = TypeVar("R")

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
    "AGE": "{age}",
}
# These are always there, others only where a run has something in them.
_ALWAYS = ("STATUS", "WORKFLOW", "RUN")
# What a narrow terminal goes without, in this order; the columns that are cut without names.
_LESS = ("curve", "budget", "loop", "exit")
_SHRINKING = ("WORKFLOW", "KEY", "EXIT", "WHY")
_EMPTY_AS_NULL = ("parent", "key", "loop", "exit_reason", "error", "mark", "origin", "held")
UNITS = "write 30d, 12h or 2w"
_BARE = re.compile(r"[0-9]*\.?[0-9]*")
FINISHED = ("succeeded", "failed", "cancelled")


@click.command(name="ls")
@click.option("--status", type=click.Choice(STATUSES), help="Only runs in this state.")
@click.option("--workflow", metavar="NAME", help="Only runs of this workflow.")
@click.option("--limit", "-n", type=click.IntRange(1), default=20, show_default=True,
              help="How many.")  # fmt: skip
@json_option
@located
def ls(
    project: Project, *, status: str | None, workflow: str | None, limit: int, as_json: bool
) -> None:
    """List runs, newest first.

    \b
      whorl ls --status waiting
    """
    rows: list[RunRow] = []
    has_runs = project.has_runs()
    if has_runs:
        with closing(project.open_store()) as store:
            rows = store.runs(status=status, name=workflow, limit=limit)
            facts = [] if as_json else [_run_facts(store, row) for row in rows]
    if rows and not as_json:
        _show_runs(rows, facts)
    elif not as_json:
        say("no such runs" if has_runs else NO_RUNS)
    else:
        print_json([_run_document(row) for row in rows])


def _run_document(row: RunRow) -> dict[str, object]:
    """A row under the names that all documents of runs have."""
    columns = asdict(row)
    document = {"run": columns.pop("id"), "workflow": columns.pop("name"), **columns}
    return document | {name: document[name] or None for name in _EMPTY_AS_NULL}


def _show_runs(rows: list[RunRow], facts: list[dict[str, str]]) -> None:
    width = room()
    left_out = 0
    lines = _run_lines(facts, (), width)
    while width is not None and max(map(len, lines)) > width and left_out < len(_LESS):
        left_out += 1
        lines = _run_lines(facts, _LESS[:left_out], width)
    click.echo(paint(lines[0], dim=True))
    for text, row in zip(lines[1:], rows, strict=True):
        words, color = badge(row.status, row.mark)
        click.echo(paint(words, color) + text[len(words) :])


def _run_lines(
    facts: list[dict[str, str]], without: tuple[str, ...], width: int | None
) -> list[str]:
    """The table; columns in which no run has anything are left out."""
    kept = [fact | dict.fromkeys(without, "") for fact in facts]
    cells = [{n: text.format(**fact).strip() for n, text in _COLUMNS.items()} for fact in kept]
    used = [name for name in _COLUMNS if name in _ALWAYS or any(row[name] for row in cells)]
    has_budget = any(" / " in row[_COST] for row in cells)
    head = [name if has_budget or name != _COST else "COST" for name in used]
    narrow = _SHRINKING if "loop" in without else ()
    return table(
        [head, *([row[name] for name in used] for row in cells)],
        right={len(used) - 1},
        width=width,
        shrink=[used.index(name) for name in narrow if name in used],
    )


def _run_facts(store: SqliteStore, row: RunRow) -> dict[str, str]:
    newest = store.newest_iterations(row.id, row.loop, _SPARKS) if row.loop else []
    of = f"/{row.iterations_max}" if row.iterations_max else ""
    return {
        "status": badge(row.status, row.mark)[0],
        "workflow": line(row.name, 24),
        "run": row.id,
        "key": line(row.key, 24),
        "loop": line(row.loop, 24),
        "iteration": f"{row.iteration}{of}" if row.loop else "",
        "score": figures.score(row.score) if row.loop else "",
        "curve": figures.sparkline([iteration.score for iteration in newest]),
        "cost": figures.dollars(row.cost_usd) if row.cost_usd else "-",
        "budget": f" / {figures.allowed(row.budget_usd)}" if row.budget_usd is not None else "",
        "exit": row.exit_reason,
        "held": line(row.held, 60),
        "age": age(time.time() - row.updated_at),
    }


@click.command()
@click.option("--older-than", metavar="TIME", help="How long ago a run must have ended, such as "
              "12h or 2w. [default: older_than of [retention] in whorl.toml, or 30d]")  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice((*FINISHED, "interrupted")),
              help="Only runs in this state. May be repeated. [default: all ended]")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask first, at a terminal.")
@json_option
@located
def prune(
    project: Project,
    *,
    older_than: str | None,
    statuses: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Delete runs that ended long ago, with everything that only they use.

    \b
      whorl prune --older-than 30d --dry-run
    """
    configured = project.settings().retention.older_than_s if older_than is None else None
    seconds = _seconds(older_than or "30d") if configured is None else configured
    wanted = statuses or FINISHED
    old = Pruned((), 0, 0, dry_run)
    if has_runs := project.has_runs():
        is_asked = not (dry_run or as_json or yes) and sys.stdin.isatty()
        old = _prune(project, seconds, wanted, dry_run=dry_run or is_asked)
        if is_asked and old.runs and not click.confirm(f"delete {_amount(old)}?", err=True):
            say("nothing was deleted")
            return
        if is_asked:
            old = _prune(project, seconds, wanted, dry_run=False)
    if as_json:
        print_json(asdict(old))
    elif has_runs:
        print_lines(old.runs)
        say(f"{'would delete' if dry_run else 'deleted'} {_amount(old)}")
    else:
        say(NO_RUNS)


def _seconds(text: str) -> float:
    """The age in seconds; a bare number would be seconds, which nobody means here."""
    from whorl.ir.values import parse_duration

    if _BARE.fullmatch(text.strip()):
        raise UsageError(f"--older-than {text.strip()} has no unit", help=UNITS)
    try:
        return parse_duration(text)
    except ValueError as fault:
        raise UsageError(f"--older-than: {fault}", help=UNITS) from fault


def _amount(pruned: Pruned) -> str:
    return f"{plural(len(pruned.runs), 'run')}, {bytes_words(pruned.bytes)}"


def _prune(project: Project, seconds: float, statuses: tuple[str, ...], *, dry_run: bool) -> Pruned:
    pruned = _change(project, lambda store: store.prune(seconds, statuses, dry_run=dry_run))
    if not dry_run:
        project.remove_workspaces(pruned.runs)
    return pruned


def _change(project: Project, change: Callable[[SqliteStore], Awaitable[R]]) -> R:
    async def work() -> R:
        async with project.open_store() as store:
            return await change(store)

    return asyncio.run(work())


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite FILE.")
@json_option
@located
def backup(project: Project, *, file: Path, force: bool, as_json: bool) -> None:
    """Copy the store to FILE while it is in use, and check the copy.

    \b
      whorl backup ~/backups/whorl.db
    """
    from whorl.services.copies import back_up

    with closing(project.open_store()) as store:
        copied = back_up(store, file, force=force)
    if as_json:
        print_json(asdict(copied))
        return
    click.echo(f"{copied.file}: {_content(copied)}, checked")
    if copied.under_way:
        say(f"{plural(len(copied.under_way), 'run')} of it went on meanwhile: "
            "what they do from now on is not in it")  # fmt: skip


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Put the store that is there aside.")
@json_option
@located
def restore(project: Project, *, file: Path, force: bool, as_json: bool) -> None:
    """Check the backup FILE, and put it in the place of the store.

    \b
      whorl restore ~/backups/whorl.db

    Runs that were under way when the backup was made are paused: they may have gone on since, and
    `whorl resume` makes again the calls that the backup does not know of, with the same keys.
    """
    from whorl.services.copies import restore as restore_backup

    copied = restore_backup(file, project.store, force=force)
    if as_json:
        print_json(asdict(copied))
        return
    click.echo(f"{copied.file}: {_content(copied)}, restored from {file}")
    if copied.aside:
        say(f"the store that was there is {copied.aside}")
    if copied.under_way:
        print_lines(copied.under_way)
        say(f"{plural(len(copied.under_way), 'run')} paused: what was done after the backup is not "
            "known, and `whorl resume RUN` makes such calls again, with the same keys")  # fmt: skip


def _content(copied: Copied) -> str:
    entries = f"{copied.entries:,} {'entry' if copied.entries == 1 else 'entries'}"
    return f"{plural(copied.runs, 'run')}, {entries}, {bytes_words(copied.bytes)}"


@click.group()
def memory() -> None:
    """List or delete what loops remember across runs.

    \b
      whorl memory ls
    """


@memory.command(name="ls")
@json_option
@located
def memory_ls(project: Project, *, as_json: bool) -> None:
    """List the keys under which something is remembered."""
    has_runs, memories = project.has_runs(), []
    if has_runs:
        with closing(project.open_store()) as store:
            memories = [(row, store.memory(row.key)[-1:]) for row in store.memories()]
    if as_json:
        print_json([asdict(row) | {"newest": newest} for row, newest in memories])
    elif not memories:
        say("nothing is remembered" if has_runs else NO_RUNS)
    else:
        now = time.time()
        cells = [
            (line(row.key, 60), str(row.records), bytes_words(row.bytes), age(now - row.updated_at))
            for row, _ in memories
        ]
        head = ("KEY", "RECORDS", "SIZE", "AGE")
        print_lines(table([head, *cells], right={1, 2, 3}))


@memory.command(name="rm")
@click.argument("key", metavar="KEY")
@json_option
@located
def memory_rm(project: Project, *, key: str, as_json: bool) -> None:
    """Delete everything that is remembered under KEY."""
    with closing(project.open_store()) as store:
        keys = [row.key for row in store.memories()]
    if key not in keys:
        words = f"keys: {', '.join(keys)}" if keys else "nothing is remembered at all"
        advice = did_you_mean(key, keys) or words
        raise UsageError(f"nothing is remembered under {key!r}", help=advice)
    number = _change(project, lambda store: store.forget(key))
    if as_json:
        print_json({"key": key, "records": number})
    else:
        click.echo(f"deleted {plural(number, 'record')} of {key!r}")
