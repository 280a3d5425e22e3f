"""Journals that earlier versions wrote are replayed to the same end, from the start and halfway."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from journals.recorded import notes, read, result
from whorl.interpreter.events import FED_KINDS
from whorl.runtimes.folding import Replay, fold
from whorl.runtimes.journal import RunId

if TYPE_CHECKING:
    from whorl.interpreter.events import Event

FILES = sorted((Path(__file__).parent / "journals").glob("v*/*.json"))
JOURNALS = pytest.mark.parametrize(
    "file", [pytest.param(file, id=f"{file.parent.name}/{file.stem}") for file in FILES]
)
CONSTRUCTS = frozenset(
    ("block", "branch", "group", "call", "foreach", "loop", "task", "wait", "gate")
)


def _wordless(value: Any) -> Any:
    """A value without texts for people, which later versions may say better."""
    if isinstance(value, dict):
        return {name: _wordless(part) for name, part in value.items() if name != "message"}
    return [_wordless(part) for part in value] if isinstance(value, list) else value


def _is_said(recorded: Event, said: Event) -> bool:
    """Whether a note says all that was recorded; later versions may say more."""
    mine, theirs = _wordless(recorded.body), _wordless(said.body)
    return (recorded.kind, recorded.address) == (said.kind, said.address) and all(
        name in theirs and theirs[name] == value for name, value in mine.items()
    )


@JOURNALS
def test_a_journal_leads_to_the_same_notes_and_the_same_end(file: Path) -> None:
    recorded = read(file.read_text(encoding="utf-8"))
    journal, run = recorded.journal(), RunId(recorded.run)
    replay = Replay(journal, run)
    for entry in journal.read(run):
        replay.take(entry)

    wanted, said = notes(list(journal.read(run))), replay.folded.unsaid
    assert [(n.kind, n.address) for n in wanted] == [(n.kind, n.address) for n in said]
    assert [n for n, also in zip(wanted, said, strict=True) if not _is_said(n, also)] == []
    assert result(journal, run) == recorded.result


@JOURNALS
def test_a_snapshot_leads_to_the_same_end(file: Path) -> None:
    recorded = read(file.read_text(encoding="utf-8"))
    journal, run = recorded.journal(), RunId(recorded.run)
    seq, state = recorded.snapshot
    asyncio.run(journal.snapshot(run, 0, seq, json.dumps(state)))

    assert fold(journal, run).unsaid == []
    assert result(journal, run) == recorded.result


def test_what_is_recorded_has_every_kind_of_event_and_construct() -> None:
    recorded = [read(file.read_text(encoding="utf-8")) for file in FILES]
    kinds = {entry[0] for one in recorded for entry in one.entries}
    text = "".join(json.dumps(one.snapshot) for one in recorded)

    assert FED_KINDS - kinds <= {"task.in_doubt", "task.held", "task.sent"}
    assert {name for name in CONSTRUCTS if f'"kind": "{name}"' in text} == CONSTRUCTS
