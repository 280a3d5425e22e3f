"""`whorl convert`: prints or writes the native format, and writes nothing that loses something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects import writing
from whorl.dialects.writing import Written

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from command_line import Whorl

# The condition speaks of a node by a function that only its dialect has.
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
    assert done.out.startswith("whorl: 1\nname: polish\ninputs:\n  task: string\nsteps:\n")


def test_what_is_written_runs(whorl: Whorl, project: Path) -> None:
    done = whorl("convert", "polish.yaml", "-o", "new/polish.yaml")
    before = whorl("run", "polish.yaml", "a haiku", "--json").json
    after = whorl("run", "new/polish.yaml", "a haiku", "--json").json

    assert done.code == 0
    assert "wrote new/polish.yaml" in done.err
    assert before["outputs"] == after["outputs"]
    assert before["loops"] == after["loops"]


def test_losses_are_listed_and_nothing_is_written(whorl: Whorl, project: Path) -> None:
    (project / "hello.yaml").write_text(FOREIGN)

    done = whorl("convert", "hello.yaml", "-o", "new.yaml")

    assert done.code == 1
    assert "warning[W026]: hello.yaml" in done.err
    assert "nothing is written: " in done.err
    assert "--force" in done.err
    assert not (project / "new.yaml").exists()


def test_losses_can_be_accepted(whorl: Whorl, project: Path) -> None:
    (project / "hello.yaml").write_text(FOREIGN)

    done = whorl("convert", "hello.yaml", "-o", "new/hello.yaml", "--force")

    assert done.code == 0
    assert "warning[W026]" in done.err
    assert (project / "new/hello.yaml").read_text().startswith("whorl: 1\n")


def test_no_file_is_overwritten(whorl: Whorl, project: Path) -> None:
    before = (project / "polish.yaml").read_text()

    done = whorl("convert", "polish.yaml", "-o", "polish.yaml", "--force")

    assert done.code == 2
    assert "is the file itself" in done.err
    assert (project / "polish.yaml").read_text() == before


def test_a_wrong_file(whorl: Whorl, project: Path) -> None:
    (project / "wrong.yaml").write_text("whorl: 1\nsteps: {a: {aks: x}}\n")

    wrong = whorl("convert", "wrong.yaml")

    assert wrong.code == 2
    assert "W004" in wrong.err


def test_a_result_that_cannot_be_read_is_our_fault(
    whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> Written:
        return Written({"a.yaml": "whorl: 1\nsteps: {a: {aks: x}}\n"})

    monkeypatch.setattr(writing, "write_workflow", write)
    done = whorl("convert", "polish.yaml")

    assert done.code == 70
    assert "what was written is wrong" in done.err
