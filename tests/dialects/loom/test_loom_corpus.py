"""Files of the public systems, as their authors wrote them: they load and run, or say why not."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from loom_runs import SHARED, read, run

from whorl.dialects.loom.linting import lint_for_azure
from whorl.errors import InvalidWorkflow
from whorl.source.json import read_json

if TYPE_CHECKING:
    from pathlib import Path

LOOM = SHARED / "corpora" / "loom"
AZURE = SHARED / "corpora" / "logic-apps"
DEFINITIONS = sorted(AZURE.glob("definitions/[0-9]*.json"))
RUNS = sorted(AZURE.glob("runs/*.json"))
LOOM_FILES = [file for file in sorted(LOOM.glob("*/*.json")) if file.parent.name != "compile"]

# Pieces of documentation that leave parts out ("..."), and one that names a type without an action.
FRAGMENTS = {
    "docs__GROUP_CHAT_DESIGN__L381.json": "W009",
    "docs__WORKFLOW_LOOPS_DESIGN__L151.json": "W001",
    "docs__WORKFLOW_LOOPS_DESIGN__L198.json": "W001",
    "docs__WORKFLOW_LOOPS_DESIGN__L291.json": "W001",
    "docs__WORKFLOW_LOOPS_DESIGN__L594.json": "W001",
}
needs_corpus = pytest.mark.skipif(
    not LOOM.exists(), reason="the corpora are not beside the project"
)


@needs_corpus
@pytest.mark.parametrize("file", LOOM_FILES, ids=lambda file: file.stem)
def test_files_of_loom_load(file: Path) -> None:
    """Every whole file loads; a fragment says what it lacks, with its place."""
    text = file.read_text(encoding="utf-8")
    if file.name in FRAGMENTS:
        with pytest.raises(InvalidWorkflow) as caught:
            read(text, file.name)

        assert FRAGMENTS[file.name] in {found.code for found in caught.value.diagnostics}
        assert all(found.span is not None for found in caught.value.diagnostics)
    else:
        assert read(text, file.name).workflow.dialect == "loom"


@needs_corpus
@pytest.mark.parametrize(
    "file",
    sorted(LOOM.glob("tests/*.json")) + sorted(LOOM.glob("examples/*.json")),
    ids=lambda file: file.stem,
)
def test_files_of_loom_give_what_they_gave_there(file: Path) -> None:
    """Iterations and last results are those that the public system's own tests expect."""
    expected = json.loads((file.parent / "expected" / file.name).read_text(encoding="utf-8"))
    ran = run(
        file.read_text(encoding="utf-8"),
        functions={"actor:AIAgent": lambda input: {"status": "success", "output": "actor-result"}},  # noqa: A006
    )

    assert ran.status == "succeeded"
    if not isinstance(expected["result"], dict):
        # There, the file ran into a mistake of the system itself.
        return
    for name, result in expected["result"].items():
        record = ran.actions[name]
        if isinstance(result, dict) and "iterations" in result:
            assert ran.loops[name]["iterations"] == result["iterations"]
            assert ran.loops[name]["exit_reason"] == "condition_met"
            _check_last(record["outputs"]["body"], result["lastResult"])
        else:
            outputs = record["outputs"]
            is_wrapped = isinstance(outputs, dict) and set(outputs) == {"body"}
            assert (outputs["body"] if is_wrapped else outputs) == result


def _check_last(actual: Any, expected: dict[str, Any]) -> None:
    last = list(expected.values())[-1]
    if isinstance(last, dict) and "lastResult" in last:
        _check_last(actual, last["lastResult"])
    else:
        assert actual == last


@needs_corpus
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("workflowcompiler-detects-circular-dependencies", "W011"),
        ("workflowcompiler-detects-unknown-runafter-dependency", "W010"),
    ],
)
def test_mistakes_that_its_compiler_finds_are_found(name: str, code: str) -> None:
    text = (LOOM / "compile" / f"{name}.json").read_text(encoding="utf-8")
    with pytest.raises(InvalidWorkflow) as caught:
        read(text, f"{name}.json")

    assert {found.code for found in caught.value.diagnostics} == {code}


@needs_corpus
@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.stem[:40])
def test_definitions_of_azure_load(file: Path) -> None:
    assert read(file.read_text(encoding="utf-8-sig"), file.name).workflow.body.nodes


