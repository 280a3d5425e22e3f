"""Joining a run that is under way: nothing is shown twice, and nothing is left out."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from whorl.interfaces.cli import watchers
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from command_line import Whorl


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
