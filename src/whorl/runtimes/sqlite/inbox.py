"""Control requests from other processes on their way to the owner of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from whorl.runtimes.journal import Letter, RunId
from whorl.runtimes.sqlite.bodies import Unreadable, decode
from whorl.runtimes.sqlite.connection import fetch
from whorl.runtimes.sqlite.faults import damaged, fenced, refused

if TYPE_CHECKING:
    from collections.abc import Sequence

    import apsw

    from whorl.runtimes.sqlite.bodies import Encoded
    from whorl.runtimes.sqlite.liveness import Identity

_LETTER: Final = """
SELECT letters.id, runs.id, kind, at, address, body
FROM letters JOIN runs ON runs.number = letters.run
"""
_OF_RUN: Final = _LETTER + "WHERE runs.id = ? ORDER BY letters.id"
_OF_PROCESS: Final = (
    _LETTER
    + """JOIN progress ON progress.run = letters.run JOIN processes ON processes.id = process
    WHERE pid = ? AND started = ? AND boot = ? AND namespace = ? ORDER BY letters.id"""
)


def post(connection: apsw.Connection, run: str, row: Encoded) -> int:
    """Leaves a letter for whoever owns the run, or will own it."""
    number = connection.execute("SELECT number FROM runs WHERE id = ?", (run,)).get
    if number is None:
        raise refused(f"there is no run {run!r} in the store", "`whorl ls` lists the runs")
    connection.execute(
        "INSERT INTO letters(run, kind, at, address, body) VALUES(?, ?, ?, ?, ?)",
        (number, row.kind, row.at, row.address, row.body),
    )
    return connection.last_insert_rowid()


def letters_of(connection: apsw.Connection, run: str, owner: int) -> list[Letter]:
    """The letters of a run, oldest first. Raises Fenced."""
    _check_owner(connection, run, owner)
    return [_letter(*row) for row in fetch(connection, _OF_RUN, (run,))]


def discard(connection: apsw.Connection, run: str, owner: int, letters: Sequence[int]) -> None:
    """Deletes letters of a run. Raises Fenced."""
    _check_owner(connection, run, owner)
    for letter in letters:
        connection.execute("DELETE FROM letters WHERE id = ?", (letter,))


def _check_owner(connection: apsw.Connection, run: str, owner: int) -> None:
    current = "SELECT owner FROM progress JOIN runs ON number = run WHERE id = ?"
    found = connection.execute(current, (run,)).get
    if found != owner:
        raise fenced(run, owner, found or 0)


def letters_of_process(connection: apsw.Connection, here: Identity) -> list[Letter]:
    """The letters for all runs that a process owns, oldest first."""
    known = (here.pid, here.started, here.boot, here.namespace)
    return [_letter(*row) for row in fetch(connection, _OF_PROCESS, known)]


def _letter(number: int, run: str, *row: Any) -> Letter:
    try:
        return Letter(number, RunId(run), decode(*row))
    except Unreadable as error:
        raise damaged(run, None, f"letter {number}: {error}") from error
