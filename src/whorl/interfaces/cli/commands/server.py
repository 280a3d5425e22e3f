"""The commands that serve, `serve` and `mcp`, and those for access to it: `token` and `audit`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from whorl.errors import InvalidWorkflow, SeveralWorkflows, UsageError, safe
from whorl.interfaces.cli import commands
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import ask_for_trust, located, print_json, workflow_option
from whorl.interfaces.cli.terminal import echo, say
from whorl.interfaces.formatting import clock, line
from whorl.runtimes.service.tables import ROLES, Audit, Role, Tokens
from whorl.services.runs import find_run

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.interfaces.http.server import ListenOptions
    from whorl.interfaces.python.values import Workflow
    from whorl.runtimes.service.tables import AuditEntry
    from whorl.services.project import Project


PORT = 7411
FILES_MAX = 500
_SUFFIXES = (".yaml", ".yml", ".json")


@click.command()
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", default=PORT, show_default=True, type=click.IntRange(0, 65_535),
              help="Port to listen at; 0 takes any that is free.")  # fmt: skip
@click.option("--open/--no-open", "opens", default=None,
              help="Open the page in the browser. [default: on a terminal]")  # fmt: skip
@click.option("--token-file", metavar="FILE",
              help="File with the token; without it, each start makes a new one.")  # fmt: skip
@click.option("--behind-proxy", is_flag=True,
              help="Trust the X-Forwarded headers of a proxy in front.")  # fmt: skip
@click.option("--drain", type=click.FloatRange(0, 86_400), metavar="SECONDS",
              help="How long open calls may take to finish when the server is stopped. "
              "[default: drain of [server] in whorl.toml, or 20]")  # fmt: skip
@click.option("--log", "log_format", type=click.Choice(["text", "json"]), default="text",
              show_default=True, help="How the log is written; json: a line for each request and "
              "each run, too.")  # fmt: skip
@click.option("--edit", "edits", type=click.Choice(["local", "remote"]), is_flag=False,
              flag_value="local",
              help="Allow the page to save workflow files; `--edit remote` also for other machines."
              )  # fmt: skip
@partial(located, drives=True)
def serve(
    project: Project,
    *,
    file: str | None,
    host: str,
    port: int,
    opens: bool | None,
    token_file: str | None,
    behind_proxy: bool,
    drain: float | None,
    log_format: str,
    edits: str | None,
) -> None:
    """Serve the page and the HTTP API of this project; the printed link carries the token.

    \b
      whorl serve
      whorl serve polish.yaml         # the link leads to this workflow
      whorl serve flows:essay         # the same for one that is written in Python
      whorl serve --host 0.0.0.0 --token-file ~/.whorl-token --behind-proxy

    The server runs what you start on the page. It also resumes runs of this project whose server or
    background process has died. If the server is stopped, open calls may finish, and the next
    server resumes the runs.
    """
    from whorl.interfaces.http.auth import new_token, read_token
    from whorl.interfaces.http.server import ListenOptions, check_place

    token, odd = read_token(Path(token_file).expanduser()) if token_file else ("", [])
    place = ListenOptions(host, port, token, behind_proxy, edits is not None)
    if edits == "local" and not place.is_loopback:
        message = "anyone who has the token and reaches this address could write files"
        raise UsageError(message, help="to allow it: --edit remote")
    say(*(f"warning: {words}" for words in (*odd, *check_place(place))))
    chosen = replace(place, token=token or new_token())
    if opens is None:
        opens = sys.stdout.isatty() and sys.stderr.isatty() and chosen.is_loopback
    ask_for_trust(project)
    page = "" if file is None else _page_of(project, file)
    # A token of the operator's own is in a file, and stays there.
    _serve(project, chosen, drain, opens=opens, page=page, shown=not token_file, log=log_format)


def _page_of(project: Project, file: str) -> str:
    """Returns the page's address of a workflow; raises InvalidWorkflow if it has mistakes."""
    path = project.locate(file)
    project.read(path)
    if os.path.exists(path):
        file = os.path.relpath(os.path.realpath(path), project.root)
        if file.startswith(".."):
            raise UsageError(f"{path!r} is not in the project {str(project.root)!r}")
    return quote(f"workflows/start?file={quote(file, safe='')}")


