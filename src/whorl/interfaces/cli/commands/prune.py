"""`whorl prune`: deletes old runs, on request only."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.cli.stage import perform
from whorl.interfaces.figures import bytes_words, plural
from whorl.interfaces.keeping import kept_as_configured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.runtimes.sqlite.retention import Pruned
    from whorl.services.project import Project

UNITS = "write 30d, 12h or 2w"
_BARE = re.compile(r"[0-9]*\.?[0-9]*")
FINISHED = ("succeeded", "failed", "cancelled")


@click.command()
@click.option("--older-than", metavar="TIME", help="How long ago a run must have ended, such as "
              "12h or 2w. [default: older_than of [retention] in whorl.toml, or 30d]")  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice((*FINISHED, "interrupted")),
              help="Only runs in this state. May be repeated. [default: all ended]")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask first, at a terminal.")
@json_option
@located
@kept_as_configured
def prune(
    project: Project,
    *,
    older_than: str,
    statuses: tuple[str, ...],
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Delete runs that ended long ago, with everything that only they use.

    \b
      whorl prune --older-than 30d --dry-run
    """
    seconds = _age(older_than)
    if not project.has_runs():
        if as_json:
            _print((), 0, 0, dry_run=dry_run)
        else:
            click.echo(NO_RUNS, err=True)
        return 0
    is_asked = not (dry_run or as_json or yes) and sys.stdin.isatty()
    wanted = statuses or FINISHED
    if is_asked and not _is_meant(perform(_prune(project, seconds, wanted, dry_run=True))):
        click.echo("nothing was deleted", err=True)
        return 0
    pruned = perform(_prune(project, seconds, wanted, dry_run=dry_run))
    if as_json:
        _print(pruned.runs, pruned.entries, pruned.bytes, dry_run=dry_run)
        return 0
    for run in pruned.runs:
        click.echo(run)
    verb = "would delete" if dry_run else "deleted"
    click.echo(f"{verb} {_amount(pruned)}", err=True)
    return 0


def _age(text: str) -> float:
    """The age in seconds; a bare number would be seconds, which nobody means here."""
    from whorl.ir.durations import parse_duration

    if _BARE.fullmatch(text.strip()):
        raise UsageError(f"--older-than {text.strip()} has no unit", help=UNITS)
    try:
        return parse_duration(text)
    except ValueError as fault:
        raise UsageError(f"--older-than: {fault}", help=UNITS) from fault


def _is_meant(found: Pruned) -> bool:
    """Asks the person at the terminal, where there is anything to delete."""
    return not found.runs or click.confirm(f"delete {_amount(found)}?", err=True)


def _amount(pruned: Pruned) -> str:
    return f"{plural(len(pruned.runs), 'run')}, {bytes_words(pruned.bytes)}"


def _print(runs: Sequence[str], entries: int, size: int, *, dry_run: bool) -> None:
    print_json({"runs": list(runs), "entries": entries, "bytes": size, "dry_run": dry_run})


async def _prune(
    project: Project, seconds: float, statuses: tuple[str, ...], *, dry_run: bool
) -> Pruned:
    async with project.open_store() as store:
        return await store.prune(seconds, statuses, dry_run=dry_run)


COMMANDS = {"prune": prune}
