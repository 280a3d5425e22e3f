"""`whorl tools`: what tools of MCP servers say about themselves, and what has changed of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from whorl.errors import safe
from whorl.interfaces.cli.group import CommandGroup
from whorl.interfaces.cli.options import json_option, located, print_json
from whorl.interfaces.cli.terminal import print_lines, say
from whorl.interfaces.cli.trust import accept_changes, known_tools

if TYPE_CHECKING:
    from whorl.services.project import Project


@click.group(cls=CommandGroup)
def tools() -> None:
    """Show what tools of MCP servers say about themselves, and accept what is new or has changed.

    \b
      whorl tools ls
      whorl tools accept notes/add
    """


@tools.command(name="ls")
@json_option
@located
def tools_ls(project: Project, *, as_json: bool) -> None:
    """List the tools whose descriptions models were given, and changes to accept."""
    known = known_tools(project)
    names, changes = known.names(), known.changes()
    if as_json:
        changed: list[object] = [{"name": c.name, "difference": c.difference} for c in changes]
        print_json({"tools": names, "changed": changed})
        return
    waiting = {change.name for change in changes}
    print_lines([safe(f"{name}{'  (to accept)' if name in waiting else ''}") for name in names])
    if not names:
        say("no model was told of a tool yet")
    for change in changes:
        say(f"next: whorl tools accept {safe(change.name)}")


@tools.command(name="accept")
@click.argument("names", metavar="[SERVER/TOOL]...", nargs=-1)
@click.option("--yes", "-y", is_flag=True, help="Do not ask first.")
@located
def tools_accept(project: Project, *, names: tuple[str, ...], yes: bool) -> None:
    """Show which tools are new or describe themselves differently than before, and accept that.

    \b
      whorl tools accept notes/add
    """
    if not accept_changes(project, names, yes=yes):
        say("nothing was accepted")
