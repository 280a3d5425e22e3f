"""Finds a place of a run, with its iterations, attempts and cost."""

from __future__ import annotations

import re
from dataclasses import asdict, field, fields
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from whorl.errors import UsageError, did_you_mean, plural
from whorl.interpreter.events import numbered, split_iteration, unescape
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal import projection
from whorl.runtimes.sqlite.listing import KEPT, TRY, RunFilter
from whorl.services.inspecting.results import (
    each_left,
    hidden_names,
    loop_frame,
    without,
    workflow_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import IterationRow, RunId
    from whorl.runtimes.sqlite import SqliteStore

# So many places are named where a person has to choose one.
_NAMED_MAX = 8
# How the steps of a file are named: with the branch that they are in.
_CASE = regex(r"@case\.[^/\[\]#]*")


def split_place(text: str, at: str = "") -> tuple[str, str]:
    """Splits `RUN/ADDRESS` into run and address; `at` is an address that was given separately."""
    run, _, address = text.partition("/")
    return run, _CASE.sub("", at or address).rstrip("/")


def is_like(place: str, address: str) -> bool:
    """Returns whether an address is this place, perhaps without iteration and attempt numbers."""
    parts, wanted = place.split("/"), address.split("/")
    pairs = zip(parts, wanted, strict=False)
    same = all(part == text or projection.step_of(part) == unescape(text) for part, text in pairs)
    return same and len(parts) == len(wanted)


def places_like(store: SqliteStore, run: RunId, address: str) -> list[str]:
    """Returns the addresses that match this one, with the numbers that it leaves out."""
    found = store.addresses(run, re.split(r"[/\[\]#]", address)[0])
    return [place for place in found if is_like(place, address)]


def loop_around(address: str, loops: Collection[str]) -> tuple[str, int | None]:
    """Returns the loop at or around an address, and its iteration, or "" without a loop."""
    while address:
        loop, number = split_iteration(address)
        if loop in loops:
            return loop, number
        address = address.rpartition("/")[0]
    return "", None


def loops_meant(at: str, loops: Collection[str]) -> list[str]:
    """Returns the loops at an address, inside it, there in some iteration, or else around it."""
    if split_iteration(at)[0] in loops:
        return [split_iteration(at)[0]]
    inside = [loop for loop in loops if loop.startswith((f"{at}/", f"{at}["))]
    like = [loop for loop in loops if is_like(loop, at)]
    around = loop_around(at, loops)[0]
    return inside or like or ([around] if around else [])


def some(places: Collection[str]) -> str:
    """Returns words for the first of some places, and the number of the others."""
    named = ", ".join(list(places)[:_NAMED_MAX])
    more = len(places) - _NAMED_MAX
    return f"{named} and {more:,} more" if more > 0 else named


def one_meant(
    run: RunId, what: str, wanted: str, meant: Collection[str], known: Collection[str]
) -> str:
    """Returns the only matching place; raises UsageError W902 for none, W903 for several."""
    if len(meant) == 1:
        return next(iter(meant))
    if meant:
        words = f"several {what}s match: {some(meant)}"
        raise UsageError(words, help="say which with --at", code="W903")
    listed = f"known: {some(known)}" if known else f"`whorl show {run}` lists its steps"
    hint = did_you_mean(wanted, known) or listed
    words = f"run {run} has no {what} {wanted!r}" if wanted else f"run {run} has no {what}"
    raise UsageError(words, help=hint, code="W902")


def unknown_place(store: SqliteStore, run: RunId, address: str) -> UsageError:
    words = f"nothing happened at {address!r} in run {run}"
    if like := places_like(store, run, address):
        return UsageError(words, help=f"did you mean {some(like)}?", code="W902")
    loops = {row.address: row.iterations for row in store.loops(run)}
    loop, number = loop_around(address, loops)
    if number is not None and number > loops[loop]:
        hint = f"{loop!r} has {plural(loops[loop], 'iteration')}"
        return UsageError(words, help=hint, code="W902")
    addresses = list(dict.fromkeys(entry.event.address for entry in store.read(run)))
    hint = did_you_mean(address, [text for text in addresses if text])
    return UsageError(words, help=hint or f"`whorl show {run}` lists steps and loops", code="W902")


# Iterations of a loop and attempts at a step: which one is meant, and what came of it.


@dataclass(frozen=True, slots=True)
class Side:
    """An iteration with the results of its steps."""

    row: IterationRow
    results: dict[str, Json]


def loop_named(store: SqliteStore, run: RunId, at: str) -> str:
    """Returns the address of the named loop, or of the only outermost one."""
    loops = [row.address for row in store.loops(run)]
    meant = loops_meant(at, loops) if at else [loop for loop in loops if "[" not in loop]
    return one_meant(run, "loop", at, meant, loops)


def iteration_row(store: SqliteStore, run: RunId, loop: str, number: int) -> IterationRow:
    rows = store.iterations(run, loop, after=number - 1, limit=20)
    same = [row for row in rows if row.number == number]
    if not same:
        last = store.newest_iterations(run, loop, 1)
        had = f"it has {last[-1].number}" if last else "it has none"
        raise UsageError(f"{loop!r} has no finished iteration {number}; {had}", code="W902")
    return same[-1]


def side(store: SqliteStore, run: RunId, loop: str, number: int) -> Side:
    row = iteration_row(store, run, loop, number)
    return Side(row, results_of(store, run, loop, (number,)).get(number, {}))


def results_of(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int]
) -> dict[int, dict[str, Json]]:
    """Returns the results of the steps of iterations, without secret values."""
    hidden = hidden_names(workflow_of(store, run))
    iterations: dict[int, Any] = dict(iteration_results(store, run, loop, numbers))
    return {n: without(given.get("results") or {}, hidden) for n, given in iterations.items()}


