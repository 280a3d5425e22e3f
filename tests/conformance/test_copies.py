"""A native copy of a file of another dialect runs as the file does: calls, entries and result."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conformance.answering import run_through
from whorl.dialects import read_workflow
from whorl.dialects.native.writing import is_same_workflow, write_native
from whorl.errors import InvalidWorkflow
from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely
from whorl.services.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.ir import Workflow

ROOT = Path(__file__).parents[2]
CORPORA = Path(os.environ.get("WHORL_CORPORA", ROOT.parent / "shared" / "corpora"))
FOREIGN = ("loom", "mcp-cli", "orka", "shodan", "studio")


def _read(path: Path) -> Workflow | None:
    try:
        return find_project({}, folder=path.parent).read(str(path)).workflow
    except InvalidWorkflow:
        return None


def _foreign(folder: Path) -> Iterator[tuple[Path, Workflow]]:
    """The files of a folder that another dialect reads."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".yaml", ".yml", ".json"):
            workflow = _read(path)
            if workflow is not None and workflow.dialect in FOREIGN:
                yield path, workflow


OWN = [*_foreign(ROOT / "examples"), *_foreign(ROOT / "src" / "whorl" / "templates")]


def _copy(path: Path, folder: Path) -> str:
    """What `whorl file convert` writes of a file."""
    copy = folder / "copy.yaml"
    copy.unlink(missing_ok=True)
    assert run_safely(build_group(COMMANDS), ("file", "convert", str(path), "-o", str(copy))) == 0
    return copy.read_text(encoding="utf-8")


def _native(text: str) -> Workflow:
    return read_workflow(text, "copy.yaml", dialect="native").workflow


def _ran_alike(path: Path, workflow: Workflow, copy: Workflow) -> dict[str, Any]:
    before, after = run_through(workflow), run_through(copy)

    assert before["sent"] == after["sent"], path
    assert before["entries"] == after["entries"], path
    assert before == after, path
    return before


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("path", "workflow"),
    [pytest.param(*own, id=f"{own[0].parent.name}/{own[0].name}") for own in OWN],
)
def test_a_copy_of_a_file_runs_as_the_file(path: Path, workflow: Workflow, tmp_path: Path) -> None:
    _ran_alike(path, workflow, _native(_copy(path, tmp_path)))


@pytest.mark.skipif(not CORPORA.exists(), reason="the corpora are not beside the project")
@pytest.mark.parametrize("dialect", [*FOREIGN, pytest.param("logic-apps", marks=pytest.mark.slow)])
def test_copies_of_the_files_of_others_run_as_these(dialect: str) -> None:
    ran: Counter[str] = Counter()
    for path, workflow in _foreign(CORPORA / dialect):
        copy = _native(write_native(workflow))
        assert is_same_workflow(workflow, copy), path
        ran[_ran_alike(path, workflow, copy)["status"]] += 1

    assert ran.total() >= 7, ran
