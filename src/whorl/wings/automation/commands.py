"""`server schedule` and `server hook`: workflows that the clock or other systems start."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whorl.errors import safe
from whorl.interfaces.cli import commands, options
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import located, print_json, workflow_option
from whorl.interfaces.cli.terminal import echo, say
from whorl.interfaces.formatting import age, clock, line
from whorl.services.runs import USUAL_URL
from whorl.wings.automation.registry import NewSchedule, Schedules
from whorl.wings.automation.webhooks import add_hook, known_hook, rotate_hook

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.sqlite.store import HookRow
    from whorl.services.project import Project
    from whorl.wings.automation.registry import Listed
    from whorl.wings.automation.webhooks import Format


R = TypeVar("R")


@click.group(cls=CommandGroup)
def schedule() -> None:
    """Start workflows on a schedule; a server (`whorl serve`) does it.

    \b
      whorl server schedule add digest.yaml --cron "0 7 * * mon-fri" --zone Europe/Berlin
      whorl server schedule ls
    """


@schedule.command(name="add")
@click.argument("file", metavar="FILE")
@click.argument("text", metavar="[TEXT]", required=False)
@click.option("--cron", metavar="EXPR", help="A cron expression: minute hour day month weekday.")
@click.option("--every", metavar="TIME", help="The interval between starts, such as 15m.")
@click.option("--zone", metavar="ZONE", help="The time zone of --cron. [default: UTC]")
@click.option("--overlap", type=click.Choice(["skip", "queue", "parallel"]), default="skip",
              show_default=True, help="What to do if its last run has not ended.")  # fmt: skip
@click.option("--backfill", is_flag=True, help="Also start runs for times without a server.")
@options.input_options
@options.budget_option("The most that each run may spend.")
@options.step_options
@click.option("--name", default="", metavar="NAME", help="Its name. [default: the workflow's]")
@options.workflow_option
@commands.with_json
def schedule_add(
    project: Project,
    *,
    file: str,
    text: str | None,
    inputs: tuple[str, ...],
    budget: float | None,
    workflow: str,
    as_json: bool,
    **as_given: Any,
) -> None:
    """Start FILE on a schedule. TEXT is its main input.

    \b
      whorl server schedule add digest.yaml --cron "30 2 * * *" --zone Europe/Berlin
      whorl server schedule add poll.yaml --every 15m --overlap queue -i source=inbox
    """
    read = project.read(project.locate(file), workflow).workflow
    new = NewSchedule(
        file=file,
        named=workflow,
        inputs=options.read_inputs(project, read, inputs, text=text),
        budget_usd=budget,
        **as_given,
    )

    async def add(schedules: Schedules) -> Listed:
        return schedules.show(await schedules.add(new))

    made = _change(project, add)
    if as_json:
        print_json(document(made))
        return
    echo(made.schedule.name)
    due = "never" if made.next is None else clock(made.next)
    say(f"{made.words}; next at {due}, by {_who(project)}")


@schedule.command(name="ls")
@commands.with_json
def schedule_ls(project: Project, *, as_json: bool) -> None:
    """List the schedules: when each is due, and how its last run ended."""
    with commands.open_if_any(project) as store:
        listed = [] if store is None else Schedules(project, store).listed()
    documents = [document(each) for each in listed]
    rows = [_row(project, each) for each in listed]
    head = ("NAME", "WHEN", "NEXT", "LAST", "FILE")
    empty = "no schedules yet; make one with `whorl server schedule add FILE --cron EXPR`"
    commands.print_list(documents, head, rows, as_json=as_json, empty=empty)
    for each in () if as_json else listed:
        if each.trouble:
            say(f"{each.schedule.name} starts nothing: {safe(each.trouble)}")


@schedule.command(name="pause")
@click.argument("name")
@located
def schedule_pause(project: Project, *, name: str) -> None:
    """Pause a schedule: it starts nothing until `whorl server schedule resume`."""
    _change(project, lambda schedules: schedules.table.pause(name, paused=True))
    say(f"{name} is paused; `whorl server schedule resume {name}` resumes it")


@schedule.command(name="resume")
@click.argument("name")
@located
def schedule_resume(project: Project, *, name: str) -> None:
    """Resume a schedule; the starts that were due in the pause are left out."""
    _change(project, lambda schedules: schedules.resume(name))
    say(f"{name} is resumed")


@schedule.command(name="run")
@click.argument("name")
@located
def schedule_run(project: Project, *, name: str) -> None:
    """Let a server start the workflow of a schedule now, even if it is paused."""
    _change(project, lambda schedules: schedules.table.ask(name))
    say(f"{name} is started by {_who(project)}")


@schedule.command(name="rm")
@click.argument("name")
@located
def schedule_rm(project: Project, *, name: str) -> None:
    """Remove a schedule; its runs stay."""
    _change(project, lambda schedules: schedules.table.remove(name))
    say(f"the schedule {name} was removed; its runs stay")


def _who(project: Project) -> str:
    if project.is_on_cluster:
        return "Temporal and a worker of this project: `whorl server worker`"
    return "a server of this store: `whorl serve`"


def _change(project: Project, change: Callable[[Schedules], Awaitable[R]]) -> R:
    return commands.change_store(
        project, lambda store: change(Schedules(project, store)), create=True
    )


def _row(project: Project, each: Listed) -> tuple[str, ...]:
    file = each.schedule.file.removeprefix(f"{project.root}/")
    due = "paused" if each.schedule.paused else "-" if each.next is None else clock(each.next)
    last = "-"
    for firing in each.firings[:1]:
        about = firing.run if firing.state == "started" else firing.reason
        last = f"{clock(firing.due)} {firing.state}{f': {about}' if about else ''}"
    return each.schedule.name, line(each.words, 50), due, line(last, 60), line(file, 40)


def document(each: Listed) -> dict[str, object]:
    """Returns a schedule as JSON for programs."""
    known = each.schedule
    own = ("name", "file", "overlap", "backfill", "inputs", "paused", "steps")
    firings = [{n: getattr(f, n) for n in ("due", "state", "run", "reason")} for f in each.firings]
    return {
        **{name: getattr(known, name) for name in own},
        "workflow": known.named,
        "when": each.words,
        "next": each.next,
        "budget_usd": known.limits.get("cost_usd"),
        "trouble": each.trouble,
        "firings": firings,
    }


# `whorl server hook`: addresses that other systems call to start a workflow, each with a secret.


@click.group(cls=CommandGroup)
def hook() -> None:
    """Make addresses that start workflows, for other systems to call.

    \b
      whorl server hook add review.yaml
      whorl server hook add review.yaml --name pushes --github
      whorl server hook ls

    `whorl serve` answers at them; `url` of [server] in whorl.toml says how others reach it.
    """


@hook.command(name="add")
@click.argument("file", metavar="FILE")
@click.option("--name", default="", metavar="NAME",
              help="Name in the address. [default: the workflow's]")  # fmt: skip
@click.option("--github", is_flag=True, help="Calls are signed as GitHub signs them.")
@workflow_option
@commands.with_json
def hook_add(
    project: Project, *, file: str, name: str, github: bool, workflow: str, as_json: bool
) -> None:
    """Make an address that starts the workflow FILE, and print its secret."""
    form: Format = "github" if github else "standard"

    async def add(store: SqliteStore) -> tuple[HookRow, str]:
        return await add_hook(project, store, file, name=name, workflow=workflow, form=form)

    _tell(project, add, as_json=as_json)


@hook.command(name="ls")
@commands.with_json
def hook_ls(project: Project, *, as_json: bool) -> None:
    """List the addresses; secrets are not shown."""
    with commands.open_if_any(project) as store:
        rows = [] if store is None else store.hooks()
    now, documents = time.time(), [_shown(project, row) for row in rows]
    cells = [
        (row.name, row.format, safe(row.file), age(now - row.created_at), _address(project, row))
        for row in rows
    ]
    head = ("NAME", "FORMAT", "FILE", "AGE", "ADDRESS")
    empty = "no hooks yet; make one with `whorl server hook add FILE`"
    commands.print_list(documents, head, cells, as_json=as_json, empty=empty, right={3})


@hook.command(name="rotate")
@click.argument("name", metavar="NAME")
@click.option("--keep", "keep_s", type=commands.duration, default="24h", show_default=True,
              metavar="TIME", help="How long the old secret stays valid, such as 1h.")  # fmt: skip
@commands.with_json
def hook_rotate(project: Project, *, name: str, keep_s: float, as_json: bool) -> None:
    """Give the hook NAME another secret; the old one counts for a while."""

    async def rotate(store: SqliteStore) -> tuple[HookRow, str]:
        return known_hook(store, name), await rotate_hook(store, name, keep_s)

    _tell(project, rotate, as_json=as_json)
    if keep_s:
        say(f"the old secret counts for another {age(keep_s)}")


@hook.command(name="rm")
@click.argument("name", metavar="NAME")
@located
def hook_rm(project: Project, *, name: str) -> None:
    """Delete the hook NAME; runs that it has started stay."""

    async def remove(store: SqliteStore) -> None:
        known_hook(store, name)
        await store.remove_hook(name)

    commands.change_store(project, remove, create=True)
    echo(f"deleted the hook {name!r}")


def _tell(
    project: Project,
    make: Callable[[SqliteStore], Awaitable[tuple[HookRow, str]]],
    *,
    as_json: bool,
) -> None:
    """Makes a hook or a secret, and prints it."""
    row, secret = commands.change_store(project, make, create=True)
    if as_json:
        print_json(_shown(project, row) | {"secret": secret})
        return
    echo(_address(project, row))
    echo(secret)
    say("the secret is shown this once; `whorl server hook rotate` makes another one")


def _shown(project: Project, row: HookRow) -> dict[str, Any]:
    own = ("name", "file", "format", "created_at")
    shown = {name: getattr(row, name) for name in own}
    return shown | {"workflow": row.workflow or None, "url": _address(project, row)}


def _address(project: Project, row: HookRow) -> str:
    return f"{project.settings().server.url or USUAL_URL}/hooks/{row.name}"
