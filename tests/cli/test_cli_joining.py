"""Joining a run that is under way: nothing is shown twice, and nothing is left out."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from whorl.interfaces.cli import watchers
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from command_line import Whorl

    from whorl.runtimes.journal.journal import Entry, RunId


@pytest.fixture
def store(whorl: Whorl, project: Path) -> Iterator[SqliteStore]:
    """The store of one run, which has ended."""
    whorl("run", "polish.yaml", "a haiku")
    with closing(SqliteStore(project / ".whorl" / "whorl.db")) as opened:
        yield opened


@pytest.mark.parametrize("past_max", [0, watchers.PAST_MAX])
def test_whoever_joins_knows_each_iteration_once(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, past_max: int
) -> None:
    """Wherever the run stands when it is joined, and though it goes on while it is looked at."""
    monkeypatch.setattr(watchers, "PAST_MAX", past_max)
    row = next(iter(store.runs()))
    run, entries = row.id, list(store.read(row.id))
    assert row.last_seq == len(entries) > 20
    for known in range(1, len(entries)):
        monkeypatch.setattr(store, "run", lambda _, known=known: replace(row, last_seq=known))
        progress = watchers.past_of(store, run)
        for entry in progress.unseen(entries):
            progress.take(entry.event)

        numbers = [done.number for done in progress.loops["polish"].iterations]
        assert numbers == [1, 2, 3], f"joined after entry {known}"


@pytest.mark.parametrize("mode", [(), ("--events",)])
def test_a_run_is_followed_from_where_its_watcher_stands(
    whorl: Whorl, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, mode: tuple[str, ...]
) -> None:
    row = next(iter(store.runs()))
    follow, asked = LocalRuntime.follow, []

    async def late(runtime: LocalRuntime, run: RunId, after: int = 0) -> AsyncIterator[Entry]:
        asked.append(after)
        async for entry in follow(runtime, run, after):
            yield entry

    # Its past is read, and before it is followed it goes on.
    past_of: Any = watchers.past_of

    def early(opened: SqliteStore, run: RunId) -> Any:
        progress = past_of(opened, run)
        return progress if mode else replace(progress, last_seq=progress.last_seq - 4)

    monkeypatch.setattr(LocalRuntime, "follow", late)
    monkeypatch.setattr(watchers, "past_of", early)

    shown = whorl("watch", "last", *mode)

    assert asked == [0 if mode else row.last_seq - 4]
    if mode:
        assert len(shown.out.splitlines()) == row.last_seq
