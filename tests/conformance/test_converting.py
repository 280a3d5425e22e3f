"""Converted cases come to the same end, or what cannot be said is listed with its place."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pytest

from conformance.converting import convert, differences, runnable_cases, ways
from conformance.literate import load_cases
from conformance.reading import workflow_of
from whorl.dialects.writing import read_again, reads_as, write_workflow
from whorl.errors import InvalidWorkflow
from whorl.ir import content_hash, from_json, to_json

if TYPE_CHECKING:
    from conformance.literate import Case
    from whorl.ir import Workflow
    from whorl.language import Json

# The dialects whose own files come back as they were.
IDENTICAL = ("native", "mcp-cli", "orka")
# How many cases of each kind are the same at least: a writer that can say less has lost something.
SAME = {
    ("native", "native"): 196,
    ("native", "mcp-cli"): 8,
    ("native", "shodan"): 7,
    ("native", "loom"): 14,
    ("native", "studio"): 4,
    ("mcp-cli", "native"): 18,
    ("loom", "native"): 13,
}


@lru_cache(maxsize=1)
def _cases() -> list[Case]:
    return runnable_cases()


def _of(source: str, target: str) -> list[object]:
    found = [case for case in _cases() if case.dialect == source]
    return [pytest.param(case, target, id=f"{target}: {case.id}") for case in found]


@pytest.mark.parametrize(
    ("case", "target"), [one for source, target in ways() for one in _of(source, target)]
)
def test_a_converted_case_is_the_same_or_says_what_is_lost(case: Case, target: str) -> None:
    converted = convert(case, target)

    if converted.case is None:
        assert all(loss.what and loss.why for loss in converted.losses)
    else:
        assert differences(case, converted.case) == [], converted.case.workflow


@pytest.mark.parametrize(("way", "count"), SAME.items(), ids=str)
def test_no_fewer_cases_than_before_can_be_said(way: tuple[str, str], count: int) -> None:
    source, target = way
    said = [case for case in _cases() if case.dialect == source and convert(case, target).case]

    assert len(said) >= count


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in load_cases() if case.dialect in IDENTICAL]
)
def test_a_file_is_written_as_it_was_read(case: Case) -> None:
    try:
        workflow = workflow_of(case)
    except InvalidWorkflow:
        pytest.skip("the case is about a mistake")

    written = write_workflow(workflow, case.dialect, "case.yaml")

    assert written.losses == ()
    assert reads_as(written, workflow), written.text


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in load_cases() if case.dialect == "native"]
)
def test_a_native_file_keeps_its_expressions_as_they_are_written(case: Case) -> None:
    try:
        workflow = workflow_of(case)
    except InvalidWorkflow:
        pytest.skip("the case is about a mistake")

    again = read_again(write_workflow(workflow, "native", "case.yaml"), "native").workflow

    assert content_hash(_placeless(workflow)) == content_hash(_placeless(again))


def _placeless(workflow: Workflow) -> Workflow:
    """The workflow without the places of its nodes, which another text has elsewhere."""
    return from_json(_without(to_json(workflow)))


def _without(encoded: Json) -> Json:
    if isinstance(encoded, dict):
        kept = {name for name in encoded if name != "place" or "is" not in encoded}
        return {name: _without(value) for name, value in encoded.items() if name in kept}
    return [_without(one) for one in encoded] if isinstance(encoded, list) else encoded
