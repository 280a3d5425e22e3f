"""What a run shows of itself beside its entries: its row, its loops, their marks, its charges.

It is updated in the transaction that adds the entries.
"""

from __future__ import annotations

import json
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final

from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.fields import iteration_of, iterations_in, mark_of, text_of
from whorl.runtimes.journal.projection import OF_ITERATIONS, LoopFold, RunFold
from whorl.runtimes.journal.spending import ChargeFold, Spent, place_of
from whorl.runtimes.sqlite.encoding import whole

if TYPE_CHECKING:
    import apsw

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.spending import Place
    from whorl.runtimes.sqlite.connection import Column

# The columns of `progress` that each append changes.
_COLUMNS: Final = """last_seq updated_at cost_usd calls input_tokens output_tokens in_doubt
    budget_usd error not_begun loop iteration score exit_reason stopped_by seconds"""
CHANGING: Final = _COLUMNS.split()
_ERROR_MAX: Final = 500
_ATTEMPT: Final = regex(r"#[0-9]+")
_LOOP_STARTED: Final = """INSERT INTO loops(run, address, state, started, iterations_max)
    VALUES(?, ?, 'running', ?, ?) ON CONFLICT(run, address) DO UPDATE SET state = 'running',
    finished = NULL, mark = '', exit_reason = '', iterations_max = excluded.iterations_max"""
_LOOP_FINISHED: Final = """INSERT INTO loops(run, address, state, started, finished, mark,
    exit_reason) VALUES(?1, ?2, 'finished', ?3, ?3, ?4, ?5)
    ON CONFLICT(run, address) DO UPDATE SET state = 'finished', finished = excluded.finished,
    mark = excluded.mark, exit_reason = excluded.exit_reason"""
_LOOP_REOPENED: Final = """UPDATE loops SET state = 'running', finished = NULL, mark = '',
    exit_reason = '', iterations_max = coalesce(?3, iterations_max)
    WHERE run = ?1 AND address = ?2"""
# What an earlier attempt at a place came to no longer counts; '/', '[' and '#' open what is below.
_SUPERSEDED: Final = """UPDATE loops SET mark = '' WHERE run = ?1 AND mark <> '' AND (address = ?2
    OR (address > ?2 || '/' AND address < ?2 || '0')
    OR (address > ?2 || '[' AND address < ?2 || '\\')
    OR (address > ?2 || '#' AND address < ?2 || '$'))
    AND NOT (address = ?3 OR (address > ?3 || '/' AND address < ?3 || '0')
    OR (address > ?3 || '[' AND address < ?3 || '\\'))"""
_MARK_OF: Final = "SELECT mark FROM loops WHERE run = ? AND address = ?"
# Of the marks of its loops a run has the first in the alphabet: a budget before a limit. Without
# one, it has that of a warning of which a list tells: a text that was cut, left out or not clear.
_MARKED: Final = frozenset({"P123", "R113", "R117", "R118", "R120", "W023"})
_WARNING: Final = "warning"
_MARKS_LEFT: Final = "SELECT min(mark) FROM loops WHERE run = ? AND mark <> ''"
_RESERVED: Final = "INSERT OR REPLACE INTO doubts VALUES(?, ?)"
_WAKE_AT: Final = """INSERT INTO upkeep VALUES(?1, '', 0, ?2, '', '', 0)
    ON CONFLICT(run) DO UPDATE SET due = excluded.due"""


@dataclass(slots=True)
class LoopChange:
    """A loop that started (again) or finished at an entry, or else was reopened."""

    address: str
    started: int | None = None
    finished: int | None = None
    # How many iterations it may have from then on; None: as many as before.
    limit: int | None = None
    mark: str = ""
    exit_reason: str = ""


# Nothing is ever told of it, so that all runs without a loop may share it.
_NO_LOOP: Final = LoopFold("")


