"""What the store knows of runs for servers: which are stranded, which go on by themselves."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from journal_makers import event

from whorl.errors import UsageError
from whorl.runtimes.journal.journal import NewRun, RunId
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path


async def _made(store: SqliteStore, run: str, origin: str) -> RunId:
    made = NewRun(RunId(run), {}, "", "name", "native", origin=origin)
    stored, _ = await store.create(made, event("run.started", ""))
    return stored


async def _left(store: SqliteStore, run: str, origin: str, *, is_stopped: bool = False) -> RunId:
    made = await _made(store, run, origin)
    await store.release(made, await store.claim(made), is_stopped=is_stopped)
    return made


def test_runs_of_servers_and_background_processes_are_stranded_without_a_driver(path: Path) -> None:
    async def work() -> list[RunId]:
        async with SqliteStore(path) as store:
            for origin in ("server", "detached", "terminal", "python", ""):
                await _left(store, f"by-{origin}", origin)
                assert store.run(f"by-{origin}").origin == origin
            await _made(store, "new", "server")
            await store.claim(await _made(store, "driven", "server"))
            await _left(store, "stopped", "server", is_stopped=True)
            ended = await _made(store, "ended", "server")
            owner = await store.claim(ended)
            await store.append(ended, owner, [event("run.finished", "", status="succeeded")])
            await store.release(ended, owner)
            # What a server has driven is kept by servers.
            kept = await _left(store, "kept", "terminal")
            await store.release(kept, await store.claim(kept, keeps=True))
            return store.stranded(10)

    assert sorted(asyncio.run(work())) == ["by-detached", "by-server", "kept"]
    # Nor is one that was made long ago and that nobody has claimed left for ever.
    with closing(SqliteStore(path, clock=lambda: 4e9)) as later:
        assert "new" in later.stranded(10)


def test_runs_belong_to_the_project_that_made_them(path: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()

    async def work() -> None:
        async with SqliteStore(path, home=str(one)) as store:
            await _left(store, "first", "server")
            await store.create(NewRun(RunId("next"), {}, "", "name", "native", at_once=1))
        async with SqliteStore(path, home=f"{one}\nother.toml") as store:
            assert (store.stranded(10), store.next_in_queue(10)) == ([], [])
            assert store.run("first").project == str(one)
        async with SqliteStore(path, home=str(two)) as store:
            await _left(store, "second", "server")
            assert store.stranded(10) == ["second"]
            assert store.run("first").project == str(one)
            await store.release(RunId("first"), await store.claim(RunId("first")))
            (one / "whorl.toml").touch()
            with pytest.raises(UsageError, match=f"belongs to the project '{one}'") as refused:
                await store.claim(RunId("first"))
            assert f"`cd {one}`, with `--store {path}`" in refused.value.help
        async with SqliteStore(path, home=str(one)) as store:
            assert (store.stranded(10), store.next_in_queue(10)) == (["first"], ["next"])
            assert (store.queue_length("name"), store.run("first").project) == (1, "")

    asyncio.run(work())
