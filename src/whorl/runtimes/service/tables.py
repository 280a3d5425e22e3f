"""The tables of servers in a store, and one of them: the audit, of who asked for what."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final, TypeVar

from whorl.errors import StoreError, safe
from whorl.lazily import dataclass
from whorl.runtimes.sqlite.encoding import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.sqlite.connection import Column

log = logging.getLogger("whorl")

TEXT_MAX: Final = 500
_DELETED_AT_ONCE: Final = 1_000
_EVERY_S: Final = 60.0
_ADD: Final = """INSERT INTO audit(at, who, role, action, run, file, outcome)
    VALUES(?, ?, ?, ?, ?, ?, ?)"""
_READ: Final = """SELECT id, at, who, role, action, run, file, outcome FROM audit
    WHERE id < ? AND at >= ? AND (?3 = '' OR who = ?3) AND (?4 = '' OR run = ?4)
    ORDER BY id DESC LIMIT ?5"""
_RETIRE: Final = f"""DELETE FROM audit WHERE id IN
    (SELECT id FROM audit WHERE at < ? ORDER BY id LIMIT {_DELETED_AT_ONCE})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What somebody did: `outcome` is `ok`, or why not. `run` and `file` say what it was about."""

    who: str
    action: str
    outcome: str
    role: str = ""
    run: str = ""
    file: str = ""
    at: float = 0.0
    id: int = 0


@dataclass(frozen=True, slots=True)
class Audit:
    """The audit of a store."""

    store: SqliteStore

    async def add(self, deed: AuditEntry) -> None:
        texts = (deed.who, deed.role, deed.action, deed.run, deed.file, deed.outcome)
        row = (self.store.clock(), *(whole(text[:TEXT_MAX]) for text in texts))

        def apply(connection: apsw.Connection) -> None:
            connection.execute(_ADD, row)

        await change(self.store, apply)

    def read(
        self,
        *,
        since: float = 0.0,
        who: str = "",
        run: str = "",
        before: int = 2**62,
        limit: int = 100,
    ) -> list[AuditEntry]:
        """What was done, the newest first."""
        names = ("id", "at", "who", "role", "action", "run", "file", "outcome")
        found = rows(self.store, "audit", _READ, (before, since, who, run, limit))
        return [AuditEntry(**dict(zip(names, row, strict=True))) for row in found]

    async def keep(self, older_than_s: float) -> None:
        """Deletes what is older than that, until it is cancelled."""
        while True:
            gone = 0
            try:
                gone = await self.retire(older_than_s)
            except StoreError as fault:
                log.warning("the audit cannot be shortened: %s", safe(str(fault)))
            await asyncio.sleep(0.1 if gone == _DELETED_AT_ONCE else _EVERY_S)

    async def retire(self, older_than_s: float) -> int:
        """Deletes the oldest rows, a part at a time; gives how many."""
        limit = self.store.clock() - older_than_s

        def apply(connection: apsw.Connection) -> int:
            connection.execute(_RETIRE, (limit,))
            return connection.changes()

        return await change(self.store, apply)


# The tables of servers in a store: whoever writes to them first makes them.

T = TypeVar("T")

DEFINITIONS: Final = """
CREATE TABLE IF NOT EXISTS tokens(
    digest BLOB PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL,
    created_at REAL NOT NULL, expires_at REAL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS audit(
    id INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, who TEXT NOT NULL, role TEXT NOT NULL,
    action TEXT NOT NULL, run TEXT NOT NULL, file TEXT NOT NULL, outcome TEXT NOT NULL
);
"""
_HAS_TABLE: Final = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"


async def change(
    store: SqliteStore, apply: Callable[[apsw.Connection], T], definitions: str = DEFINITIONS
) -> T:
    """Changes tables in a transaction; `apply` raises only before it has written anything."""

    def made(connection: apsw.Connection) -> T:
        connection.execute(definitions)
        return apply(connection)

    return await store.change(made)


def rows(
    store: SqliteStore, table: str, statement: str, values: Sequence[Column] = ()
) -> list[tuple[Any, ...]]:
    """What a query of a table finds; nothing where nobody has written to it yet."""
    return store.rows(statement, values) if store.rows(_HAS_TABLE, (table,)) else []