@dataclass(slots=True)
class RunRecord(ChargeFold):
    """The row of a run with the loop that it shows, and changes to loops that are not written."""

    number: int = 0
    owner: int = 0
    status_stored: str = ""
    due_stored: float | None = None
    reserved_stored: float = 0.0
    mark: str = ""
    is_warned: bool = False
    # The outermost loop that runs, or that ran last; nothing is kept of the others.
    shown: LoopFold = field(default_factory=lambda: _NO_LOOP)
    loop_changes: list[LoopChange] = field(default_factory=list)
    # What was charged and is not written yet.
    spending: dict[Place, Spent] = field(default_factory=dict)

    def charged(self, event: Event, model: str, sign: int) -> None:
        usage: Any = event.body["usage"]
        spent = self.spending.setdefault(place_of(event, model), Spent())
        spent.charge(usage, model, sign)

    def take(self, event: Event) -> bool:
        if event.kind == "warning" and event.body.get("code") in _MARKED:
            self.is_warned = True
        return ChargeFold.take(self, event)

    def fork(self, event: Event) -> None:
        ChargeFold.fork(self, event)
        self.spending.clear()

    def take_of_loop(self, event: Event) -> None:
        """Takes an event of a loop in, and decides which loop the row shows."""
        shown = self.shown
        if event.kind in OF_ITERATIONS and not shown.is_over:
            loop, number = iteration_of(event)
            if loop == shown.address:
                shown.take(event, self.last_seq, number)
            if self.not_begun is not None:
                self._begin_later(event)
            return
        address, limit = event.address, event.body.get("limits")
        change: LoopChange | None = None
        match event.kind:
            case "loop.started":
                change = LoopChange(address, started=self.last_seq, limit=iterations_in(limit))
                if not shown.address or shown.is_over:
                    self.show(LoopFold(address))
            case "loop.continued":
                change = LoopChange(address, limit=iterations_in(limit))
            case "loop.finished":
                reason = text_of(event.body.get("exit_reason")) or "failed"
                change = LoopChange(address, finished=self.last_seq, exit_reason=reason)
                change.mark = mark_of(event.body.get("mark"))
            case "iteration.started":
                loop = iteration_of(event)[0]
                if loop == shown.address:
                    change = LoopChange(loop)
                else:
                    self.show(LoopFold(loop))
        if change is not None:
            self.loop_changes.append(change)
        RunFold.take_of_loop(self, event)

    def show(self, loop: LoopFold) -> None:
        self.shown = loop
        self.loops = {loop.address: loop}

    def take_charges(self) -> list[Column]:
        """What the run was charged with since it was written last."""
        flat: list[Column] = []
        for (hour, loop, model), spent in self.spending.items():
            flat += (self.number, hour, whole(loop), whole(model), spent.calls, spent.input_tokens)
            flat += (spent.output_tokens, spent.cost_usd, spent.unpriced_calls, spent.in_doubt)
        self.spending.clear()
        return flat

    @property
    def wakes_at(self) -> float | None:
        """When a run that waits goes on by itself; any other has nothing to wait for."""
        return self.due if self.status == "waiting" else None

    def values(self) -> tuple[Column, ...]:
        shown = self.shown
        reason = shown.exit_reason or ("failed" if shown.is_over else "")
        return (
            self.last_seq,
            self.updated_at,
            self.cost_usd,
            self.calls,
            self.input_tokens,
            self.output_tokens,
            self.in_doubt,
            self.budget_usd,
            whole(self.error[:_ERROR_MAX]) if self.error else "",
            "" if self.not_begun is None else json.dumps(self.not_begun),
            whole(shown.address),
            shown.number,
            shown.score,
            whole(reason) if reason else "",
            whole(shown.stopped_by) if shown.stopped_by else "",
            self.seconds,
        )


def record_of(row: tuple[Any, ...]) -> RunRecord:
    record = RunRecord(*row[5:-8])
    record.number, record.owner, record.status, record.mark, record.due = row[:5]
    record.due_stored, record.is_warned = record.due, record.mark == _WARNING
    not_begun, address, count, score, reason, stopped_by, record.seconds, reserved = row[-8:]
    record.reserved_usd = record.reserved_stored = reserved
    record.status_stored, record.not_begun = record.status, iterations_not_begun(not_begun)
    if address:
        shown = LoopFold(address, number=count, score=score, exit_reason=reason)
        shown.stopped_by, shown.is_over = stopped_by, bool(reason)
        record.show(shown)
    return record


def iterations_not_begun(text: str) -> tuple[str, ...] | None:
    """The iterations that are held back, as their column names them; None: the run goes on."""
    return tuple(json.loads(text)) if text else None


def write_changes(connection: apsw.Connection, state: RunRecord) -> None:
    """Writes the status, what became of loops, the mark by them, and when it goes on."""
    if state.wakes_at != state.due_stored:
        state.due_stored = state.wakes_at
        connection.execute(_WAKE_AT, (state.number, state.wakes_at))
    if state.reserved_usd != state.reserved_stored:
        state.reserved_stored = state.reserved_usd
        connection.execute(_RESERVED, (state.number, round(state.reserved_usd, 9)))
    is_new = state.is_warned and not state.mark
    if state.status == state.status_stored and not state.loop_changes and not is_new:
        return
    if state.status != state.status_stored:
        state.status_stored = state.status
        connection.execute(
            "UPDATE runs SET status = ? WHERE number = ?", (state.status, state.number)
        )
    before = state.mark
    for change in state.loop_changes:
        if _write_loop(connection, state, change):
            state.mark = connection.execute(_MARKS_LEFT, (state.number,)).get or ""
        elif change.mark:
            state.mark = min(change.mark, state.mark or change.mark)
    state.loop_changes.clear()
    if state.is_warned:
        state.mark = min(state.mark or _WARNING, _WARNING)
    if state.mark != before:
        marked = (state.mark, state.number)
        connection.execute("UPDATE progress SET mark = ? WHERE run = ?", marked)


def _write_loop(connection: apsw.Connection, state: RunRecord, change: LoopChange) -> bool:
    place = (state.number, change.address)
    mark = connection.execute(_MARK_OF, place).get if state.mark else ""
    is_gone = bool(mark) and mark != change.mark
    if change.finished is not None:
        ended = (change.finished, change.mark, whole(change.exit_reason))
        connection.execute(_LOOP_FINISHED, (*place, *ended))
    elif change.started is not None:
        began = (*place, change.started, change.limit or 0)
        connection.execute(_LOOP_STARTED, began)
        for attempt in _ATTEMPT.finditer(change.address) if state.mark else ():
            # A place that the loop lies in, and the further attempt at it.
            around = (change.address[: attempt.start()], change.address[: attempt.end()])
            connection.execute(_SUPERSEDED, (state.number, *around))
            is_gone = is_gone or connection.changes() > 0
    else:
        connection.execute(_LOOP_REOPENED, (*place, change.limit))
    return is_gone
