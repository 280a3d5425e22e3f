"""`whorl prune`: deletes old runs, on request only."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.stage import perform
from whorl.interfaces.figures import bytes_words, plural
from whorl.interfaces.keeping import kept_as_configured

if TYPE_CHECKING:
    from whorl.interfaces.project import Project

FINISHED = ("succeeded", "failed", "cancelled")


@click.command()
@click.option("--older-than", metavar="TIME", help="How long ago a run must have ended, such as "
              "12h or 2w. [default: older_than of [retention] in whorl.toml, or 30d]")  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice((*FINISHED, "interrupted")),
              help="Only runs in this state. May be repeated. [default: all ended]")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@json_option
@located
@kept_as_configured
def prune(
    project: Project, *, older_than: str, statuses: tuple[str, ...], dry_run: bool, as_json: bool
) -> int:
    """Delete runs that ended long ago, with everything that only they use.

    \b
      whorl prune --older-than 30d --dry-run
    """
    from whorl.ir.durations import parse_duration

    try:
        seconds = parse_duration(older_than)
    except ValueError as fault:
        raise UsageError(f"--older-than: {fault}", help="write 30d, 12h or 2w") from fault
    project.open_store().close()
    return perform(_prune(project, seconds, statuses or FINISHED, dry_run=dry_run, as_json=as_json))


async def _prune(
    project: Project, seconds: float, statuses: tuple[str, ...], *, dry_run: bool, as_json: bool
) -> int:
    async with project.open_store() as store:
        pruned = await store.prune(seconds, statuses, dry_run=dry_run)
    if as_json:
        print_json({"runs": pruned.runs, "entries": pruned.entries, "bytes": pruned.bytes,
                    "dry_run": dry_run})  # fmt: skip
        return 0
    for run in pruned.runs:
        click.echo(run)
    verb = "would delete" if dry_run else "deleted"
    click.echo(f"{verb} {plural(len(pruned.runs), 'run')}, {bytes_words(pruned.bytes)}", err=True)
    return 0


COMMANDS = {"prune": prune}
