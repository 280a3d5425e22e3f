"""Asks the user to trust a whorl.toml, or tools whose descriptions have changed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import UsageError, columns, did_you_mean, plural, safe
from whorl.interfaces.cli.terminal import echo, indented, is_ours, paint, room, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.providers.tools.tool_cache import ChangedTool, KnownTools
    from whorl.services.configuration.trust import Judged
    from whorl.services.project import Project

_COLORS = {"+": "green", "-": "red"}
_TITLES = {
    "code": "code of the folder",
    "addresses": "send to addresses",
    "network": "private addresses",
    "prices": "count costs by",
    "deletion": "delete",
}
_HEADS = {
    "harmless": " permits nothing that needs trust",
    "trusted": " is trusted, and permits: ",
    "changed": " has changed since you trusted it; it asks for:",
}


def judged_lines(judged: Judged) -> Iterator[str]:
    """Yields what a whorl.toml permits; if it has changed, differences are marked."""
    rights: dict[str, list[str]] = {}
    for right in judged.rights:
        rights.setdefault(_TITLES.get(right.kind, right.kind), []).append(safe(right.text))
    asked = [f"{title} {', '.join(texts)}" for title, texts in rights.items()]
    head = f"{safe(str(judged.path))}{_HEADS.get(judged.standing, ' asks for: ')}"
    if judged.standing != "changed":
        whole = f"{head}{'; '.join(asked)}"
        yield from [whole] if columns(whole) <= room() else [head.rstrip(), *indented(asked)]
        return
    yield head
    texts = {(right.kind, right.text) for right in judged.before}
    for right in judged.rights:
        mark = "+" if right in judged.added else " "
        # Where what is shown is the same, it is what is not shown.
        is_hidden = mark == "+" and (right.kind, right.text) in texts
        words = f"{mark} {_TITLES.get(right.kind, right.kind)}: {safe(right.text)}"
        words += " (changed values, which are not shown)" * is_hidden
        yield paint(words, "green") if mark == "+" else words
    still = {(right.kind, right.text) for right in judged.rights}
    for right in judged.removed:
        if (right.kind, right.text) not in still:
            yield paint(f"- {_TITLES.get(right.kind, right.kind)}: {safe(right.text)}", "red")
    if not judged.added and not judged.removed:
        yield "it permits the same as before; other parts of the file have changed"


def ask_for_trust(project: Project) -> None:
    """Asks the user at the terminal about a whorl.toml that is not trusted; remembers a yes.

    If the user cannot be asked, everything that needs its rights is refused.
    """
    from whorl.services.configuration.trust import remember

    judged = project.configuration().judged
    if judged is None or judged.standing not in ("new", "changed"):
        return
    if not is_ours(sys.stdin, sys.stderr):
        return
    say(*judged_lines(judged))
    if click.confirm("Trust it?", default=False, err=True):
        remember(project.environment, judged)


def accept_changes(project: Project, names: tuple[str, ...] = (), *, yes: bool = False) -> bool:
    """Shows changed descriptions of tools, and asks whether models may receive them."""
    known = known_tools(project)
    for name in names:
        if name not in known.names():
            advice = did_you_mean(name, known.names()) or "`whorl project tools ls` lists them"
            raise UsageError(f"no tool {name!r} is known", help=advice)
    changes = [change for change in known.changes() if not names or change.name in names]
    for change in changes:
        _show(change)
    if not changes:
        say("no tool is new, and no description has changed")
        return False
    if not yes:
        if not sys.stdin.isatty():
            words = "there is no terminal to ask at"
            raise UsageError(words, help="check the difference, then add --yes")
        words = f"let models see these descriptions of {plural(len(changes), 'tool')}?"
        if not click.confirm(words, err=True):
            return False
    again = known.accept(changes)
    say(f"accepted {', '.join(safe(change.name) for change in changes)}")
    for name in again:
        say(f"{safe(name)} has changed again, which was not accepted")
    return True


def known_tools(project: Project) -> KnownTools:
    from whorl.providers.tools.tool_cache import FILE_NAME, KnownTools

    project.check_store()
    return KnownTools(project.store.with_name(FILE_NAME), project.secrets())


def _show(change: ChangedTool) -> None:
    echo(f"{safe(change.name)} says:")
    for line in change.difference:
        echo(paint(f"  {safe(line)}", _COLORS.get(line[:1])))
