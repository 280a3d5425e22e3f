"""How far a run has come: the fold over its journal with its steps, which live views share.

It reads no clock, and keeps a bounded part of the past for a run of any length. An event costs
the same for any number of items that run side by side.
"""

from __future__ import annotations

from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING, Any

from whorl.interfaces.formatting import line
from whorl.interfaces.status_words import score_cell, verdict_words
from whorl.interpreter.events import Event, unescape
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.journal import amount_of, count_of, iteration_of
from whorl.runtimes.journal.projection import LoopFold, RunFold

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry

ITERATIONS_MAX = 200
STEPS_MAX = 1_000
LOOPS_MAX = 2_000
TEXT_MAX = 2_000
_ATTEMPT = regex(r"#([0-9]+)$")


@dataclass(slots=True)
class Step:
    """The progress of a task or a gate; for a branch, also which one was taken."""

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

    `shown_score` is the score as tables show it; one outside its range has a mark.
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
    # Up to which iteration it is explored, whatever its rule says.
    most: int = 0

    def count(self, number: int | None = None) -> str:
        """Returns an iteration and the limit: `3/4`, or `4 (exploring to 6, rule 3)`."""
        number = self.number if number is None else number
        if not self.limit or number <= self.limit:
            return f"{number}/{self.limit}" if self.limit else str(number)
        rule = next((done.number for done in self.iterations if done.is_met), self.limit)
        return f"{number} (exploring{f' to {self.most}' if self.most else ''}, rule {rule})"

    def take(self, event: Event, seq: int = 0, number: int | None = None) -> None:
        LoopFold.take(self, event, seq, number)
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
    """The progress of a run, as a person would describe it."""

    run: str = ""
    workflow: str = ""
    mark: str = ""
    started_at: float = 0.0
    # Calls without a known price.
    unpriced: int = 0
    steps: dict[str, Step] = field(default_factory=dict)
    # The loops that are explored, each with its number of iterations.
    explore: dict[str, int] = field(default_factory=dict)
    # What has ended and may be let go, the oldest first.
    _past_steps: dict[str, None] = field(default_factory=dict)
    _past_loops: dict[str, None] = field(default_factory=dict)

    def take(self, event: Event) -> bool:
        if not RunFold.take(self, event):
            return False
        base, attempt = _split_attempt(event.address)
        match event.kind:
            case "run.forked":
                # A fork begins when it is made, not when the run began that it comes from.
                self.started_at, self.unpriced = event.at, 0
            case "run.started":
                self.started_at = self.started_at or event.at
                explored: Any = event.body.get("explore") or {}
                self.explore = dict(explored)
            case "run.finished":
                for one in self.steps.values():
                    if one.state in ("running", "retrying", "waiting"):
                        one.state, one.ended_at = "cancelled", event.at
            case "gate.waiting" if "/:" not in base:
                self._begin_step(base, "waiting", event.at, attempt)
            case "gate.decided":
                step = self.steps.get(base)
                if step is not None and step.state == "waiting":
                    is_approved = bool(event.body.get("approved"))
                    step.state, step.ended_at = "succeeded" if is_approved else "rejected", event.at
                    step.feedback = line(str(event.body.get("feedback") or ""), 200)
            case _:
                self._take_of_step(event, base, attempt)
        return True

    def charge(self, event: Event, sign: int = 1) -> None:
        RunFold.charge(self, event, sign)
        usage: Any = event.body["usage"]
        if usage.get("cost_usd") is None:
            self.unpriced += sign * count_of(usage.get("calls"))

    def loop_for(self, event: Event, address: str) -> LoopProgress:
        """Returns the loop of an event; drops what is kept of its earlier iterations."""
        if event.kind not in ("loop.started", "loop.continued"):
            places: dict[str, Any]
            for places in (self.steps, self.loops, self._past_steps, self._past_loops):
                for key in [key for key in places if key.startswith(f"{address}[")]:
                    del places[key]
        loop = self.loops.get(address)
        if loop is None:
            loop = self.loops[address] = LoopProgress(address, most=self.explore.get(address, 0))
        self._past_loops.pop(address, None)
        if event.kind == "loop.finished" and "[" in address:
            self._let_go(self.loops, self._past_loops, address, LOOPS_MAX)
        return loop

    def unseen(self, entries: list[Entry]) -> list[Entry]:
        """Returns the entries after `last_seq`. A new watcher may receive an entry twice."""
        return [entry for entry in entries if entry.seq > self.last_seq]

    def is_busy(self) -> bool:
        """Returns whether any step is running or will be retried."""
        return any(step.state in ("running", "retrying") for step in self.steps.values())

    def stream(self, address: str, text: str) -> None:
        """Takes in text that a task has streamed, which is not in the journal yet."""
        step = self.steps.get(_split_attempt(address)[0])
        if step is not None:
            step.text = (step.text + text)[-TEXT_MAX:]

    def _take_of_step(self, event: Event, base: str, attempt: int) -> None:
        match event.kind:
            case "task.started":
                step = self._begin_step(base, "running", event.at, attempt)
                inputs: Any = event.body.get("inputs")
                model = inputs.get("model") if isinstance(inputs, dict) else None
                step.model = model if isinstance(model, str) else ""
            case "task.retrying" if base in self.steps:
                self.steps[base].state = "retrying"
            case "timer.fired" if "/:wait" in event.address:
                # A wait is over; nothing tells when it began.
                base, attempt = _split_attempt(event.address.partition("/:wait")[0])
                self._begin_step(base, "succeeded", event.at, attempt)
                self._ended_step(base, attempt, event)
            case "task.finished" | "task.failed":
                step = self._ended_step(base, attempt, event)
                step.model = str(event.body.get("model") or step.model)
                step.state = "succeeded" if event.kind == "task.finished" else "failed"
                error: Any = event.body.get("error")
                if step.state == "failed":
                    message = error.get("message", "") if isinstance(error, dict) else ""
                    step.error = line(str(message), 200)
            case "node.finished" | "node.skipped":
                step = self._ended_step(base, attempt, event)
                step.branch = str(event.body.get("branch") or "")
                usual = "skipped" if event.kind == "node.skipped" else "succeeded"
                if step.state != "rejected":
                    step.state = str(event.body.get("status") or usual)

    def _ended_step(self, base: str, attempt: int, event: Event) -> Step:
        step = self.steps.get(base) or self._begin_step(base, "running", event.at, attempt)
        _, tokens, cost_usd = usage_of(event.body)
        step.tokens += tokens
        step.cost_usd += cost_usd
        step.ended_at = event.at
        self._let_go(self.steps, self._past_steps, base, STEPS_MAX)
        return step

    def _begin_step(self, base: str, state: str, at: float, attempt: int) -> Step:
        step = self.steps[base] = Step(base, state, at, attempt=attempt)
        self._past_steps.pop(base, None)
        return step

    def _let_go(
        self, places: dict[str, Any], past: dict[str, None], address: str, most: int
    ) -> None:
        """Drops the oldest ended steps or loops, since lists of many items leave many of them."""
        past[address] = None
        if len(past) > most:
            oldest = next(iter(past))
            del past[oldest]
            places.pop(oldest, None)


def name_of(address: str) -> str:
    """Returns the name in an address: `review` for `polish[3]/review#2`."""
    tail = address.rpartition("/")[2]
    return unescape(tail.partition("[")[0].partition("#")[0].lstrip(":"))


def usage_of(body: dict[str, Json]) -> tuple[int, int, float]:
    """Returns the calls, tokens and dollars of an event."""
    usage: Any = body.get("usage")
    if not isinstance(usage, dict):
        return 0, 0, 0.0
    tokens = count_of(usage.get("input_tokens")) + count_of(usage.get("output_tokens"))
    return count_of(usage.get("calls")), tokens, amount_of(usage.get("cost_usd")) or 0.0


def _split_attempt(address: str) -> tuple[str, int]:
    attempt = _ATTEMPT.search(address)
    return (address[: attempt.start()], int(attempt[1])) if attempt else (address, 1)
