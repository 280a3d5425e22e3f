"""Journals that earlier versions wrote are replayed to the same end, from the start and halfway."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.recording import contradictions, records_in
from journals.recorded import notes, read, result, wordless
from threats import tally
from whorl.interpreter.events import FED_KINDS, NOTE_KINDS
from whorl.ir import nodes, values
from whorl.ir.nodes import NodeFields
from whorl.runtimes.journal.folding import Replay, fold
from whorl.runtimes.journal.journal import RunId

if TYPE_CHECKING:
    from collections.abc import Iterator

    from journals.recorded import Recorded
    from whorl.interpreter.events import Event


pytestmark = pytest.mark.threat(row="T14")

FILES = sorted((Path(__file__).parent / "journals").glob("v*/*.json"))
JOURNALS = pytest.mark.parametrize(
    "file", [pytest.param(file, id=f"{file.parent.name}/{file.stem}") for file in FILES]
)
CONSTRUCTS = frozenset(
    ("block", "branch", "group", "call", "foreach", "loop", "task", "wait", "gate")
)
STATUSES = frozenset(("succeeded", "failed", "cancelled", "paused", "waiting"))
EXIT_REASONS = frozenset(
    ("condition_met", "max_iterations", "timeout", "budget", "failed", "cancelled")
) | {"accepted", "rejected"}
IR_CLASSES: dict[str, Any] = {
    name: part
    for name, part in (vars(values) | vars(nodes)).items()
    if isinstance(part, type) and is_dataclass(part) and part is not NodeFields
}
COMMON = frozenset(field.name for field in fields(NodeFields))


def _is_said(recorded: Event, said: Event) -> bool:
    """Whether a note says all that was recorded; later versions may say more."""
    mine, theirs = wordless(recorded.body), wordless(said.body)
    return (recorded.kind, recorded.address) == (said.kind, said.address) and all(
        name in theirs and theirs[name] == value for name, value in mine.items()
    )


def _as_told_now(recorded: dict[str, Any]) -> dict[str, Any]:
    """A result as it was recorded; a cost that is not known was 0 then."""
    usage = recorded["usage"]
    unknown = usage.get("unpriced_calls") and not usage["cost_usd"]
    return recorded | {"usage": usage | {"cost_usd": None}} if unknown else recorded


@JOURNALS
def test_a_journal_leads_to_the_same_notes_and_the_same_end(file: Path) -> None:
    recorded = read(file.read_text(encoding="utf-8"))
    journal, run = recorded.journal(), RunId(recorded.run)
    replay = Replay(journal, run)
    for entry in journal.read(run):
        replay.take(entry)
    replay.finish()

    wanted, said = notes(list(journal.read(run))), replay.folded.unsaid
    assert [(n.kind, n.address) for n in wanted] == [(n.kind, n.address) for n in said]
    assert [n for n, also in zip(wanted, said, strict=True) if not _is_said(n, also)] == []
    assert result(journal, run) == _as_told_now(recorded.result)
    tally("journals replayed")


@pytest.mark.sample(3)
@JOURNALS
def test_a_journal_has_records_of_all_its_steps(file: Path) -> None:
    recorded = read(file.read_text(encoding="utf-8"))
    journal, run = recorded.journal(), RunId(recorded.run)

    assert contradictions(journal, run, records_in(journal, run)) == []


@JOURNALS
def test_a_snapshot_leads_to_the_same_end(file: Path) -> None:
    recorded = read(file.read_text(encoding="utf-8"))
    journal, run = recorded.journal(), RunId(recorded.run)
    seq, state = recorded.snapshot
    asyncio.run(journal.snapshot(run, 0, seq, json.dumps(state)))

    assert fold(journal, run).unsaid == []
    assert result(journal, run) == _as_told_now(recorded.result)


def _recorded() -> list[Recorded]:
    return [read(file.read_text(encoding="utf-8")) for file in FILES]


def test_what_is_recorded_has_every_kind_of_entry() -> None:
    kinds = {entry[0] for recorded in _recorded() for entry in recorded.entries}

    assert kinds == FED_KINDS | NOTE_KINDS


def test_what_is_recorded_has_every_construct_on_its_way() -> None:
    """A snapshot holds the constructs that have begun and not ended."""
    text = "".join(json.dumps(recorded.snapshot) for recorded in _recorded())

    assert {name for name in CONSTRUCTS if f'"kind": "{name}"' in text} == CONSTRUCTS


def test_what_is_recorded_has_every_ending() -> None:
    results = [recorded.result for recorded in _recorded()]

    assert {result["status"] for result in results} == STATUSES
    assert {loop["exit_reason"] for result in results for loop in result["loops"]} == EXIT_REASONS


def test_a_call_in_doubt_is_recorded_with_what_was_made_of_it() -> None:
    """It is made again at once, fails, or a person says which of both."""
    ends = {}
    for recorded in _recorded():
        kinds = [entry[0] for entry in recorded.entries]
        if "task.in_doubt" in kinds:
            after = kinds[kinds.index("task.in_doubt") + 1 :]
            ends["gate.decided" in after, "task.started" in after] = recorded.result["status"]

    assert ends[False, True] == ends[True, True] == "succeeded"
    assert ends[False, False] == ends[True, False] == "failed"


def test_what_is_recorded_has_every_part_of_the_ir_and_each_of_its_settings() -> None:
    """Each field has a value that is not its default, and each of the words that it allows."""
    used = {part for recorded in _recorded() for part in _parts(recorded.workflow)}
    wanted = {part for name in IR_CLASSES for part in _settings(name)}

    assert sorted(wanted - used) == []


def _settings(name: str) -> Iterator[tuple[str, ...]]:
    """A class of the IR, its fields that have a default, and the words that they allow."""
    yield (name,)
    for field in fields(IR_CLASSES[name]):
        owner = _owner(name, field.name)
        if field.default is not MISSING and (name, field.name) != ("Workflow", "format"):
            yield owner, field.name
        if str(field.type).startswith("Literal["):
            yield from ((owner, field.name, word) for word in re.findall("'(.*?)'", field.type))


def _owner(name: str, field: str) -> str:
    """Fields that all nodes share need not be set at each kind of node."""
    is_shared = issubclass(IR_CLASSES[name], NodeFields) and field in COMMON
    return "node" if is_shared else name


def _parts(item: Any) -> Iterator[tuple[str, ...]]:
    """The classes in a workflow as JSON, and their fields that have no default value."""
    for part in item.values() if isinstance(item, dict) else item:
        if isinstance(part, dict | list):
            yield from _parts(part)
    name = item.get("is") if isinstance(item, dict) else None
    if name not in IR_CLASSES:
        return
    yield (name,)
    for field in fields(IR_CLASSES[name]):
        value, owner = item.get(field.name, field.default), _owner(name, field.name)
        if value != (list(field.default) if field.default == () else field.default):
            yield owner, field.name
        if isinstance(value, str):
            yield owner, field.name, value
