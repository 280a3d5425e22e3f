"""Files of the public system load as they are, with warnings about what they need."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from studio_files import SHARED

from whorl import ir
from whorl.dialects import NoFiles, read_workflow

if TYPE_CHECKING:
    from pathlib import Path

CORPUS = SHARED / "corpora" / "studio" / "templates"
FILES = sorted(CORPUS.glob("*.json"))
needs_corpus = pytest.mark.skipif(not FILES, reason="the files are not beside the project")

WARNINGS = {
    "daily-meeting-digest": [
        "does not start runs by itself",
        "is a path of another machine: 'meetings/transcripts'",
        "needs a task of the name",
    ],
    "smart-deployer-rag": ["needs a task of the name", "the whole command of 'shell_1' is a value"],
}


@needs_corpus
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_bundled_template_loads(path: Path) -> None:
    reading = read_workflow(path.read_text(), path.name, NoFiles())

    assert reading.workflow.dialect == "studio"
    assert ir.from_json(ir.to_json(reading.workflow)) == reading.workflow
    expected = WARNINGS.get(path.stem, [])
    assert len(expected) == len(reading.warnings), reading.warnings
    for words, warning in zip(expected, reading.warnings, strict=True):
        assert words in warning.message
        assert warning.span is not None


def test_which_files_the_reader_claims() -> None:
    from whorl.formats.studio.reader import StudioReader
    from whorl.source.json import read_json

    def claims(drawn: object) -> bool:
        return StudioReader().claims(read_json(json.dumps(drawn), "a.json"))

    ours = {"nodes": [{"id": "a", "type": "llm", "data": {}}], "edges": []}
    assert claims(ours)
    assert claims({"nodes": [{"id": "a", "type": "llm"}, {"id": "b", "type": "lop"}], "edges": []})
    assert claims({"nodes": [], "edges": [], "viewport": {}})
    assert not claims({"nodes": [{"id": "a", "type": "loop", "data": {"nodeType": "loop"}}]})
    assert not claims({"nodes": [{"id": "a", "type": "agent", "data": {}}], "edges": []})
    assert not claims({"version": 3, "metadata": {"name": "x"}, "nodes": []})
    assert not claims(ours | {"whorl": 1})
    assert not claims([1])
