"""Lists of runs, totals over them, and finding one by the text that a person typed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from whorl.errors import UsageError
from whorl.runtimes.journal import RunId, RunRow
from whorl.runtimes.sqlite.connection import Reader, fetch
from whorl.runtimes.sqlite.ownership import LEASE_S, Pulse, has_living, this_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.runtimes.sqlite.connection import Place

_COLUMNS: Final = """
SELECT number, runs.id, name, status, dialect, file, created_at, updated_at, coalesce(key, ''),
    parent, last_seq, cost_usd, calls, input_tokens + output_tokens, budget_usd, loop, iteration,
    coalesce((SELECT iterations_max FROM loops
        WHERE loops.run = number AND address = progress.loop), 0),
    score, exit_reason, error, in_doubt,
    progress.mark, stopped_by,
    owner, pid, started, boot, namespace, beat_at, beat_monotonic
FROM runs JOIN progress ON run = number LEFT JOIN processes ON processes.id = process
"""
_ONE: Final = _COLUMNS + "WHERE runs.id = ?"
_TAIL: Final = "number < ? ORDER BY number DESC LIMIT ?"
_TOTALS: Final = """
SELECT name, count(*), sum(calls), sum(input_tokens), sum(output_tokens), sum(cost_usd),
    sum(in_doubt)
FROM runs JOIN progress ON run = number WHERE created_at >= ? GROUP BY name
ORDER BY sum(cost_usd) DESC, name
"""
# The journal is one log of all runs, so its own numbers tell what is new in it.
_TOUCHED: Final = """
SELECT DISTINCT runs.id FROM journal JOIN runs ON runs.number = journal.run
WHERE journal.id > ? AND journal.id <= ?
"""
_FORKS: Final = "SELECT id FROM runs WHERE parent = ? ORDER BY number LIMIT ?"
_PAGE: Final = 200
_NUMBER_MAX: Final = 2**62
_SHOWN_FIELDS: Final = 24


@dataclass(frozen=True, slots=True)
class Total:
    """What all runs of one workflow have used."""

    name: str
    runs: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: float
    in_doubt: int


class RunReading:
    """The list of runs. Each call reads what is committed by then, without an event loop."""

    def __init__(
        self, place: Place, clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        self.clock = clock
        self.monotonic = monotonic
        self.path = place.path
        self.is_closed = False
        self._reader = Reader(place)
        self._here = this_process()

    def runs(
        self,
        status: str | None = None,
        name: str | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunRow]:
        """The newest runs first; `before` is the id of the last run of the page before."""
        below = _NUMBER_MAX if before is None else self._number(before)
        rows: list[RunRow] = []
        for row in self._scan(status, name, below):
            if status is None or row.status == status:
                rows.append(row)
            if len(rows) >= limit:
                break
        return rows[:limit]

    def run(self, run: str) -> RunRow:
        """The row of a run. Raises UsageError W902 for an unknown one."""
        rows = self._reader.rows(_ONE, (run,))
        if not rows:
            raise self._unknown(run)
        return self._shown(rows[0])

    def _number(self, run: str) -> int:
        """The number by which the tables know a run. Raises UsageError W902."""
        rows = self._reader.rows("SELECT number FROM runs WHERE id = ?", (run,))
        if not rows:
            raise self._unknown(run)
        return int(rows[0][0])

    def resolve(self, text: str) -> RunId:
        """The run that a person means: an id, the beginning of one, or `last`."""
        ids = self._newest_ids(1) if text == "last" else self._starting_with(text)
        if text in ids:
            return RunId(text)
        if not ids:
            raise self._unknown(text)
        if len(ids) > 1:
            raise UsageError(
                f"{text!r} is the beginning of more than one run: {', '.join(ids)}",
                help="write more of the id",
                code="W902",
            )
        return RunId(ids[0])

    def totals(self, since: float = 0.0) -> list[Total]:
        """What the runs made since a time have used, by workflow name, the dearest first."""
        return [Total(*row) for row in self._reader.rows(_TOTALS, (since,))]

    def touched(self, after: int) -> tuple[int, list[RunId]]:
        """The runs with entries after a place in the common journal, and its last place."""
        with self._reader.lend() as connection:
            last = int(connection.execute("SELECT max(id) FROM journal").get or 0)
            rows = fetch(connection, _TOUCHED, (after, last)) if last > after else []
        return last, [RunId(row[0]) for row in rows]

    def forks(self, run: str, limit: int = 100) -> list[RunId]:
        """The runs that were made from a run, oldest first."""
        return [RunId(row[0]) for row in self._reader.rows(_FORKS, (run, limit))]

    def _scan(self, status: str | None, name: str | None, below: int) -> Iterator[RunRow]:
        stored = "running" if status == "interrupted" else status
        chosen = [value for value in (stored, name) if value is not None]
        by_status = "status = ? AND " if stored is not None else ""
        by_name = "name = ? AND " if name is not None else ""
        statement = f"{_COLUMNS}WHERE {by_status}{by_name}{_TAIL}"
        while True:
            page = self._reader.rows(statement, (*chosen, below, _PAGE))
            yield from map(self._shown, page)
            if len(page) < _PAGE:
                return
            below = page[-1][0]

    def _shown(self, row: tuple[Any, ...]) -> RunRow:
        shown = RunRow(*row[1:_SHOWN_FIELDS])
        if shown.status != "succeeded" and shown.mark:
            shown = replace(shown, mark="")
        if shown.status == "running" and not self._is_driven(row, shown):
            return replace(shown, status="interrupted")
        return shown

    def is_owned(self, run: str) -> bool:
        """Whether a living process has the run, whatever its status."""
        rows = self._reader.rows(_ONE, (run,))
        return bool(rows) and has_living(rows[0][_SHOWN_FIELDS + 1 :], self._here, self._now())

    def _is_driven(self, row: tuple[Any, ...], shown: RunRow) -> bool:
        owner, *process = row[_SHOWN_FIELDS:]
        now = self._now()
        # A run that was just made is about to be claimed.
        is_new = owner == 0 and process[0] is None and abs(now.at - shown.created_at) <= LEASE_S
        return is_new or has_living(process, self._here, now)

    def _newest_ids(self, limit: int) -> list[str]:
        newest = "SELECT id FROM runs ORDER BY number DESC LIMIT ?"
        return [row[0] for row in self._reader.rows(newest, (limit,))]

    def _starting_with(self, text: str) -> list[str]:
        # '{' follows the last letter that an id may hold.
        matching = "SELECT id FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 5"
        return [row[0] for row in self._reader.rows(matching, (text, text + "{"))] if text else []

    def _now(self) -> Pulse:
        return Pulse(self.clock(), self.monotonic())

    def _unknown(self, text: str) -> UsageError:
        import difflib

        ids = self._newest_ids(1000)
        near = difflib.get_close_matches(text, ids, n=3, cutoff=0.4) or ids[:3]
        remedy = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        return UsageError(
            f"there is no run {text!r} in the store",
            help=f"{remedy}`whorl ls` lists the runs",
            code="W902",
        )
