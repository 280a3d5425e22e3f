"""Looking back at a run from Python: its iterations, why its loops ended, what it cost."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.advice import with_help
from whorl.interfaces.formatting import changes
from whorl.interfaces.python.values import Iteration, count, text, usage_from
from whorl.interfaces.status_words import why_document
from whorl.services.inspecting.costs import WAYS, Costs, costs_of
from whorl.services.inspecting.iterations import loop_named, results_of, sides

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from whorl.runtimes.journal.journal import IterationRow, RunId
    from whorl.runtimes.sqlite import SqliteStore
    from whorl.services.inspecting.costs import By
    from whorl.services.project import Project

ITERATIONS_MAX = 1_000


class RunHistory:
    """What can be asked of a run at any time, also long after it has ended."""

    def __init__(self, project: Project, run: RunId) -> None:
        self._project, self._run = project, run

    def _reading(self) -> AbstractContextManager[SqliteStore]:
        return closing(self._project.open_store())

    def iterations(self, at: str = "") -> tuple[Iteration, ...]:
        """The finished iterations of a loop, with what their steps gave and how they were judged.

        `at` says which loop, where there are several; of very many, the newest are given.
        """
        with self._reading() as store:
            loop = loop_named(store, self._run, text(at, "at"))
            rows = store.newest_iterations(self._run, loop, ITERATIONS_MAX)
            rows = [row for row in rows if row.status != "not_begun"]
            values = results_of(store, self._run, loop, [row.number for row in rows])
        return tuple(_iteration(row, values.get(row.number, {})) for row in rows)

    def why(self) -> dict[str, Any]:
        """Why the loops ended, as `whorl why --json` says it: each iteration with its verdicts."""
        with self._reading() as store:
            return with_help(why_document(store, self._run, store.loops(self._run)))

    def diff(self, first: int, second: int, *, at: str = "", step: str = "") -> dict[str, str]:
        """How the results of two iterations of a loop differ, by step."""
        numbers = (count(first, "first") or 1, count(second, "second") or 1)
        with self._reading() as store:
            loop = loop_named(store, self._run, text(at, "at"))
            before, after = (side.results for side in sides(store, self._run, loop, numbers))
        names = list(dict.fromkeys([*before, *after]))
        if step and step not in names:
            hint = did_you_mean(step, names) or f"steps: {', '.join(names) or 'none'}"
            raise UsageError(f"there is no result of a step {step!r}", help=hint)
        changed = {name: changes(before.get(name), after.get(name)) for name in names}
        wanted = [step] if step else names
        return {name: "\n".join(map("".join, changed[name])) for name in wanted}

    def cost(self, by: By = "step", *, at: str = "") -> Costs:
        """What it used, by step, loop, iteration or model."""
        with self._reading() as store:
            return cost_of(store, self._run, by, at)


def cost_of(store: SqliteStore, run: RunId | None, by: By, at: str = "") -> Costs:
    """What a run used, or all runs of the store, under headings."""
    if by not in WAYS:
        raise UsageError(f"by is {by!r}", help=f"ways: {', '.join(WAYS)}")
    return costs_of(store, by, run=run, at=text(at, "at"))


def _iteration(row: IterationRow, values: dict[str, Any]) -> Iteration:
    note: dict[str, Any] = row.note
    return Iteration(
        row.loop,
        row.number,
        row.status,
        values,
        row.score,
        bool(note.get("met")),
        note.get("by"),
        tuple(note.get("facts") or ()),
        usage_from(note.get("usage")),
        float(note.get("seconds") or 0.0),
    )
