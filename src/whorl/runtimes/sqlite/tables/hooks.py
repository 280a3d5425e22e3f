"""Addresses that start workflows: which workflow, and what calls of it are signed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whorl.lazily import dataclass

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.runtimes.journal.journal import RunId
    from whorl.runtimes.sqlite.connection import Reader
    from whorl.runtimes.sqlite.tables.journal import JournalTables

_INSERT: Final = "INSERT OR IGNORE INTO hooks VALUES(?, ?, ?, ?, ?, ?, '', 0)"
_ROTATE: Final = """UPDATE hooks SET old_secret = secret, old_until = ?2, secret = ?3
    WHERE name = ?1"""


@dataclass(frozen=True, slots=True)
class HookRow:
    """One address. `workflow` names one of a file with several, `format` how calls are signed."""

    name: str
    file: str
    workflow: str
    format: str
    created_at: float
    secret: str
    old_secret: str = ""
    old_until: float = 0.0


class HookTable:
    """What a store knows of such addresses."""

    _reader: Reader
    _ask: Callable[..., Awaitable[Any]]

    def hooks(self) -> list[HookRow]:
        return [HookRow(*row) for row in self._reader.rows("SELECT * FROM hooks ORDER BY name")]

    def hook(self, name: str) -> HookRow | None:
        rows = self._reader.rows("SELECT * FROM hooks WHERE name = ?", (name,))
        return HookRow(*rows[0]) if rows else None

    def keyed(self, key: str) -> RunId | None:
        """The run that was started with a key."""
        rows = self._reader.rows("SELECT id FROM runs WHERE key = ?", (key,))
        return rows[0][0] if rows else None

    async def add_hook(self, hook: HookRow) -> bool:
        """False: there is one of that name already."""
        row = (hook.name, hook.file, hook.workflow, hook.format, hook.created_at, hook.secret)
        return await self._changed(_INSERT, row)

    async def rotate_hook(self, name: str, secret: str, old_until: float) -> bool:
        """Gives a hook another secret; False: there is none of that name."""
        return await self._changed(_ROTATE, (name, old_until, secret))

    async def remove_hook(self, name: str) -> bool:
        return await self._changed("DELETE FROM hooks WHERE name = ?", (name,))

    async def _changed(self, statement: str, values: tuple[str | float, ...]) -> bool:
        def change(tables: JournalTables) -> bool:
            tables.connection.execute(statement, values)
            return tables.connection.changes() > 0

        return bool(await self._ask(change))
