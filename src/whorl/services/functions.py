"""What runs need to go on that may not be here: functions, models, permissions."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from whorl.errors import UsageError
from whorl.interpreter.requests import objection
from whorl.providers.settings import line_below, with_entry
from whorl.runtimes.journal.folding import fold
from whorl.services.configuration.trust import ENDING
from whorl.services.files.preflight import check_performable, unknown_names
from whorl.services.inspecting.results import workflow_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.interpreter.events import Event
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

# The program that defined the workflow was no module, but what was started.
_MAIN = "__main__"


def program_of(store: SqliteStore, run: RunId) -> str:
    """The program of a run, as `module:name`; nothing where it was read from a file."""
    place = PurePath(store.run(run).file).name
    return place if ":" in place else ""


def is_lacking(store: SqliteStore, providers: Providers, run: RunId) -> bool:
    """Whether functions of a run are not here."""
    missing = unknown_names(workflow_of(store, run), providers)
    return any(unknown.code == "P114" for unknown in missing)


def check_drivable(
    store: SqliteStore, providers: Providers, run: RunId, requests: Sequence[Event] = ()
) -> None:
    """Refuses to go on with a run that needs what is missing here: it would fail for that.

    It can still be paused and cancelled. On a cluster others drive it.
    """
    is_ending = bool(requests) and all(event.kind in ENDING for event in requests)
    if providers.settings.runtime.kind != "local" or is_ending:
        return
    try:
        check_performable(workflow_of(store, run), providers)
    except UsageError:
        from whorl.runtimes.runtime import raise_objection

        # What the run itself has against it comes first: nothing that is given here would help.
        for event in requests:
            raise_objection(objection(fold(store, run).machine, event))
        raise


def check_functions(store: SqliteStore, providers: Providers, run: RunId) -> None:
    """Refuses to go on with a run whose functions a command may not import; says what to do."""
    place = program_of(store, run)
    if not place or not is_lacking(store, providers, run):
        return
    module = place.partition(":")[0]
    resume = f"whorl.resume('{run}')"
    if module == _MAIN:
        advice = f"in the program that defines it, call `asyncio.run({resume})`"
    else:
        advice = f'`python -c "import asyncio, {module}, whorl; asyncio.run({resume})"` goes on '
        line = f"python = {with_entry(providers.settings.programs, place)}"
        advice += f"with it; so does this command, with {line_below('workflows', line)}, after "
        advice += "`whorl trust`"
    words = f"run {run} needs the functions of {place!r}, which commands have no permission to "
    raise UsageError(f"{words}import", help=advice, code="P114")
