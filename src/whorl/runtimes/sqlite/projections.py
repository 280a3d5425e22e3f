"""What lists and charts show of a run, kept up to date in the transaction that adds the entries.

Everything here is derived from events alone. A field that is missing or has an odd type counts as
not there: a journal entry is never refused because of what a list would show.
"""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from whorl.interpreter.events import split_iteration
from whorl.runtimes.sqlite.bodies import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.interpreter.events import Event
    from whorl.language import Json

_ERROR_LENGTH_MAX: Final = 500
_NUMBER_MAX: Final = 2**63
_REQUESTS_KEPT: Final = 100
_ATTEMPT: Final = re.compile(r"#[0-9]+")
_MARKS: Final = ("limit", "budget")


@dataclass(slots=True)
class LoopChange:
    """A loop that started (or started again) or finished at an entry, or else was reopened.

    `limit` is how many iterations it may have from then on; None: as many as before.
    """

    address: str
    started: int | None = None
    finished: int | None = None
    limit: int | None = None
    mark: str = ""


@dataclass(slots=True)
class Progress:
    """The part of a run's row that changes while it runs, and the changes not yet written."""

    number: int
    owner: int
    last_seq: int = 0
    updated_at: float = 0.0
    cost_usd: float = 0.0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    in_doubt: int = 0
    budget_usd: float | None = None
    loop: str = ""
    iteration: int = 0
    score: float | None = None
    exit_reason: str = ""
    error: str = ""
    status: str = "running"
    status_stored: str = ""
    mark: str = ""
    loop_changes: list[LoopChange] = field(default_factory=list)
    # The requests of people that this process has written down, by their names.
    requests: deque[str] = field(default_factory=lambda: deque(maxlen=_REQUESTS_KEPT))

    def row(self) -> tuple[int | float | str | None, ...]:
        """The values of UPSERT_PROGRESS."""
        return (
            self.number,
            self.owner,
            self.last_seq,
            self.updated_at,
            self.cost_usd,
            self.calls,
            self.input_tokens,
            self.output_tokens,
            self.in_doubt,
            self.budget_usd,
            self.loop,
            self.iteration,
            self.score,
            self.exit_reason,
            self.error,
        )


def advance(progress: Progress, event: Event) -> None:
    """Takes the next event of the run into account."""
    progress.last_seq += 1
    progress.updated_at = event.at
    if "request" in event.body and _is_repeated(progress, event):
        return
    if progress.status == "waiting" and event.kind in _WAKING:
        progress.status = "running"
    change = _CHANGES.get(event.kind)
    if change is not None:
        change(progress, event)


def _is_repeated(progress: Progress, event: Event) -> bool:
    """Whether a request stands in the journal twice; the run ignores the second one."""
    name = text_of(event.body.get("request"))
    if not name:
        return False
    if name in progress.requests:
        return True
    progress.requests.append(name)
    return False


def _run_goes_on(progress: Progress, event: Event) -> None:
    progress.status = "running"
    progress.error = ""
    limits = event.body.get("limits")
    if isinstance(limits, dict):
        progress.budget_usd = _amount(limits.get("cost_usd"))
    extra = _amount(event.body.get("cost_usd"))
    if extra is not None and progress.budget_usd is not None:
        progress.budget_usd += extra


def _run_forked(progress: Progress, event: Event) -> None:
    """What came before was paid for by another run."""
    _run_goes_on(progress, event)
    progress.calls = progress.input_tokens = progress.output_tokens = progress.in_doubt = 0
    progress.cost_usd = 0.0


def _run_continued(progress: Progress, event: Event) -> None:
    progress.status = "running"
    progress.error = ""


def _loop_continued(progress: Progress, event: Event) -> None:
    """What the limits are now, only the run itself knows."""
    if event.address == progress.loop:
        progress.exit_reason = ""
    run_limits = event.body.get("run_limits")
    if isinstance(run_limits, dict):
        progress.budget_usd = _amount(run_limits.get("cost_usd"))
    limit = _iterations_in(event.body.get("limits"))
    progress.loop_changes.append(LoopChange(event.address, limit=limit))


def _run_paused(progress: Progress, event: Event) -> None:
    progress.status = "paused"


def _run_waiting(progress: Progress, event: Event) -> None:
    progress.status = text_of(event.body.get("status")) or "waiting"


def _run_finished(progress: Progress, event: Event) -> None:
    progress.status = text_of(event.body.get("status")) or "failed"
    error = event.body.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    progress.error = text_of(message)[:_ERROR_LENGTH_MAX]
    usage = event.body.get("usage")
    if isinstance(usage, dict):
        # The run itself knows best: calls that were given up are charged in no event.
        progress.calls = count_of(usage.get("calls"))
        progress.input_tokens = count_of(usage.get("input_tokens"))
        progress.output_tokens = count_of(usage.get("output_tokens"))
        progress.cost_usd = _amount(usage.get("cost_usd")) or 0.0
        progress.in_doubt = count_of(usage.get("in_doubt"))


