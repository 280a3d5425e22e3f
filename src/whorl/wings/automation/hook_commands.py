"""`whorl hook`: addresses that other systems call to start a workflow, each with a secret."""

from __future__ import annotations

import asyncio
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whorl.errors import UsageError, safe
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import json_option, located, print_json, workflow_option
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.interfaces.formatting import age, table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.sqlite.store import HookRow
    from whorl.services.project import Project

R = TypeVar("R")

_ONCE = "the secret is shown this once; `whorl hook rotate` makes another one"


@click.group(cls=CommandGroup)
def hook() -> None:
    """Make addresses that start workflows, for other systems to call.

    \b
      whorl hook add review.yaml
      whorl hook add review.yaml --name pushes --github
      whorl hook ls

    `whorl serve` answers at them; `url` of [server] in whorl.toml says how others reach it.
    """


@hook.command(name="add")
@click.argument("file", metavar="FILE")
@click.option("--name", default="", metavar="NAME",
              help="Name in the address. [default: the workflow's]")  # fmt: skip
@click.option("--github", is_flag=True, help="Calls are signed as GitHub signs them.")
@workflow_option
@json_option
@located
def hook_add(
    project: Project, *, file: str, name: str, github: bool, workflow: str, as_json: bool
) -> None:
    """Make an address that starts the workflow FILE, and print its secret."""
    from whorl.wings.automation.webhooks import add_hook

    row, secret = _with_store(
        project,
        lambda store: add_hook(
            project,
            store,
            file,
            name=name,
            workflow=workflow,
            form="github" if github else "standard",
        ),
    )
    _tell(project, row, secret, as_json=as_json)


@hook.command(name="ls")
@json_option
@located
def hook_ls(project: Project, *, as_json: bool) -> None:
    """List the addresses; secrets are not shown."""
    rows: list[HookRow] = []
    if project.has_runs():
        with closing(project.open_store()) as store:
            rows = store.hooks()
    if as_json:
        print_json([_shown(project, row) for row in rows])
        return
    if not rows:
        say("no hooks yet; make one with `whorl hook add FILE`")
        return
    now = time.time()
    cells = [
        (row.name, row.format, safe(row.file), age(now - row.created_at), _address(project, row))
        for row in rows
    ]
    print_lines(table([("NAME", "FORMAT", "FILE", "AGE", "ADDRESS"), *cells], right={3}))


@hook.command(name="rotate")
@click.argument("name", metavar="NAME")
@click.option("--keep", default="24h", show_default=True, metavar="TIME",
              help="How long the old secret counts beside the new one.")  # fmt: skip
@json_option
@located
def hook_rotate(project: Project, *, name: str, keep: str, as_json: bool) -> None:
    """Give the hook NAME another secret; the old one counts for a while."""
    from whorl.ir.values import parse_duration
    from whorl.wings.automation.webhooks import known_hook, rotate_hook

    try:
        keep_s = parse_duration(keep)
    except ValueError as fault:
        raise UsageError(f"--keep: {fault}", help="write 24h, 30m or 0s") from fault

    async def rotate(store: SqliteStore) -> tuple[HookRow, str]:
        return known_hook(store, name), await rotate_hook(store, name, keep_s)

    row, secret = _with_store(project, rotate)
    _tell(project, row, secret, as_json=as_json)
    if keep_s:
        say(f"the old secret counts for another {age(keep_s)}")


@hook.command(name="rm")
@click.argument("name", metavar="NAME")
@json_option
@located
def hook_rm(project: Project, *, name: str, as_json: bool) -> None:
    """Delete the hook NAME; runs that it has started stay."""
    from whorl.wings.automation.webhooks import known_hook

    async def remove(store: SqliteStore) -> None:
        known_hook(store, name)
        await store.remove_hook(name)

    _with_store(project, remove)
    if as_json:
        print_json({"name": name})
    else:
        echo(f"deleted the hook {name!r}")


def _with_store(project: Project, change: Callable[[SqliteStore], Awaitable[R]]) -> R:
    async def work() -> R:
        async with project.open_store(create=True) as store:
            return await change(store)

    return asyncio.run(work())


def _tell(project: Project, row: HookRow, secret: str, *, as_json: bool) -> None:
    if as_json:
        print_json(_shown(project, row) | {"secret": secret})
        return
    echo(_address(project, row))
    echo(secret)
    say(_ONCE)


def _shown(project: Project, row: HookRow) -> dict[str, Any]:
    shown = {"name": row.name, "file": row.file, "workflow": row.workflow or None}
    address = {"format": row.format, "url": _address(project, row)}
    return {**shown, **address, "created_at": row.created_at}


def _address(project: Project, row: HookRow) -> str:
    from whorl.services.runs import USUAL_URL

    return f"{project.settings().server.url or USUAL_URL}/hooks/{row.name}"
