"""Experiments that somebody has asked for, and which process conducts each of them.

A process that conducts one says so again and again; when it has been silent for a while, another
one may go on with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from whorl.errors import UsageError
from whorl.lazily import dataclass
from whorl.runtimes.service.tables import change, rows

if TYPE_CHECKING:
    import apsw

    from whorl.runtimes.sqlite import SqliteStore

# `asked`: it is to be conducted; `paused`: its budget did not allow more; `stopped`: by a person.
State = Literal["asked", "paused", "stopped", "failed", "done"]
LEASE_S: Final = 30.0
_REASON_MAX: Final = 500
_COLUMNS: Final = (
    "name, root, file, budget_usd, generation, state, reason, asked_at, owner, beat_at"
)
_DEFINITIONS: Final = """
CREATE TABLE IF NOT EXISTS experiments(
    name TEXT PRIMARY KEY, root TEXT NOT NULL, file TEXT NOT NULL, budget_usd REAL,
    generation INTEGER NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL, asked_at REAL NOT NULL,
    owner TEXT NOT NULL, beat_at REAL NOT NULL
) WITHOUT ROWID;
"""
_ALL: Final = f"SELECT {_COLUMNS} FROM experiments ORDER BY name"
_PUT: Final = f"""INSERT INTO experiments({_COLUMNS}) VALUES(?, ?, ?, ?, ?, 'asked', '', ?, '', 0)
    ON CONFLICT(name) DO UPDATE SET root = excluded.root, file = excluded.file,
    budget_usd = excluded.budget_usd, generation = excluded.generation, state = 'asked',
    reason = '', asked_at = excluded.asked_at, owner = '', beat_at = 0"""
_IS_CONDUCTED: Final = """SELECT 1 FROM experiments
    WHERE name = ? AND state = 'asked' AND owner <> '' AND beat_at > ?"""
_CLAIM: Final = """UPDATE experiments SET owner = ?2, beat_at = ?3
    WHERE name = ?1 AND state = 'asked' AND (owner IN ('', ?2) OR beat_at <= ?4)"""
_SETTLE: Final = """UPDATE experiments SET state = ?3, reason = ?4, owner = ''
    WHERE name = ?1 AND owner = ?2 AND state = 'asked'"""
_STOP: Final = "UPDATE experiments SET state = 'stopped' WHERE name = ? AND state = 'asked'"


@dataclass(frozen=True, slots=True)
class AskedExperiment:
    """An experiment that was asked for; `root` is the folder of its project."""

    name: str
    root: str
    file: str
    budget_usd: float | None
    generation: int
    state: State = "asked"
    reason: str = ""
    asked_at: float = 0.0
    owner: str = ""
    beat_at: float = 0.0


@dataclass(frozen=True, slots=True)
class ExperimentTable:
    """The experiments of a store that were asked for."""

    store: SqliteStore

    def all(self) -> dict[str, AskedExperiment]:
        found = (AskedExperiment(*row) for row in rows(self.store, "experiments", _ALL))
        return {asked.name: asked for asked in found}

    async def ask(self, asked: AskedExperiment) -> None:
        """Wants one conducted; raises UsageError W905 where a process does that already."""
        now = self.store.clock()

        def apply(connection: apsw.Connection) -> None:
            if connection.execute(_IS_CONDUCTED, (asked.name, now - LEASE_S)).fetchall():
                words = f"experiment {asked.name!r} is running already"
                raise UsageError(words, help="stop it first, or wait until it is done", code="W905")
            values = (asked.name, asked.root, asked.file, asked.budget_usd, asked.generation, now)
            connection.execute(_PUT, values)

        await change(self.store, apply, _DEFINITIONS)

    async def claim(self, name: str, owner: str) -> bool:
        """Takes an experiment, or keeps it; False: another process has it, or nobody wants it."""
        now = self.store.clock()
        return await self._changed(_CLAIM, (name, owner, now, now - LEASE_S))

    async def settle(self, name: str, owner: str, state: State, reason: str = "") -> None:
        await self._changed(_SETTLE, (name, owner, state, reason[:_REASON_MAX]))

    async def release(self, owner: str) -> None:
        """Leaves all that a process conducts to others."""
        await self._changed("UPDATE experiments SET owner = '' WHERE owner = ?", (owner,))

    async def stop(self, name: str) -> bool:
        """False: nobody conducts it."""
        return await self._changed(_STOP, (name,))

    async def remove(self, name: str) -> None:
        await self._changed("DELETE FROM experiments WHERE name = ?", (name,))

    async def _changed(self, statement: str, values: tuple[str | float, ...]) -> bool:
        def apply(connection: apsw.Connection) -> bool:
            connection.execute(statement, values)
            return connection.changes() > 0

        return await change(self.store, apply, _DEFINITIONS)
