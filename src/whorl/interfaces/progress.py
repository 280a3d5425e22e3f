"""How far a run has come: the fold over its journal with its steps, which live views share.

It asks nobody for the time and keeps a bounded part of the past, however long the run is.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whorl.interfaces.figures import line
from whorl.interfaces.wording import score_cell, verdict_words
from whorl.interpreter.events import unescape
from whorl.runtimes.projection import LoopFold, RunFold, amount_of, count_of, iteration_of

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
    address: str = ""


@dataclass(slots=True)
class LoopProgress(LoopFold):
    """A loop that runs or has run, with its newest iterations."""

    started_at: float = 0.0
    iteration_at: float = 0.0
    iterations: deque[Iteration] = field(default_factory=lambda: deque(maxlen=ITERATIONS_MAX))
    is_failed: bool = False

    def take(self, event: Event, seq: int = 0) -> None:
        """Takes the next event of this loop in."""
        LoopFold.take(self, event, seq)
        match event.kind:
            case "loop.started":
                self.started_at = event.at
                self.iterations.clear()
            case "iteration.started":
                self.iteration_at = event.at
            case "iteration.finished" if event.body.get("status") != "not_begun":
                if self.iterations and self.iterations[-1].address == event.address:
                    # It was put aside for lack of money and has gone on.
                    self.iterations.pop()
                self.iterations.append(self._finished(event))
            case "loop.finished":
                failed = self.exit_reason in ("failed", "cancelled")
                self.is_failed = failed or bool(event.body.get("error"))
                if self.best is not None and self.best[1] is None:
                    scores = [done.score for done in self.iterations if done.number == self.best[0]]
                    self.best = (self.best[0], scores[-1] if scores else None)

    def _finished(self, event: Event) -> Iteration:
        body: dict[str, Any] = event.body
        scores = [done.score for done in self.iterations if done.score is not None]
        _, tokens, cost_usd = usage_of(body)
        return Iteration(
            number=iteration_of(event)[1] or self.number,
            status=str(body.get("status", "")),
            score=self.score,
            before=scores[-1] if scores else None,
            seconds=float(body.get("seconds") or 0.0),
            tokens=tokens,
            cost_usd=cost_usd,
            is_met=bool(body.get("met")),
            words=verdict_words(body, 200),
            shown_score=score_cell(body, self.score),
            address=event.address,
        )


@dataclass(slots=True)
class Progress(RunFold[LoopProgress]):
    """A run as a person would tell about it."""

    run: str = ""
    workflow: str = ""
    mark: str = ""
    started_at: float = 0.0
    at: float = 0.0
    steps: dict[str, Step] = field(default_factory=dict)
    waiting: dict[str, dict[str, Json]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def take(self, event: Event) -> bool:
        """Takes the next event of the journal in."""
        self.at = max(self.at, event.at)
        if not RunFold.take(self, event):
            return False
        change = _CHANGES.get(event.kind)
        if change is not None:
            change(self, event)
        return True

    def loop_for(self, event: Event, address: str) -> LoopProgress:
        """The loop that an event is about; what lies in its iterations before is let go."""
        if event.kind not in ("loop.started", "loop.continued"):
            _drop_below(self, f"{address}[")
        return self.loops.setdefault(address, LoopProgress(address))

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
    tokens = count_of(usage.get("input_tokens")) + count_of(usage.get("output_tokens"))
    return count_of(usage.get("calls")), tokens, amount_of(usage.get("cost_usd")) or 0.0


def _split_attempt(address: str) -> tuple[str, int]:
    attempt = _ATTEMPT.search(address)
    return (address[: attempt.start()], int(attempt[1])) if attempt else (address, 1)


def _run_started(progress: Progress, event: Event) -> None:
    """A fork begins when it is made, not when the run began that it comes from."""
    if event.kind == "run.forked" or not progress.started_at:
        progress.started_at = event.at


def _run_finished(progress: Progress, event: Event) -> None:
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
    progress.steps[base] = step


def _ended_step(progress: Progress, event: Event) -> Step:
    base, attempt = _split_attempt(event.address)
    step = progress.steps.setdefault(base, Step(base, "running", event.at, attempt=attempt))
    _, tokens, cost_usd = usage_of(event.body)
    step.tokens += tokens
    step.cost_usd += cost_usd
    step.ended_at = event.at
    return step


def _task_ended(progress: Progress, event: Event) -> None:
    step = _ended_step(progress, event)
    step.model = str(event.body.get("model") or step.model)
    if event.kind == "task.finished":
        step.state = "succeeded"
        _forget_oldest(progress)
        return
    error: Any = event.body.get("error")
    step.state = "failed"
    step.error = line(str(error.get("message", "")) if isinstance(error, dict) else "", 200)


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
    step = _ended_step(progress, event)
    step.branch = str(event.body.get("branch") or "")
    usual = "skipped" if event.kind == "node.skipped" else "succeeded"
    if step.state != "rejected":
        step.state = str(event.body.get("status") or usual)


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
    for address in [key for key in progress.steps if key.startswith(prefix)]:
        del progress.steps[address]
    for address in [key for key in progress.loops if key.startswith(prefix)]:
        del progress.loops[address]


_CHANGES: dict[str, Callable[[Progress, Event], None]] = {
    "run.started": _run_started,
    "run.forked": _run_started,
    "run.finished": _run_finished,
    "task.started": _task_started,
    "task.finished": _task_ended,
    "task.failed": _task_ended,
    "task.retrying": _task_retrying,
    "timer.fired": _timer_fired,
    "node.finished": _node_ended,
    "node.skipped": _node_ended,
    "gate.waiting": _gate_waiting,
    "gate.decided": _gate_decided,
    "warning": _warned,
}
