"""Shows what tools of MCP servers say otherwise than before, and asks whether that is fine."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, did_you_mean, safe
from whorl.interfaces.cli.terminal import paint, say
from whorl.interfaces.figures import plural

if TYPE_CHECKING:
    from whorl.providers.tools.known import ChangedTool, KnownTools
    from whorl.services.project import Project

_COLORS = {"+": "green", "-": "red"}


def accept_changes(project: Project, names: tuple[str, ...] = (), *, yes: bool = False) -> bool:
    """Shows what tools say otherwise than before, and asks whether models may be told it."""
    known = known_tools(project)
    changes = _chosen(known, names)
    for change in changes:
        _show(change)
    if not changes:
        say("no tool description has changed")
        return False
    if not yes:
        if not sys.stdin.isatty():
            words = "nobody can be asked here"
            raise UsageError(words, help="check the difference, then use --yes")
        words = f"let models see these descriptions of {plural(len(changes), 'tool')}?"
        if not click.confirm(words, err=True):
            return False
    known.accept(change.name for change in changes)
    say(f"accepted {', '.join(safe(change.name) for change in changes)}")
    return True


def known_tools(project: Project) -> KnownTools:
    from whorl.providers.tools.known import FILE_NAME, KnownTools

    return KnownTools(project.store.with_name(FILE_NAME))


def _chosen(known: KnownTools, names: tuple[str, ...]) -> list[ChangedTool]:
    """The changes that are meant: of all tools, or of those that are named."""
    for name in names:
        if name not in known.names():
            advice = did_you_mean(name, known.names()) or "`whorl tools ls` lists them"
            raise UsageError(f"no tool {name!r} is known", help=advice)
    return [change for change in known.changes() if not names or change.name in names]


def _show(change: ChangedTool) -> None:
    click.echo(f"{safe(change.name)} says:")
    for line in change.difference:
        click.echo(paint(f"  {safe(line)}", _COLORS.get(line[:1])))
