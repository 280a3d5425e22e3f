"""Lists of runs, filtered and sorted; and their charges."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from whorl.errors import StoreError
from whorl.lazily import dataclass
from whorl.runtimes.journal.journal import RunId, RunRow
from whorl.runtimes.journal.projection import HOUR_S, Spent
from whorl.runtimes.sqlite.checking import RUN_TYPES, fits
from whorl.runtimes.sqlite.connection import fetch_readable
from whorl.runtimes.sqlite.faults import damaged
from whorl.runtimes.sqlite.ownership import LEASE_S, ClockPair, StorePart, has_living

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry
    from whorl.runtimes.sqlite.connection import Column


Sort: TypeAlias = Literal["started", "updated", "cost", "tokens", "calls", "score", "time"]
# What charges are kept by.
Kept: TypeAlias = Literal["model", "loop", "workflow", "run", "day"]
KEPT: Final[tuple[Kept, ...]] = get_args(Kept)
# How the keys of tries begin: lists and costs leave them out, unless they are asked for.
TRY: Final = "try:"
# How the keys of the runs of experiments begin.
EXPERIMENT: Final = "experiment:"
# What lists do not show, unless it is asked for; the first run that they show is `last`.
UNLISTED: Final = (EXPERIMENT, TRY)
# The label of runs that were running in a restored backup; its value is the backup's time.
RESTORED: Final = "restored"
# The label of runs whose answers are mocks: the file and the name of the test that has them.
MOCKED: Final = "mocked"

COLUMNS: Final = """SELECT number, runs.id, name, status, dialect, file, created_at, updated_at,
    coalesce(key, ''), parent, last_seq, cost_usd, calls, input_tokens + output_tokens, budget_usd,
    loop, iteration, coalesce((SELECT iterations_max FROM loops
        WHERE loops.run = number AND address = progress.loop), 0),
    score, exit_reason, error, in_doubt, progress.mark, stopped_by,
    coalesce(origin, ''), due, coalesce(held, ''), round(seconds, 6),
    iif(began = 0, (SELECT count(*) FROM (SELECT 1 FROM queue AS other
        WHERE other.began = 0 AND other.lane = queue.lane
        AND other.run <= queue.run LIMIT 1000)), NULL),
    (SELECT coalesce(sum(unpriced), 0) FROM spending WHERE spending.run = number),
    coalesce((SELECT home FROM homes WHERE homes.run = number), ''), '',
    coalesce((SELECT reserved_usd FROM doubts WHERE doubts.run = number), 0.0),
    (SELECT json_group_object(label, value) FROM labels WHERE labels.run = number),
    owner, pid, started, boot, namespace, beat_at, beat_monotonic
