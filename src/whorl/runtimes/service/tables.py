"""The tables of servers in a store: whoever writes to them first makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import apsw

    from whorl.runtimes.sqlite import SqliteStore
    from whorl.runtimes.sqlite.connection import Column

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
