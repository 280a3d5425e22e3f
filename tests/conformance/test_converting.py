"""Native is a total form of the IR: what is written is read as the same, and does the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from campaign import seeds
from conformance.expecting import mistakes
from conformance.literate import load_cases
from conformance.reading import CaseFiles, workflow_of
from conformance.replies import Script
from conformance.running import run_simulated
from simulation.programs import Programs
from whorl.dialects import ProjectFiles, read_workflow
from whorl.dialects.native import workflow as native_workflow
from whorl.dialects.native.writing import is_same_workflow, write_native
from whorl.errors import InvalidWorkflow
from whorl.ir import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.literate import Case
    from whorl.interpreter.events import Event

ROOT = Path(__file__).parents[2]
ENDINGS = (".yaml", ".yml", ".json")
PROGRAMS = seeds(300, 10_000)
RUN = [case for case in load_cases() if "outcome" in case.blocks]


def copy_of(case: Case) -> Case:
    """The case with its workflow as a native file, which is read as the same workflow."""
    workflow = workflow_of(case)
    text = write_native(workflow)
    again = read_workflow(text, "case.yaml", CaseFiles({}), dialect="native").workflow
    assert is_same_workflow(workflow, again)
    return replace(case, dialect="native", workflow=text)


@pytest.mark.sample(8)
@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in RUN if "not_yet" not in case.options]
)
def test_a_native_copy_asks_and_gives_the_same(case: Case) -> None:
    asked, asked_again = (Script(case.blocks.get("replies")) for _ in range(2))
    before = run_simulated(case, asked, has_records=False)
    after = run_simulated(copy_of(case), asked_again, has_records=False)

    assert mistakes(case.blocks["outcome"], after, asked_again) == []
    assert asked.sent == asked_again.sent
    assert asked.performed == asked_again.performed
    assert seedless(before.entries) == seedless(after.entries)
    assert (before.document, before.waits_for) == (after.document, after.waits_for)


def seedless(entries: list[Event]) -> list[Event]:
    """The entries without what is drawn: the seed of each fork, and what seals are made of."""
    for entry in entries:
        if "sealed" in entry.body:
            entry.body["sealed"] = "drawn"
        if entry.kind == "run.forked":
            entry.body.pop("seed", None)
    return entries


def files() -> Iterator[Path]:
    for folder in (ROOT / "examples", ROOT / "src" / "whorl" / "templates"):
        yield from sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS)


def test_what_is_written_of_a_file_is_read_as_the_same() -> None:
    """All examples and templates; those of other projects are in test_copies."""
    count = 0
    for path in files():
        try:
            reading = read_workflow(path.read_bytes(), str(path), ProjectFiles(str(path.parent)))
        except InvalidWorkflow:
            continue
        text = write_native(reading.workflow, reading.sources, str(path))
        again = read_workflow(text, str(path.with_suffix(".yaml")), dialect="native").workflow
        count += 1

        assert is_same_workflow(reading.workflow, again), path

    assert count >= 20


@pytest.mark.sample(3)
@pytest.mark.campaign
@pytest.mark.parametrize("first", PROGRAMS[::50])
def test_what_is_written_of_a_program_is_read_as_the_same(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs read names that may not be there, and return the best of what has no score."""
    monkeypatch.setattr(native_workflow, "check", lambda *_, **__: [])
    for seed in range(first, first + 50):
        programs = Programs(Random(seed), budgets=True, deliveries=True, foreign=True)
        workflow = programs.workflow()
        again = read_workflow(write_native(workflow), "case.yaml", dialect="native").workflow

        assert placeless(to_json(workflow)) == placeless(to_json(again)), seed


def placeless(item: Any) -> Any:
    """A part of the IR as JSON, without the places of its nodes in a text."""
    if isinstance(item, dict):
        return {name: placeless(part) for name, part in item.items() if name != "place"}
    return [placeless(part) for part in item] if isinstance(item, list) else item
