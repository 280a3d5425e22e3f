"""The notebook of the examples in a real kernel: a run is watched in a cell."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from test_programs import ROOT, write_project

from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

REASON = "the packages of peers are not installed"
# What these packages warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_run_is_watched_in_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient = pytest.importorskip("nbclient", reason=REASON)
    pytest.importorskip("ipykernel", reason=REASON)
    import nbformat

    write_project(tmp_path)
    paths = [str(ROOT / "examples" / "python"), *sys.path]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    monkeypatch.delenv("WHORL_HOME", raising=False)
    notebook = nbformat.read(ROOT / "examples" / "python" / "notebook.ipynb", as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=PATIENCE_S, resources=resources).execute()
    ran, looked = (cell["outputs"] for cell in notebook.cells[2:])
    printed = "".join(each["text"] for each in ran if each["output_type"] == "stream")
    values = [each["data"]["text/plain"] for each in (*ran, *looked) if "execution_count" in each]

    assert printed.splitlines() == ["polish[1] 0.4", "polish[2] 0.8", "polish[3] 0.6"]
    assert values[0] == "Essay(text='two', score=0.8, why='max_iterations')"
    assert values[1] == "[(1, 0.4, 'one'), (2, 0.8, 'two'), (3, 0.6, 'three')]"
