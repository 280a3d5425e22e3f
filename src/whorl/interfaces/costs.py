"""What runs cost: the usage of every call, rolled up by what people ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from whorl.interpreter.events import unescape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore

By: TypeAlias = Literal["model", "step", "loop", "iteration", "workflow", "run", "day"]
WAYS: tuple[By, ...] = get_args(By)

# A task whose time for all attempts is over tells what it is charged with when it ends.
_PAID = ("task.finished", "task.failed", "node.finished")
_NUMBERS = re.compile(r"\[[0-9]+\]|#[0-9]+")


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
        """Adds what one call used."""
        calls = int(usage.get("calls") or 0)
        self.calls += calls
        self.input_tokens += int(usage.get("input_tokens") or 0)
        self.output_tokens += int(usage.get("output_tokens") or 0)
        if usage.get("cost_usd") is None:
            self.unpriced_calls += calls
        else:
            self.cost_usd += float(usage["cost_usd"])

    def add_doubt(self, reserve: Any) -> None:
        """Adds a call that nobody knows the use of: what was reserved for it is charged."""
        self.in_doubt += 1
        if isinstance(reserve, dict):
            self.calls += int(reserve.get("calls") or 0)
            self.output_tokens += int(reserve.get("tokens") or 0)
            self.cost_usd += float(reserve.get("cost_usd") or 0.0)


def roll_up(store: SqliteStore, runs: Iterable[RunId], by: By, at: str = "") -> list[Line]:
    """The usage of runs under the headings of `by`, the dearest first; only what lies `at` it."""
    lines: dict[str, Line] = {}
    for run in runs:
        name = store.run(run).name
        for event in _own_events(store, run):
            if at and not _is_at(event.address, at):
                continue
            usage = event.body.get("usage")
            if event.kind in _PAID and isinstance(usage, dict):
                heading = _heading(by, run, name, event)
                lines.setdefault(heading, Line(heading)).add(usage)
            elif event.kind == "task.in_doubt":
                heading = _heading(by, run, name, event)
                lines.setdefault(heading, Line(heading)).add_doubt(event.body.get("reserve"))
    if by == "iteration":
        return list(lines.values())
    return sorted(lines.values(), key=lambda line: (-line.cost_usd, -line.calls, line.name))


def _is_at(address: str, place: str) -> bool:
    """Whether an address is a place, lies in it, or is another attempt at it."""
    return address == place or address.startswith((f"{place}/", f"{place}[", f"{place}#"))


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
            return _model(event)
        case "step":
            return unescape(_NUMBERS.sub("", event.address))
        case "loop":
            return _loop(event.address) or "(outside of loops)"
        case "iteration":
            return _iteration(event.address) or "(outside of loops)"
        case "workflow":
            return workflow
        case "run":
            return run
        case "day":
            return datetime.fromtimestamp(event.at, tz=UTC).date().isoformat()


def _model(event: Event) -> str:
    model, provider = event.body.get("model"), event.body.get("provider")
    if not model:
        return "(no model)"
    return f"{provider}/{model}" if provider and "/" not in str(model) else str(model)


def _loop(address: str) -> str:
    """The innermost loop around an address, without its iterations."""
    head, found, _ = address.rpartition("]")
    return unescape(_NUMBERS.sub("", head.rpartition("[")[0])) if found else ""


def _iteration(address: str) -> str:
    """The innermost iteration around an address."""
    head, found, _ = address.rpartition("]")
    return head + found