def serve_page(project: Project, page: str) -> None:
    """Serves the page on this machine, allows it to save files, and opens one address of it."""
    from whorl.interfaces.http.auth import new_token
    from whorl.interfaces.http.server import ListenOptions

    ask_for_trust(project)
    _serve(
        project, ListenOptions(port=0, token=new_token(), edits=True), None, opens=True, page=page
    )


def _serve(
    project: Project,
    place: ListenOptions,
    drain_s: float | None,
    *,
    opens: bool,
    page: str,
    shown: bool = True,
    log: str = "text",
) -> None:
    """Serves until it is stopped; prints the link with the token if `shown`, else the address."""
    from whorl.interfaces.http.operations import begin_log
    from whorl.interfaces.http.server import serving

    async def work() -> None:
        async with serving(project, place, drain_s) as (server, address):
            link = f"{address}/#token={place.token}" + (f"&next=/{page}" if page else "")
            # A program reads the line as it is.
            stops = "  (Ctrl-C stops it)" if sys.stdout.isatty() else ""
            echo(f"{link if shown else address}{stops}")
            sys.stdout.flush()
            new = ", with a new store" * server.has_new_store
            say(f"serving {safe(str(project.root))}{new}")
            if opens:
                import webbrowser

                await asyncio.to_thread(webbrowser.open, link)
            await server.answer()

    _warn_of_trust(project)
    begin_log(log, project.secrets())
    asyncio.run(work())
    say("stopped; the next server resumes the runs that were running")


def _warn_of_trust(project: Project) -> None:
    refused = project.settings().untrusted
    if refused is not None:
        say(f"warning: no run is driven here: {safe(str(refused))}", f"  = help: {refused.help}")


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@workflow_option
@click.option("--wait", default=20.0, show_default=True,
              help="Seconds that a call waits for the result before it returns the run's id."
              )  # fmt: skip
@partial(located, drives=True)
def mcp(project: Project, *, files: tuple[str, ...], workflow: str, wait: float) -> None:
    """Serve workflows as MCP tools, for any MCP client.

    \b
      whorl server mcp polish.yaml research.yaml
      whorl server mcp                       # those of the project's folder and of workflows/

    A long run answers with its id; the tool whorl_result fetches its result later.
    Needs the extra, from the folder of Whorl's source:

    \b
      pip install 'whorl[mcp]'
    """
    try:
        import mcp.server  # noqa: F401
    except ImportError as error:
        from whorl.providers.tools.servers import INSTALL

        raise UsageError("the package mcp is not installed", help=INSTALL) from error
    from whorl.interfaces.mcp import serve_stdio

    workflows = served_workflows(project, files, workflow)
    if not workflows:
        words = "there is no workflow to serve here"
        raise UsageError(words, help="name files: whorl server mcp FILE...")
    _warn_of_trust(project)
    say(f"serving {', '.join(workflows)}")
    asyncio.run(serve_stdio(project, workflows, wait))


def served_workflows(
    project: Project, files: tuple[str, ...], chosen: str = ""
) -> dict[str, Workflow]:
    """Returns the workflows of files, or of the project's folder, by the names of their tools."""
    from whorl.interfaces.mcp import tool_name
    from whorl.interfaces.python.loading import workflow_from

    folders = (".", "workflows")
    paths = (p for f in folders for p in sorted((project.root / f).glob("*")) if p.is_file())
    workflows: dict[str, Workflow] = {}
    for file in files or [str(p) for p in paths if p.suffix in _SUFFIXES][:FILES_MAX]:
        try:
            try:
                found = [workflow_from(project, file, chosen)]
            except SeveralWorkflows as fault:
                if chosen:
                    raise
                found = [workflow_from(project, file, name) for name in fault.names]
        except InvalidWorkflow as fault:
            if files:
                raise
            if all(diagnostic.code != "W018" for diagnostic in fault.diagnostics):
                say(f"left out {file}: {fault.diagnostics[0].message}")
            continue
        for workflow in found:
            name = tool_name(workflow.name)
            if name in workflows:
                words = f"two workflows are called {name!r}: {workflows[name].file} and {file}"
                raise UsageError(words, help="name the files to serve")
            workflows[name] = workflow
    return workflows


