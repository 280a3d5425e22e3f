"""How far a run has come: a fold over its journal that live view, plain lines and status share.

It asks nobody for the time and keeps a bounded part of the past, however long the run is.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.interfaces.figures import line
from whorl.interfaces.wording import score_cell, verdict_words
from whorl.interpreter.events import split_iteration, unescape

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.interpreter.events import Event
    from whorl.language import Json

ITERATIONS_MAX = 200
STEPS_MAX = 1_000
TEXT_MAX = 2_000
WARNINGS_MAX = 100
_ATTEMPT = re.compile(r"#([0-9]+)$")


@dataclass(slots=True)
class Step:
    """A task or a gate, as far as it has come; of a branch, which one was taken."""

    address: str
    state: str = "running"
    started_at: float = 0.0
    ended_at: float | None = None
    model: str = ""
    tokens: int = 0
    cost_usd: float = 0.0
    attempt: int = 1
    text: str = ""
    error: str = ""
    reserve: tuple[int, int, float] = (0, 0, 0.0)
    branch: str = ""
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class Iteration:
    """A finished iteration; `before` is the score of the one before it.

    `shown_score` is the score as tables show it, told apart from what it was measured against.
    """

    number: int
    status: str
    score: float | None
    before: float | None
    seconds: float
    tokens: int
    cost_usd: float
    is_met: bool
    words: str
    shown_score: str = ""


@dataclass(slots=True)
class LoopProgress:
    """A loop that runs or has run."""

    address: str
    path: str = ""
    limit: int = 0
    number: int = 0
    started_at: float = 0.0
    iteration_at: float = 0.0
    iterations: deque[Iteration] = field(default_factory=lambda: deque(maxlen=ITERATIONS_MAX))
    score: float | None = None
    best: tuple[int, float | None] | None = None
    exit_reason: str = ""
    stopped_by: str = ""
    mark: str = ""
    is_failed: bool = False
    returned: int | None = None


@dataclass(slots=True)
class Progress:
    """A run as a person would tell about it."""

    run: str = ""
    workflow: str = ""
    status: str = "running"
    mark: str = ""
    budget_usd: float | None = None
    started_at: float = 0.0
    at: float = 0.0
    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    in_doubt: int = 0
    steps: dict[str, Step] = field(default_factory=dict)
    loops: dict[str, LoopProgress] = field(default_factory=dict)
    waiting: dict[str, dict[str, Json]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: str = ""

    def take(self, event: Event) -> None:
        """Takes the next event of the journal in."""
        self.at = max(self.at, event.at)
        change = _CHANGES.get(event.kind)
        if change is not None:
            change(self, event)

    def is_busy(self) -> bool:
        """Whether any step is under way or about to be tried again."""
        return any(step.state in ("running", "retrying") for step in self.steps.values())

    def stream(self, address: str, text: str) -> None:
        """Takes in text that a task has streamed; it is in no journal yet."""
        step = self.steps.get(_split_attempt(address)[0])
        if step is not None:
            step.text = (step.text + text)[-TEXT_MAX:]


def name_of(address: str) -> str:
    """The name of what an address names: `review` for `polish[3]/review#2`."""
    tail = address.rpartition("/")[2]
    return unescape(tail.partition("[")[0].partition("#")[0].lstrip(":"))


def usage_of(body: dict[str, Json]) -> tuple[int, int, float]:
    """Calls, tokens and dollars of an event."""
    usage: Any = body.get("usage")
    if not isinstance(usage, dict):
        return 0, 0, 0.0
    calls, read, made, cost = (
        usage.get(name) or 0 for name in ("calls", "input_tokens", "output_tokens", "cost_usd")
    )
    return int(calls), int(read + made), float(cost)


def _split_attempt(address: str) -> tuple[str, int]:
    found = _ATTEMPT.search(address)
    return (address[: found.start()], int(found[1])) if found else (address, 1)


def _run_started(progress: Progress, event: Event) -> None:
    progress.status = "running"
    progress.started_at = progress.started_at or event.at
    limits: Any = event.body.get("limits")
    if isinstance(limits, dict) and isinstance(limits.get("cost_usd"), int | float):
        progress.budget_usd = float(limits["cost_usd"])


def _run_forked(progress: Progress, event: Event) -> None:
    """What the iterations before were paid by the run that they come from."""
    _run_started(progress, event)
    progress.started_at = event.at
    progress.calls = progress.tokens = progress.in_doubt = 0
    progress.cost_usd = 0.0


def _run_goes_on(progress: Progress, event: Event) -> None:
    progress.status = "running"
    progress.error = ""
    more: Any = event.body.get("cost_usd")
    if isinstance(more, int | float) and progress.budget_usd is not None:
        progress.budget_usd += more
    loop = progress.loops.get(str(event.body.get("at")))
    if loop is None:
        return
    iterations: Any = event.body.get("iterations")
    if isinstance(iterations, int):
        ended = bool(loop.exit_reason)
        loop.limit = (loop.number if ended else max(loop.limit, loop.number)) + iterations
    loop.exit_reason = loop.stopped_by = loop.mark = ""


def _run_paused(progress: Progress, event: Event) -> None:
    progress.status = "paused"


def _run_waiting(progress: Progress, event: Event) -> None:
    progress.status = str(event.body.get("status", "waiting"))


def _run_finished(progress: Progress, event: Event) -> None:
    progress.status = str(event.body.get("status", "failed"))
    error: Any = event.body.get("error")
    progress.error = str(error.get("message", "")) if isinstance(error, dict) else ""
    for step in progress.steps.values():
        if step.state in ("running", "retrying", "waiting"):
            step.state, step.ended_at = "cancelled", event.at
    progress.waiting.clear()


def _task_started(progress: Progress, event: Event) -> None:
    base, attempt = _split_attempt(event.address)
    inputs: Any = event.body.get("inputs")
    model = inputs.get("model") if isinstance(inputs, dict) else None
    step = Step(base, "running", event.at, attempt=attempt)
    step.model = model if isinstance(model, str) else ""
    reserve: Any = event.body.get("reserve")
    if isinstance(reserve, dict):
        calls, tokens, cost = (reserve.get(name) or 0 for name in ("calls", "tokens", "cost_usd"))
        step.reserve = (int(calls), int(tokens), float(cost))
    progress.steps[base] = step
    progress.status = "running" if progress.status == "waiting" else progress.status


def _task_ended(progress: Progress, event: Event) -> None:
    base, attempt = _split_attempt(event.address)
    step = progress.steps.setdefault(base, Step(base, "running", event.at, attempt=attempt))
    _spend(progress, step, event)
    step.ended_at = event.at
    step.model = str(event.body.get("model") or step.model)
    if event.kind == "task.finished":
        step.state = "succeeded"
        _forget_oldest(progress)
        return
    error: Any = event.body.get("error")
    step.state = "failed"
    step.error = line(str(error.get("message", "")) if isinstance(error, dict) else "", 200)


def _spend(progress: Progress, step: Step, event: Event) -> None:
    calls, tokens, cost_usd = usage_of(event.body)
    progress.calls += calls
    progress.tokens += tokens
    progress.cost_usd += cost_usd
    step.tokens += tokens
    step.cost_usd += cost_usd


def _task_in_doubt(progress: Progress, event: Event) -> None:
    """Nobody will say what the call used, so all that was reserved for it counts as spent."""
    progress.in_doubt += 1
    step = progress.steps.get(_split_attempt(event.address)[0])
    if step is not None:
        calls, tokens, cost_usd = step.reserve
        progress.calls += calls
        progress.tokens += tokens
        progress.cost_usd += cost_usd


def _task_retrying(progress: Progress, event: Event) -> None:
    step = progress.steps.get(_split_attempt(event.address)[0])
    if step is not None:
        step.state = "retrying"


def _timer_fired(progress: Progress, event: Event) -> None:
    """A wait is over; nothing tells when it began."""
    base, kind, _ = event.address.partition("/:wait")
    if kind:
        base, attempt = _split_attempt(base)
        progress.steps[base] = Step(base, "succeeded", event.at, event.at, attempt=attempt)
        _forget_oldest(progress)


def _node_ended(progress: Progress, event: Event) -> None:
    base, attempt = _split_attempt(event.address)
    step = progress.steps.setdefault(base, Step(base, "running", event.at, attempt=attempt))
    step.ended_at = event.at
    _spend(progress, step, event)
    step.branch = str(event.body.get("branch") or "")
    usual = "skipped" if event.kind == "node.skipped" else "succeeded"
    if step.state != "rejected":
        step.state = str(event.body.get("status") or usual)


def _loop_started(progress: Progress, event: Event) -> None:
    limits: Any = event.body.get("limits")
    limit = limits.get("iterations", 0) if isinstance(limits, dict) else 0
    progress.loops[event.address] = LoopProgress(
        event.address, str(event.body.get("path", "")), int(limit), started_at=event.at
    )


def _loop_continued(progress: Progress, event: Event) -> None:
    """What the limits are now, only the run itself knows."""
    loop = progress.loops.setdefault(event.address, LoopProgress(event.address))
    loop.exit_reason = loop.stopped_by = loop.mark = ""
    limits: Any = event.body.get("limits")
    if isinstance(limits, dict):
        loop.limit = int(limits.get("iterations") or loop.limit)
    of_run: Any = event.body.get("run_limits")
    if isinstance(of_run, dict) and isinstance(of_run.get("cost_usd"), int | float):
        progress.budget_usd = float(of_run["cost_usd"])


def _iteration_started(progress: Progress, event: Event) -> None:
    address, number = split_iteration(event.address)
    loop = progress.loops.setdefault(address, LoopProgress(address))
    loop.number = number or loop.number + 1
    loop.iteration_at = event.at
    loop.exit_reason = loop.mark = ""
    _drop_below(progress, f"{address}[")


def _iteration_finished(progress: Progress, event: Event) -> None:
    address, number = split_iteration(event.address)
    loop = progress.loops.setdefault(address, LoopProgress(address))
    body: dict[str, Any] = event.body
    if body.get("status") == "not_begun":
        loop.number = max(0, loop.number - 1)
        return
    score = body.get("score")
    measured = float(score) if isinstance(score, int | float) else None
    _, tokens, cost_usd = usage_of(event.body)
    done = Iteration(
        number=number or loop.number,
        status=str(body.get("status", "")),
        score=measured,
        before=loop.score,
        seconds=float(body.get("seconds") or 0.0),
        tokens=tokens,
        cost_usd=cost_usd,
        is_met=bool(body.get("met")),
        words=verdict_words(body, 200),
        shown_score=score_cell(body, measured),
    )
    loop.iterations.append(done)
    loop.score = done.score if done.score is not None else loop.score
    if body.get("best"):
        loop.best = (done.number, done.score)
    _drop_below(progress, f"{address}[")


def _loop_finished(progress: Progress, event: Event) -> None:
    loop = progress.loops.setdefault(event.address, LoopProgress(event.address))
    body: dict[str, Any] = event.body
    loop.exit_reason = str(body.get("exit_reason") or "")
    loop.stopped_by = str(body.get("stopped_by") or "")
    loop.is_failed = bool(body.get("error")) or loop.exit_reason in ("failed", "cancelled")
    loop.mark = str(body.get("mark") or "")
    loop.returned = body.get("returned_iteration")
    if "best_iteration" in body:
        # What iterations say about themselves is only that they were the best so far.
        best = body["best_iteration"]
        scores = [done.score for done in loop.iterations if done.number == best]
        loop.best = (best, scores[-1] if scores else None) if isinstance(best, int) else None
    loop.number = int(body.get("iterations") or loop.number)
    _drop_below(progress, f"{event.address}[")


def _gate_waiting(progress: Progress, event: Event) -> None:
    progress.waiting[event.address] = event.body
    base, attempt = _split_attempt(event.address)
    if "/:" not in base:
        progress.steps[base] = Step(base, "waiting", event.at, attempt=attempt)


def _gate_decided(progress: Progress, event: Event) -> None:
    progress.waiting.pop(event.address, None)
    step = progress.steps.get(_split_attempt(event.address)[0])
    if step is not None and step.state == "waiting":
        is_approved = bool(event.body.get("approved"))
        step.state, step.ended_at = "succeeded" if is_approved else "rejected", event.at
        step.feedback = line(str(event.body.get("feedback") or ""), 200)
    progress.status = "running" if progress.status == "waiting" else progress.status


def _warned(progress: Progress, event: Event) -> None:
    if len(progress.warnings) < WARNINGS_MAX:
        progress.warnings.append(str(event.body.get("message", "")))


def _forget_oldest(progress: Progress) -> None:
    """A list of many items leaves many steps; the oldest that went well are let go."""
    if len(progress.steps) > STEPS_MAX:
        done = [key for key, step in progress.steps.items() if step.state == "succeeded"]
        for key in done[: STEPS_MAX // 2]:
            del progress.steps[key]


def _drop_below(progress: Progress, prefix: str) -> None:
    for address in [one for one in progress.steps if one.startswith(prefix)]:
        del progress.steps[address]
    for address in [one for one in progress.loops if one.startswith(prefix)]:
        del progress.loops[address]


_CHANGES: dict[str, Callable[[Progress, Event], None]] = {
    "run.started": _run_started,
    "run.forked": _run_forked,
    "run.resumed": _run_goes_on,
    "run.continued": _run_goes_on,
    "run.accepted": _run_goes_on,
    "run.paused": _run_paused,
    "run.waiting": _run_waiting,
    "run.finished": _run_finished,
    "task.started": _task_started,
    "task.finished": _task_ended,
    "task.failed": _task_ended,
    "task.in_doubt": _task_in_doubt,
    "task.retrying": _task_retrying,
    "timer.fired": _timer_fired,
    "node.finished": _node_ended,
    "node.skipped": _node_ended,
    "loop.started": _loop_started,
    "loop.continued": _loop_continued,
    "iteration.started": _iteration_started,
    "iteration.finished": _iteration_finished,
    "loop.finished": _loop_finished,
    "gate.waiting": _gate_waiting,
    "gate.decided": _gate_decided,
    "warning": _warned,
}
