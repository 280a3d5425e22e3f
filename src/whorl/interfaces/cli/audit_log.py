"""What the audit calls commands that change something, and how one is noted there."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.project import Project

R = TypeVar("R")

# Commands to actions: the same as over HTTP, where there is such a request.
ACTIONS = {
    "run": "start",
    **{
        verb: verb
        for verb in (
            *("resume", "continue", "accept", "fork", "pause", "cancel", "approve", "reject"),
            *("prune", "restore", "adopt", "stop", "try"),
        )
    },
    "edit": "edit",
    "memory rm": "forget memory",
    "experiment run": "run experiment",
    "experiment rm": "remove experiment",
    "experiment stop": "stop experiment",
    "tools accept": "accept tools",
    **{f"schedule {verb}": f"{verb} schedule" for verb in ("add", "pause", "resume", "run")},
    "schedule rm": "remove schedule",
    "hook add": "add hook",
    "hook rotate": "rotate hook",
    "hook rm": "remove hook",
    "token add": "add token",
    "token rotate": "rotate token",
    "token rm": "remove token",
}
_DONE = "whorl.audit.done"


async def note_start(store: SqliteStore, run: str, file: str) -> None:
    """Notes a run as soon as it is made: what it comes to is in its journal."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[_DONE] = True
    await _added(store, "start", run, file, "ok")


def audited(
    ctx: click.Context, project: Project, options: dict[str, Any], command: Callable[[], R]
) -> R:
    """Carries a command out, and notes what it came to if it is one that changes something."""
    action = ACTIONS.get(ctx.command_path.partition(" ")[2], "")
    if not action or options.get("dry_run"):
        return command()
    run = _meant(project, str(options.get("run") or ""))
    outcome = ""
    try:
        result = command()
        outcome = f"exit code {result}" if result else "ok"
    except BaseException as fault:
        outcome = str(getattr(fault, "code", "") or type(fault).__name__)
        raise
    else:
        return result
    finally:
        file = str(options.get("file") or options.get("name") or options.get("key") or "")
        if not ctx.meta.get(_DONE):
            _add(project, action, run, file, outcome)


def _meant(project: Project, text: str) -> str:
    """The id of the run that is named, before the command makes others."""
    from contextlib import closing

    from whorl.errors import WhorlError
    from whorl.services.runs import find_run

    if not text or not project.store.exists():
        return text
    with suppress(WhorlError), closing(project.open_store()) as store:
        return find_run(store, text.partition("/")[0])
    return text


def _add(project: Project, action: str, run: str, file: str, outcome: str) -> None:
    import asyncio

    from whorl.errors import WhorlError

    async def add() -> None:
        async with project.open_store() as store:
            await _added(store, action, run, file, outcome)

    # A command says itself what is wrong with its store; one that made none changed nothing.
    with suppress(WhorlError):
        asyncio.run(add())


async def _added(store: SqliteStore, action: str, run: str, file: str, outcome: str) -> None:
    from whorl.runtimes.service.tables import Audit, AuditEntry

    deed = AuditEntry(
        who=f"command line {_user()}", action=action, run=run, file=file, outcome=outcome
    )
    await Audit(store).add(deed)


def _user() -> str:
    import getpass
    import os

    # A container may run under a number that has no name.
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return str(os.getuid())
