"""A damaged store says what is damaged; a backup is whole, and a restore loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import shutil
import subprocess
import sys
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from journal_makers import event, iteration, started

from trusted import registry_of
from whorl.errors import StoreError, UsageError
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.backup import back_up, restore
from whorl.services.inspecting import results

if TYPE_CHECKING:
    from collections.abc import Callable

RUNS = ("first", "second", "third")
LARGE = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=20_000))


@pytest.fixture
def whole(path: Path) -> Path:
    """A closed store with some runs, large values and a snapshot."""

    async def write() -> None:
        async with SqliteStore(path) as store:
            for name in RUNS:
                run, owner = await started(store, name, sources={"polish.yaml": f"# {name}\n"})
                loop = event("loop.started", "polish", path="polish", limits={"iterations": 9})
                await store.append(run, owner, [loop])
                for number in range(1, 8):
                    value = LARGE + name if number == 3 else f"words of {name} {number} é"
                    await store.append(run, owner, iteration(number, value, score=0.5))
                await store.snapshot(run, owner, 5, {"x": "y" * 500})
                done = event("run.finished", status="succeeded", output=name)
                await store.append(run, owner, [done])
                await store.release(run, owner)

    asyncio.run(write())
    return path


def _everything(store: SqliteStore, run: str) -> list[object]:
    """What commands show of a run, as far as it needs no workflow."""
    return [
        store.run(run),
        [(entry.seq, entry.event) for entry in store.read(run)],
        store.loops(run),
        store.iterations(run, "polish"),
        store.newest_iterations(run, "polish"),
        [entry.event for entry in store.entries_at(run, "polish[3]")],
        store.workflow(run),
        store.sources(run),
        store.last_snapshot(run),
        results.requests_of(store, RunId(run)),
    ]


def test_a_row_that_cannot_be_read_hides_no_others(whole: Path) -> None:
    with apsw.Connection(str(whole)) as file:
        file.execute("UPDATE runs SET name = CAST(x'ff00' AS TEXT) WHERE id = 'second'")
        file.execute("UPDATE progress SET calls = 'many' WHERE run = 1")
    store = SqliteStore(whole)

    rows = {row.id: (row.status, row.name) for row in store.runs()}

    assert rows["third"] == ("succeeded", "polish")
    assert [name for _, name in rows.values()].count("(damaged)") == 2
    with pytest.raises(StoreError, match="its row in the store is damaged"):
        store.run("first")
    store.close()


def test_a_large_value_has_a_checksum_too(whole: Path) -> None:
    with apsw.Connection(str(whole)) as file:
        number = file.execute("SELECT max(id) FROM payloads").get
        file.execute("UPDATE payloads SET content = zeroblob(9) WHERE id = ?", (number,))
        file.execute("DELETE FROM journal WHERE run = 1 AND seq = 7")
    store = SqliteStore(whole)

    faults = store.check()

    assert len(faults) == 2
    assert re.match(r"run 'first': its last entry should be \d+; \d+ are there", faults[0])
    assert re.match(r"run 'third': body is damaged", faults[1])
    store.close()


def _flipped(content: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 1, 8, 64))):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(150))
def test_flipped_bits_are_an_error_of_the_store_or_change_nothing_of_what_was_written(
    whole: Path, seed: int
) -> None:
    store = SqliteStore(whole)
    written = {run: [(entry.seq, entry.event) for entry in store.read(run)] for run in RUNS}
    store.close()
    whole.write_bytes(_flipped(whole.read_bytes(), random.Random(seed)))

    def tried(look: Callable[[], object]) -> object:
        try:
            return look()
        except (StoreError, UsageError) as fault:
            return fault

    try:
        store = SqliteStore(whole)
    except StoreError:
        return
    tried(store.runs)
    for run in RUNS:
        read = tried(lambda run=run: [(e.seq, e.event) for e in store.read(run)])  # type: ignore[misc]
        assert isinstance(read, StoreError | UsageError) or read == written[run][: len(read)]  # type: ignore[arg-type]
        tried(lambda run=run: _everything(store, run))  # type: ignore[misc]
    tried(store.sizes)
    tried(store.check)
    store.close()


def test_a_link_is_no_store(whole: Path) -> None:
    link = whole.with_name("link.db")
    link.symlink_to(whole)

    with pytest.raises(StoreError, match="is a symbolic link") as caught:
        SqliteStore(link)
    assert caught.value.code == "R908"


_LOOK = """
import sys
from whorl.runtimes.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
print(*(row.id for row in store.runs()), len(list(store.read("first"))), store.check())
store.close()
"""


def test_a_backup_on_a_medium_that_can_only_be_read_is_shown(whole: Path, tmp_path: Path) -> None:
    with contextlib.closing(apsw.Connection(str(whole))) as file:
        file.pragma("journal_mode", "DELETE")
    medium = tmp_path / "medium"
    medium.mkdir()
    mount = f"mount -t tmpfs t {medium} && cp {whole} {medium}/runs.db"
    script = f"{mount} && mount -o remount,ro {medium} && exec {sys.executable} -c '{_LOOK}'"
    words = ["unshare", "--mount", "sh", "-c", f"{script} {medium}/runs.db"]
    can_mount = shutil.which("unshare") and os.getuid() == 0
    done = subprocess.run(words, capture_output=True, text=True, check=False) if can_mount else None
    if done is None or "mount" in done.stderr:
        pytest.skip("a medium that can only be read needs the right to mount one")

    assert (done.stdout, done.stderr) == ("third second first 24 []\n", "")


@pytest.mark.parametrize("share", [0, 2], ids=["all", "half"])
def test_a_log_that_is_cut_is_called_damage(path: Path, share: int) -> None:
    """Nobody is told that all is stored, or to move a store away."""
    store = SqliteStore(path)
    asyncio.run(started(store))
    log = f"{path}-wal"
    os.truncate(log, os.path.getsize(log) // share if share else 0)
    try:
        words = subprocess.run(
            [sys.executable, "-m", "whorl.interfaces.cli", "--store", str(path), "ls"],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        with contextlib.suppress(StoreError):
            store.close()
    assert "is not a store of Whorl" not in words.stderr
    assert "what was acknowledged is stored" not in words.stderr
    if words.returncode:
        assert "error[R906]" in words.stderr or "error[R907]" in words.stderr


def _killed(path: Path) -> None:
    """Leaves a store whose newest entries are in its log, as after kill -9."""
    asyncio.run(started(SqliteStore(path)))
    copies = {end: path.with_name(path.name + end).read_bytes() for end in ("", "-wal")}
    for end, content in copies.items():
        (path.parent / f"left.db{end}").write_bytes(content)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_log_without_its_store_is_neither_ignored_nor_used(
    path: Path, tmp_path: Path, is_there: bool
) -> None:
    """SQLite deletes the log of an empty file, and adds one to whatever file is put beside it."""

    async def back_up_another() -> None:
        async with SqliteStore(tmp_path / "another.db") as store:
            await started(store, "other")
            back_up(store, tmp_path / "copy.db", registry_of(path))

    _killed(path)
    asyncio.run(back_up_another())
    left, log = path.parent / "left.db", path.parent / "left.db-wal"
    written = log.read_bytes()
    assert written
    left.write_bytes(b"") if is_there else left.unlink()

    with pytest.raises(StoreError, match="is empty or missing, but its log is there") as raised:
        SqliteStore(left)
    assert raised.value.code == "R906"
    assert "whorl project restore" in raised.value.help
    assert log.read_bytes() == written

    restored = restore(tmp_path / "copy.db", left, registry_of(left), force=is_there)
    with closing(SqliteStore(left)) as store:
        assert [row.id for row in store.runs()] == ["other"]
    assert Path(f"{restored.aside.removesuffix('-wal')}-wal").read_bytes() == written
    assert Path(restored.aside).exists()


def test_a_restore_brings_the_tables_of_schedules_and_experiments(
    path: Path, tmp_path: Path
) -> None:
    """A new store does not have them: whoever writes to one first makes it."""

    async def back_up_tables() -> None:
        async with SqliteStore(path) as store:
            for name in ("schedules", "firings", "experiments", "tokens", "others"):
                made = f"CREATE TABLE {name}(name TEXT PRIMARY KEY) WITHOUT ROWID"
                await store.change(lambda tables, made=made: tables.execute(made))
                added = f"INSERT INTO {name} VALUES('kept')"
                await store.change(lambda tables, added=added: tables.execute(added))
            back_up(store, tmp_path / "copy.db", registry_of(path))

    asyncio.run(back_up_tables())
    restore(tmp_path / "copy.db", path, registry_of(path), force=True)

    with closing(SqliteStore(path)) as store:
        for name in ("schedules", "firings", "experiments", "tokens"):
            assert store.rows(f"SELECT name FROM {name}") == [("kept",)]
        assert store.rows("SELECT 1 FROM sqlite_schema WHERE name = 'others'") == []


def test_a_copy_is_one_state_of_a_store_that_is_written_to(path: Path, tmp_path: Path) -> None:
    async def work() -> tuple[int, int]:
        async with SqliteStore(path) as store:
            run, owner = await started(store)
            values = [os.urandom(6_000).hex() for _ in range(200)]
            for number, value in enumerate(values, 1):
                await store.append(run, owner, iteration(number, value))
            copy = partial(back_up, store, tmp_path / "copy.db", registry_of(path))
            copying = asyncio.create_task(asyncio.to_thread(copy))
            last, number = 0, 201
            while not copying.done():
                last = await store.append(run, owner, iteration(number))
                number += 1
            return (await copying).entries, last

    copied, last = asyncio.run(work())

    assert 601 <= copied < last
    with closing(SqliteStore(tmp_path / "copy.db")) as copy:
        assert [entry.seq for entry in copy.read("run-1")] == list(range(1, copied + 1))
        assert (copy.check(), copy.run("run-1").status) == ([], "interrupted")