FROM runs JOIN progress ON progress.run = number LEFT JOIN upkeep ON upkeep.run = number
    LEFT JOIN queue ON queue.run = number LEFT JOIN processes ON processes.id = process"""
_TABLES: Final = "runs JOIN progress ON progress.run = number"
SHOWN_FIELDS: Final = 1 + len(RUN_TYPES)
_NO_LABELS: Final = "{}"
ROW_DAMAGED: Final = "its row in the store is damaged"
# What is sorted by is never null, so that a list can go on after any run.
_ORDERS: Final[dict[Sort, str]] = {
    "started": "number",
    "updated": "updated_at",
    "cost": "cost_usd",
    "tokens": "input_tokens + output_tokens",
    "calls": "calls",
    "score": "coalesce(score, -9e999)",
    "time": "seconds",
}
SORTS: Final = tuple(_ORDERS)
_CONDITIONS: Final = {
    "status": "status = ?",
    "name": "name = ?",
    "since": "created_at >= ?",
    "until": "created_at < ?",
    "cost_min": "cost_usd >= ?",
    "key": "(key >= ? AND key < ? || char(1114111))",
    # The reason of any of its loops, or the mark of the run.
    "ended": """? IN (exit_reason, iif(status = 'succeeded', progress.mark, ''),
        (SELECT exit_reason FROM loops WHERE loops.run = number AND loops.exit_reason = ?))""",
}
_LABELLED: Final = "number IN (SELECT run FROM labels WHERE label = ? AND value = ?)"
_EXITS: Final = """SELECT exit_reason, count(*) FROM loops
    WHERE run = (SELECT number FROM runs WHERE id = ?) GROUP BY 1"""
_HEADINGS: Final[dict[Kept, str]] = {
    "model": "model",
    "loop": "loop",
    "workflow": "name",
    "run": "id",
    "day": f"date(hour * {HOUR_S}, 'unixepoch')",
}
_CHARGED: Final = f"""FROM spending JOIN runs ON number = run
    WHERE hour >= ?1 AND iif(?2 = '', ?3 OR coalesce(key, '') NOT LIKE '{TRY}%', id = ?2)"""
_CHARGES: Final = f"""SELECT {{heading}}, sum(calls), sum(iif(model <> '', calls, 0)),
    sum(input_tokens), sum(output_tokens), sum(cost_usd), sum(unpriced), sum(in_doubt)
    {_CHARGED} GROUP BY 1 HAVING sum(calls) <> 0"""
_COUNT: Final = f"SELECT count(DISTINCT run) {_CHARGED} AND calls <> 0"
_MODEL_CALLS: Final = """SELECT coalesce(sum(calls), 0) FROM spending
    WHERE run = (SELECT number FROM runs WHERE id = ?) AND model <> ''"""
_PAGE: Final = 256
_OPEN: Final = ("running", "waiting", "paused")
_STORE_FOLDER: Final = ".whorl"


@dataclass(frozen=True, slots=True)
class RunFilter:
    """The filter and the order of a list of runs: the newest first, or the largest value first.

    `text` is searched in the id, name, file, key and inputs. `ended` is the exit reason of a loop
    or the mark of the run. Times are when runs began. `key` is a prefix that keys have, or must not
    have. Runs have all `labels`.
    """

    status: str | None = None
    name: str | None = None
    text: str = ""
    ended: str | None = None
    since: float | None = None
    until: float | None = None
    cost_min: float | None = None
    key: str | None = None
    without_key: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    sort: Sort = "started"
    is_reversed: bool = False

    def conditions(self) -> tuple[list[str], list[Column]]:
        asked = {name: getattr(self, name) for name in _CONDITIONS}
        if self.status == "interrupted":
            asked["status"] = "running"
        words = [_CONDITIONS[name] for name, value in asked.items() if value is not None]
        values = [[v] * _CONDITIONS[name].count("?") for name, v in asked.items() if v is not None]
        words += ["coalesce(key, '') NOT LIKE ? || '%'" for _ in self.without_key]
        words += [_LABELLED for _ in self.labels]
        each = [*values, self.without_key, *self.labels]
        return words, [value for part in each for value in part]


class RunListing(StorePart):
    _number: Callable[[str], int]
    read: Callable[..., Iterator[Entry]]

    def runs(
        self,
        status: str | None = None,
        name: str | None = None,
        limit: int = 100,
        before: str | None = None,
    ) -> list[RunRow]:
        return self.list_runs(RunFilter(status, name), limit, before)

    def list_runs(
        self, which: RunFilter, limit: int = 100, before: str | None = None
    ) -> list[RunRow]:
        """Returns the first runs of a list, or those that follow the run `before`."""
        rows: list[RunRow] = []
        for page in self._pages(which, before):
            shown = [row for row in map(self._listed, page) if which.status in (None, row.status)]
            rows += [row for row in shown if self._holds(which.text.casefold(), row)]
            if len(rows) >= limit:
                break
        return rows[:limit]

    def last(self) -> list[RunId]:
        """Returns the run that `last` means, which is the first of a list, if there is one."""
        return [row.id for row in self.list_runs(RunFilter(without_key=UNLISTED), 1)]

    def count_runs(self, which: RunFilter) -> int | None:
        """Returns the number of runs in a list, or None if each run would have to be read."""
        if which.text or which.status in ("running", "interrupted"):
            return None
        words, values = which.conditions()
        where = f"WHERE {' AND '.join(words)}" if words else ""
        rows = self._reader.rows(f"SELECT count(*) FROM {_TABLES} {where}", values)
        return int(rows[0][0])

    def _pages(self, which: RunFilter, before: str | None) -> Iterator[list[tuple[Any, ...]]]:
        """Yields all matching rows in order, page by page."""
        order, conditions = _ORDERS[which.sort], which.conditions()
        if self.is_mirror and which.sort == "started":
            # A mirror takes up runs in any order.
            order = "created_at"
        sign, direction = (">", "ASC") if which.is_reversed else ("<", "DESC")
        last = None if before is None else self._number(before)
        page: list[tuple[Any, ...]] = []
        while not page or len(page) == _PAGE:
            words, values = list(conditions[0]), list(conditions[1])
            if last is not None:
                words.append(f"({order}, number) {sign} (?, ?)")
                keys = self._reader.rows(f"SELECT {order} FROM {_TABLES} WHERE number = ?", (last,))
                values += [keys[0][0] if keys else last, last]
            where = f"WHERE {' AND '.join(words)}" if words else ""
            tail = f"ORDER BY {order} {direction}, number {direction} LIMIT {_PAGE}"
            with self._reader.lend() as connection:
                page = fetch_readable(connection, f"{COLUMNS} {where} {tail}", values, "number")
            if not page:
                return
            yield page
            last = page[-1][0]

    def _holds(self, words: str, row: RunRow) -> bool:
        """Checks whether a run has a text in one of its names or in an input."""
        if any(words in name.casefold() for name in (row.id, row.name, row.file, row.key)):
            return True
        with suppress(StoreError):
            for first in self.read(row.id, limit=1):
                return _in(first.event.body.get("input"), words)
        return False

    def _listed(self, row: tuple[Any, ...]) -> RunRow:
        """Returns a row for a list; a damaged row is named, and the others are still listed."""
        try:
            return self._shown(row)
        except StoreError as fault:
            name = row[1] if len(row) > 1 and isinstance(row[1], str) else f"number-{row[0]}"
            words = f"{fault}; `whorl project doctor` says more"
            return RunRow(RunId(name), "(damaged)", "failed", "", "", 0.0, 0.0, error=words)

    def _shown(self, row: tuple[Any, ...]) -> RunRow:
        if not fits(row[1:SHOWN_FIELDS], RUN_TYPES):
            raise damaged(str(row[1] if len(row) > 1 else row[0]), None, ROW_DAMAGED)
        *columns, labels = row[1:SHOWN_FIELDS]
        shown = self._placed(RunRow(*columns))
        if labels != _NO_LABELS:
            shown = replace(shown, labels=json.loads(labels))
        if shown.status != "succeeded" and shown.mark:
            shown = replace(shown, mark="")
        if shown.status != "running" or self.is_mirror:
            shown = shown if shown.position is None else replace(shown, position=None)
            is_idle = shown.status == "waiting"
            return shown if is_idle or not shown.held else replace(shown, held="")
        if shown.position is not None:
            return replace(shown, held=f"waits for its turn, as number {shown.position:,}")
        owner, *process = row[SHOWN_FIELDS:]
        now = ClockPair(self.clock(), self.monotonic())
        # A run that was just made is about to be claimed.
        is_new = owner == 0 and process[0] is None and abs(now.at - shown.created_at) <= LEASE_S
        is_driven = is_new or has_living(process, self._process, now)
        return shown if is_driven else replace(shown, status="interrupted")

    def _placed(self, row: RunRow) -> RunRow:
        """Adds a run's project if its folder is another one, or if the run has not ended."""
        if row.project == self.home:
            return replace(row, project="") if row.project else row
        folder, config = self.folder_of(row.project), row.project.partition("\n")[2]
        is_shown = folder != self.folder_of(self.home) or row.status in _OPEN
        return replace(row, project=folder if is_shown else "", config=config if is_shown else "")

    def folder_of(self, home: str) -> str:
        """Returns the folder of a project, or "" if it is unknown."""
        around, store = os.path.split(os.path.dirname(os.path.abspath(self.path)))
        return home.partition("\n")[0] or (around if store == _STORE_FOLDER else "")

    def exits(self, run: str) -> dict[str, int]:
        """Counts the loops of a run by exit reason; running loops have the reason ""."""
        return dict(self._reader.rows(_EXITS, (run,)))

    def charges(
        self, by: Kept, since: float = 0.0, run: str = "", *, with_tries: bool = False
    ) -> dict[str, Spent]:
        """Returns the charges of runs, or of one, since the full hour of a time, by heading."""
        asked = (int(since // HOUR_S), run, with_tries)
        rows = self._reader.rows(_CHARGES.format(heading=_HEADINGS[by]), asked)
        return {name: Spent(*numbers) for name, *numbers in rows}

    def runs_charged(self, since: float = 0.0, run: str = "", *, with_tries: bool = False) -> int:
        """Returns the number of runs in `charges`."""
        return int(self._reader.rows(_COUNT, (int(since // HOUR_S), run, with_tries))[0][0])

    def names(self) -> list[str]:
        """Returns the names of all workflows that have runs."""
        return [row[0] for row in self._reader.rows("SELECT DISTINCT name FROM runs ORDER BY name")]

    def model_calls(self, run: str) -> int:
        """Returns how many calls of a run a model or agent answered."""
        return int(self._reader.rows(_MODEL_CALLS, (run,))[0][0])


def _in(value: Json, words: str) -> bool:
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return any(_in(part, words) for part in parts)
    return words in str(value).casefold()