_expires_option = click.option(
    "--expires", type=commands.duration, metavar="TIME", help="How long it is valid, such as 30d."
)


@click.group(cls=CommandGroup)
def token() -> None:
    """Make tokens for a server of this store, each with a name and a role.

    \b
      whorl server token add ci --role run --expires 90d
      whorl server token ls

    \b
    read   look at everything
    run    also start and fork runs
    steer  also pause, resume, continue, cancel and approve runs
    admin  also save files, make schedules and read the audit
    """


@token.command(name="add")
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), required=True, help="The role of the token.")
@_expires_option
@commands.with_json
def token_add(
    project: Project, *, name: str, role: Role, expires: float | None, as_json: bool
) -> None:
    """Make a token and print it, this once: only a hash of it is kept.

    \b
      whorl server token add ci --role run --expires 90d
    """
    _make(project, name, lambda tokens: tokens.add(name, role, expires), as_json=as_json)


@token.command(name="rotate")
@click.argument("name")
@click.option("--grace", type=commands.duration, default="0s", metavar="TIME", show_default=True,
              help="How long the old one stays valid, such as 1h.")  # fmt: skip
@_expires_option
@commands.with_json
def token_rotate(
    project: Project, *, name: str, grace: float, expires: float | None, as_json: bool
) -> None:
    """Make a new token in the place of one, with the same name and role.

    \b
      whorl server token rotate ci --grace 1h --expires 90d
    """
    _make(project, name, lambda tokens: tokens.rotate(name, grace, expires), as_json=as_json)


@token.command(name="rm")
@click.argument("name")
@located
def token_rm(project: Project, *, name: str) -> None:
    """End a token, and the sessions of the page that it opened.

    \b
      whorl server token rm ci
    """
    commands.change_store(project, lambda store: Tokens(store).remove(name), create=True)
    say(f"the token {name} was removed")


@token.command(name="ls")
@commands.with_json
def token_ls(project: Project, *, as_json: bool) -> None:
    """List the tokens, without the tokens themselves."""
    with commands.open_if_any(project) as store:
        tokens = [] if store is None else Tokens(store).all()
    names = ("name", "role", "created_at", "expires_at")
    documents = [{name: getattr(each, name) for name in names} for each in tokens]
    rows = []
    for each in tokens:
        until = "never" if each.expires_at is None else clock(each.expires_at)
        expires = until if each.is_valid(time.time()) else f"{until} (expired)"
        rows.append((each.name, each.role, clock(each.created_at), expires))
    head = ("NAME", "ROLE", "MADE", "EXPIRES")
    empty = "no tokens yet; make one with `whorl server token add NAME --role read`"
    commands.print_list(documents, head, rows, as_json=as_json, empty=empty)


def _make(
    project: Project, name: str, make: Callable[[Tokens], Awaitable[str]], *, as_json: bool
) -> None:
    made = commands.change_store(project, lambda store: make(Tokens(store)), create=True)
    if as_json:
        print_json({"name": name, "token": made})
    else:
        echo(made)
        say(f"token {name}; it is not shown again")


@click.command()
@commands.since_option
@click.option("--who", default="", metavar="NAME", help="Only entries of this token or person.")
@click.option("--run", default="", metavar="RUN", help="Only entries about this run.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1, 100_000),
              help="The number of rows, newest first.")  # fmt: skip
@commands.with_json
def audit(project: Project, *, since: float | None, run: str, as_json: bool, **which: Any) -> None:
    """Show who did what: over HTTP by the token's name, here by `command line USER`.

    \b
      whorl server audit --since 7d
      whorl server audit --who ci --json
    """
    deeds: list[AuditEntry] = []
    with commands.open_if_any(project, is_needed=bool(run)) as store:
        if store is not None:
            about = find_run(store, run) if run else ""
            deeds = Audit(store).read(since=since or 0.0, run=about, **which)
    rows = [(clock(d.at), d.who, d.action, d.run or "-", line(d.file, 60) or "-", d.outcome)
            for d in reversed(deeds)]  # fmt: skip
    head = ("TIME", "WHO", "ACTION", "RUN", "ABOUT", "OUTCOME")
    documents = [asdict(deed) for deed in deeds]
    commands.print_list(documents, head, rows, as_json=as_json, empty="there are no such entries")