def iteration_results(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int], *, to_drive: bool = False
) -> dict[int, dict[str, Json]]:
    from whorl.runtimes.journal.forking import look_into

    iterations = frozenset(numbered(loop, number) for number in numbers)
    results = look_into(store, run, iterations, to_drive=to_drive)
    return {split_iteration(address)[1] or 0: iteration for address, iteration in results.items()}


def carried_into(store: SqliteStore, run: RunId, loop: str, number: int) -> dict[str, Json]:
    from whorl.runtimes.journal.forking import moment

    machine = moment(store, run, numbered(loop, number))
    frame = {} if machine is None else loop_frame(machine, loop)
    return dict(frame.get("carry") or {})


def previous_address(address: str) -> str:
    """Returns the address of the same step in the previous iteration of its loop, or ""."""
    for at in range(len(address), 0, -1):
        loop, number = split_iteration(address[:at])
        if number is not None and address[at:][:1] in ("/", "") and address[:at].endswith("]"):
            return numbered(loop, number - 1) + address[at:] if number > 1 else ""
    return ""


# What runs cost: from what the store keeps, or, by step and iteration, from journals.

By: TypeAlias = Literal["model", "step", "loop", "iteration", "workflow", "run", "day"]
WAYS: tuple[By, ...] = get_args(By)
# Steps and iterations are looked for in the journals of so many runs.
RUNS_MAX = 1_000

_FORKS = frozenset({"run.forked"})
_NOWHERE = "(outside of loops)"
_MODELS = {"": "(no model)", projection.UNKNOWN: "(model not known)"}


@dataclass(slots=True)
class Line(projection.Spent):
    """The usage under one heading."""

    name: str = ""

    def add(self, spent: projection.Spent) -> None:
        for number in fields(projection.Spent):
            setattr(self, number.name, getattr(self, number.name) + getattr(spent, number.name))


@dataclass(slots=True)
class Costs:
    """The usage of some runs, by heading; and how many of them were charged.

    If there are `more` runs, steps and iterations are those of the newest runs only.
    """

    by: By
    runs: int = 0
    lines: list[Line] = field(default_factory=list)
    more: bool = False

    @property
    def total(self) -> Line:
        total = Line(name="total")
        for line in self.lines:
            total.add(line)
        return total

    def document(self) -> dict[str, Any]:
        total, *lines = (asdict(x) | {"cost_usd": x.known_usd} for x in (self.total, *self.lines))
        return asdict(self) | {"lines": lines, "total": total}


