"""Tokens of a server: who may use it, and for what. Only their hashes are stored."""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import TYPE_CHECKING, Final, Literal, get_args

from whorl.errors import UsageError, did_you_mean
from whorl.lazily import dataclass
from whorl.runtimes.service.tables import change, rows

if TYPE_CHECKING:
    import apsw

    from whorl.runtimes.sqlite import SqliteStore

# Each may do all that those before it may.
Role = Literal["read", "run", "steer", "admin"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
# The token that a server is started with.
SERVER: Final = "server"
# So that whoever looks for keys in a text finds it.
PREFIX: Final = "whorl_"
TOKENS_MAX: Final = 1_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_COLUMNS: Final = "name, role, created_at, expires_at, digest"
_ALL: Final = f"SELECT {_COLUMNS} FROM tokens ORDER BY name, created_at"
_FIND: Final = f"SELECT {_COLUMNS} FROM tokens WHERE digest = ?"
_NAMED: Final = f"SELECT {_COLUMNS} FROM tokens WHERE name = ? ORDER BY created_at"
_ADD: Final = "INSERT INTO tokens(name, role, created_at, expires_at, digest) VALUES(?, ?, ?, ?, ?)"
_SHORTEN: Final = """UPDATE tokens SET expires_at = min(coalesce(expires_at, ?2), ?2)
    WHERE name = ?1"""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is known; `expires_at` is None where it stays valid."""

    name: str
    role: Role
    created_at: float
    expires_at: float | None
    digest: bytes

    def is_valid(self, now: float) -> bool:
        return self.expires_at is None or now < self.expires_at


def digest_of(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "replace")).digest()


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a store. A name has several of them only while one takes the other's place."""

    store: SqliteStore

    def all(self) -> list[Token]:
        return [Token(*row) for row in rows(self.store, "tokens", _ALL)]

    def find(self, token: str) -> Token | None:
        """The token, whether it is still valid or not; None: there is none like it."""
        found = rows(self.store, "tokens", _FIND, (digest_of(token),))
        return Token(*found[0]) if found else None

    def named(self, name: str) -> list[Token]:
        return [Token(*row) for row in rows(self.store, "tokens", _NAMED, (name,))]

    async def add(self, name: str, role: Role, expires_s: float | None = None) -> str:
        """Makes a token and gives it, this once. Raises UsageError where the name is taken."""
        if _NAME.fullmatch(name) is None or name == SERVER:
            words = f"{name[:80]!r} cannot be the name of a token"
            advice = f"use 1 to 64 letters, digits, '_' and '-'; {SERVER!r} is the server's own"
            raise UsageError(words, help=advice)
        now = self.store.clock()
        token = _new_token()

        def apply(connection: apsw.Connection) -> None:
            if any(known.is_valid(now) for known in _named(connection, name)):
                advice = f"`whorl token rotate {name}` gives it a new one"
                raise UsageError(f"there is a token {name!r} already", help=advice)
            if (connection.execute("SELECT count(*) FROM tokens").get or 0) >= TOKENS_MAX:
                raise UsageError(f"there are {TOKENS_MAX:,} tokens already", help="remove some")
            connection.execute("DELETE FROM tokens WHERE name = ?", (name,))
            expires = None if expires_s is None else now + expires_s
            connection.execute(_ADD, (name, role, now, expires, digest_of(token)))

        await change(self.store, apply)
        return token

    async def rotate(self, name: str, grace_s: float, expires_s: float | None = None) -> str:
        """A new token in the place of one, which stays valid for so long; gives it, this once."""
        now = self.store.clock()
        token = _new_token()

        def apply(connection: apsw.Connection) -> None:
            known = _named(connection, name)
            if not known:
                raise self._unknown(name)
            connection.execute("DELETE FROM tokens WHERE expires_at <= ?", (now,))
            connection.execute(_SHORTEN, (name, now + grace_s))
            expires = None if expires_s is None else now + expires_s
            connection.execute(_ADD, (name, known[-1].role, now, expires, digest_of(token)))

        await change(self.store, apply)
        return token

    async def remove(self, name: str) -> None:
        """Ends a token at once. Raises UsageError W902 where there is none of that name."""

        def apply(connection: apsw.Connection) -> int:
            connection.execute("DELETE FROM tokens WHERE name = ?", (name,))
            return connection.changes()

        if not await change(self.store, apply):
            raise self._unknown(name)

    def _unknown(self, name: str) -> UsageError:
        names = sorted({token.name for token in self.all()})
        hint = did_you_mean(name, names) or "`whorl token ls` lists them"
        return UsageError(f"there is no token {name[:80]!r}", help=hint, code="W902")


def _named(connection: apsw.Connection, name: str) -> list[Token]:
    return [Token(*row) for row in connection.execute(_NAMED, (name,))]


def _new_token() -> str:
    return PREFIX + secrets.token_urlsafe(32)