@needs_corpus
@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.stem[:40])
def test_nothing_false_is_said_of_definitions_of_azure(file: Path) -> None:
    """What Azure has saved is refused nowhere; a warning names what the file does not hold."""
    text = file.read_text(encoding="utf-8-sig")
    for warning in read(text, file.name).warnings:
        missing = re.search(r"^(?:there is no parameter|variable) '(.+?)'", warning.message)
        is_deployed = "only after the deployment" in warning.message
        # Who starts it there is not here; that says nothing about the file.
        is_elsewhere = is_deployed or (
            warning.code == "W030" and re.search("not (registered|watched|start)", warning.message)
        )
        assert is_elsewhere or (missing and f'"{missing[1]}": {{' not in text), warning
    found, is_refused = lint_for_azure(read_json(text, file.name))

    assert not is_refused
    assert [d.message for d in found if "and they all change" not in d.message] == []


class Anybody(dict[str, Any]):
    """Answers for every connector, function and address with an empty list."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def get(self, key: str, default: Any = None) -> Any:
        return self._answer

    def __getitem__(self, key: str) -> Any:
        return self._answer


@needs_corpus
@pytest.mark.parametrize("file", DEFINITIONS, ids=lambda file: file.stem[:40])
def test_definitions_of_azure_run_to_an_end_when_anybody_answers(file: Path) -> None:
    """Many fail for want of an input; each then names an action of its own and says why."""
    ran = run(
        file.read_text(encoding="utf-8-sig"),
        functions=Anybody(lambda *given, **named: {"value": []}),
        web=Anybody([(200, {"value": []})]),
    )

    assert ran.status in ("succeeded", "failed")
    if ran.status == "failed":
        error = ran.document["error"]
        assert error["code"] in ("R104", "R109"), error
        assert error["path"], error


@needs_corpus
@pytest.mark.parametrize("file", RUNS, ids=lambda file: file.stem)
def test_whole_runs_give_what_the_real_runtime_gave(file: Path) -> None:
    case = json.loads(file.read_text(encoding="utf-8"))
    definition = case["definition"]
    expected = case["expected"]
    trigger = case.get("trigger", {})
    given = dict(case.get("parameters", {})) | dict(case.get("appsettings", {}))
    for name in ("headers", "body"):
        if name in trigger:
            given[name] = trigger[name]
    if str(case.get("options", {}).get("retryPolicy", "")).startswith("none"):
        _without_retries(definition)
    ran = run(definition, given, web=_web(case.get("mocks", [])))

    if "runStatus" in expected:
        assert ran.status == expected["runStatus"].lower()
    if "response" in expected:
        assert ran.output == expected["response"]["body"]
    for name, status in expected.get("actions", {}).items():
        assert (name, ran.actions[name]["status"]) == (name, status)
    for name, result in expected.get("loop_results", {}).items():
        assert ran.loops[name]["exit_reason"] == {"completed": "condition_met"}.get(
            result["status"], result["status"]
        )
        if "iterations" in result:
            assert ran.loops[name]["iterations"] == result["iterations"]
    for request in expected.get("requests", []):
        sent = [r.inputs for r in ran.world.requests if r.inputs.get("method") == request["method"]]
        assert request["body"] in [inputs.get("body") for inputs in sent]


def _without_retries(definition: Any) -> None:
    if isinstance(definition, dict):
        if definition.get("type") == "Http":
            definition["inputs"]["retryPolicy"] = {"type": "none"}
        for inner in definition.values():
            _without_retries(inner)


def _web(mocks: list[dict[str, Any]]) -> dict[str, list[tuple[int, Any]]]:
    """The replies by address; a mock may be for some of the calls of its address only."""
    web: dict[str, list[tuple[int, Any]]] = {}
    for call in range(1, 11):
        for key in {f"{mock['method']} {mock['path']}" for mock in mocks}:
            for mock in mocks:
                is_meant = (
                    f"{mock['method']} {mock['path']}" == key
                    and call in mock.get("match_calls", [call])
                    and call not in mock.get("not_match_calls", [])
                )
                if is_meant:
                    web.setdefault(key, []).append(
                        (mock["status"], mock.get("body", mock.get("text")))
                    )
                    break
    return web
