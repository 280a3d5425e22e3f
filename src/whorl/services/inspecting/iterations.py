"""Iterations of a loop and attempts at a step: which one is meant, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.events import numbered, split_iteration
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.forking import look_into, moment
from whorl.runtimes.journal.sealed_secrets import shown
from whorl.services.inspecting.places import loops_meant, some
from whorl.services.inspecting.results import hidden_names, loop_frame, without, workflow_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry, IterationRow, RunId
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


# Attempts at a step: when each was made, with what, and what came of it.

_ATTEMPT = regex(r"#([0-9]+)$")
_ENDS = {"task.finished": "succeeded", "task.failed": "failed", "node.skipped": "skipped"}


@dataclass(slots=True)
class StepAttempt:
    """One time that a step was carried out."""

    number: int
    address: str
    kind: str = ""
    status: str = "running"
    started_at: float | None = None
    ended_at: float | None = None
    model: str | None = None
    inputs: Json = None
    output: Json = None
    usage: Json = None
    error: Json = None
    in_doubt: bool = False


def attempts_of(entries: Iterable[Entry], address: str) -> list[StepAttempt]:
    attempts: dict[int, StepAttempt] = {}
    for entry in entries:
        at = entry.event.address
        match = _ATTEMPT.search(at)
        base, number = (at[: match.start()], int(match[1])) if match else (at, 1)
        if base == address:
            _take(attempts.setdefault(number, StepAttempt(number, at)), entry.event)
    return [attempts[number] for number in sorted(attempts)]


def previous_address(address: str) -> str:
    """The same step in the iteration before, of the innermost loop around it; empty: none."""
    for at in range(len(address), 0, -1):
        loop, number = split_iteration(address[:at])
        if number is not None and address[at:][:1] in ("/", "") and address[:at].endswith("]"):
            return numbered(loop, number - 1) + address[at:] if number > 1 else ""
    return ""


def _take(attempt: StepAttempt, event: Event) -> None:
    body = shown(event)
    inputs: Any = body.get("inputs")
    match event.kind:
        case "task.started":
            attempt.started_at, attempt.inputs = event.at, inputs
            attempt.kind, attempt.status = str(body.get("kind", "")), "running"
            model = inputs.get("model") if isinstance(inputs, dict) else None
            attempt.model = model if isinstance(model, str) else None
        case "task.finished" | "task.failed" | "node.skipped":
            attempt.ended_at, attempt.status = event.at, _ENDS[event.kind]
            attempt.output, attempt.error = body.get("value"), body.get("error")
            attempt.usage = body.get("usage")
            attempt.model = str(body["model"]) if body.get("model") else attempt.model
        case "task.in_doubt":
            attempt.in_doubt = True
        case "gate.waiting":
            attempt.kind, attempt.status = "gate", "waiting"
            attempt.started_at, attempt.inputs = event.at, body
        case "gate.decided":
            attempt.status, attempt.ended_at, attempt.output = "succeeded", event.at, body
        case "node.finished":
            attempt.ended_at, attempt.status = event.at, str(body.get("status") or "succeeded")
            attempt.output, attempt.error = body.get("branch"), body.get("error")
            attempt.usage = body.get("usage") or attempt.usage
            attempt.in_doubt = attempt.in_doubt or bool(body.get("usage"))
