"""All runs of an experiment are deleted, or none: not while somebody drives one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.errors import UsageError, plural
from whorl.runtimes.sqlite import RunFilter
from whorl.wings.experiments.table import ExperimentTable
from whorl.wings.experiments.trials import key_prefix

if TYPE_CHECKING:
    from whorl.services.project import Project


async def remove(project: Project, name: str, again: str) -> int:
    """Gives how many there were; `again` is the command for when nobody drives them any more."""
    async with project.open_store() as store:
        rows = store.list_runs(RunFilter(key=key_prefix(name)), 2**31)
        if driven := sum(store.is_owned(row.id) for row in rows):
            words = f"experiment {name!r} has {plural(driven, 'run')} under way"
            raise UsageError(words, help=f"once that has ended: {again}", code="W905")
        await ExperimentTable(store).remove(name)
        return len((await store.remove(key_prefix(name))).runs)
