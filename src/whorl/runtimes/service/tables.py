"""The tables of servers in a store: the audit (who did what) and tokens (who may).

Only the hashes of tokens are stored. The first write to a table creates it.
"""

from __future__ import annotations

import asyncio
import logging
import os
from base64 import urlsafe_b64encode
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args

from whorl.errors import StoreError, UsageError, did_you_mean, safe
from whorl.lazily import dataclass, regex
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
_READ: Final = """SELECT who, action, outcome, role, run, file, at, id FROM audit
    WHERE id < ? AND at >= ? AND (?3 = '' OR who = ?3) AND (?4 = '' OR run = ?4)
    ORDER BY id DESC LIMIT ?5"""
_RETIRE: Final = f"""DELETE FROM audit WHERE id IN
    (SELECT id FROM audit WHERE at < ? ORDER BY id LIMIT {_DELETED_AT_ONCE})"""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An action of a user: `outcome` is `ok` or a reason; `run` and `file` are its object."""

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
    store: SqliteStore

    async def add(self, deed: AuditEntry) -> None:
        texts = (deed.who, deed.role, deed.action, deed.run, deed.file, deed.outcome)
        shown = [whole(text[:TEXT_MAX]) for text in texts]
        await changed(self.store, _ADD, (self.store.clock(), *shown))

    def read(
        self,
        *,
        since: float = 0.0,
        who: str = "",
        run: str = "",
        before: int = 2**62,
        limit: int = 100,
    ) -> list[AuditEntry]:
        """Returns the actions, the newest first."""
        found = rows(self.store, "audit", _READ, (before, since, who, run, limit))
        return [AuditEntry(*row) for row in found]

    async def keep(self, older_than_s: float) -> None:
        """Keeps deleting rows that are older than that, until it is cancelled."""
        while True:
            gone = 0
            try:
                gone = await self.retire(older_than_s)
            except StoreError as fault:
                log.warning("the audit cannot be shortened: %s", safe(str(fault)))
            await asyncio.sleep(0.1 if gone == _DELETED_AT_ONCE else _EVERY_S)

    async def retire(self, older_than_s: float) -> int:
        """Deletes the oldest rows, a part at a time; returns their number."""
        return await changed(self.store, _RETIRE, (self.store.clock() - older_than_s,))


# Each may do all that those before it may.
Role = Literal["read", "run", "steer", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
# The token that a server is started with.
SERVER: Final = "server"
# So that tools that look for keys in a text find it.
PREFIX: Final = "whorl_"
_NAME: Final = regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_TOKENS: Final = "SELECT name, role, created_at, expires_at, digest FROM tokens"
_ALL_TOKENS: Final = f"{_TOKENS} ORDER BY name, created_at"
_FIND_TOKEN: Final = f"{_TOKENS} WHERE digest = ?"
_NAMED_TOKENS: Final = f"{_TOKENS} WHERE name = ? ORDER BY created_at"
_ADD_TOKEN: Final = """INSERT INTO tokens(name, role, created_at, expires_at, digest)
    VALUES(?, ?, ?, ?, ?)"""
_SHORTEN_TOKENS: Final = """UPDATE tokens SET expires_at = min(coalesce(expires_at, ?2), ?2)
    WHERE name = ?1"""


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token; without `expires_at` it never expires."""

    name: str
    role: Role
    created_at: float
    expires_at: float | None
    digest: bytes

    def is_valid(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at


def digest_of(token: str) -> bytes:
    return bytes(sha256(token.encode("utf-8", "replace")).digest())


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a store. A name has several tokens only during a rotation."""

    store: SqliteStore

    def all(self) -> list[Token]:
        return [Token(*row) for row in rows(self.store, "tokens", _ALL_TOKENS)]

    def find(self, token: str) -> Token | None:
        """Returns the token, valid or expired, or None if it is unknown."""
        found = rows(self.store, "tokens", _FIND_TOKEN, (digest_of(token),))
        return Token(*found[0]) if found else None

    def named(self, name: str) -> list[Token]:
        return [Token(*row) for row in rows(self.store, "tokens", _NAMED_TOKENS, (name,))]

    async def add(self, name: str, role: Role, expires_s: float | None = None) -> str:
        """Makes a token and returns it, only once. Raises UsageError if the name is taken."""
        if _NAME.fullmatch(name) is None or name == SERVER:
            words = f"{name[:80]!r} cannot be the name of a token"
            advice = f"use 1 to 64 letters, digits, '_' and '-'; {SERVER!r} is the server's own"
            raise UsageError(words, help=advice)
        now = self.store.clock()

        def apply(connection: apsw.Connection) -> str:
            if any(known.is_valid(now) for known in _named(connection, name)):
                advice = f"`whorl server token rotate {name}` gives it a new one"
                raise UsageError(f"there is a token {name!r} already", help=advice)
            connection.execute("DELETE FROM tokens WHERE name = ?", (name,))
            return _add(connection, name, role, now, expires_s)

        return await change(self.store, apply)

    async def rotate(self, name: str, grace_s: float, expires_s: float | None = None) -> str:
        """Makes a token that replaces another, which stays valid for `grace_s`; returns it once."""
        now = self.store.clock()

        def apply(connection: apsw.Connection) -> str:
            known = _named(connection, name)
            if not known:
                raise self._unknown(name)
            connection.execute("DELETE FROM tokens WHERE expires_at <= ?", (now,))
            connection.execute(_SHORTEN_TOKENS, (name, now + grace_s))
            return _add(connection, name, known[-1].role, now, expires_s)

        return await change(self.store, apply)

    async def remove(self, name: str) -> None:
        """Revokes a token at once. Raises UsageError W902 if the name is unknown."""
        if not await changed(self.store, "DELETE FROM tokens WHERE name = ?", (name,)):
            raise self._unknown(name)

    def _unknown(self, name: str) -> UsageError:
        names = sorted({token.name for token in self.all()})
        hint = did_you_mean(name, names) or "`whorl server token ls` lists them"
        return UsageError(f"there is no token {name[:80]!r}", help=hint, code="W902")


def _named(connection: apsw.Connection, name: str) -> list[Token]:
    return [Token(*row) for row in connection.execute(_NAMED_TOKENS, (name,))]


def _add(
    connection: apsw.Connection, name: str, role: Role, now: float, expires_s: float | None
) -> str:
    token = PREFIX + urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")
    expires = None if expires_s is None else now + expires_s
    connection.execute(_ADD_TOKEN, (name, role, now, expires, digest_of(token)))
    return token


# How these tables, and those of wings, are changed and read.

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


async def changed(
    store: SqliteStore, statement: str, values: Sequence[Column], definitions: str = DEFINITIONS
) -> int:
    """Runs a statement that changes a table; returns the number of changed rows."""

    def apply(connection: apsw.Connection) -> int:
        connection.execute(statement, values)
        return connection.changes()

    return await change(store, apply, definitions)


def rows(
    store: SqliteStore, table: str, statement: str, values: Sequence[Column] = ()
) -> list[tuple[Any, ...]]:
    """Returns the rows of a query, or nothing if the table does not exist yet."""
    return store.rows(statement, values) if store.rows(_HAS_TABLE, (table,)) else []
