"""Graph files are written as they were read; other files as far as a graph can say them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import pytest
import yaml
from shodan_files import CORPUS, ROOT

from conformance.converting import convert, differences, runnable_cases
from conformance.literate import load_cases
from conformance.reading import workflow_of
from conformance.replies import Script
from conformance.running import run_simulated
from whorl.dialects import read_workflow
from whorl.dialects.writing import read_again, write_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from conformance.literate import Case
    from whorl.dialects.writing import Written

OWN = [case for case in load_cases() if case.dialect == "shodan"]
FILES = sorted(CORPUS.rglob("*.yaml")) if CORPUS.is_dir() else []
EXAMPLES = sorted((ROOT / "examples" / "shodan").rglob("*.yaml"))
# What a graph in one file cannot say again, and where.
LOSSES = {
    # Only nodes that stand in their loop by `parentId` are fed from further out than that loop.
    "Loops in loops by parentId, with values that leave both": {"outer/inner/say"},
    # Texts of files are never looked through for places; those of the node itself are.
    "Files of a prompt stand behind it, as they are": {"write"},
    "Files of a script run before it, each in a shell of its own": {"work"},
}
# How many native cases can be said where a model is named at the top of the file.
SAID = 20
EVERYTHING = """whorl: 1
model: acme/small
inputs: {topic: string}
steps:
  plan: {ask: "Plan {{ topic }}."}
  work:
    repeat:
      until: review.good
      at_most: 4
      carry:
        feedback: "{{ write }}"
        start: {first: "{{ plan }}", then: "{{ write }}"}
      steps:
        write:
          ask: "{{ iteration }}: {{ plan }}, {{ feedback | default('none') }}, {{ start }}"
        review:
          ask: "Review {{ write }} of {{ topic }}."
          returns: {good: boolean, marks: integer}
  fixed: {value: 3}
  end: {ask: "End {{ work.write }} in {{ work.loop.iterations }} of {{ fixed }}."}
