"""Asks the user to trust a whorl.toml."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whorl.errors import columns, safe
from whorl.interfaces.cli.terminal import indented, is_ours, paint, room, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.services.configuration.trust import Judged
    from whorl.services.project import Project

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
