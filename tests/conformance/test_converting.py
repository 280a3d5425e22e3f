"""Native files are written as they were read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.literate import load_cases
from conformance.reading import workflow_of
from whorl.dialects.writing import read_again, reads_as, write_workflow
from whorl.errors import InvalidWorkflow
from whorl.ir import content_hash, from_json, to_json

if TYPE_CHECKING:
    from conformance.literate import Case
    from whorl.ir import Workflow
    from whorl.language import Json


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in load_cases() if case.dialect == "native"]
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
