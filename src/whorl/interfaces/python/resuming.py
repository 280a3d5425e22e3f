"""The functions of a run that another process started: those of modules that are imported here.

Nothing is imported for a run: what its store names need not be what the program wants.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError
from whorl.services.programs import is_lacking, program_of

if TYPE_CHECKING:
    from whorl.providers.registry import Providers
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore


def find_functions(
    store: SqliteStore, providers: Providers, run: RunId, *, is_needed: bool
) -> None:
    """Takes over the functions of a run's workflow.

    Raises UsageError where they are not here and the run is to be driven by this program.
    """
    module, _, name = program_of(store, run).partition(":")
    definition: Any = getattr(sys.modules.get(module), name, None) if name else None
    if workflow := getattr(definition, "workflow", None):
        providers.context.functions.include(workflow.tasks)
        return
    is_driving = is_needed and store.run(run).status != "running"
    if name and is_driving and is_lacking(store, providers, run):
        raise _unknown_functions(run, module, name)


def _unknown_functions(run: RunId, module: str, name: str) -> UsageError:
    advice = "go on with it in the program that defines it"
    if module != "__main__":
        given = f"whorl.Session(tasks={module}.{name}.workflow.tasks)"
        advice = f"`import {module}` first, or give them: {given}"
    words = f"run {run} needs the functions of '{module}:{name}', which are not here"
    return UsageError(words, help=advice, code="P114")
