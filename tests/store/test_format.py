"""Files of other versions and other programs, and files that somebody has changed."""

from __future__ import annotations

import asyncio
import hashlib
from contextlib import closing
from typing import TYPE_CHECKING

import apsw
import pytest
from journal_makers import event, iteration, started, write

from whorl.errors import StoreError
from whorl.interpreter import BEHAVIOUR
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.encoding import checksum
from whorl.runtimes.sqlite.schema import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RUN = RunId("run-1")
OTHER = RunId("run-2")


@pytest.fixture
def written(path: Path) -> Iterator[SqliteStore]:
    """A store with two runs: entries 2 to 4 are an iteration, entry 5 has a large value."""
    store = SqliteStore(path)

    for name in ("run-1", "run-2"):
        write(store, *iteration(1), event("task.finished", "x", value=name * 2000), name=name)
    yield store
    store.close()


def change(path: Path, statement: str) -> None:
    with closing(apsw.Connection(str(path))) as file:
        file.execute(statement)


def write_checksums(path: Path) -> None:
    """Makes entries that were changed look as if they had been written so."""
    file = apsw.Connection(str(path))
    entries = file.execute("SELECT id, seq, kind, at, address, body, large FROM journal").fetchall()
    for number, seq, *row in entries:
        written = (checksum((seq, *row[:2]), *row[2:]), number)
        file.execute("UPDATE journal SET checksum = ? WHERE id = ?", written)
    file.close()


@pytest.mark.threat(row="T14")
@pytest.mark.parametrize("version", [FORMAT_VERSION - 1, FORMAT_VERSION + 1])
def test_another_format_is_refused_and_the_file_is_left_alone(path: Path, version: int) -> None:
    store = SqliteStore(path)
    asyncio.run(started(store))
    store.close()
    change(path, f"PRAGMA user_version = {version}")
    before = {
        file.name: hashlib.sha256(file.read_bytes()).digest() for file in path.parent.iterdir()
    }
    changed_at = path.stat().st_mtime_ns

    with pytest.raises(
        StoreError, match=f"has format {version}; this version of Whorl knows"
    ) as caught:
        SqliteStore(path)
    assert caught.value.code == "R901"
    assert hashlib.sha256(path.read_bytes()).digest() == before["runs.db"]
    assert path.stat().st_mtime_ns == changed_at


@pytest.mark.parametrize("is_database", [True, False])
def test_a_file_of_another_program_is_refused_and_left_alone(path: Path, is_database: bool) -> None:
    path.parent.mkdir()
    if is_database:
        change(path, "CREATE TABLE theirs(x)")
    else:
        path.write_text("hello " * 1000)
    before = path.read_bytes()

    words = "a database of another program" if is_database else "is not a store of Whorl"
    with pytest.raises(StoreError, match=words):
        SqliteStore(path)
    assert path.read_bytes() == before


FIRST = "run = (SELECT number FROM runs WHERE id = 'run-1')"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"UPDATE journal SET kind = 'x' WHERE seq = 3 AND {FIRST}", "entry 3: .* kind number 'x'"),
        (
            f"UPDATE journal SET body = '{{' WHERE seq = 2 AND {FIRST}",
            "entry 2: its JSON is damaged",
        ),
        (f"UPDATE journal SET body = x'00ff' WHERE seq = 2 AND {FIRST}", "entry 2: its body is"),
        (f"DELETE FROM journal WHERE seq = 3 AND {FIRST}", "entry 3: the entry is missing"),
        (
            f'UPDATE journal SET large = \'[[["no","no"],1]]\' WHERE seq = 5 AND {FIRST}',
            "entry 5: .* large values",
        ),
        (
            "DELETE FROM payloads WHERE id = (SELECT payload FROM payload_uses WHERE run = 1"
            " ORDER BY payload DESC LIMIT 1)",
            "entry 5: its payload number 3 is missing",
        ),
        (
            "UPDATE payloads SET content = x'41', deflated = 0 WHERE id = 3",
            "entry 5: its payload number 3 does not have the content",
        ),
    ],
)
def test_a_wrong_entry_is_named_and_other_runs_continue(
    written: SqliteStore, path: Path, statement: str, message: str
) -> None:
    change(path, statement)
    write_checksums(path)

    with pytest.raises(StoreError, match=f"run 'run-1', {message}") as caught:
        list(written.read(RUN))
    assert caught.value.code == "R906"
    assert len(list(written.read(OTHER))) == 5
    assert [row.id for row in written.runs()] == ["run-2", "run-1"]


@pytest.mark.threat(row="T14")
def test_a_run_of_a_newer_machine_is_not_driven(written: SqliteStore, path: Path) -> None:
    asyncio.run(written.release(RUN, 1))
    change(path, f"UPDATE runs SET behaviour = {BEHAVIOUR + 1} WHERE id = 'run-1'")

    with pytest.raises(StoreError, match=f"driven by version {BEHAVIOUR + 1} of") as caught:
        asyncio.run(written.claim(RUN))
    assert caught.value.code == "R901"


def test_a_run_that_this_machine_drives_is_no_longer_one_of_an_older_one(
    written: SqliteStore, path: Path
) -> None:
    """What it journals from here on an older one would not understand."""
    asyncio.run(written.release(RUN, 1))
    change(path, "UPDATE runs SET behaviour = 1 WHERE id = 'run-1'")
    asyncio.run(written.claim(RUN))

    rows = apsw.Connection(str(path)).execute("SELECT behaviour FROM runs WHERE id = 'run-1'")
    assert rows.fetchall() == [(BEHAVIOUR,)]
