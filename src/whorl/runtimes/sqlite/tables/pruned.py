"""Runs that were deleted from a mirror: the server of the cluster may have them for long.

Each is kept with the time of its last entry, so that it stays away until it goes on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite.connection import Reader
    from whorl.runtimes.sqlite.tables.journal import JournalTables

# Only a mirror has the table, and only after something was deleted from it.
_TABLE: Final = """CREATE TABLE IF NOT EXISTS pruned(
    run TEXT PRIMARY KEY, updated_at REAL NOT NULL
) WITHOUT ROWID"""
_HAS_TABLE: Final = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'pruned'"
_NOTE: Final = """INSERT OR REPLACE INTO pruned
    SELECT id, updated_at FROM runs JOIN progress ON run = number WHERE id = ?"""
_FORGET: Final = "DELETE FROM pruned WHERE run = ?"


class PrunedTable:
    """What a mirror knows of runs that were deleted from it."""

    _reader: Reader
    _ask: Callable[..., Awaitable[Any]]

    def pruned_runs(self) -> dict[RunId, float]:
        """The runs that were deleted here, and when each had its last entry."""
        if not self._reader.rows(_HAS_TABLE):
            return {}
        return dict(self._reader.rows("SELECT run, updated_at FROM pruned"))

    async def note_pruned(self, run: str) -> None:
        """Remembers a run that is about to be deleted."""

        def change(tables: JournalTables) -> None:
            tables.connection.execute(_TABLE)
            tables.connection.execute(_NOTE, (run,))

        await self._ask(change)

    async def forget_pruned(self, runs: Iterable[str]) -> None:
        """Lets runs come again, or forgets those that the server has no longer."""
        known = self.pruned_runs()
        if gone := [(run,) for run in runs if run in known]:
            await self._ask(lambda tables: tables.connection.executemany(_FORGET, gone))
