"""Files of the public system with the real agent programs, against a model on this machine."""

from __future__ import annotations

import json
import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from corpus_cases import CASES, REVIEW
from shodan_files import CORPUS, ROOT
from test_shodan_corpus import check, copied

if TYPE_CHECKING:
    from pathlib import Path

    from corpus_cases import Case

pytestmark = [
    pytest.mark.slow,
    pytest.mark.programs,
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the files are not beside the project"),
]
FILES = [name for name, case in CASES.items() if case.replies.keys() & {"claude", "codex"}]


def says(case: Case) -> Any:
    """What the model says: an answer that must fit a schema is handed in with a tool of claude."""
    texts = iter([text for told in case.replies.values() for text in told if isinstance(text, str)])

    def reply(body: Any) -> Any:
        if any(tool.get("name") == "StructuredOutput" for tool in body.get("tools", [])):
            is_handed_in = "tool_result" in json.dumps(body["messages"])
            return "Done." if is_handed_in else {"tool": "StructuredOutput", "input": REVIEW}
        return next(texts)

    return reply


@pytest.mark.parametrize("name", FILES)
def test_the_real_programs_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "agents"))
    programs = import_module("test_real_programs")
    case = CASES[name]
    with programs.model_server(says(case)) as model:
        machine = programs.Machine(tmp_path, "claude", model)
        machine.root.rmdir()
        project = copied(machine.root, monkeypatch)
        for variable, value in machine.environment.items():
            monkeypatch.setenv(variable, value)
        if "codex" in case.replies:
            path = f"{programs.installed('codex')}{os.pathsep}{machine.environment['PATH']}"
            monkeypatch.setenv("PATH", path)

        result = check(project, name, case)

    assert result.usage.output_tokens == 7 * len(model.turns)
    if "session" in name:
        said = programs.texts_of(model.turns[1]["messages"])
        assert "Remember this secret code" in said
