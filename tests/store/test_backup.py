"""A copy of a store that is written to meanwhile is one state of it, whole."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from journal_makers import started

from trusted import registry_of
from whorl.errors import StoreError
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.backup import back_up, restore


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
