"""The tables of schedules and their firings.

Each due time has one row, so its run starts once, even if several servers write it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from whorl.errors import UsageError, did_you_mean
from whorl.runtimes.service.tables import change, changed, rows
from whorl.runtimes.sqlite.encoding import to_text, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from whorl.language import Json
    from whorl.runtimes.sqlite import SqliteStore


Overlap = Literal["skip", "queue", "parallel"]
# `asked`: a person wants it now; `waiting`: it is due, and not started yet.
State = Literal["asked", "waiting", "started", "skipped", "failed"]
SCHEDULES_MAX: Final = 1_000
KEPT: Final = 100
# The year 3000.
_LAST: Final = 32_503_680_000.0
_REASON_MAX: Final = 500
_ENDS: Final = "('succeeded', 'failed', 'cancelled')"
_COLUMNS: Final = """name, id, root, file, named, rule, overlap, backfill, inputs, limits, trigger,
    created_at, paused, cursor, fault, steps"""
_DEFINITIONS: Final = """
CREATE TABLE IF NOT EXISTS schedules(
    name TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, root TEXT NOT NULL, file TEXT NOT NULL,
    named TEXT NOT NULL, rule TEXT NOT NULL, overlap TEXT NOT NULL, backfill INTEGER NOT NULL,
    inputs TEXT NOT NULL, limits TEXT NOT NULL, trigger TEXT NOT NULL, created_at REAL NOT NULL,
    paused INTEGER NOT NULL, cursor REAL NOT NULL, fault TEXT NOT NULL,
    steps TEXT NOT NULL DEFAULT '{}'
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS firings(
    schedule TEXT NOT NULL, due REAL NOT NULL, state TEXT NOT NULL, run TEXT NOT NULL,
    reason TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY(schedule, due)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS firings_open ON firings(due) WHERE state IN ('asked', 'waiting');
"""
# Tables of older stores lack the last column until a schedule is added.
_ALL: Final = "SELECT * FROM schedules ORDER BY name"
_STEPS: Final = "ALTER TABLE schedules ADD COLUMN steps TEXT NOT NULL DEFAULT '{}'"
_PUT: Final = f"INSERT INTO schedules({_COLUMNS}) VALUES({'?,' * 15}?)"
_ADVANCE: Final = "UPDATE schedules SET cursor = ?3 WHERE id = ?1 AND cursor = ?2 AND NOT paused"
_FIRE: Final = "INSERT OR IGNORE INTO firings VALUES(?, ?, ?, '', ?, ?)"
# A started firing is shown once the run is also here.
_MIRROR: Final = """INSERT OR REPLACE INTO firings SELECT ?1, ?2, ?3, ?4, ?5, ?6
    WHERE ?4 = '' OR EXISTS (SELECT 1 FROM runs WHERE id = ?4)"""
_FOLLOW: Final = """UPDATE schedules
    SET rule = ?2, cursor = ?3, fault = ?4, backfill = ?5, paused = paused OR ?6
    WHERE name = ?1 AND trigger <> ''"""
_NOTE: Final = "UPDATE schedules SET rule = ?3, fault = '' WHERE id = ?1 AND rule = ?2"
_SETTLE: Final = """UPDATE firings SET state = ?3, run = ?4, reason = ?5, at = ?6
    WHERE schedule = ?1 AND due = ?2 AND state IN ('asked', 'waiting')"""
_OPEN: Final = """SELECT schedule, due, state, run, reason, at FROM firings
    WHERE state IN ('asked', 'waiting') ORDER BY due LIMIT ?"""
_NEWEST: Final = """SELECT schedule, due, state, run, reason, at FROM firings
    WHERE schedule = ? ORDER BY due DESC LIMIT ?"""
# A firing is kept while its run is active, however old: it marks the schedule as busy.
_ACTIVE: Final = f"""SELECT firings.run FROM firings JOIN runs ON runs.id = firings.run
    WHERE schedule = ? AND state = 'started' AND runs.status NOT IN {_ENDS} ORDER BY due LIMIT 1"""
_TRIM: Final = f"""DELETE FROM firings WHERE schedule = ?1 AND state NOT IN ('asked', 'waiting')
    AND due < (SELECT due FROM firings WHERE schedule = ?1 ORDER BY due DESC LIMIT 1 OFFSET {KEPT})
    AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = firings.run AND status NOT IN {_ENDS})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A workflow that the clock starts.

    Only servers of the project in `root` start it. `cursor` is the last time that was checked; due
    times are later. `trigger` names the trigger in the file, or is empty if a person added the
    schedule.
    """

    name: str
    id: str
    root: str
    file: str
    rule: dict[str, Json]
    named: str = ""
    overlap: Overlap = "skip"
    backfill: bool = False
    inputs: dict[str, Json] = field(default_factory=dict)
    limits: dict[str, Json] = field(default_factory=dict)
    trigger: str = ""
    created_at: float = 0.0
    paused: bool = False
    cursor: float = 0.0
    fault: str = ""
    # Models and prompts that a person chose for steps; "" for all of them.
    steps: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Firing:
    """A due time of a schedule, and its outcome."""

    schedule: str
    due: float
    state: State
    run: str = ""
    reason: str = ""
    at: float = 0.0


class NameTaken(UsageError):
    """A schedule of that name exists already."""

    def __init__(self, name: str) -> None:
        advice = f"choose another --name, or `whorl server schedule rm {name}` first"
        super().__init__(f"there is a schedule {name!r} already", help=advice)


@dataclass(frozen=True, slots=True)
class ScheduleTable:
    """The schedules of a store."""

    store: SqliteStore

    def all(self) -> list[Schedule]:
        return [_schedule(row) for row in rows(self.store, "schedules", _ALL)]

    def named(self, name: str) -> Schedule:
        """Returns the schedule of that name. Raises UsageError W902 for an unknown name."""
        known = {schedule.name: schedule for schedule in self.all()}
        if name not in known:
            hint = did_you_mean(name, known) or "`whorl server schedule ls` lists them"
            raise UsageError(f"there is no schedule {name[:80]!r}", help=hint, code="W902")
        return known[name]

    async def add(self, schedule: Schedule) -> None:
        """Adds a schedule. Raises NameTaken, or UsageError if there are too many."""

        def apply(connection: apsw.Connection) -> None:
            names = {row[0] for row in connection.execute("SELECT name FROM schedules")}
            if schedule.name in names:
                raise NameTaken(schedule.name)
            if len(names) >= SCHEDULES_MAX:
                raise UsageError(f"there are {SCHEDULES_MAX:,} schedules", help="remove some")
            _put(connection, schedule, _PUT)

        await change(self.store, apply, _DEFINITIONS)

    async def mirror(self, schedules: Sequence[Schedule], firings: Sequence[Firing]) -> None:
        """Copies the schedules of a cluster; schedules of files are not changed."""

        def apply(connection: apsw.Connection) -> None:
            connection.execute("DELETE FROM schedules WHERE trigger = ''")
            for schedule in schedules:
                _put(connection, schedule, f"{_PUT} ON CONFLICT DO NOTHING")
            for firing in firings:
                row = (firing.schedule, firing.due, firing.state, firing.run, firing.reason)
                connection.execute(_MIRROR, (*row, firing.at))

        await change(self.store, apply, _DEFINITIONS)

    async def follow(self, wanted: Sequence[Schedule], gone: Sequence[Schedule]) -> None:
        """Applies the schedules of files; new or changed ones start from now."""

        def apply(connection: apsw.Connection) -> None:
            for schedule in gone:
                connection.execute("DELETE FROM firings WHERE schedule = ?", (schedule.id,))
                connection.execute("DELETE FROM schedules WHERE id = ?", (schedule.id,))
            for schedule in wanted:
                known = (schedule.name, to_text(schedule.rule), schedule.cursor)
                flags = (schedule.backfill, schedule.paused)
                connection.execute(_FOLLOW, (*known, schedule.fault, *flags))
                if connection.changes() == 0:
                    _put(connection, schedule, f"{_PUT} ON CONFLICT DO NOTHING")

        await change(self.store, apply, _DEFINITIONS)

    async def remove(self, name: str) -> None:
        known = self.named(name)
        if known.trigger:
            words = f"the schedule {name!r} is the trigger of {known.file}"
            advice = f"`whorl server schedule pause {name}`, or change the file"
            raise UsageError(words, help=advice)

        def apply(connection: apsw.Connection) -> None:
            own = "(SELECT id FROM schedules WHERE name = ?)"
            connection.execute(f"DELETE FROM firings WHERE schedule IN {own}", (name,))
            connection.execute("DELETE FROM schedules WHERE name = ?", (name,))

        await change(self.store, apply, _DEFINITIONS)

    async def pause(self, name: str, *, paused: bool) -> None:
        """Pauses or resumes a schedule; times that were due before now are left out."""
        self.named(name)
        statement = "UPDATE schedules SET paused = ?2, cursor = max(cursor, ?3) WHERE name = ?1"
        await self._execute(statement, (name, paused, self.store.clock()))

    async def ask(self, name: str) -> float:
        """Requests a firing of a schedule now; returns its due time."""
        due = self.store.clock()
        await self._execute(_FIRE, (self.named(name).id, due, "asked", "", due))
        return due

    async def plan(self, schedule: Schedule, cursor: float, firings: Sequence[Firing]) -> bool:
        """Notes the due times; returns False if another server has, or if it is paused."""

        def apply(connection: apsw.Connection) -> bool:
            connection.execute(_ADVANCE, (schedule.id, schedule.cursor, cursor))
            if connection.changes() != 1:
                return False
            for firing in firings:
                row = (schedule.id, firing.due, firing.state, firing.reason, self.store.clock())
                connection.execute(_FIRE, row)
            connection.execute(_TRIM, (schedule.id,))
            return True

        return await change(self.store, apply, _DEFINITIONS)

    async def settle(
        self, firing: Firing, state: State, *, run: str = "", reason: str = ""
    ) -> None:
        """Notes the outcome of a firing, unless another server has."""
        words = whole(reason[:_REASON_MAX])
        row = (firing.schedule, firing.due, state, run, words, self.store.clock())
        await self._execute(_SETTLE, row)

    async def note_rule(self, schedule: Schedule, rule: dict[str, Json]) -> None:
        """Stores the polled rule of a schedule, unless its file has changed the rule."""
        await self._execute(_NOTE, (schedule.id, to_text(schedule.rule), to_text(rule)))

    async def note_fault(self, schedule: Schedule, fault: str) -> None:
        if schedule.fault != fault:
            words = whole(fault[:_REASON_MAX])
            await self._execute("UPDATE schedules SET fault = ? WHERE id = ?", (words, schedule.id))

    def waiting(self, limit: int) -> list[Firing]:
        """Returns the firings that have not started, of all schedules, the oldest first."""
        return [Firing(*row) for row in rows(self.store, "firings", _OPEN, (limit,))]

    def newest(self, schedule: Schedule, limit: int = KEPT) -> list[Firing]:
        return [Firing(*row) for row in rows(self.store, "firings", _NEWEST, (schedule.id, limit))]

    def active_run(self, schedule: Schedule) -> str:
        """Returns a run of the schedule that has not ended, or "" if all have."""
        found = rows(self.store, "firings", _ACTIVE, (schedule.id,))
        return str(found[0][0]) if found else ""

    async def _execute(self, statement: str, values: tuple[Any, ...]) -> None:
        await changed(self.store, statement, values, _DEFINITIONS)


def _schedule(row: tuple[Any, ...]) -> Schedule:
    values = dict(zip([name.strip() for name in _COLUMNS.split(",")], row, strict=False))
    for name in {"rule", "inputs", "limits", "steps"} & values.keys():
        values[name] = json.loads(values[name])
    for name in ("backfill", "paused"):
        values[name] = bool(values[name])
    for name in ("created_at", "cursor"):
        # Others may have written a time that no calendar has.
        values[name] = min(max(0.0, values[name]), _LAST)
    return Schedule(**values)


def _put(connection: apsw.Connection, schedule: Schedule, statement: str) -> None:
    if all(column[1] != "steps" for column in connection.execute("PRAGMA table_info(schedules)")):
        connection.execute(_STEPS)
    values = [getattr(schedule, name.strip()) for name in _COLUMNS.split(",")]
    row = tuple(to_text(value) if isinstance(value, dict) else value for value in values)
    connection.execute(statement, row)
