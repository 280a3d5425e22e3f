"""Looks for a text in all that a project keeps: files as they are, and what stores pack."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def places_of(text: str, folder: Path, *but: str) -> list[str]:
    """The files below a folder that hold a text, and the tables of stores."""
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name in but:
            continue
        if text.encode() in path.read_bytes():
            found.append(path.name)
        if path.suffix == ".db":
            found += [table for table, content in _contents(path) if text.encode() in content]
    return found


def _contents(store: Path) -> Iterator[tuple[str, bytes]]:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
        for (table,) in connection.execute(names).fetchall():
            for row in connection.execute(f"SELECT * FROM {table}"):
                for column in row:
                    content = column.encode() if isinstance(column, str) else column
                    if isinstance(content, bytes):
                        yield table, content
                        for window_bits in (-13, zlib.MAX_WBITS):
                            with suppress(zlib.error):
                                yield table, zlib.decompress(content, window_bits)