def costs_of(
    store: SqliteStore,
    by: By,
    *,
    run: RunId | None = None,
    at: str = "",
    since: float = 0.0,
    with_tries: bool = False,
) -> Costs:
    """Returns the usage of a run, or of all, since the full hour of a time; or only `at` a place.

    An address without numbers matches all iterations. Raises UsageError W902.
    """
    sums: dict[str, projection.Spent] = {}
    if by in KEPT and not at:
        sums = store.charges(by, since, run or "", with_tries=with_tries)
        runs, folded = store.runs_charged(since, run or "", with_tries=with_tries), 0
    else:
        newest = RunFilter(sort="updated", without_key=() if with_tries else (TRY,))
        rows = () if run else store.list_runs(newest, RUNS_MAX)
        read = [run] if run else [row.id for row in rows if row.updated_at >= since]
        add = partial(_add_charges, store, sums=sums, by=by, at=at, since=since)
        # An unknown place of one run is an error; a run that was deleted meanwhile is left out.
        charged = [(run, add(run))] if run else each_left(read, add)
        runs, folded = sum(is_charged for _, is_charged in charged), len(read)
    lines = [_line(by, name, spent) for name, spent in sums.items() if spent.calls]
    if by == "day":
        lines.sort(key=lambda line: line.name)
    elif by != "iteration":
        lines.sort(key=lambda line: (-line.cost_usd, -line.calls, line.name))
    return Costs(by, runs, lines, more=run is None and by not in KEPT and folded == RUNS_MAX)


def _line(by: By, name: str, spent: projection.Spent) -> Line:
    if by == "model":
        name = _MODELS.get(name, name)
    elif by in ("loop", "iteration"):
        name = name or _NOWHERE
    return Line(**asdict(spent), name=name)


@dataclass(slots=True)
class _Charges(projection.ChargeFold):
    """The charges of a run, each with its model."""

    charges: list[tuple[Event, str, int]] = field(default_factory=list)

    def charged(self, event: Event, model: str, sign: int) -> None:
        self.charges.append((event, model, sign))


def _add_charges(
    store: SqliteStore,
    run: RunId,
    sums: dict[str, projection.Spent],
    *,
    by: By,
    at: str,
    since: float,
) -> bool:
    """Adds the charges in the journal of a run; returns whether there were any."""
    name, fold, count = store.run(run).name, _Charges(), 0
    for event in _own_events(store, run, at):
        fold.take(event)
        for charge, model, sign in fold.charges:
            if charge.at // projection.HOUR_S >= since // projection.HOUR_S:
                heading = _heading(by, run, name, charge) if by != "model" else model
                usage: Any = charge.body["usage"]
                sums.setdefault(heading, projection.Spent()).charge(usage, model, sign)
                count += sign
        fold.charges.clear()
    return count > 0


def _own_events(store: SqliteStore, run: RunId, at: str) -> Iterator[Event]:
    """Yields the charges of calls, without those that a fork has from its source."""
    forks = store.read(run, kinds=_FORKS) if store.run(run).parent else ()
    # The run that it comes from may be a fork itself, with such an event of its own.
    first = next((entry.seq for entry in forks if entry.event.body.get("run") == run), 0)
    if at and next(store.entries_at(run, at), None) is not None:
        entries = store.entries_at(run, at, first)
        return (entry.event for entry in entries if entry.event.kind in projection.CHARGED)
    events = (entry.event for entry in store.read(run, first, kinds=projection.CHARGED))
    if not at:
        return events
    if not places_like(store, run, at):
        raise unknown_place(store, run, at)
    steps = (projection.step_of(at), f"{projection.step_of(at)}/")
    return (
        e
        for e in events
        if projection.step_of(e.address) == steps[0]
        or projection.step_of(e.address).startswith(steps[1])
    )


def _heading(by: By, run: RunId, workflow: str, event: Event) -> str:
    match by:
        case "step":
            return projection.step_of(event.address)
        case "loop":
            return projection.loop_of(event.address)
        case "iteration":
            head, bracket, _ = event.address.rpartition("]")
            return head + bracket
        case "workflow":
            return workflow
        case "run":
            return run
        case _:
            return datetime.fromtimestamp(event.at, tz=UTC).date().isoformat()
