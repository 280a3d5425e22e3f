"""`whorl convert`: prints or writes a workflow of any dialect as a native file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.native import writing

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from command_line import Whorl

FOREIGN = """
version: 1
metadata: {name: hello}
nodes:
  - id: say
    type: shell
    data: {nodeType: shell, label: Say, script: "echo hi"}
edges: []
"""


def test_it_prints_the_file(whorl: Whorl) -> None:
    done = whorl("convert", "polish.yaml")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("whorl: 1\nname: polish\ninputs: {task: string}\nsteps:\n")


def test_what_is_written_runs(whorl: Whorl, project: Path) -> None:
    done = whorl("convert", "polish.yaml", "-o", "new/polish.yaml")
    before = whorl("run", "polish.yaml", "a haiku", "--json").json
    after = whorl("run", "new/polish.yaml", "a haiku", "--json").json

    assert done.code == 0
    assert "wrote new/polish.yaml" in done.err
    assert before["outputs"] == after["outputs"]
    assert before["loops"] == after["loops"]


def test_a_file_of_another_dialect_keeps_its_expressions(whorl: Whorl, project: Path) -> None:
    (project / "hello.yaml").write_text(FOREIGN)

    done = whorl("convert", "hello.yaml", "-o", "new/hello.yaml")
    text = (project / "new/hello.yaml").read_text()
    valid = whorl("validate", "new/hello.yaml")

    assert (done.code, valid.code) == (0, 0)
    assert text.startswith("whorl: 1\nname: hello\ndialect: shodan\nexpressions: shodan\n")
    assert "run: echo hi\n" in text


def test_no_file_is_overwritten(whorl: Whorl, project: Path) -> None:
    before = (project / "polish.yaml").read_text()
    (project / "other.yaml").write_text("mine")

    own = whorl("convert", "polish.yaml", "-o", "polish.yaml")
    other = whorl("convert", "polish.yaml", "-o", "other.yaml")

    assert (own.code, other.code) == (2, 2)
    assert "is the file itself" in own.err
    assert "exists" in other.err
    assert (project / "polish.yaml").read_text() == before
    assert (project / "other.yaml").read_text() == "mine"


def test_a_wrong_file(whorl: Whorl, project: Path) -> None:
    (project / "wrong.yaml").write_text("whorl: 1\nsteps: {a: {aks: x}}\n")

    wrong = whorl("convert", "wrong.yaml")

    assert wrong.code == 2
    assert "W004" in wrong.err


def test_a_result_that_cannot_be_read_is_our_fault(
    whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "emit_yaml", lambda _: "whorl: 1\nsteps: {a: {aks: x}}\n")
    done = whorl("convert", "polish.yaml")

    assert done.code == 70
    assert "what was written is wrong" in done.err
