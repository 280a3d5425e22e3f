"""Trusting a folder: `trust` shows what its whorl.toml permits, and what its store holds."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whorl.errors import StoreError, UsageError, safe
from whorl.interfaces.cli.options import json_option, print_json
from whorl.interfaces.cli.terminal import is_ours, print_lines, say
from whorl.interfaces.cli.trust import held_lines, judged_lines
from whorl.interfaces.figures import age, table

if TYPE_CHECKING:
    from whorl.providers.settings.rights import Right
    from whorl.services.configuration.stores import HeldStore
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
    """Show what the whorl.toml of a folder permits and its store holds, and trust them as they are.

    \b
      whorl trust
      whorl trust ../other --yes
      whorl trust --list

    PATH is a folder or its whorl.toml; without it, the project that you are in. Nothing of a
    whorl.toml that is not trusted is run, sent or read from the environment. A store that came
    with a folder is taken over: until then its tokens, hooks and schedules do not count.
    """
    from whorl.services.catalogue import Catalogue

    if lists:
        return _list(as_json=as_json)
    project, judged, held = _found(path, is_checked=not removes)
    if removes:
        return _remove(_config(path or str(project.root)), project, held, as_json=as_json)
    reads = Catalogue(project).reads()
    if not as_json:
        print_lines(judged_lines(judged) if judged is not None else ())
        print_lines(held_lines(held) if held is not None else ())
        print_lines([f"its workflows read {safe(', '.join(reads))}"] if reads else ())
    is_trusted = _settle(project, judged, held, yes=yes, as_json=as_json)
    if as_json:
        print_json(_document(judged, held) | {"reads": reads, "trusted": is_trusted})
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


def _found(
    path: str | None, *, is_checked: bool
) -> tuple[Project, Judged | None, HeldStore | None]:
    """The whorl.toml and the store that a person means; `is_checked`: there has to be one."""
    from whorl.services.configuration.stores import look_into
    from whorl.services.configuration.trust import CONFIG_NAME
    from whorl.services.project import find_project

    folder = None if path is None else _config(path).parent
    outer = click.get_current_context().find_root().obj or {}
    project = find_project(os.environ, folder=folder, store=outer.get("store"))
    if folder is not None and project.root != folder:
        judged, held = None, None
    else:
        judged, held = project.configuration().judged, None
        try:
            held = look_into(project)
        except StoreError as fault:
            # In a store that cannot be opened, nothing counts; nor can it be taken over.
            if is_checked and judged is None:
                raise
            say(f"nothing in the store counts: {safe(str(fault))}", *_advice(fault))
    if is_checked and judged is None and not (held is not None and held.acting):
        words = f"there is no {CONFIG_NAME} in {str(folder or project.root)!r}"
        advice = "a folder without one needs no trust, and nothing in its store does"
        raise UsageError(words, help=advice)
    return project, judged, held


def _advice(fault: StoreError) -> list[str]:
    return [f"  = help: {safe(fault.help)}"] if fault.help else []


def _settle(
    project: Project,
    judged: Judged | None,
    held: HeldStore | None,
    *,
    yes: bool,
    as_json: bool,
) -> bool:
    """Whether all that was found is trusted in the end."""
    from whorl.services.configuration.stores import settle
    from whorl.services.configuration.trust import remember

    if judged is not None and judged.standing == "foreign":
        raise judged.refusal() or AssertionError
    is_strange = held is not None and held.is_strange
    if not yes and (judged is None or judged.is_trusted) and not is_strange:
        return True
    if not yes:
        if as_json:
            return False
        if not is_ours(sys.stdin, sys.stderr):
            raise UsageError("nobody can be asked here", help="read it, then say --yes")
        if not click.confirm("trust it?", default=False, err=True):
            say("it is not trusted")
            return False
    if judged is not None:
        remember(os.environ, judged)
    if held is not None and is_strange:
        asyncio.run(settle(project, held, trusts=True))
    if not as_json:
        paths = [judged.path if judged is not None else None, held.path if held else None]
        say(*(f"trusted: {safe(str(path))}" for path in paths if path is not None))
    return True


def _document(judged: Judged | None, held: HeldStore | None) -> dict[str, Any]:
    store = None
    if held is not None:
        standing = "strange" if held.is_strange else "trusted" if held.is_marked else "harmless"
        store = {"path": str(held.path), "standing": standing, "holds": held.acting}
    if judged is None:
        return {"path": None, "standing": "harmless", "permits": [], "store": store}
    return {
        "path": str(judged.path),
        "sha256": judged.digest,
        "standing": judged.standing,
        "permits": [_right(right) for right in judged.rights],
        "added": [_right(right) for right in judged.added] if judged.before else [],
        "removed": [_right(right) for right in judged.removed],
        "store": store,
    }


def _right(right: Right) -> dict[str, str]:
    """A right as it is shown; one with other values is both added and removed."""
    return {"kind": right.kind, "text": right.text}


def _remove(path: Path, project: Project, held: HeldStore | None, *, as_json: bool) -> int:
    from whorl.services.configuration.stores import settle
    from whorl.services.configuration.trust import forget

    is_removed = forget(os.environ, path)
    has_store = held is not None and held.is_marked and bool(held.acting)
    if held is not None and has_store:
        asyncio.run(settle(project, held, trusts=False))
    if as_json:
        print_json({"path": str(path), "removed": is_removed or has_store})
        return 0
    if held is not None and has_store:
        say(safe(f"{held.path} is no longer trusted"))
    if is_removed or not has_store:
        say(safe(f"{path} is no longer trusted" if is_removed else f"{path} was not trusted"))
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
