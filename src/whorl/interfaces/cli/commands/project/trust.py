"""Trusting a folder: `trust` shows what its whorl.toml permits."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import UsageError, safe
from whorl.interfaces.cli.options import json_option, print_json
from whorl.interfaces.cli.terminal import is_ours, print_lines, say
from whorl.interfaces.cli.trust import judged_lines
from whorl.interfaces.formatting import age, table

if TYPE_CHECKING:
    from whorl.providers.settings.rights import Right
    from whorl.services.configuration.trust import Judged
    from whorl.services.project import Project

# What is said about a file that was trusted, and is not as it was then.
_SINCE = {
    "changed": "changed since: it does not count",
    "foreign": "belongs to another user now: it does not count",
    "unreadable": "cannot be read now",
    "gone": "no longer there",
}


@click.command()
@click.argument("path", metavar="[PATH]", required=False)
@click.option("--list", "lists", is_flag=True, help="List what is trusted.")
@click.option("--remove", "removes", is_flag=True, help="Trust PATH no longer.")
@click.option("--yes", is_flag=True, help="Trust it without asking.")
@json_option
def trust(*, path: str | None, lists: bool, removes: bool, yes: bool, as_json: bool) -> int:
    """Show what the whorl.toml of a folder permits, and trust it as it is.

    \b
      whorl trust
      whorl trust ../other --yes
      whorl trust --list

    PATH is a folder or its whorl.toml; without it, the project that you are in. Nothing of a
    whorl.toml that is not trusted is run, sent or read from the environment.
    """
    from whorl.services.discovery import Catalogue

    if lists:
        return _list(as_json=as_json)
    if removes:
        return _remove(path, as_json=as_json)
    project, judged = _found(path)
    reads = Catalogue(project).reads()
    if not as_json:
        print_lines(judged_lines(judged))
        print_lines([f"its workflows read {safe(', '.join(reads))}"] if reads else ())
    is_trusted = _settle(judged, yes=yes, as_json=as_json)
    if as_json:
        print_json(_document(judged) | {"reads": reads, "trusted": is_trusted})
    return 0 if is_trusted or as_json else 1


def _config(path: str) -> Path:
    """The whorl.toml that a person means, by the path under which trust knows it.

    In its place a folder may have the configuration of another system.
    """
    from whorl.services.configuration.foreign import find_foreign
    from whorl.services.configuration.trust import CONFIG_NAME

    given = Path(path).expanduser()
    folder = (given if given.is_dir() or given.name != CONFIG_NAME else given.parent).resolve()
    folder = folder.parent if folder.is_file() else folder
    own = folder / CONFIG_NAME
    return own if own.is_file() else find_foreign(folder) or own


def _found(path: str | None) -> tuple[Project, Judged]:
    """The whorl.toml that a person means, and its project. Raises UsageError for none."""
    from whorl.services.configuration.trust import CONFIG_NAME
    from whorl.services.project import find_project

    folder = None if path is None else _config(path).parent
    project = find_project(os.environ, folder=folder)
    is_meant = folder is None or project.root == folder
    judged = project.configuration().judged if is_meant else None
    if judged is None:
        words = f"there is no {CONFIG_NAME} in {str(folder or project.root)!r}"
        raise UsageError(words, help="a folder without one needs no trust")
    return project, judged


def _settle(judged: Judged, *, yes: bool, as_json: bool) -> bool:
    """Whether it is trusted in the end."""
    from whorl.services.configuration.trust import remember

    if judged.standing == "foreign":
        raise judged.refusal() or AssertionError
    if not yes and judged.is_trusted:
        return True
    if not yes:
        if as_json:
            return False
        if not is_ours(sys.stdin, sys.stderr):
            raise UsageError("nobody can be asked here", help="read it, then say --yes")
        if not click.confirm("trust it?", default=False, err=True):
            say("it is not trusted")
            return False
    remember(os.environ, judged)
    if not as_json:
        say(f"trusted: {safe(str(judged.path))}")
    return True


def _document(judged: Judged) -> dict[str, Any]:
    return {
        "path": str(judged.path),
        "sha256": judged.digest,
        "standing": judged.standing,
        "permits": [_right(right) for right in judged.rights],
        "added": [_right(right) for right in judged.added] if judged.before else [],
        "removed": [_right(right) for right in judged.removed],
    }


def _right(right: Right) -> dict[str, str]:
    """A right as it is shown; one with other values is both added and removed."""
    return {"kind": right.kind, "text": right.text}


def _remove(path: str | None, *, as_json: bool) -> int:
    from whorl.services.configuration.trust import forget
    from whorl.services.project import find_project

    file = _config(path or str(find_project(os.environ).root))
    is_removed = forget(os.environ, file)
    if as_json:
        print_json({"path": str(file), "removed": is_removed})
    else:
        say(safe(f"{file} is no longer trusted" if is_removed else f"{file} was not trusted"))
    return 0


def _now(path: str) -> str:
    """How a whorl.toml stands today that was trusted once; what it cannot be is "new"."""
    from whorl.services.project import find_project

    file = Path(path)
    if not file.is_file():
        return "gone"
    try:
        judged = find_project(os.environ, folder=file.parent).configuration().judged
    except UsageError:
        return "unreadable"
    return "gone" if judged is None or judged.path != file else judged.standing


def _list(*, as_json: bool) -> int:
    from whorl.services.configuration.trust import read_records

    records = read_records(os.environ)
    if as_json:
        names = ("path", "sha256", "at", "standing")
        fields = [(path, each.digest, each.at, _now(path)) for path, each in records.items()]
        print_json([dict(zip(names, each, strict=True)) for each in fields])
        return 0
    now = time.time()
    ages = {path: f"{age(now - entry.at)} ago" for path, entry in records.items()}
    print_lines(table([(safe(path), ages[path], _SINCE.get(_now(path), "")) for path in records]))
    if not records:
        say("nothing is trusted yet; `whorl trust` trusts the folder that you are in")
    return 0
