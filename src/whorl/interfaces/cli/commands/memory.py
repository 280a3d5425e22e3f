"""`whorl memory ls|rm`: what loops remember from run to run."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.cli.options import NO_RUNS, json_option, located, print_json
from whorl.interfaces.cli.stage import perform
from whorl.interfaces.figures import age, bytes_words, line, plural, table

if TYPE_CHECKING:
    from whorl.services.project import Project


@click.group()
def memory() -> None:
    """List or delete what loops remember across runs.

    \b
      whorl memory ls
    """


@memory.command(name="ls")
@json_option
@located
def memory_ls(project: Project, *, as_json: bool) -> int:
    """List the keys under which something is remembered."""
    if not project.has_runs():
        if as_json:
            print_json([])
        else:
            click.echo(NO_RUNS, err=True)
        return 0
    store = project.open_store()
    try:
        rows = store.memories()
        if as_json:
            print_json([asdict(row) | {"newest": store.memory(row.key)[-1:]} for row in rows])
            return 0
    finally:
        store.close()
    if not rows:
        click.echo("nothing is remembered", err=True)
        return 0
    now = time.time()
    cells = [
        (line(row.key, 60), str(row.records), bytes_words(row.bytes), age(now - row.updated_at))
        for row in rows
    ]
    for said in table([("KEY", "RECORDS", "SIZE", "AGE"), *cells], right=frozenset({1, 2, 3})):
        click.echo(said)
    return 0


@memory.command(name="rm")
@click.argument("key", metavar="KEY")
@json_option
@located
def memory_rm(project: Project, *, key: str, as_json: bool) -> int:
    """Delete everything that is remembered under KEY."""
    project.open_store().close()
    number = perform(_forget(project, key))
    if as_json:
        print_json({"key": key, "records": number})
    else:
        click.echo(f"deleted {plural(number, 'record')} of {key!r}")
    return 0


def _known(keys: list[str]) -> str:
    return f"keys: {', '.join(keys)}" if keys else "nothing is remembered at all"


async def _forget(project: Project, key: str) -> int:
    async with project.open_store() as store:
        known = [row.key for row in store.memories()]
        if key not in known:
            raise UsageError(
                f"nothing is remembered under {key!r}",
                help=did_you_mean(key, known) or _known(known),
            )
        return await store.forget(key)


COMMANDS = {"memory": memory}
