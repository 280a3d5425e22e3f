"""What a whorl.toml would permit, as it is shown to the person who is asked to trust it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import safe
from whorl.interfaces.cli.terminal import is_ours, paint, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.services.configuration.trust import Judged
    from whorl.services.project import Project

_TITLES = {
    "commands": "run commands",
    "code": "run code of the folder",
    "programs": "start programs",
    "addresses": "send to addresses",
    "notify": "notify",
    "network": "call private addresses",
    "files": "use files",
    "prices": "count money by",
    "deletion": "delete",
}


def judged_lines(judged: Judged) -> Iterator[str]:
    """What a whorl.toml would permit; of one that has changed, with a mark what is different."""
    path = safe(str(judged.path))
    match judged.standing:
        case "harmless":
            yield f"{path} permits nothing that needs trust"
            return
        case "changed":
            yield f"{path} has changed since you trusted it; it would permit workflows to"
        case "trusted":
            yield f"{path} is trusted, and permits workflows to"
        case "new" | "foreign":
            yield f"{path} would permit workflows to"
    is_changed = judged.standing == "changed"
    for right in judged.rights:
        mark = "+" if is_changed and right in judged.added else " "
        line = f"{mark} {_TITLES[right.kind]}: {safe(right.text)}"
        yield paint(line, "green") if mark == "+" else line
    for right in judged.removed if is_changed else ():
        yield paint(f"- {_TITLES[right.kind]}: {safe(right.text)}", "red")
    if is_changed and not judged.added and not judged.removed:
        yield "what it permits is as before; something else in it is different"


def ask_for_trust(project: Project) -> None:
    """Asks the person at the terminal about a whorl.toml that is not trusted; a yes is kept.

    Where nobody can be asked, whatever needs its rights is refused.
    """
    from whorl.services.configuration.trust import remember

    judged = project.configuration().judged
    if judged is None or judged.standing not in ("new", "changed"):
        return
    if not is_ours(sys.stdin, sys.stderr):
        return
    say(*judged_lines(judged))
    if click.confirm("trust it?", default=False, err=True):
        remember(project.environment, judged)
