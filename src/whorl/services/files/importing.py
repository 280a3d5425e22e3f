"""Imports workflows from the database of another program, which is only read."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, cast

import apsw

from whorl.errors import UsageError
from whorl.plugins import formats, load_reference

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.dialects.files import Row, Taken, TakeOver
    from whorl.plugins import Database

ROWS_MAX = 10_000
TOTAL_MAX = 50_000_000
_LENGTH_MAX = 20_000_000


def take_over(path: Path, *, archived: bool = False) -> Taken:
    """Imports the workflows of a database; raises UsageError W901 if its format is unknown."""
    if not path.is_file():
        raise UsageError(f"{str(path)!r} does not exist", code="W901")
    database, rows = _read(path)
    try:
        return cast("TakeOver", load_reference(database.take_over))(rows, archived)
    except (KeyError, TypeError) as fault:
        words = f"{str(path)!r} lacks a column that is needed: {fault}"
        raise UsageError(words, code="W901") from fault


def _read(path: Path) -> tuple[Database, dict[str, list[Row]]]:
    # A copy with its log: opening the file itself could write beside it while it is in use.
    with tempfile.TemporaryDirectory(prefix="whorl-import-") as folder:
        copy = Path(folder) / "copy.db"
        try:
            for ending in ("", "-wal"):
                source = path.with_name(path.name + ending)
                if source.is_file():
                    shutil.copyfile(source, copy.with_name(copy.name + ending))
            with closing(apsw.Connection(str(copy))) as connection:
                connection.limit(apsw.SQLITE_LIMIT_LENGTH, _LENGTH_MAX)
                return _rows(connection, path)
        except (OSError, UnicodeError, apsw.Error) as fault:
            raise UsageError(f"{str(path)!r} cannot be read: {fault}", code="W901") from fault


def _rows(connection: apsw.Connection, path: Path) -> tuple[Database, dict[str, list[Row]]]:
    # Neither views nor virtual tables, whose rows are computed.
    listed = connection.execute("SELECT name FROM pragma_table_list WHERE type = 'table'")
    names = {str(row[0]) for row in listed}
    databases = (each for known in formats() for each in known.databases)
    database = next((each for each in databases if each.known_by <= names), None)
    if database is None:
        words = f"{str(path)!r} has no workflows of a known program"
        advice = "give a database such as ~/.ai-studio/data.db"
        raise UsageError(words, help=advice, code="W901")
    rows: dict[str, list[Row]] = {table: [] for table in database.tables if table in names}
    size = 0
    for table, held in rows.items():
        for row in _table(connection, table):
            held.append(row)
            size += sum(len(value) for value in row.values() if isinstance(value, str | bytes))
            if size > TOTAL_MAX or len(held) > ROWS_MAX:
                words = f"{str(path)!r} has more than {TOTAL_MAX:,} bytes, or {ROWS_MAX:,} {table}"
                raise UsageError(words, code="W901")
    return database, rows


def _table(connection: apsw.Connection, name: str) -> Iterable[Row]:
    # The name is one of ours. Columns that are computed could fill all memory, and are left out.
    described = connection.execute(f'PRAGMA table_info("{name}")')
    columns = [str(column[1]).replace('"', '""') for column in described]
    for values in connection.execute('SELECT "{}" FROM "{}"'.format('", "'.join(columns), name)):
        yield cast("Row", dict(zip(columns, values, strict=True)))
