"""The view of a run, folded from its journal: status, usage, time, cost and loops.

Lists, live views, results and traces all use it, so they agree.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from whorl.interpreter.events import Event, charged, split_iteration, unescape
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.journal import (
    LoopRow,
    amount_of,
    count_of,
    iteration_of,
    iterations_in,
    known_cost,
    mark_of,
    number_of,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json


_REQUESTS_KEPT: Final = 100
_ABANDONED_MAX: Final = 1_000
_ANSWERED_KEPT: Final = 1_000
# What a loop and its row call alike.
_SAME: Final = ("address", "exit_reason", "stopped_by", "score", "usage", "until", "started_seq",
                "finished_seq", "mark", "explored")  # fmt: skip
_WAKING: Final = frozenset(
    {"task.started", "task.finished", "task.failed", "gate.decided", "timer.fired", "run.accepted"}
)


@dataclass(slots=True)
class LoopFold:
    """A loop of a run; `number` counts the iterations that began, `limit` how many there may be."""

    address: str
    path: str = ""
    limit: int = 0
    number: int = 0
    score: float | None = None
    best: tuple[int, float | None] | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    mark: str = ""
    returned: int | None = None
    failed: tuple[int, ...] = ()
    usage: Json = None
    limits: Json = None
    until: Json = None
    started_seq: int = 0
    finished_seq: int | None = None
    is_over: bool = False
    explored: int = 0

    def take(self, event: Event, seq: int = 0, number: int | None = None) -> None:
        """Takes an event of the loop; `number` is its iteration, if known."""
        kind, body = event.kind, event.body
        if number is None:
            number = iteration_of(event)[1]
        if kind == "iteration.started":
            self.number = number or self.number + 1
            if self.is_over:
                self._reopen()
            return
        if kind == "iteration.finished":
            number = number or self.number
            if body.get("status") == "not_begun":
                self.number = max(0, number - 1)
                return
            self.number = max(self.number, number)
            self.score = number_of(body.get("score"))
            if body.get("best") is True:
                self.best = (number, self.score)
            return
        if kind == "loop.finished":
            self._finish(body, seq)
            return
        self._reopen()
        self.limits = body.get("limits")
        self.limit = iterations_in(self.limits) or self.limit
        if kind == "loop.started":
            self.path, self.until = text_of(body.get("path")), body.get("until")
            self.started_seq = self.started_seq or seq
            self.number, self.score, self.best = 0, None, None

    def _reopen(self) -> None:
        self.exit_reason = self.stopped_by = self.mark = ""
        self.finished_seq, self.is_over, self.explored = None, False, 0

    def _finish(self, body: dict[str, Json], seq: int) -> None:
        self.is_over, self.finished_seq = True, seq
        self.path = text_of(body.get("path")) or self.path
        if "iterations" in body:
            self.number = count_of(body["iterations"])
        self.exit_reason = text_of(body.get("exit_reason"))
        self.stopped_by = text_of(body.get("stopped_by"))
        self.score = number_of(body.get("score"))
        self.mark = mark_of(body.get("mark"))
        self.explored = count_of(body.get("explored"))
        self.returned = count_of(body.get("returned_iteration")) or None
        failed = body.get("failed_iterations")
        self.failed = tuple(map(count_of, failed)) if isinstance(failed, list) else ()
        self.usage = body.get("usage")
        if "best_iteration" in body:
            # What iterations say about themselves is only that they were the best so far.
            best = count_of(body["best_iteration"])
            score = self.best[1] if self.best is not None and self.best[0] == best else None
            self.best = (best, score) if best else None

    def row(self) -> LoopRow:
        limits = self.limits
        if isinstance(limits, dict) and self.limit:
            limits = limits | {"iterations": self.limit}
        same: dict[str, Any] = {name: getattr(self, name) for name in _SAME}
        return LoopRow(
            path=self.path or self.address,
            state="finished" if self.is_over else "running",
            iterations=self.number,
            best_iteration=self.best[0] if self.best is not None else None,
            returned_iteration=self.returned,
            failed_iterations=self.failed,
            limits=limits,
            **same,
        )


AnyLoop = TypeVar("AnyLoop", bound=LoopFold)


@dataclass(slots=True)
class RunFold(Generic[AnyLoop]):
    """The status, the usage and some loops of a run."""

    last_seq: int = 0
    updated_at: float = 0.0
    cost_usd: float = 0.0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    in_doubt: int = 0
    budget_usd: float | None = None
    error: str = ""
    status: str = "running"
    # While it is paused for a budget: the iterations whose first calls that refuses.
    not_begun: tuple[str, ...] | None = None
    loops: dict[str, AnyLoop] = field(default_factory=dict)
    # The events that charge calls which were given up on their way, by their addresses.
    abandoned: dict[str, Event] = field(default_factory=dict)
    # The calls that were answered last.
    answered: deque[str] = field(default_factory=lambda: deque(maxlen=_ANSWERED_KEPT))
    # The requests of people that are in the journal, by their names.
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=_REQUESTS_KEPT))
    # When a waiting run resumes by itself.
    due: float | None = None
    # How long it has worked: not while it had ended, was paused or waited for a person.
    seconds: float = 0.0
    # What was reserved for calls in doubt, a part of the cost.
    reserved_usd: float = 0.0

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def take(self, event: Event) -> bool:
        """Takes the next event of the journal; returns False for a request that came before."""
        self.last_seq += 1
        if event.at > self.updated_at:
            if self.status == "running" and self.updated_at:
                self.seconds += event.at - self.updated_at
            self.updated_at = event.at
        if "request" in event.body and (request := text_of(event.body["request"])):
            # The run also ignores a request that is in the journal twice.
            if request in self.requests:
                return False
            self.requests.append(request)
        kind = event.kind
        if self.status == "waiting" and kind in _WAKING:
            self.status = "running"
        change = _CHANGES.get(kind)
        if change is not None:
            change(self, event)
        elif kind in LOOP_KINDS:
            self.take_of_loop(event)
        return True

    def loop_for(self, event: Event, address: str) -> AnyLoop | None:
        return self.loops.get(address)

    def take_of_loop(self, event: Event) -> None:
        address, number = event.address, 0
        if event.kind in OF_ITERATIONS:
            address, number = iteration_of(event)
        loop = self.loop_for(event, address)
        if loop is not None:
            loop.take(event, self.last_seq, number)
        if self.not_begun is not None:
            self._begin_later(event)
        if event.kind == "loop.continued":
            # What the limits are now, only the run itself knows.
            limits = event.body.get("run_limits")
            if isinstance(limits, dict):
                self.budget_usd = amount_of(limits.get("cost_usd"))

    def go_on(self, event: Event) -> None:
        """Notes that the run begins, or that a person resumes it, perhaps with more budget."""
        self.status, self.error = "running", ""
        self._hold(None)
        if event.kind == "run.continued":
            return
        limits = event.body.get("limits")
        if isinstance(limits, dict):
            self.budget_usd = amount_of(limits.get("cost_usd"))
        more = amount_of(event.body.get("cost_usd"))
        if more is not None and self.budget_usd is not None:
            self.budget_usd += more

    def fork(self, event: Event) -> None:
        self.go_on(event)
        self.abandoned.clear()
        self.calls = self.input_tokens = self.output_tokens = self.in_doubt = 0
        self.cost_usd, self.reserved_usd, self.seconds = 0.0, 0.0, 0.0

    def wait(self, event: Event) -> None:
        self.status = text_of(event.body.get("status")) or "waiting"
        self.due = number_of(event.body.get("due"))
        held = event.body.get("not_begun")
        if isinstance(held, list):
            self._hold(tuple(map(str, held)))

    def _begin_later(self, event: Event) -> None:
        """Holds back an iteration that begins without budget, unless it is a retry (`[1]#2`).

        An iteration or loop that finishes is no longer held back; its event has its own counts.
        """
        held, at = self.not_begun or (), event.address
        if event.kind in ("iteration.finished", "loop.finished"):
            self.not_begun = tuple(
                address for address in held if at not in (address, split_iteration(address)[0])
            )
        elif event.kind == "iteration.started" and at.endswith("]"):
            self._count(at, -1)
            self.not_begun = (*held, at)

    def _hold(self, iterations: tuple[str, ...] | None) -> None:
        for iteration in self.not_begun or ():
            self._count(iteration, 1)
        for iteration in iterations or ():
            self._count(iteration, -1)
        self.not_begun = iterations

    def _count(self, iteration: str, step: int) -> None:
        loop = self.loops.get(split_iteration(iteration)[0])
        if loop is not None:
            loop.number = max(0, loop.number + step)

    def finish(self, event: Event) -> None:
        """Ends the run; its usage also has abandoned calls that no other event charges."""
        self.status = text_of(event.body.get("status")) or "failed"
        error = event.body.get("error")
        self.error = text_of(error.get("message") if isinstance(error, dict) else error)
        self._hold(None)
        usage = event.body.get("usage")
        if isinstance(usage, dict) and count_of(usage.get("calls")) > self.calls:
            self.calls = self.input_tokens = self.output_tokens = self.in_doubt = 0
            self.cost_usd = 0.0
            self._add(usage)

    def spend(self, event: Event) -> None:
        """Charges a call that is answered or abandoned."""
        if self.not_begun and event.kind != "node.finished":
            # An answer that needed no money: its iteration has begun after all.
            self._hold(tuple(at for at in self.not_begun if not event.address.startswith(f"{at}/")))
        if not isinstance(event.body.get("usage"), dict):
            return
        if event.kind == "node.finished":
            if event.address in self.answered:
                # The reply came together with what gave the call up, and stands before it.
                return
            self.abandoned[event.address] = event
            if len(self.abandoned) > _ABANDONED_MAX:
                del self.abandoned[next(iter(self.abandoned))]
        else:
            self.answered.append(event.address)
            if (given_up := self.abandoned.pop(event.address, None)) is not None:
                # A reply that comes after all counts instead of what its call was charged with.
                self.charge(given_up, -1)
        self.charge(event)

    def charge(self, event: Event, sign: int = 1) -> None:
        """Adds the usage of an event, or subtracts it if `sign` is -1."""
        usage: Any = event.body["usage"]
        self._add(usage, sign)

    def doubt(self, event: Event) -> None:
        """Charges the reserved amount of a call whose usage is unknown."""
        reserve = event.body.get("reserve")
        if event.address not in self.abandoned:
            usage: Json = {**charged(reserve if isinstance(reserve, dict) else {})}
            self.spend(Event(event.kind, event.address, event.at, {"usage": usage}))

    def begin(self, event: Event) -> None:
        self.abandoned.pop(event.address, None)

    def _add(self, usage: dict[str, Json], sign: int = 1) -> None:
        self.calls += sign * count_of(usage.get("calls"))
        self.input_tokens += sign * count_of(usage.get("input_tokens"))
        self.output_tokens += sign * count_of(usage.get("output_tokens"))
        cost_usd = sign * (amount_of(usage.get("cost_usd")) or 0.0)
        self.cost_usd += cost_usd
        self.in_doubt += sign * count_of(usage.get("in_doubt"))
        self.reserved_usd += cost_usd if usage.get("in_doubt") else 0.0


def _pause(run: RunFold[Any], event: Event) -> None:
    run.status = "paused"


OF_ITERATIONS: Final = frozenset({"iteration.started", "iteration.finished"})
_CHANGES: Final[dict[str, Callable[[RunFold[Any], Event], None]]] = {
    "run.started": RunFold.go_on,
    "run.resumed": RunFold.go_on,
    "run.accepted": RunFold.go_on,
    "run.continued": RunFold.go_on,
    "run.forked": lambda run, event: run.fork(event),
    "run.paused": _pause,
    "run.waiting": RunFold.wait,
    "run.finished": RunFold.finish,
    "task.finished": RunFold.spend,
    "task.failed": RunFold.spend,
    "node.finished": RunFold.spend,
    "task.in_doubt": RunFold.doubt,
    "task.started": lambda run, event: run.begin(event),
}
LOOP_KINDS: Final = frozenset({"loop.started", "loop.continued", "loop.finished", *OF_ITERATIONS})


# What calls are charged with, by hour, loop and model: what a store keeps of each run's money.

# The hour since the epoch, the loop without the numbers of iterations, and the model.
SpendingKey: TypeAlias = tuple[int, str, str]

HOUR_S: Final = 3600
# What tells of the money of a run.
CHARGED: Final = frozenset(
    {"task.started", "task.finished", "task.failed", "task.in_doubt", "node.finished"}
)
# The model of a call that a model was asked of which nobody has said which.
UNKNOWN: Final = "?"
_MODELS_MAX: Final = 20_000
_NUMBERS: Final = regex(r"\[[0-9]+\]|#[0-9]+")


@dataclass(slots=True)
class Spent:
    """Usage; calls without a known price are counted beside the sum."""

    calls: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    in_doubt: int = 0

    @property
    def known_usd(self) -> float | None:
        return known_cost(self.cost_usd, self.unpriced_calls)

    def charge(self, usage: dict[str, Json], model: str, sign: int = 1) -> None:
        calls = sign * count_of(usage.get("calls"))
        self.calls += calls
        self.model_calls += calls if model else 0
        self.input_tokens += sign * count_of(usage.get("input_tokens"))
        self.output_tokens += sign * count_of(usage.get("output_tokens"))
        self.in_doubt += sign * count_of(usage.get("in_doubt"))
        if usage.get("cost_usd") is None:
            self.unpriced_calls += calls
        else:
            self.cost_usd += sign * (amount_of(usage["cost_usd"]) or 0.0)


def model_named(body: dict[str, Any]) -> str:
    """Returns the model or agent that is named in a reply, a failure or the inputs of a call."""
    error = body.get("error")
    detail = error.get("detail") if isinstance(error, dict) else None
    naming = detail if isinstance(detail, dict) else body
    model, provider = text_of(naming.get("model")), text_of(naming.get("provider"))
    if model:
        return f"{provider}/{model}" if provider and "/" not in model else model
    agent = text_of(naming.get("agent"))
    return f"agent {agent}" if agent else ""


# Folding a journal asks for the same loop many times.
@lru_cache(maxsize=1024)
def step_of(address: str) -> str:
    """An address without the numbers of iterations and attempts."""
    return unescape(_NUMBERS.sub("", address))


def loop_of(address: str) -> str:
    """Returns the innermost loop or for-each around an address, without numbers, or ""."""
    head, bracket, _ = address.rpartition("]")
    return step_of(head.rpartition("[")[0]) if bracket else ""


@dataclass(slots=True)
class ChargeFold(RunFold[LoopFold]):
    """A run whose charges are reported one by one, each with its model."""

    # The models of open calls, by address.
    models: dict[str, str] = field(default_factory=dict)

    def begin(self, event: Event) -> None:
        RunFold.begin(self, event)
        inputs = event.body.get("inputs")
        if isinstance(inputs, dict) and (model := model_named(inputs)):
            self.models[event.address] = model
            if len(self.models) > _MODELS_MAX:
                del self.models[next(iter(self.models))]

    def charge(self, event: Event, sign: int = 1) -> None:
        RunFold.charge(self, event, sign)
        usage: Any = event.body["usage"]
        is_asked = bool(usage.get("input_tokens") or usage.get("output_tokens"))
        named = model_named(event.body) or self.models.get(event.address, "")
        self.charged(event, named or (UNKNOWN if is_asked else ""), sign)
        if event.kind not in ("node.finished", "task.in_doubt"):
            self.models.pop(event.address, None)

    def charged(self, event: Event, model: str, sign: int) -> None:
        """Adds the usage of an event under its model, or subtracts it if `sign` is -1."""

    def fork(self, event: Event) -> None:
        """Begins a fork, which is not charged again for the calls of its source."""
        RunFold.fork(self, event)
        self.models.clear()


def place_of(event: Event, model: str) -> SpendingKey:
    return int(event.at // HOUR_S), loop_of(event.address), model
