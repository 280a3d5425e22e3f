"""Checks a store for damage: its pages, and the checksum of each entry and value."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import apsw

from whorl.lazily import dataclass
from whorl.runtimes.sqlite import encoding
from whorl.runtimes.sqlite.connection import fetch, fetch_readable
from whorl.runtimes.sqlite.encoding import Unreadable, checksum

if TYPE_CHECKING:
    from collections.abc import Iterator

Types: TypeAlias = tuple[type | tuple[type, ...], ...]

FAULTS_MAX: Final = 20
# How a fault begins that is one of the file, and not of an entry.
PAGES: Final = "pages of the file: "
# The columns that lists show of runs and loops.
_NUMBER: Final = (int, float)
_AMOUNT: Final = (int, float, type(None))
RUN_TYPES: Final[Types] = (
    *(str, str, str, str, str, _NUMBER, _NUMBER, str, str, int, _NUMBER, int, int),
    *(_AMOUNT, str, int, int, _AMOUNT, str, str, int, str, str, str, _AMOUNT, str, _NUMBER),
    *((int, type(None)), int, str, str, _NUMBER, str),
)
LOOP_TYPES: Final[Types] = (str, int, int, (int, type(None)), str)
_PAGE: Final = 1_000
_RUNS: Final = "SELECT number, CAST(id AS BLOB) FROM runs"
_ENTRIES: Final = """SELECT id, run, seq, kind, at, address, body, large, checksum FROM journal
    WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"""
_COUNTS: Final = """SELECT number, last_seq, coalesce(entries, 0), coalesce(last, 0) FROM runs
    JOIN progress ON progress.run = number
    LEFT JOIN (SELECT run, count(*) AS entries, max(seq) AS last FROM journal GROUP BY run) AS kept
    ON kept.run = number WHERE last_seq <> coalesce(entries, 0) OR last_seq <> coalesce(last, 0)"""
_USERS: Final = "SELECT run FROM payload_uses WHERE payload = ? LIMIT ?"
SIZES: Final = "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM journal)"


@dataclass(frozen=True, slots=True)
class Sizes:
    file_bytes: int
    runs: int
    entries: int


def fits(row: tuple[Any, ...], types: Types) -> bool:
    """Returns whether the columns of a row have the right types; damage may change them."""
    is_whole = len(row) == len(types)
    return is_whole and all(isinstance(*pair) for pair in zip(row, types, strict=True))


def faults(connection: apsw.Connection) -> list[str]:
    return list(islice(_faults(connection), FAULTS_MAX))


def _faults(connection: apsw.Connection) -> Iterator[str]:
    try:
        pages = [str(row[0]) for row in fetch(connection, f"PRAGMA integrity_check({FAULTS_MAX})")]
    except (apsw.Error, UnicodeDecodeError) as error:
        pages = [str(error)]
    yield from (f"{PAGES}{words}" for words in pages if words != "ok")
    for part in (_entries, _missing, _payloads):
        try:
            runs = {number: id_.decode("utf-8", "replace") for number, id_ in
                    fetch(connection, _RUNS) if isinstance(id_, bytes)}  # fmt: skip
            yield from part(connection, runs)
        except (apsw.Error, UnicodeDecodeError) as error:
            yield f"{PAGES}{error}"


def is_of_run(fault: str, run: str) -> bool:
    return fault.startswith((f"run {run!r}:", f"run {run!r},"))


def _named(runs: dict[int, str], run: object, seq: object = None) -> str:
    name = runs.get(run, run) if isinstance(run, int) else run
    return f"run {name!r}" if seq is None else f"run {name!r}, entry {seq}"


def _entries(connection: apsw.Connection, runs: dict[int, str]) -> Iterator[str]:
    last = connection.execute("SELECT max(id) FROM journal").get or 0
    done = 0
    while done < last:
        window = (done, min(done + _PAGE, last), _PAGE)
        for row in fetch_readable(connection, _ENTRIES, window, "id, run, seq"):
            if len(row) <= 3 or checksum(row[2:5], *row[5:-1]) != row[-1]:
                yield f"{_named(runs, row[1], row[2])}: it has changed since it was written"
        done = window[1]


def _missing(connection: apsw.Connection, runs: dict[int, str]) -> Iterator[str]:
    for run, last, entries, seq in fetch(connection, _COUNTS):
        words = f"its last entry should be {last}; {entries} are there, up to {seq}"
        yield f"{_named(runs, run)}: {words}"


def _payloads(connection: apsw.Connection, runs: dict[int, str]) -> Iterator[str]:
    for (number,) in fetch(connection, "SELECT id FROM payloads"):
        try:
            encoding.payload(connection, number)
        except Unreadable as error:
            words = f": {str(error).removeprefix('its ')}"
            users = fetch(connection, _USERS, (number, FAULTS_MAX)) or [(None,)]
            yield from (f"{_named(runs, user)}{words}" for (user,) in users)
