"""Large values, stored once by content hash and counted by the runs that use them."""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING

from whorl.runtimes.sqlite.bodies import Unreadable, from_text, inflate
from whorl.runtimes.sqlite.connection import fetch

if TYPE_CHECKING:
    import apsw

    from whorl.language import Json


def put(connection: apsw.Connection, run: int, text: str) -> int:
    """Stores a JSON text for a run, unless the same text is there already; gives its number."""
    content = text.encode()
    digest = hashlib.sha256(content).digest()
    number = connection.execute("SELECT id FROM payloads WHERE hash = ?", (digest,)).get
    if number is None:
        number = _insert(connection, digest, content)
    connection.execute("INSERT OR IGNORE INTO payload_uses VALUES(?, ?)", (run, number))
    return int(number)


def get(connection: apsw.Connection, number: int) -> Json:
    """The value of a payload. Raises Unreadable."""
    stored = "SELECT hash, deflated, content FROM payloads WHERE id = ?"
    rows = fetch(connection, stored, (number,))
    if not rows:
        raise Unreadable(f"its payload number {number} is missing")
    digest, deflated, content = rows[0]
    if not isinstance(content, bytes):
        raise Unreadable(f"its payload number {number} is damaged")
    text = inflate(content, zlib.MAX_WBITS) if deflated else content.decode("utf-8", "replace")
    if hashlib.sha256(text.encode()).digest() != digest:
        raise Unreadable(
            f"its payload number {number} does not have the content it was stored with"
        )
    return from_text(text)


def _insert(connection: apsw.Connection, digest: bytes, content: bytes) -> int:
    packed = zlib.compress(content)
    deflated = len(packed) < len(content)
    connection.execute(
        "INSERT INTO payloads(hash, size, deflated, content) VALUES(?, ?, ?, ?)",
        (digest, len(content), deflated, packed if deflated else content),
    )
    return connection.last_insert_rowid()
