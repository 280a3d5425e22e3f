"""Iterations of a loop: which one is meant, what its steps gave, what was carried into it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.events import numbered, split_iteration
from whorl.lazily import dataclass
from whorl.runtimes.journal.forking import look_into, moment
from whorl.services.inspecting.places import loops_meant, some
from whorl.services.inspecting.results import hidden_names, loop_frame, without, workflow_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.language import Json
    from whorl.runtimes.journal.journal import IterationRow, RunId
    from whorl.runtimes.sqlite import SqliteStore


@dataclass(frozen=True, slots=True)
class Side:
    """An iteration with what its steps gave."""

    row: IterationRow
    results: dict[str, Json]


def loop_named(store: SqliteStore, run: RunId, at: str) -> str:
    """The address of the loop that is meant, or of the only outermost one."""
    loops = [row.address for row in store.loops(run)]
    meant = loops_meant(at, loops) if at else [loop for loop in loops if "[" not in loop]
    if len(meant) == 1:
        return meant[0]
    if not loops:
        raise UsageError(f"run {run} has no loop", help=f"`whorl show {run}`", code="W907")
    if at and not meant:
        hint = did_you_mean(at, loops) or f"loops: {some(loops)}"
        raise UsageError(f"run {run} has no loop {at!r}", help=hint, code="W907")
    raise UsageError("say which loop with --at", help=f"loops: {some(meant or loops)}", code="W903")


def iteration_row(store: SqliteStore, run: RunId, loop: str, number: int) -> IterationRow:
    rows = store.iterations(run, loop, after=number - 1, limit=20)
    same = [row for row in rows if row.number == number]
    if not same:
        last = store.newest_iterations(run, loop, 1)
        had = f"it has {last[-1].number}" if last else "it has none"
        raise UsageError(f"{loop!r} has no finished iteration {number}; {had}", code="W907")
    return same[-1]


def sides(
    store: SqliteStore, run: RunId, loop: str, numbers: tuple[int, int], other: RunId | None = None
) -> tuple[Side, Side]:
    """Two iterations of a loop; the second one may be of another run."""
    if other is not None and other != run:
        loop_named(store, other, loop)
        return _side(store, run, loop, numbers[0]), _side(store, other, loop, numbers[1])
    results = results_of(store, run, loop, sorted(set(numbers)))
    first, second = (
        Side(iteration_row(store, run, loop, number), results.get(number, {})) for number in numbers
    )
    return first, second


def loops_inside(
    store: SqliteStore, first: tuple[RunId, str], second: tuple[RunId, str]
) -> dict[str, list[int]]:
    """The loops right inside of two iterations, by name: how many iterations each has begun."""
    found: dict[str, list[int]] = {}
    for at, (run, iteration) in enumerate((first, second)):
        for row in store.loops(run):
            name = row.address.removeprefix(f"{iteration}/")
            if name != row.address and "[" not in name:
                found.setdefault(name, [0, 0])[at] = row.iterations
    return found


def _side(store: SqliteStore, run: RunId, loop: str, number: int) -> Side:
    row = iteration_row(store, run, loop, number)
    return Side(row, results_of(store, run, loop, (number,)).get(number, {}))


def results_of(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int]
) -> dict[int, dict[str, Json]]:
    """What the steps of iterations gave, without what is shown to nobody."""
    hidden = hidden_names(workflow_of(store, run))
    iterations: dict[int, Any] = dict(iteration_results(store, run, loop, numbers))
    return {n: without(given.get("results") or {}, hidden) for n, given in iterations.items()}


def iteration_results(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int], *, to_drive: bool = False
) -> dict[int, dict[str, Json]]:
    iterations = frozenset(numbered(loop, number) for number in numbers)
    results = look_into(store, run, iterations, to_drive=to_drive)
    return {split_iteration(address)[1] or 0: iteration for address, iteration in results.items()}


def carried_into(store: SqliteStore, run: RunId, loop: str, number: int) -> dict[str, Json]:
    machine = moment(store, run, numbered(loop, number))
    frame = {} if machine is None else loop_frame(machine, loop)
    return dict(frame.get("carry") or {})
