"""The store: `prune` deletes old runs, `memory` is what loops remember, `backup` copies it."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from whorl.errors import UsageError, did_you_mean, plural
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.cli.session import meant_run
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.interfaces.formatting import age, bytes_words, line, table
from whorl.runtimes.sqlite import Pruned
from whorl.runtimes.sqlite.listing import EXPERIMENT
from whorl.source.paths import check_inside

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.language import Json
    from whorl.runtimes.sqlite import MemoryRow, SqliteStore
    from whorl.services.backup import Copied
    from whorl.services.project import Project

    Deletion = Callable[[SqliteStore, bool], Awaitable[Pruned]]

R = TypeVar("R")

UNITS = "write 30d, 12h or 2w"
_BARE = re.compile(r"[0-9]*\.?[0-9]*")
FINISHED = ("succeeded", "failed", "cancelled")


@click.command()
@click.option("--older-than", metavar="TIME", help="How long ago a run must have ended, such as "
              "12h or 2w. [default: older_than of [retention] in whorl.toml, or 30d]")  # fmt: skip
@click.option("--status", "statuses", multiple=True, type=click.Choice((*FINISHED, "interrupted")),
              help="Only runs in this state. May be repeated. [default: all ended]")  # fmt: skip
@click.option("--run", "named", metavar="RUN", help="Only this run, however old: one that has "
              "ended, or whose journal is damaged.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask first, at a terminal.")
@click.option("--experiments", is_flag=True, help="Runs of experiments, too.")
@json_option
@located
def prune(
    project: Project,
    *,
    older_than: str | None,
    statuses: tuple[str, ...],
    named: str | None,
    dry_run: bool,
    yes: bool,
    experiments: bool,
    as_json: bool,
) -> None:
    """Delete runs that ended long ago, with everything that only they use.

    Runs of experiments stay, since their reports are made of them.

    \b
      whorl prune --older-than 30d --dry-run
      whorl prune --run last
    """
    if named is not None and (older_than is not None or statuses or experiments):
        raise UsageError("--run names one run: no other option chooses runs then")
    delete = _chosen(project, older_than, statuses or FINISHED, experiments=experiments)
    if named is not None:
        delete = partial(_delete_run, named)
    old = Pruned((), 0, 0, dry_run)
    if has_runs := project.has_runs():
        is_asked = not (dry_run or as_json or yes) and sys.stdin.isatty()
        old = _prune(project, delete, dry_run=dry_run or is_asked)
        which = "" if named is None else f" ({', '.join(old.runs)})"
        if is_asked and old.runs and not click.confirm(f"delete {_amount(old)}{which}?", err=True):
            say("nothing was deleted")
            return
        if is_asked:
            # `last` may be another one by now.
            if named is not None and old.runs:
                delete = partial(_delete_run, old.runs[0])
            old = _prune(project, delete, dry_run=False)
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


def _chosen(
    project: Project, older_than: str | None, statuses: tuple[str, ...], *, experiments: bool
) -> Deletion:
    """Deletes runs in these states that ended so long ago."""
    configured = project.settings().retention.older_than_s if older_than is None else None
    seconds = _seconds(older_than or "30d") if configured is None else configured
    kept = () if experiments else (EXPERIMENT,)
    return lambda store, dry_run: store.prune(seconds, statuses, dry_run=dry_run, without_key=kept)


def _delete_run(named: str, store: SqliteStore, dry_run: bool) -> Awaitable[Pruned]:
    return store.remove_run(meant_run(store, named), dry_run=dry_run)


def _prune(project: Project, delete: Deletion, *, dry_run: bool) -> Pruned:
    pruned = _change(project, lambda store: delete(store, dry_run))
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
    from whorl.services.backup import back_up

    check_inside(project.root, str(file))
    with closing(project.open_store()) as store:
        copied = back_up(store, file, project.registry_of(project.store), force=force)
    if as_json:
        print_json(asdict(copied))
        return
    echo(f"{copied.file}: {_content(copied)}, checked")
    if copied.under_way:
        say(f"{plural(len(copied.under_way), 'run')} of it continued during the copy: "
            "what they do from now on is not in it")  # fmt: skip
    if not copied.is_whole:
        say("it is not known as yours: `whorl restore` takes its runs as history, and nothing else")


@click.command()
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Put the store that is there aside.")
@json_option
@located
def restore(project: Project, *, file: Path, force: bool, as_json: bool) -> None:
    """Check the backup FILE, and put it in the place of the store.

    \b
      whorl restore ~/backups/whorl.db

    Runs that were under way when the backup was made, or waited for a person with a time limit, are
    paused: they may have gone on since, and
    `whorl resume` makes again the calls that the backup does not know of, with the same keys.
    Of a file that is not as `whorl backup` wrote it for you, only runs are taken, as history.
    """
    from whorl.services.backup import restore as restore_backup

    if project.is_on_cluster:
        # It pauses runs in the copy, and those of a cluster are paused in no copy.
        words = "the runs of a cluster are Temporal's: a backup of their mirror cannot pause them"
        advice = f"end all servers, and copy the file to {project.mirror}"
        raise UsageError(words, help=advice, code="W920")
    project.check_store()
    copied = restore_backup(file, project.store, project.registry_of(project.store), force=force)
    _tell(copied, f"restored from {file}", as_json=as_json)


@click.command()
@json_option
@located
def adopt(project: Project, *, as_json: bool) -> None:
    """Copy the runs of a store that you have not made into one of your own.

    \b
      whorl adopt

    They come as history that has ended. Tokens, schedules, hooks, memories and runs that wait do
    not come along. The store that was there is kept beside the new one.
    """
    from whorl.services.backup import adopt as adopt_store

    project.check_store()
    is_mirror = project.is_on_cluster
    path = project.mirror if is_mirror else project.store
    copied = adopt_store(path, project.registry_of(path), is_mirror=is_mirror)
    _tell(copied, "made again from the cluster" if is_mirror else "now your own", as_json=as_json)


def _tell(copied: Copied, what: str, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(copied))
        return
    echo(f"{copied.file}: {_content(copied)}, {what}")
    if copied.aside:
        say(f"the store that was there is {copied.aside}")
    if not copied.is_whole:
        say("its runs are history that has ended; tokens, schedules, hooks, memories and runs that "
            "wait were left out")  # fmt: skip
    elif copied.under_way:
        print_lines(copied.under_way)
        say(f"{plural(len(copied.under_way), 'run')} paused: what was done after the backup is not "
            "known, and `whorl resume RUN` makes such calls again, with the same keys")  # fmt: skip


def _content(copied: Copied) -> str:
    entries = plural(copied.entries, "entry", "entries")
    return f"{plural(copied.runs, 'run')}, {entries}, {bytes_words(copied.bytes)}"


@click.group(cls=CommandGroup)
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
    has_runs = project.has_runs()
    memories = _remembered(project) if has_runs else []
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
    keys = [row.key for row, _ in _remembered(project)]
    if key not in keys:
        words = f"keys: {', '.join(keys)}" if keys else "nothing is remembered at all"
        advice = did_you_mean(key, keys) or words
        raise UsageError(f"nothing is remembered under {key!r}", help=advice)
    if project.is_on_cluster:
        from whorl.runtimes.runtime import cluster

        number = cluster().forget(project.settings().runtime.temporal, key)
    else:
        number = _change(project, lambda store: store.forget(key))
    if as_json:
        print_json({"key": key, "records": number})
    else:
        echo(f"deleted {plural(number, 'record')} of {key!r}")


def _remembered(project: Project) -> list[tuple[MemoryRow, list[Json]]]:
    """What is remembered under each key, and the newest record of each."""
    if project.is_on_cluster:
        from whorl.runtimes.runtime import cluster

        return cluster().memory(project.settings().runtime.temporal)
    with closing(project.open_store()) as store:
        return [(row, store.memory(row.key)[-1:]) for row in store.memories()]
