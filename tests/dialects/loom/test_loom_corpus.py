"""Files of the public systems, as their authors wrote them: they load and run, or say why not."""

from __future__ import annotations

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