def _usage_added(progress: Progress, event: Event) -> None:
    usage = event.body.get("usage")
    if isinstance(usage, dict):
        progress.calls += count_of(usage.get("calls"))
        progress.input_tokens += count_of(usage.get("input_tokens"))
        progress.output_tokens += count_of(usage.get("output_tokens"))
        progress.cost_usd += _amount(usage.get("cost_usd")) or 0.0
        progress.in_doubt += count_of(usage.get("in_doubt"))


def _doubt_added(progress: Progress, event: Event) -> None:
    """Nobody will say what the call used, so that what was reserved for it is charged."""
    progress.in_doubt += 1
    reserve = event.body.get("reserve")
    if isinstance(reserve, dict):
        progress.calls += count_of(reserve.get("calls"))
        progress.output_tokens += count_of(reserve.get("tokens"))
        progress.cost_usd += _amount(reserve.get("cost_usd")) or 0.0


def _loop_started(progress: Progress, event: Event) -> None:
    limit = _iterations_in(event.body.get("limits"))
    change = LoopChange(event.address, started=progress.last_seq, limit=limit)
    progress.loop_changes.append(change)
    if not progress.loop or progress.exit_reason:
        _show(progress, event.address)


def _iterations_in(limits: Json) -> int:
    return count_of(limits.get("iterations")) if isinstance(limits, dict) else 0


def _iteration_started(progress: Progress, event: Event) -> None:
    loop, number = iteration_of(event.address, event.body)
    if progress.exit_reason and loop != progress.loop:
        _show(progress, loop)
    if loop != progress.loop:
        return
    progress.iteration = number
    if progress.exit_reason:
        progress.exit_reason = ""
        progress.loop_changes.append(LoopChange(loop))


def _iteration_finished(progress: Progress, event: Event) -> None:
    if iteration_of(event.address, event.body)[0] == progress.loop:
        progress.score = number_of(event.body.get("score"))


def _loop_finished(progress: Progress, event: Event) -> None:
    change = LoopChange(event.address, finished=progress.last_seq)
    change.mark = mark_of(event.body.get("mark"))
    progress.loop_changes.append(change)
    if event.address == progress.loop:
        if "iterations" in event.body:
            # One whose first call the budget refused has not begun.
            progress.iteration = count_of(event.body["iterations"])
        progress.exit_reason = text_of(event.body.get("exit_reason")) or "failed"
        progress.score = number_of(event.body.get("score"))


def _show(progress: Progress, loop: str) -> None:
    """A run's row shows one loop: the outermost one that runs, or that ran last."""
    progress.loop = loop
    progress.iteration = 0
    progress.score = None
    progress.exit_reason = ""


def iteration_of(address: str, body: dict[str, Json]) -> tuple[str, int]:
    """The loop and the number that an iteration's note is about."""
    loop, number = split_iteration(address)
    return loop, number if number is not None else count_of(body.get("number"))


def attempts_around(address: str) -> Iterator[tuple[str, str]]:
    """The places that an address lies in a further attempt at, each with that attempt."""
    for found in _ATTEMPT.finditer(address):
        yield address[: found.start()], address[: found.end()]


def text_of(value: Json) -> str:
    """The value if it is a text, as the store can hold it, else an empty one."""
    return whole(value) if isinstance(value, str) else ""


def mark_of(value: Json) -> str:
    """What a loop ended at although its condition could have been met: `limit` or `budget`."""
    return str(value) if value in _MARKS else ""


def number_of(value: Json) -> float | None:
    """The value if it is a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _NUMBER_MAX else None


def _amount(value: Json) -> float | None:
    number = number_of(value)
    return number if number is not None and number >= 0 else None


def count_of(value: Json) -> int:
    """The value if it is a number that can count something, else zero."""
    return min(int(_amount(value) or 0), 2**53)


_WAKING: Final = frozenset(
    {"task.started", "task.finished", "task.failed", "gate.decided", "timer.fired", "run.accepted"}
)
_CHANGES: Final[dict[str, Callable[[Progress, Event], None]]] = {
    "run.started": _run_goes_on,
    "run.resumed": _run_goes_on,
    "run.forked": _run_forked,
    "run.accepted": _run_goes_on,
    "run.continued": _run_continued,
    "run.paused": _run_paused,
    "run.waiting": _run_waiting,
    "run.finished": _run_finished,
    "task.finished": _usage_added,
    "task.failed": _usage_added,
    "task.in_doubt": _doubt_added,
    "node.finished": _usage_added,
    "loop.started": _loop_started,
    "loop.continued": _loop_continued,
    "iteration.started": _iteration_started,
    "iteration.finished": _iteration_finished,
    "loop.finished": _loop_finished,
}
