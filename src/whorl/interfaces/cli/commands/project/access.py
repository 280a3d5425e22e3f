"""Who may use a server, and who did what: `token` and `audit`."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import closing
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError
from whorl.interfaces.cli.commands.runs.lists import since_option
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.printing.calls import clock
from whorl.interfaces.cli.terminal import echo, print_lines, say
from whorl.interfaces.formatting import line, table
from whorl.runtimes.service.tables import Audit
from whorl.runtimes.service.tokens import ROLES, Role, Tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.runtimes.service.tables import AuditEntry
    from whorl.runtimes.service.tokens import Token
    from whorl.services.project import Project

_BARE = re.compile(r"[0-9.]*")


def _time(text: str) -> float:
    """A time in seconds; it needs a unit, since a bare number could be anything."""
    from whorl.ir.values import parse_duration

    try:
        if _BARE.fullmatch(text.strip()):
            raise ValueError(f"{text!r} has no unit")
        return parse_duration(text)
    except ValueError as fault:
        raise click.BadParameter(f"{fault}; write 30d, 12h or 15m") from fault


_expires_option = click.option(
    "--expires", "expires_s", type=_time, metavar="TIME", help="How long it is valid, such as 30d."
)


@click.group(cls=CommandGroup)
def token() -> None:
    """Make tokens for a server of this store, each with a name and a role.

    \b
      whorl token add ci --role run --expires 90d
      whorl token ls

    \b
    read   looks at everything
    run    starts and forks runs, too
    steer  pauses, cancels, approves, goes on, too
    admin  saves files, makes schedules and reads the audit, too
    """


@token.command(name="add")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="What it may do.")
@_expires_option
@json_option
@located
def token_add(
    project: Project, *, name: str, role: Role, expires_s: float | None, as_json: bool
) -> None:
    """Make a token and print it, this once: only a hash of it is kept.

    \b
      whorl token add ci --role run --expires 90d
    """
    made = _changed(project, lambda tokens: tokens.add(name, role, expires_s))
    _show(name, made, as_json=as_json)


@token.command(name="rotate")
@click.argument("name")
@click.option("--grace", "grace_s", type=_time, default="0s", metavar="TIME", show_default=True,
              help="How long the old one stays valid, such as 1h.")  # fmt: skip
@_expires_option
@json_option
@located
def token_rotate(
    project: Project, *, name: str, grace_s: float, expires_s: float | None, as_json: bool
) -> None:
    """Make a new token in the place of one, with the same name and role.

    \b
      whorl token rotate ci --grace 1h --expires 90d
    """
    made = _changed(project, lambda tokens: tokens.rotate(name, grace_s, expires_s))
    _show(name, made, as_json=as_json)


@token.command(name="rm")
@click.argument("name")
@located
def token_rm(project: Project, *, name: str) -> None:
    """End a token, and the sessions of the page that were opened with it, at once.

    \b
      whorl token rm ci
    """

    async def removed(tokens: Tokens) -> str:
        await tokens.remove(name)
        return ""

    _changed(project, removed)
    say(f"the token {name} was removed")


@token.command(name="ls")
@json_option
@located
def token_ls(project: Project, *, as_json: bool) -> None:
    """List the tokens, without the tokens themselves."""
    tokens: list[Token] = []
    if project.has_runs():
        with closing(project.open_store()) as store:
            tokens = Tokens(store).all()
    if as_json:
        names = ("name", "role", "created_at", "expires_at")
        print_json([{name: getattr(each, name) for name in names} for each in tokens])
        return
    rows = []
    for each in tokens:
        until = "never" if each.expires_at is None else clock(each.expires_at)
        expires = until if each.is_valid(time.time()) else f"{until} (expired)"
        rows.append((each.name, each.role, clock(each.created_at), expires))
    print_lines(table([("NAME", "ROLE", "MADE", "EXPIRES"), *rows]) if rows else [])
    if not rows:
        say("no tokens yet; make one with `whorl token add NAME --role read`")


def _changed(project: Project, change: Callable[[Tokens], Awaitable[str]]) -> str:
    async def work() -> str:
        async with project.open_store(create=True) as store:
            return await change(Tokens(store))

    return asyncio.run(work())


def _show(name: str, made: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "token": made})
        return
    echo(made)
    say(f"this is the token {name}; it is not shown again")


@click.command()
@since_option
@click.option("--who", default="", metavar="NAME", help="Only of this token or person.")
@click.option("--run", "about", default="", metavar="RUN", help="Only about this run.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 100_000),
              help="How many, the newest first.")  # fmt: skip
@json_option
@located
def audit(
    project: Project, *, since: float | None, who: str, about: str, limit: int, as_json: bool
) -> None:
    """Show who did what: over HTTP by the token's name, here by `command line USER`.

    \b
      whorl audit --since 7d
      whorl audit --who ci --json
    """
    from whorl.services.runs import find_run

    if about and not project.has_runs():
        raise UsageError(f"there is no run {about!r} in the store", code="W902")
    deeds: list[AuditEntry] = []
    if project.has_runs():
        with closing(project.open_store()) as store:
            run = find_run(store, about) if about else ""
            deeds = Audit(store).read(since=since or 0.0, who=who, run=run, limit=limit)
    if as_json:
        print_json([asdict(deed) for deed in deeds])
        return
    rows = [
        (clock(d.at), d.who, d.action, d.run or "-", line(d.file, 60) or "-", d.outcome)
        for d in reversed(deeds)
    ]
    if not rows:
        say("there are no such entries")
        return
    print_lines(table([("TIME", "WHO", "ACTION", "RUN", "ABOUT", "OUTCOME"), *rows]))
