"""What runs cost: from what the store keeps of them, or, by step and iteration, from journals."""

from __future__ import annotations

from dataclasses import asdict, field, fields
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from whorl.lazily import dataclass
from whorl.runtimes.journal.projection import (
    CHARGED,
    HOUR_S,
    UNKNOWN,
    ChargeFold,
    Spent,
    loop_of,
    step_of,
)
from whorl.runtimes.sqlite.listing import KEPT, TRY, RunFilter
from whorl.services.inspecting.places import places_like, unknown_place
from whorl.services.inspecting.results import each_left

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

By: TypeAlias = Literal["model", "step", "loop", "iteration", "workflow", "run", "day"]
WAYS: tuple[By, ...] = get_args(By)
# Steps and iterations are looked for in the journals of so many runs.
RUNS_MAX = 1_000

_FORKS = frozenset({"run.forked"})
_NOWHERE = "(outside of loops)"
_MODELS = {"": "(no model)", UNKNOWN: "(model not known)"}


@dataclass(slots=True)
class Line(Spent):
    """What was used under one heading."""

    name: str = ""

    def add(self, spent: Spent) -> None:
        for number in fields(Spent):
            setattr(self, number.name, getattr(self, number.name) + getattr(spent, number.name))


@dataclass(slots=True)
class Costs:
    """What some runs used, under headings; how many were charged with anything.

    Steps and iterations are told of the newest runs only, where there are `more`.
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
    """The usage of a run, or of all, since the full hour of a time; only what lies `at` a place.

    An address without numbers is that place in all iterations. Raises UsageError W907.
    """
    sums: dict[str, Spent] = {}
    if by in KEPT and not at:
        sums = store.charges(by, since, run or "", with_tries=with_tries)
        runs, folded = store.runs_charged(since, run or "", with_tries=with_tries), 0
    else:
        read = [run] if run else _newest(store, since, with_tries)
        add = partial(_add_charges, store, sums=sums, by=by, at=at, since=since)
        runs, folded = sum(is_charged for _, is_charged in each_left(read, add)), len(read)
    lines = [_line(by, name, spent) for name, spent in sums.items() if spent.calls]
    if by == "day":
        lines.sort(key=lambda line: line.name)
    elif by != "iteration":
        lines.sort(key=lambda line: (-line.cost_usd, -line.calls, line.name))
    return Costs(by, runs, lines, more=run is None and by not in KEPT and folded == RUNS_MAX)


def _newest(store: SqliteStore, since: float, with_tries: bool) -> list[RunId]:
    hidden = () if with_tries else (TRY,)
    rows = store.list_runs(RunFilter(sort="updated", without_key=hidden), RUNS_MAX)
    return [row.id for row in rows if row.updated_at >= since]


def _line(by: By, name: str, spent: Spent) -> Line:
    if by == "model":
        name = _MODELS.get(name, name)
    elif by in ("loop", "iteration"):
        name = name or _NOWHERE
    return Line(**asdict(spent), name=name)


@dataclass(slots=True)
class _Charges(ChargeFold):
    """The charges of a run, each with its model."""

    charges: list[tuple[Event, str, int]] = field(default_factory=list)

    def charged(self, event: Event, model: str, sign: int) -> None:
        self.charges.append((event, model, sign))


def _add_charges(
    store: SqliteStore, run: RunId, sums: dict[str, Spent], *, by: By, at: str, since: float
) -> bool:
    """Adds what the journal of a run tells; whether there was anything."""
    name, fold, count = store.run(run).name, _Charges(), 0
    for event in _own_events(store, run, at):
        fold.take(event)
        for charge, model, sign in fold.charges:
            if charge.at // HOUR_S >= since // HOUR_S:
                heading = _heading(by, run, name, charge) if by != "model" else model
                usage: Any = charge.body["usage"]
                sums.setdefault(heading, Spent()).charge(usage, model, sign)
                count += sign
        fold.charges.clear()
    return count > 0


def _own_events(store: SqliteStore, run: RunId, at: str) -> Iterator[Event]:
    """What calls were charged with, without what a fork has from the run that it was made of."""
    forks = store.read(run, kinds=_FORKS) if store.run(run).parent else ()
    # The run that it comes from may be a fork itself, with such an event of its own.
    first = next((entry.seq for entry in forks if entry.event.body.get("run") == run), 0)
    if at and next(store.entries_at(run, at), None) is not None:
        entries = store.entries_at(run, at, first)
        return (entry.event for entry in entries if entry.event.kind in CHARGED)
    events = (entry.event for entry in store.read(run, first, kinds=CHARGED))
    if not at:
        return events
    if not places_like(store, run, at):
        raise unknown_place(store, run, at)
    steps = (step_of(at), f"{step_of(at)}/")
    return (
        e
        for e in events
        if step_of(e.address) == steps[0] or step_of(e.address).startswith(steps[1])
    )


def _heading(by: By, run: RunId, workflow: str, event: Event) -> str:
    match by:
        case "step":
            return step_of(event.address)
        case "loop":
            return loop_of(event.address)
        case "iteration":
            head, bracket, _ = event.address.rpartition("]")
            return head + bracket
        case "workflow":
            return workflow
        case "run":
            return run
        case _:
            return datetime.fromtimestamp(event.at, tz=UTC).date().isoformat()
