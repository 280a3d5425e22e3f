"""Looking into a run: two of its iterations, what happened at a step, what its calls cost."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from whorl.errors import UsageError, did_you_mean
from whorl.interpreter.events import Event, charged, numbered, split_iteration, unescape
from whorl.services.results import (
    hidden_names,
    iteration_results,
    loop_frame,
    shown,
    without,
    workflow_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from whorl.interpreter.machine import Machine
    from whorl.language import Json
    from whorl.runtimes.journal import Entry, IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore

By: TypeAlias = Literal["model", "step", "loop", "iteration", "workflow", "run", "day"]
WAYS: tuple[By, ...] = get_args(By)

_PAID = ("task.finished", "task.failed")
_NUMBERS = re.compile(r"\[[0-9]+\]|#[0-9]+")
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
    names = ", ".join(loops[:_NAMED_MAX]) + (rest if len(loops) > _NAMED_MAX else "")
    if wanted:
        hint = did_you_mean(wanted, loops) or f"loops: {names or 'none'}"
        raise UsageError(f"run {run} has no loop {wanted!r}", help=hint, code="W907")
    outer = [address for address in loops if "[" not in address]
    if not loops:
        raise UsageError(f"run {run} has no loop", help=f"`whorl show {run}`", code="W907")
    if len(outer) != 1:
        raise UsageError("say which loop with --at", help=f"loops: {names}", code="W903")
    return outer[0]


def iteration_row(store: SqliteStore, run: RunId, loop: str, number: int) -> IterationRow:
    rows = store.iterations(run, loop, after=number - 1, limit=20)
    same = [row for row in rows if row.number == number]
    if not same:
        last = store.newest_iterations(run, loop, 1)
        had = f"it has {last[-1].number}" if last else "it has none"
        raise UsageError(f"{loop!r} has no finished iteration {number}; {had}", code="W907")
    return same[-1]


def sides(store: SqliteStore, run: RunId, loop: str, numbers: tuple[int, int]) -> tuple[Side, Side]:
    results = results_of(store, run, loop, sorted(set(numbers)))
    first, second = (
        Side(iteration_row(store, run, loop, number), results.get(number, {})) for number in numbers
    )
    return first, second


def results_of(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int]
) -> dict[int, dict[str, Json]]:
    """What the steps of iterations gave, without what is shown to nobody."""
    hidden = hidden_names(workflow_of(store, run))
    iterations: dict[int, Any] = dict(iteration_results(store, run, loop, numbers))
    return {n: without(given.get("results") or {}, hidden) for n, given in iterations.items()}


def limit_now(machine: Machine, row: LoopRow) -> int | None:
    """The limit of iterations as it is now; the loop may have been given more."""
    frame = loop_frame(machine, row.address)
    if frame:
        return int(frame["limits"]["iterations"])
    limit = row.limits.get("iterations") if isinstance(row.limits, dict) else None
    return limit if isinstance(limit, int) else None


def computed(store: SqliteStore, run: RunId, address: str) -> Json:
    above, _, name = address.rpartition("/")
    loop, number = split_iteration(above)
    if number is None:
        return None
    return results_of(store, run, loop, (number,)).get(number, {}).get(unescape(name))


def unknown_place(store: SqliteStore, run: RunId, address: str) -> UsageError:
    addresses = list(dict.fromkeys(entry.event.address for entry in store.read(run)))
    hint = did_you_mean(address, [text for text in addresses if text])
    words = f"nothing happened at {address!r} in run {run}"
    return UsageError(words, help=hint or f"`whorl show {run}` lists steps and loops", code="W907")


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


@dataclass(slots=True)
class Line:
    """What was used under one heading; calls without a known price are counted beside the sum."""

    name: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    in_doubt: int = 0

    def add(self, usage: dict[str, Any]) -> None:
        for name in ("calls", "input_tokens", "output_tokens", "in_doubt"):
            setattr(self, name, getattr(self, name) + int(usage.get(name) or 0))
        if usage.get("cost_usd") is None:
            self.unpriced_calls += int(usage.get("calls") or 0)
        else:
            self.cost_usd += float(usage["cost_usd"])


def roll_up(store: SqliteStore, runs: Iterable[RunId], by: By, at: str = "") -> list[Line]:
    """The usage of runs under the headings of `by`, the dearest first; only what lies `at` it."""
    lines: dict[str, Line] = {}
    inside = (f"{at}/", f"{at}[", f"{at}#")
    for run in runs:
        name = store.run(run).name
        for event, usage in _payments(store, run):
            if not at or event.address == at or event.address.startswith(inside):
                heading = _heading(by, run, name, event)
                lines.setdefault(heading, Line(heading)).add(usage)
    if by == "iteration":
        return list(lines.values())
    return sorted(lines.values(), key=lambda line: (-line.cost_usd, -line.calls, line.name))


def _payments(store: SqliteStore, run: RunId) -> Iterator[tuple[Event, dict[str, Any]]]:
    """What each call of a run is charged with; of one that was given up, until a reply comes."""
    abandoned: dict[str, tuple[Event, dict[str, Any]]] = {}
    models: dict[str, dict[str, Json]] = {}
    for event in _own_events(store, run):
        address, body = event.address, event.body
        usage: Any = body.get("usage")
        reserve: Any = body.get("reserve")
        if event.kind == "task.started":
            # The model that a call names, for one whose answer does not tell it.
            inputs: Any = body.get("inputs")
            named = ("model", "provider") if isinstance(inputs, dict) else ()
            models[address] = {n: inputs[n] for n in named if isinstance(inputs.get(n), str)}
            if address in abandoned:
                yield abandoned.pop(address)
        elif event.kind == "node.finished" and isinstance(usage, dict):
            abandoned[address] = replace(event, body=models.pop(address, {})), usage
        elif event.kind in _PAID:
            models.pop(address, None)
            if isinstance(usage, dict):
                abandoned.pop(address, None)
                yield event, usage
        elif event.kind == "task.in_doubt" and address not in abandoned:
            yield replace(event, body=models.get(address, {})), charged(reserve or {})
    yield from abandoned.values()


def _own_events(store: SqliteStore, run: RunId) -> Iterator[Event]:
    """The events of a run, without those that a fork has from the run that it was made of."""
    is_own = not store.run(run).parent
    for entry in store.read(run):
        event = entry.event
        if is_own:
            yield event
        # The run that it comes from may be a fork itself, with such an event of its own.
        elif event.kind == "run.forked" and event.body.get("run") == run:
            is_own = True


def _heading(by: By, run: RunId, workflow: str, event: Event) -> str:
    match by:
        case "model":
            model, provider = event.body.get("model"), event.body.get("provider")
            named = f"{provider}/{model}" if provider and "/" not in str(model) else str(model)
            return named if model else "(no model)"
        case "step":
            return unescape(_NUMBERS.sub("", event.address))
        case "loop" | "iteration":
            head, bracket, _ = event.address.rpartition("]")
            loop = unescape(_NUMBERS.sub("", head.rpartition("[")[0]))
            innermost = loop if by == "loop" else head + bracket
            return innermost if bracket else "(outside of loops)"
        case "workflow":
            return workflow
        case "run":
            return run
        case "day":
            return datetime.fromtimestamp(event.at, tz=UTC).date().isoformat()
