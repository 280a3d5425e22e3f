"""Numbers about the runs that a process drives, in the text format of Prometheus.

They are counted as entries become durable, so telling them costs the same however long the journals
are. Names of workflows and models are bounded: beyond so many, the rest is counted as `other`.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from whorl.lazily import dataclass
from whorl.runtimes.journal.fields import amount_of, count_of, text_of
from whorl.runtimes.journal.projection import UNKNOWN, model_named
from whorl.runtimes.start_options import created_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import Entry, RunId
    from whorl.runtimes.runtime import Runtime

Labels: TypeAlias = tuple[str, ...]
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OTHER: Final = "other"
# How many workflows and how many models are told apart.
NAMES_MAX: Final = 100
_NAME_LENGTH_MAX: Final = 100
_CALLS_MAX: Final = 20_000
_CALL_S: Final = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0)
_RUN_S: Final = (0.1, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 21_600.0, 86_400.0)


@dataclass(slots=True)
class Family:
    """A metric: what it is, and its values by their labels."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    words: str
    labels: Labels = ()
    bounds: tuple[float, ...] = ()
    values: dict[Labels, float] = field(default_factory=dict)
    # Of a histogram: how many values are at most each bound, and above all of them.
    counts: dict[Labels, list[int]] = field(default_factory=dict)

    def add(self, amount: float, *labels: str) -> None:
        self.values[labels] = self.values.get(labels, 0.0) + amount

    def observe(self, amount: float, *labels: str) -> None:
        self.add(amount, *labels)
        counts = self.counts.setdefault(labels, [0] * (len(self.bounds) + 1))
        counts[bisect_left(self.bounds, amount)] += 1

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.words}"
        yield f"# TYPE {self.name} {self.kind}"
        for labels, value in self.values.items():
            if self.kind == "histogram":
                yield from self._buckets(labels, value)
            else:
                yield f"{self.name}{self._named(labels)} {value!r}"

    def _buckets(self, labels: Labels, total: float) -> Iterator[str]:
        reached = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts[labels], strict=True):
            reached += count
            yield f"{self.name}_bucket{self._named(labels, f'{bound}')} {reached}"
        yield f"{self.name}_sum{self._named(labels)} {total!r}"
        yield f"{self.name}_count{self._named(labels)} {reached}"

    def _named(self, labels: Labels, bound: str = "") -> str:
        pairs = [*zip(self.labels, labels, strict=True), *([("le", bound)] if bound else [])]
        words = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
        return f"{{{words}}}" if words else ""


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def text_of_families(families: Iterable[Family]) -> str:
    return "".join(f"{line}\n" for family in families for line in family.lines())


class Metrics:
    """Counts what entries tell."""

    def __init__(self) -> None:
        self.runs = Family(
            "whorl_runs_ended_total", "counter", "Runs that ended here.", ("workflow", "status")
        )
        self.seconds = Family(
            "whorl_run_seconds",
            "histogram",
            "From the start of runs to their end, waits included.",
            ("workflow",),
            _RUN_S,
        )
        self.iterations = Family(
            "whorl_iterations_total", "counter", "Iterations of loops.", ("workflow",)
        )
        self.exits = Family(
            "whorl_loops_ended_total", "counter", "Loops by why they ended.", ("workflow", "reason")
        )
        self.calls = Family(
            "whorl_calls_total", "counter", "Calls that were answered.", ("model", "outcome")
        )
        self.doubts = Family(
            "whorl_calls_in_doubt_total",
            "counter",
            "Calls that nobody has answered.",
        )
        self.latency = Family(
            "whorl_call_seconds", "histogram", "How long calls took.", ("kind",), _CALL_S
        )
        self.tokens = Family("whorl_tokens_total", "counter", "Tokens.", ("model", "direction"))
        self.cost = Family("whorl_cost_usd_total", "counter", "Dollars of calls.", ("model",))
        self._names: dict[str, set[str]] = {}
        self._began: dict[tuple[RunId, str], tuple[float, str]] = {}

    def families(self) -> tuple[Family, ...]:
        runs = (self.runs, self.seconds, self.iterations, self.exits)
        return (*runs, self.calls, self.doubts, self.latency, self.tokens, self.cost)

    def bounded(self, label: str, name: str) -> str:
        """The name, or `other` where there are too many of them already."""
        known, name = self._names.setdefault(label, set()), name[:_NAME_LENGTH_MAX]
        if name not in known and len(known) >= NAMES_MAX:
            return OTHER
        known.add(name)
        return name

    def take(self, run: RunId, entries: list[Entry], runtime: Runtime) -> None:
        """Counts entries of a run that the runtime drives."""
        for entry in entries:
            event = entry.event
            match event.kind:
                case "task.started":
                    self._began[run, event.address] = (event.at, text_of(event.body.get("kind")))
                    if len(self._began) > _CALLS_MAX:
                        del self._began[next(iter(self._began))]
                case "task.finished" | "task.failed":
                    self._take_reply(run, event)
                case "task.in_doubt":
                    self.doubts.add(1)
                case "iteration.finished":
                    self.iterations.add(1, self._workflow(runtime, run))
                case "loop.finished":
                    reason = text_of(event.body.get("exit_reason")) or OTHER
                    self.exits.add(1, self._workflow(runtime, run), self.bounded("reason", reason))
                case "run.finished":
                    name = self._workflow(runtime, run)
                    self.runs.add(1, name, text_of(event.body.get("status")) or "failed")
                    began = created_at(run)
                    if began is None:
                        # Whoever reads the store waits for all that computes.
                        began = runtime.store.run(run).created_at
                    self.seconds.observe(max(0.0, event.at - began), name)

    def _workflow(self, runtime: Runtime, run: RunId) -> str:
        return self.bounded("workflow", runtime.plan(run).workflow.name)

    def _take_reply(self, run: RunId, event: Event) -> None:
        body, began = event.body, self._began.pop((run, event.address), None)
        if began is not None:
            kind = self.bounded("kind", began[1])
            self.latency.observe(max(0.0, event.at - began[0]), kind)
        usage: Any = body.get("usage")
        if not isinstance(usage, dict) or not (calls := count_of(usage.get("calls"))):
            return
        model = self.bounded("model", model_named(body) or UNKNOWN)
        self.calls.add(calls, model, "failed" if event.kind == "task.failed" else "answered")
        for direction in ("input", "output"):
            if tokens := count_of(usage.get(f"{direction}_tokens")):
                self.tokens.add(tokens, model, direction)
        if cost := amount_of(usage.get("cost_usd")):
            self.cost.add(cost, model)
