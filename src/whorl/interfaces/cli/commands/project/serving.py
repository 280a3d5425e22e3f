"""What serves a project: `serve` its page and the HTTP API, `mcp` its workflows as tools."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click

from whorl.errors import InvalidWorkflow, SeveralWorkflows, UsageError, safe
from whorl.interfaces.cli.options import located, workflow_option
from whorl.interfaces.cli.terminal import echo, say
from whorl.interfaces.cli.trust import ask_for_trust

if TYPE_CHECKING:
    from whorl.interfaces.http.server import Place
    from whorl.interfaces.python.values import Workflow
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
              help="How long calls that are under way may take to end when the server is stopped. "
              "[default: drain of [server] in whorl.toml, or 20]")  # fmt: skip
@click.option("--log", "log_format", type=click.Choice(["text", "json"]), default="text",
              show_default=True, help="How the log is written; json: a line for each request and "
              "each run, too.")  # fmt: skip
@click.option("--edit", "edits", type=click.Choice(["local", "remote"]), is_flag=False,
              flag_value="local",
              help="Let the page save workflow files; `--edit remote` on other addresses, too."
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
    background process has died. When the server is stopped, calls that are under way may end, and
    the next server goes on with the runs.
    """
    from whorl.interfaces.http.auth import new_token, read_token
    from whorl.interfaces.http.server import Place, check_place

    token, odd = read_token(Path(token_file).expanduser()) if token_file else ("", [])
    place = Place(host, port, token, behind_proxy, edits is not None)
    if edits == "local" and not place.is_loopback:
        message = "everybody who has the token and reaches this address could write files"
        raise UsageError(message, help="write --edit remote if you want that")
    say(*(f"warning: {words}" for words in (*odd, *check_place(place))))
    chosen = replace(place, token=token or new_token())
    if opens is None:
        opens = sys.stdout.isatty() and sys.stderr.isatty() and chosen.is_loopback
    ask_for_trust(project)
    page = "" if file is None else _page_of(project, file)
    _serve_until_stopped(
        project, chosen, drain, opens=opens, shown=not token_file, page=page, log_format=log_format
    )


def _page_of(project: Project, file: str) -> str:
    """Where the page shows a workflow; raises InvalidWorkflow for one with mistakes."""
    path = project.locate(file)
    project.read(path)
    if os.path.exists(path):
        file = os.path.relpath(os.path.realpath(path), project.root)
        if file.startswith(".."):
            raise UsageError(f"{path!r} is not in the project {str(project.root)!r}")
    return quote(f"workflows/start?file={quote(file, safe='')}")


def serve_page(project: Project, page: str) -> None:
    """Serves the page on this machine, may save files, and opens one address of it."""
    from whorl.interfaces.http.auth import new_token
    from whorl.interfaces.http.server import Place

    place = Place(port=0, token=new_token(), edits=True)
    ask_for_trust(project)
    _serve_until_stopped(project, place, None, opens=True, page=page)


def _serve_until_stopped(
    project: Project,
    place: Place,
    drain_s: float | None,
    *,
    opens: bool,
    shown: bool = True,
    page: str = "",
    log_format: str = "text",
) -> None:
    from whorl.interfaces.http.operations import begin_log

    _warn_of_trust(project)
    begin_log(log_format, project.secrets())
    asyncio.run(_serve(project, place, drain_s, opens=opens, shown=shown, page=page))
    say("stopped; the next server goes on with runs that were under way")


def _warn_of_trust(project: Project) -> None:
    refused = project.settings().untrusted
    if refused is not None:
        say(f"warning: no run is driven here: {safe(str(refused))}", f"  = help: {refused.help}")


async def _serve(
    project: Project, place: Place, drain_s: float | None, *, opens: bool, shown: bool, page: str
) -> None:
    from whorl.interfaces.http.server import serving

    async with serving(project, place, drain_s) as (server, address):
        link = f"{address}/#token={place.token}" + (f"&next=/{page}" if page else "")
        # A token of the operator's own is in a file, and stays there.
        echo(link if shown else address)
        sys.stdout.flush()
        new = ", with a new store" * server.has_new_store
        say(f"serving {safe(str(project.root))}{new}; end with Ctrl-C")
        if opens:
            import webbrowser

            await asyncio.to_thread(webbrowser.open, link)
        await server.answer()


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@workflow_option
@click.option("--wait", default=20.0, show_default=True,
              help="How many seconds a call waits for its run before it answers with the run's id."
              )  # fmt: skip
@partial(located, drives=True)
def mcp(project: Project, *, files: tuple[str, ...], workflow: str, wait: float) -> None:
    """Serve workflows as MCP tools, for any MCP client.

    \b
      whorl mcp polish.yaml research.yaml
      whorl mcp                       # all workflows of the project's folder and of workflows/

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

    workflows = _workflows(project, files, workflow)
    if not workflows:
        raise UsageError("there is no workflow to serve here", help="name files: whorl mcp FILE...")
    _warn_of_trust(project)
    say(f"serving {', '.join(workflows)}")
    asyncio.run(serve_stdio(project, workflows, wait))


def _workflows(project: Project, files: tuple[str, ...], chosen: str = "") -> dict[str, Workflow]:
    from whorl.interfaces.mcp import tool_name

    folders = (".", "workflows")
    paths = (p for f in folders for p in sorted((project.root / f).glob("*")) if p.is_file())
    workflows: dict[str, Workflow] = {}
    for file in files or [str(p) for p in paths if p.suffix in _SUFFIXES][:FILES_MAX]:
        try:
            found = _found_in(project, file, chosen)
        except InvalidWorkflow as fault:
            if files:
                raise
            if all(diagnostic.code != "W018" for diagnostic in fault.diagnostics):
                say(f"left out {file}: {fault.diagnostics[0].message}")
            continue
        for workflow in found:
            name = tool_name(workflow.name)
            if name in workflows:
                raise UsageError(
                    f"two workflows are called {name!r}: {workflows[name].file} and {file}",
                    help="name the files that are to be served",
                )
            workflows[name] = workflow
    return workflows


def _found_in(project: Project, file: str, chosen: str) -> list[Workflow]:
    """The workflow of a file; of one that has several, all or the chosen one."""
    from whorl.interfaces.python.loading import workflow_from

    try:
        return [workflow_from(project, file, chosen)]
    except SeveralWorkflows as fault:
        if chosen:
            raise
        return [workflow_from(project, file, name) for name in fault.names]
