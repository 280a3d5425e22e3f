"""What the store keeps of a run beside its entries, updated in the transaction that adds them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from whorl.runtimes.projection import LoopFold, RunFold, iteration_of, iterations_in, mark_of
from whorl.runtimes.sqlite.encoding import whole

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.runtimes.sqlite.connection import Column

# The columns of `progress` that each append changes.
_COLUMNS: Final = """
last_seq updated_at cost_usd calls input_tokens output_tokens in_doubt budget_usd error
not_begun loop iteration score exit_reason stopped_by
"""
CHANGING: Final = _COLUMNS.split()
_ERROR_LENGTH_MAX: Final = 500


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
class RunRecord(RunFold[LoopFold]):
    """The row of a run, and the changes to its loops that are not yet written.

    Of the loops only the one is kept that the row shows: the outermost one that runs, or that ran
    last.
    """

    number: int = 0
    owner: int = 0
    status_stored: str = ""
    mark: str = ""
    shown: LoopFold = field(default_factory=lambda: LoopFold(""))
    loop_changes: list[LoopChange] = field(default_factory=list)

    def take_of_loop(self, event: Event) -> None:
        """Takes an event of a loop in, and decides which loop the row shows."""
        address, limit = event.address, event.body.get("limits")
        change: LoopChange | None = None
        match event.kind:
            case "loop.started":
                change = LoopChange(address, started=self.last_seq, limit=iterations_in(limit))
                if not self.shown.address or self.shown.is_over:
                    self.show(LoopFold(address))
            case "loop.continued":
                change = LoopChange(address, limit=iterations_in(limit))
            case "loop.finished":
                mark = mark_of(event.body.get("mark"))
                change = LoopChange(address, finished=self.last_seq, mark=mark)
            case "iteration.started" if self.shown.is_over:
                loop = iteration_of(event)[0]
                if loop == self.shown.address:
                    change = LoopChange(loop)
                else:
                    self.show(LoopFold(loop))
        if change is not None:
            self.loop_changes.append(change)
        RunFold.take_of_loop(self, event)

    def show(self, loop: LoopFold) -> None:
        self.shown = loop
        self.loops = {loop.address: loop}

    def values(self) -> tuple[Column, ...]:
        shown = self.shown
        reason = shown.exit_reason or ("failed" if shown.is_over else "")
        return (
            *(self.last_seq, self.updated_at, self.cost_usd, self.calls),
            *(self.input_tokens, self.output_tokens, self.in_doubt, self.budget_usd),
            whole(self.error[:_ERROR_LENGTH_MAX]),
            "" if self.not_begun is None else json.dumps(self.not_begun),
            *(whole(shown.address), shown.number, shown.score),
            *(whole(reason), whole(shown.stopped_by)),
        )


def record_of(row: tuple[Any, ...]) -> RunRecord:
    """The record of a stored row: number, owner, status, mark, and the columns of `CHANGING`."""
    record = RunRecord(*row[4:-6])
    record.number, record.owner, record.status, record.mark = row[:4]
    not_begun, address, count, score, reason, stopped_by = row[-6:]
    record.status_stored, record.not_begun = record.status, iterations_not_begun(not_begun)
    if address:
        shown = LoopFold(address, number=count, score=score, exit_reason=reason)
        shown.stopped_by, shown.is_over = stopped_by, bool(reason)
        record.show(shown)
    return record


def iterations_not_begun(text: str) -> tuple[str, ...] | None:
    """The iterations that are held back, as their column names them; None: the run goes on."""
    return tuple(json.loads(text)) if text else None
