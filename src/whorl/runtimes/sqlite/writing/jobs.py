"""What is handed to the writer thread, and how its outcome comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from whorl.runtimes.sqlite.writing.appends import Append

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable, Sequence

    from whorl.errors import WhorlError
    from whorl.interpreter.events import Event
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite.writing.appends import Answer
    from whorl.runtimes.sqlite.writing.ledger import Ledger


@dataclass(slots=True, eq=False)
class Change:
    """Any other change. `apply` raises WhorlError only before it has written anything."""

    apply: Callable[[Ledger], object]
    run: RunId | None = None
    events: Sequence[Event] = ()
    alone: bool = False  # outside of a transaction, as vacuum needs it
    answer: Answer | None = None
    loop: asyncio.AbstractEventLoop | None = None


Job: TypeAlias = Append | Change
Outcome: TypeAlias = "tuple[Job, object, WhorlError | None]"


def bytes_of(job: Job) -> int:
    """About how much a job adds to the file."""
    if isinstance(job, Change):
        return 0
    bodies = sum(len(row.body) + sum(len(text) for _, text in row.large) for row in job.rows)
    return bodies + 64 * len(job.rows)


def settle(outcomes: Iterable[Outcome], *, here: asyncio.AbstractEventLoop | None = None) -> None:
    """Gives every outcome to whoever waits for it, waking each event loop once.

    `here` is the event loop whose thread this is, if it is one's.
    """
    by_loop: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for outcome in outcomes:
        loop = outcome[0].loop
        if loop is None or loop is here:
            _answer((outcome,))
        else:
            by_loop.setdefault(loop, []).append(outcome)
    for loop, group in by_loop.items():
        try:
            loop.call_soon_threadsafe(_answer, group)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _answer(outcomes: Iterable[Outcome]) -> None:
    for job, value, error in outcomes:
        if job.answer is None or job.answer.done():
            continue
        if error is None:
            job.answer.set_result(value)
        else:
            job.answer.set_exception(error)
