"""What commands share: their project, the store that they look into or change, lists, times."""

from __future__ import annotations

import sys
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import click

from whorl.errors import plural
from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.cli.terminal import print_lines, say
from whorl.interfaces.formatting import bytes_words, table
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import Pruned, SqliteStore
    from whorl.services.project import Project

R = TypeVar("R")
_NO_UNIT = regex(r"[0-9.\s]*")
_AGO = regex(r"[0-9.]+ *[a-zA-Z]+")


def with_json(function: Callable[..., R], **how: bool) -> Callable[..., R]:
    """Makes a command that gets its project, and prints JSON with --json; `how` as `located`."""
    return json_option(located(function, **how))


def duration(text: str) -> float:
    """Reads a duration in seconds; it needs a unit, since a bare number could be anything."""
    from whorl.ir.values import parse_duration

    try:
        if _NO_UNIT.fullmatch(text):
            raise ValueError(f"{text.strip()!r} has no unit")
        return parse_duration(text)
    except ValueError as fault:
        raise click.BadParameter(f"{fault}; write 30d, 12h or 15m") from fault


def moment(text: str) -> float:
    """Reads a time, given as how long ago it was or as a date."""
    import time
    from datetime import datetime

    from whorl.ir.values import parse_duration

    try:
        if _AGO.fullmatch(text.strip()):
            return time.time() - parse_duration(text)
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError) as fault:
        forms = "write how long ago (7d, 12h, 2w) or a date (2026-11-30)"
        raise click.BadParameter(f"{text!r} is not a time: {forms}") from fault


yes_option = click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
since_option = click.option("--since", type=moment, metavar="TIME",
                            help="Only since then: 7d or 12h ago, or a date.")  # fmt: skip


@contextmanager
def open_run(project: Project, text: str, at: str = "") -> Iterator[tuple[SqliteStore, RunId, str]]:
    """Opens the store; yields it, the run of RUN or RUN/ADDRESS, and the address in it."""
    from whorl.services.inspecting.places import split_place
    from whorl.services.runs import find_run

    name, at = split_place(text, at)
    with closing(project.open_store()) as store:
        yield store, find_run(store, name), at


@contextmanager
def open_if_any(project: Project, *, is_needed: bool = False) -> Iterator[SqliteStore | None]:
    """Opens the store if it exists; yields None if not, since reading creates no store."""
    if not is_needed and not project.has_runs():
        yield None
        return
    with closing(project.open_store()) as store:
        yield store


def change_store(
    project: Project, change: Callable[[SqliteStore], Awaitable[R]], *, create: bool = False
) -> R:
    import asyncio

    async def work() -> R:
        async with project.open_store(create=create) as store:
            return await change(store)

    return asyncio.run(work())


def print_list(
    documents: object,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    as_json: bool,
    empty: str,
    right: Collection[int] = (),
) -> None:
    """Prints a list as JSON or as a table; says what an `empty` one means."""
    if as_json:
        print_json(documents)
    elif rows:
        print_lines(table([head, *rows] if head else rows, right=right))
    else:
        say(empty)


def deleting(command: Callable[..., R]) -> Callable[..., R]:
    """Adds the options of commands that delete runs."""
    words = "Show what would be deleted, and delete nothing."
    command = yes_option(command)
    return click.option("--dry-run", is_flag=True, help=words)(command)


def delete_runs(
    project: Project,
    delete: Callable[..., Awaitable[Pruned]],
    *,
    names: bool = False,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Deletes runs; asks first at a terminal, with their `names` or only their number."""
    from whorl.runtimes.sqlite import Pruned

    old = Pruned((), 0, 0, dry_run)
    if has_runs := project.has_runs():
        is_asked = not (dry_run or as_json or yes) and sys.stdin.isatty()
        old = change_store(project, partial(delete, dry_run=dry_run or is_asked))
        which = f" ({', '.join(old.runs)})" if names else ""
        if is_asked and old.runs:
            if not click.confirm(f"delete {_amount(old)}{which}?", err=True):
                say("nothing was deleted")
                return
            old = change_store(project, partial(delete, dry_run=False))
        if not dry_run:
            project.remove_workspaces(old.runs)
    if as_json:
        print_json(asdict(old))
    elif has_runs:
        print_lines(old.runs)
        say(f"{'would delete' if dry_run else 'deleted'} {_amount(old)}")
    else:
        say(NO_RUNS)


def _amount(pruned: Pruned) -> str:
    return f"{plural(len(pruned.runs), 'run')}, {bytes_words(pruned.bytes)}"
