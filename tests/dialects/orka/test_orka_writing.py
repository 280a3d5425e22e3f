"""Files of agents are written as they were read; what they cannot say is listed with its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from orka_runs import SHARED

from conformance.literate import load_cases
from conformance.reading import workflow_of
from whorl.dialects import read_workflow
from whorl.dialects.writing import read_again, reads_as, write_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from conformance.literate import Case
    from whorl.dialects.writing import Written

CORPUS = SHARED / "corpora" / "orka"
FILES = sorted(CORPUS.rglob("*.y*ml"))
OWN = [case for case in load_cases() if case.dialect == "orka"]
NATIVE = [case for case in load_cases() if case.dialect == "native" and "outcome" in case.blocks]


def written(source: str, dialect: str = "native") -> Written:
    """A file of another dialect, written as one of agents."""
    workflow = read_workflow(source, "case.yaml", dialect=dialect).workflow
    return write_workflow(workflow, "orka", "case.yml")


def lost(source: str) -> list[tuple[str, str]]:
    return [(loss.place, loss.what) for loss in written(source).losses]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in OWN])
def test_a_file_is_written_as_it_was_read(case: Case) -> None:
    try:
        workflow = workflow_of(case)
    except InvalidWorkflow:
        pytest.skip("the case is about a mistake")

    again = write_workflow(workflow, "orka", "case.yaml")

    assert again.losses == ()
    assert reads_as(again, workflow), again.text


@pytest.mark.skipif(not FILES, reason="the files of the public system are not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_files_of_the_public_system_are_written_as_they_were_read(file: Path) -> None:
    try:
        workflow = read_workflow(file.read_text(), file.name, dialect="orka").workflow
    except InvalidWorkflow:
        pytest.skip("a fragment")

    assert write_workflow(workflow, "orka", file.name).losses == ()


def test_a_file_is_written_as_a_person_would() -> None:
    source = r"""
orchestrator: {id: work, agents: [polish]}
agents:
  - id: polish
    type: loop
    max_loops: 3
    score_threshold: 0.9
    score_extraction_pattern: "SCORE:\\s*([0-9.]+)"
    internal_workflow:
      orchestrator: {agents: [writer]}
      agents:
        - {id: writer, type: local_llm, prompt: "Improve {{ get_past_loops() | length }}"}
"""
    text = written(source, "orka").text

    assert text == (
        "orchestrator:\n"
        "  id: work\n"
        "  agents: [polish]\n"
        "agents:\n"
        "  - id: polish\n"
        "    type: loop\n"
        "    max_loops: 3\n"
        "    score_threshold: 0.9\n"
        "    score_extraction_pattern: SCORE:\\s*([0-9.]+)\n"
        "    internal_workflow:\n"
        "      orchestrator:\n"
        "        agents: [writer]\n"
        "      agents:\n"
        "        - id: writer\n"
        "          type: openai-answer\n"
        "          prompt: Improve {{ get_past_loops() | length }}\n"
    )


def test_changed_weights_are_written_as_their_author_wrote_them() -> None:
    source = """
- id: improve
  type: loop
  max_loops: 2
  score_threshold: 0.8
  scoring:
    preset: lenient
    context: quality
    custom_weights: {accuracy.factually_correct: 0.5}
  internal_workflow:
    agents: [{id: work, type: openai-answer, prompt: "Work {{ get_past_loops() }}"}]
"""
    loop = yaml.safe_load(written(source, "orka").text)["agents"][0]

    assert loop["scoring"] == {
        "preset": "lenient",
        "context": "quality",
        "custom_weights": {"accuracy.factually_correct": 0.5},
    }


def test_the_outputs_of_other_files_are_lost() -> None:
    source = "whorl: 1\nsteps:\n  write: {ask: Write.}\n"

    assert lost(source) == [("", "the outputs ('write')")]


@pytest.mark.parametrize(
    ("step", "place", "what"),
    [
        ("gate: {approve: Publish?}", "gate", "a step of kind 'gate'"),
        ("page: {http: 'https://a.example'}", "page", "a step of kind 'http'"),
        ("one: {value: 1}", "one", "a value that is computed"),
        ("say: {ask: Hi., session: talk}", "say", "'session' of a task (talk)"),
        ("say: {ask: Hi., max_turns: 3, tools: [a]}", "say", "the input 'tools' of a question"),
        ("score: {ask: Hi.}", "score", "the name 'score'"),
        ("work: {repeat: {at_most: 2, steps: {a: {ask: A.}}}}", "work", "a loop with no condition"),
        (
            "work: {repeat: {until: {judge: Good?}, steps: {a: {ask: A.}}}}",
            "work",
            "a loop with a judge as its condition",
        ),
    ],
)
def test_what_cannot_be_said_is_listed_with_its_place(step: str, place: str, what: str) -> None:
    assert (place, what) in lost(f"whorl: 1\nsteps:\n  {step}\n")


def test_a_failure_that_ends_the_run_is_lost_where_others_follow() -> None:
    source = "whorl: 1\nsteps:\n  one: {ask: One.}\n  two: {ask: 'Two {{ one }}.'}\n"
    found = lost(source)

    assert ("one", "'on_failure' (halt)") in found
    assert ("two", "how 'Two {{ one }}.' is read") in found
    assert not [loss for loss in found if loss == ("two", "'on_failure' (halt)")]


def test_results_are_read_under_the_names_of_the_dialect() -> None:
    source = "whorl: 1\nsteps:\n  one: {ask: One.}\n  two: {ask: 'Two {{ one | upper }}.'}\n"
    agents: list[dict[str, Any]] = yaml.safe_load(written(source).text)["agents"]

    assert agents[1]["prompt"] == "Two {{ previous_outputs.one | upper }}."


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in NATIVE[::6]])
def test_what_is_forced_can_be_read(case: Case) -> None:
    again = write_workflow(workflow_of(case), "orka", "case.yml")

    assert all(loss.what and loss.why for loss in again.losses)
    if yaml.safe_load(again.text)["orchestrator"]["agents"]:
        read_again(again, "orka")
