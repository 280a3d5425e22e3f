"""Files of the public system that call each other, whole and with a part of them missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp_cli_files import SHARED, Memory

from whorl.dialects import ProjectFiles, read_workflow
from whorl.errors import InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = SHARED / "corpora" / "mcp-cli"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="the files are not beside the project")


def test_a_workflow_that_is_not_beside_the_file_is_missed(tmp_path: Path) -> None:
    source = CORPUS / "examples/config/workflows/iterative_dev/iterative_developer.yaml"
    file = tmp_path / "iterative_developer.yaml"
    file.write_text(source.read_text())
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(file.read_text(), str(file), ProjectFiles(str(tmp_path)))

    assert sorted({d.code for d in caught.value.diagnostics}) == ["W016"]
    assert all("write" in d.help for d in caught.value.diagnostics)


def test_the_program_of_the_public_system_is_whole_with_its_parts() -> None:
    folder = CORPUS / "examples/config/workflows/iterative_dev"
    files = {path.name: path.read_text() for path in folder.glob("*.yaml")}

    reading = read_workflow(files["iterative_developer.yaml"], "main.yaml", Memory(files))

    assert reading.warnings == ()
    assert {key for key, _ in reading.workflow.workflows} >= {"test_designer.yaml"}
