"""Looking into a run: the loop that is meant, two of its iterations, what happened at a step."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whorl.errors import UsageError, did_you_mean
from whorl.interfaces.history import iteration_results, workflow_of
from whorl.interfaces.secrecy import hidden_names, shown
from whorl.interpreter.events import numbered, split_iteration, unescape
from whorl.providers.secrets import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal import Entry, IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore

_ATTEMPT = re.compile(r"#([0-9]+)$")
# So many loops are named where a person has to choose one.
_NAMED_MAX = 8
_ENDS = {"task.finished": "succeeded", "task.failed": "failed", "node.skipped": "skipped"}


@dataclass(frozen=True, slots=True)
class Side:
    """An iteration with what its steps gave."""

    row: IterationRow
    results: dict[str, Json]


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


def loop_named(store: SqliteStore, run: RunId, at: str) -> str:
    """The address of a loop that is named, or of the only outermost one."""
    loops = [row.address for row in store.loops(run)]
    wanted = split_iteration(at)[0]
    if wanted in loops:
        return wanted
    rest = f" and {len(loops) - _NAMED_MAX} more: `whorl show {run}`"
    known = ", ".join(loops[:_NAMED_MAX]) + (rest if len(loops) > _NAMED_MAX else "")
    if wanted:
        hint = did_you_mean(wanted, loops) or f"loops: {known or 'none'}"
        raise UsageError(f"run {run} has no loop {wanted!r}", help=hint, code="W907")
    outer = [address for address in loops if "[" not in address]
    if not loops:
        raise UsageError(f"run {run} has no loop", help=f"`whorl show {run}`", code="W907")
    if len(outer) != 1:
        raise UsageError("say which loop with --at", help=f"loops: {known}", code="W903")
    return outer[0]


def iteration_row(store: SqliteStore, run: RunId, loop: str, number: int) -> IterationRow:
    """A finished iteration; of one that was tried again, the last try."""
    rows = store.iterations(run, loop, after=number - 1, limit=20)
    same = [row for row in rows if row.number == number]
    if not same:
        last = store.newest_iterations(run, loop, 1)
        had = f"it has {last[-1].number}" if last else "it has none"
        raise UsageError(f"{loop!r} has no finished iteration {number}; {had}", code="W907")
    return same[-1]


def sides(store: SqliteStore, run: RunId, loop: str, numbers: tuple[int, int]) -> tuple[Side, Side]:
    """Two iterations of a loop, found in one replay."""
    rows = [iteration_row(store, run, loop, number) for number in numbers]
    found = results_of(store, run, loop, sorted(set(numbers)))
    one, other = (Side(row, found.get(row.number, {})) for row in rows)
    return one, other


def results_of(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int]
) -> dict[int, dict[str, Json]]:
    """What the steps of iterations gave, without what is shown to nobody."""
    hidden = hidden_names(workflow_of(store, run))
    found: dict[int, Any] = dict(iteration_results(store, run, loop, numbers))
    return {
        number: {
            name: HIDDEN if name in hidden else value
            for name, value in (one.get("results") or {}).items()
        }
        for number, one in found.items()
    }


def limit_now(machine: Machine, row: LoopRow) -> int | None:
    """The limit of iterations as it is now; the loop may have been given more."""
    for frame in machine.frames.values():
        if frame["kind"] == "loop" and frame["address"] == row.address:
            return int(frame["limits"]["iterations"])
    limit = row.limits.get("iterations") if isinstance(row.limits, dict) else None
    return limit if isinstance(limit, int) else None


def computed(store: SqliteStore, run: RunId, address: str) -> Json:
    """What a step gave that only computes, and so left no entry: found by replaying."""
    above, _, name = address.rpartition("/")
    loop, number = split_iteration(above)
    if number is None:
        return None
    return results_of(store, run, loop, (number,)).get(number, {}).get(unescape(name))


def unknown_place(store: SqliteStore, run: RunId, address: str) -> UsageError:
    """The error for an address at which nothing happened."""
    known = list(dict.fromkeys(entry.event.address for entry in store.read(run)))
    hint = did_you_mean(address, [one for one in known if one])
    return UsageError(
        f"nothing happened at {address!r} in run {run}",
        help=hint or f"`whorl show {run}` lists steps and loops",
        code="W907",
    )


def attempts_of(entries: Iterable[Entry], address: str) -> list[StepAttempt]:
    """Each time that the step at an address was carried out, the first one first."""
    found: dict[int, StepAttempt] = {}
    for entry in entries:
        base, number = _split(entry.event.address)
        if base == address:
            attempt = found.setdefault(number, StepAttempt(number, entry.event.address))
            _take(attempt, entry)
    return [found[number] for number in sorted(found)]


def previous_address(address: str) -> str:
    """The same step in the iteration before, of the innermost loop around it; empty: none."""
    for at in range(len(address), 0, -1):
        loop, number = split_iteration(address[:at])
        if number is not None and address[at:][:1] in ("/", "") and address[:at].endswith("]"):
            return numbered(loop, number - 1) + address[at:] if number > 1 else ""
    return ""


def _split(address: str) -> tuple[str, int]:
    found = _ATTEMPT.search(address)
    return (address[: found.start()], int(found[1])) if found else (address, 1)


def _take(attempt: StepAttempt, entry: Entry) -> None:
    event, body = entry.event, shown(entry.event)
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
            attempt.kind, attempt.status, attempt.started_at = "gate", "waiting", event.at
            attempt.inputs = body
        case "gate.decided":
            attempt.status, attempt.ended_at = "succeeded", event.at
            attempt.output = body
        case "node.finished":
            attempt.ended_at = event.at
            attempt.status = str(body.get("status") or "succeeded")
            attempt.output, attempt.error = body.get("branch"), body.get("error")