outputs: {text: "{{ end }}!", last: "{{ work.write }}", marks: "{{ work.review.marks }}"}
"""
REPLIES = {
    "plan": "a plan",
    "write": "a, b",
    "review": ['{"good": false, "marks": 1}', '{"good": true, "marks": 5}'],
    "end": "done",
}


def written(source: str) -> Written:
    """A native file as a graph."""
    return write_workflow(read_workflow(source, "case.yaml").workflow, "shodan", "case.yaml")


def lost(source: str) -> list[tuple[str, str]]:
    return [(loss.place, loss.what) for loss in written(source).losses]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in OWN])
def test_a_file_is_written_as_it_was_read(case: Case) -> None:
    try:
        workflow = workflow_of(case)
    except InvalidWorkflow:
        pytest.skip("the case is about a mistake")

    again = write_workflow(workflow, "shodan", "case.yaml")

    assert {loss.place for loss in again.losses} == LOSSES.get(case.title, set())


@pytest.mark.parametrize("file", [*FILES, *EXAMPLES], ids=lambda file: file.name)
def test_files_of_the_public_system_and_examples_too(file: Path) -> None:
    try:
        workflow = read_workflow(file.read_text(), file.name, dialect="shodan").workflow
    except InvalidWorkflow:
        pytest.skip("a fragment, or one that needs other files")

    assert write_workflow(workflow, "shodan", "case.yaml").losses == ()


def _with_model(case: Case) -> Case:
    def named(text: str) -> str:
        is_named = "model:" in text
        return text if is_named else text.replace("whorl: 1\n", "whorl: 1\nmodel: acme/small\n", 1)

    files = {name: named(text) for name, text in case.files.items()}
    return replace(case, workflow=named(case.workflow), files=files)


@lru_cache(maxsize=1)
def _native() -> list[Case]:
    return [_with_model(case) for case in runnable_cases() if case.dialect == "native"]


def test_native_cases_that_name_a_model_come_to_the_same_end() -> None:
    """A node names its runner, so a question to the default model cannot be said."""
    said = 0
    for case in _native():
        converted = convert(case, "shodan")
        if converted.case is None:
            assert all(loss.what and loss.why for loss in converted.losses), case.id
            continue
        assert differences(case, converted.case) == [], case.id
        said += 1

    assert said >= SAID


def test_a_graph_itself_comes_to_the_same_end() -> None:
    """Not only there and back: what was written runs with the same prompts and results."""
    for case in _native():
        graph = write_workflow(workflow_of(case), "shodan", "case.yaml")
        if graph.losses:
            continue
        there = replace(case, dialect="shodan", workflow=graph.text, files={})

        assert _run(there) == _run(case), case.id


def _run(case: Case) -> tuple[object, ...]:
    script = Script(case.blocks.get("replies") or {})
    document = run_simulated(case, script).document
    asked = {
        address: str(inputs.get("prompt") or inputs["messages"][-1]["content"])
        for address, inputs in script.inputs.items()
    }
    return document["status"], document["outputs"], document["loops"], asked


def test_loops_carried_texts_and_outputs_come_to_the_same_end() -> None:
    blocks = {"replies": REPLIES, "input": {"topic": "loops"}}
    case = replace(_native()[0], workflow=EVERYTHING, files={}, blocks=blocks)
    converted = convert(case, "shodan")

    assert converted.losses == ()
    assert converted.case is not None
    assert differences(case, converted.case) == []

    document = run_simulated(converted.case, Script(REPLIES)).document

    assert document["outputs"] == {"text": "done!", "last": "b", "marks": 5}


def test_a_graph_is_written_as_a_person_would() -> None:
    document: dict[str, Any] = yaml.safe_load(written(EVERYTHING).text)
    nodes = {node["id"]: node["data"] for node in document["nodes"]}
    inner = {node["id"]: node["data"] for node in nodes["work"]["inlineWorkflow"]["nodes"]}

    assert [*nodes] == [
        "interface-input",
        "plan",
        "work",
        "fixed",
        "end",
        "text_output",
        "interface-output",
    ]
    assert nodes["work"]["continueWhile"] == {
        "output": "review.good",
        "operator": "!=",
        "value": True,
    }
    assert nodes["work"]["maxIterations"] == 4
    assert nodes["plan"]["prompt"] == "Plan {{ interface-input.topic }}."
    assert inner["write"]["prompt"].startswith("{{ iteration_count }}: {{ plan.output }}, ")
    assert inner["write"]["inputs"][0] == {"name": "feedback", "type": "string", "default": "none"}
    assert inner["review"]["runner"] == "acme"
    assert nodes["end"]["prompt"] == (
        "End {{ work.write }} in {{ work.iteration_count }} of {{ fixed.value }}."
    )


def test_the_same_workflow_is_always_written_alike() -> None:
    assert written(EVERYTHING) == written(EVERYTHING)


@pytest.mark.parametrize(
    ("step", "place", "what"),
    [
        ("say: {ask: Hi.}", "say", "a question to the default model"),
        ("say: {ask: Hi., model: gemini/x}", "say", "the provider 'gemini'"),
        ("say: {ask: Hi., model: openai/x}", "say", "the temperature"),
        ("say: {ask: Hi., model: a/x, system: Be.}", "say", "the input 'system' of a task"),
        ("say: {ask: Hi., model: a/x, retry: 2}", "say", "'retry' of a task"),
        ("say: {ask: Hi., model: a/x, if: 1 > 2}", "say", "'if' of a task"),
        (
            "code: {agent: claude-code, prompt: Fix it.}",
            "code",
            "line ends at the end of what an agent says",
        ),
        ("gate: {approve: Publish?}", "gate", "a step of kind 'gate'"),
        ("sum: {value: '{{ 1 + 2 }}'}", "sum", "the value '1 + 2'"),
        (
            "work: {repeat: {until: {judge: Good?}, steps: {a: {value: 1}}}}",
            "work",
            "a judge as a condition",
        ),
        (
            "work: {repeat: {until: a == 'x', steps: {a: {value: 1}}}}",
            "work",
            "a comparison of values of other types",
        ),
        (
            "work: {repeat: {at_most: {iterations: 2, cost: 1}, steps: {a: {value: 1}}}}",
            "work",
            "'cost' of the limits of a loop (1.0)",
        ),
        (
            "work: {repeat: {at_most: 2, steps: {a: {value: 1}}}}",
            "",
            "the output 'work': the value 'work'",
        ),
    ],
)
def test_what_cannot_be_said_is_listed_with_its_place(step: str, place: str, what: str) -> None:
    assert (place, what) in lost(f"whorl: 1\nsteps:\n  {step}\n")


def test_null_and_numbers_with_fractions_are_printed_otherwise() -> None:
    source = "whorl: 1\ninputs: {n: number, o: string?}\nsteps:\n  a: {value: 'n is {{ n }}'}\n"

    assert lost(source) == [
        ("a", "'n' in a text"),
        ("", "the output 'a': the value 'a'"),
    ]


def test_words_in_braces_are_no_places() -> None:
    source = "whorl: 1\nsteps:\n  a: {value: \"{{ '{{ b }}' }} of {{ 1 }}\"}\n"

    assert [place for place, _ in lost(source)] == ["a", ""]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in _native()[::6]])
def test_what_is_forced_can_be_read(case: Case) -> None:
    again = write_workflow(workflow_of(case), "shodan", "case.yaml")
    nodes = yaml.safe_load(again.text)["nodes"]

    if all(_is_filled(node) for node in nodes):
        assert read_again(again, "shodan").workflow.dialect == "shodan"
    else:
        with pytest.raises(InvalidWorkflow):
            read_again(again, "shodan")
        assert again.losses


def _is_filled(node: dict[str, Any]) -> bool:
    """A loop all of whose steps had to be left out is none, and cannot be read."""
    inner = node["data"].get("inlineWorkflow")
    return inner is None or any("interface" not in one["type"] for one in inner["nodes"])
