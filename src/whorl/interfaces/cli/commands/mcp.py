"""`whorl mcp`: serves workflows as MCP tools on standard input and output."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whorl.errors import InvalidWorkflow, UsageError
from whorl.interfaces.cli.options import located

if TYPE_CHECKING:
    from whorl.interfaces.python import Workflow
    from whorl.services.project import Project

FILES_MAX = 500
_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
_FOLDERS = (".", "workflows")


@click.command()
@click.argument("files", metavar="[FILE]...", nargs=-1)
@click.option(
    "--wait",
    default=20.0,
    show_default=True,
    help="How many seconds a call waits for its run before it answers with the run's id.",
)
@located
def mcp(project: Project, *, files: tuple[str, ...], wait: float) -> int:
    """Serve workflows as MCP tools, for any MCP client.

    \b
      whorl mcp polish.yaml research.yaml
      whorl mcp                       # all workflows of the project's folder and of workflows/

    A long run answers with its id; the tool whorl_result fetches its result later.
    Needs the extra, from the folder of Whorl's source:

    \b
      .venv/bin/python -m pip install -e '.[mcp]'
    """
    try:
        import mcp.server  # noqa: F401
    except ImportError as error:
        from whorl.providers.tools.connection import INSTALL

        raise UsageError("the package mcp is not installed", help=INSTALL) from error
    found = _workflows(project, files)
    if not found:
        raise UsageError("there is no workflow to serve here", help="name files: whorl mcp FILE...")
    click.echo(f"serving {', '.join(found)}", err=True)
    asyncio.run(_serve(project, found, wait))
    return 0


async def _serve(project: Project, workflows: dict[str, Workflow], wait_s: float) -> None:
    from whorl.interfaces.mcp import WorkflowTools, serve_stdio
    from whorl.interfaces.python import Session

    config = None if project.config is None else str(project.config)
    async with Session(config=config, store=str(project.store)) as session:
        await serve_stdio(WorkflowTools(session, workflows, wait_s=wait_s))


def _workflows(project: Project, files: tuple[str, ...]) -> dict[str, Workflow]:
    from whorl.interfaces.mcp import tool_name
    from whorl.interfaces.python import Workflow

    found: dict[str, Workflow] = {}
    for file in files or _files_of(project):
        try:
            reading = project.read(file)
        except InvalidWorkflow as fault:
            if files:
                raise
            if all(one.code != "W018" for one in fault.diagnostics):
                click.echo(f"left out {file}: {fault.diagnostics[0].message}", err=True)
            continue
        name = tool_name(reading.workflow.name)
        if name in found:
            raise UsageError(
                f"two workflows are called {name!r}: {found[name].file} and {file}",
                help="name the files that are to be served",
            )
        found[name] = Workflow(
            reading.workflow.name, reading.workflow, file, dict(reading.sources), reading.warnings
        )
    return found


def _files_of(project: Project) -> list[str]:
    paths = [
        path
        for folder in _FOLDERS
        for path in sorted((project.root / folder).glob("*"))
        if path.suffix in _SUFFIXES and path.is_file()
    ]
    return [str(Path(path)) for path in paths[:FILES_MAX]]


COMMANDS = {"mcp": mcp}
