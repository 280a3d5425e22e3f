"""`whorl convert`: prints or writes another dialect, and writes nothing that loses something."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from whorl.dialects import writing
from whorl.dialects.writing import Written

if TYPE_CHECKING:
    import pytest
    from command_line import Whorl

JUDGED = """
whorl: 1
name: judged
inputs:
  input: {type: string, default: ""}
steps:
  output:
    repeat:
      until: {judge: It is good}
      at_most: 3
      steps:
        write: {ask: "Write {{ input }}"}
outputs: {output: "{{ output.write }}"}
"""


def test_it_prints_the_file(whorl: Whorl) -> None:
    done = whorl("convert", "polish.yaml", "--to", "native")

    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("whorl: 1\nname: polish\ninputs:\n  task: string\nsteps:\n")


def test_what_is_written_runs(whorl: Whorl, project: Path) -> None:
    done = whorl("convert", "polish.yaml", "--to", "native", "-o", "new/polish.yaml")
    before = whorl("run", "polish.yaml", "a haiku", "--json").json
    after = whorl("run", "new/polish.yaml", "a haiku", "--json").json

    assert done.code == 0
    assert "wrote new/polish.yaml" in done.err
    assert before["outputs"] == after["outputs"]
    assert before["loops"] == after["loops"]


def test_a_loop_of_another_dialect_is_a_file_beside_it(whorl: Whorl, project: Path) -> None:
    (project / "judged.yaml").write_text(JUDGED)

    there = whorl("convert", "judged.yaml", "--to", "mcp-cli", "-o", "there/judged.yaml")
    back = whorl("convert", "there/judged.yaml", "--to", "native", "-o", "back/judged.yaml")

    assert (there.code, back.code) == (0, 0), there.err + back.err
    assert sorted(path.name for path in (project / "there").iterdir()) == [
        "judged-output.yaml",
        "judged.yaml",
    ]
    assert whorl("validate", "back/judged.yaml").code == 0


def test_losses_are_listed_and_nothing_is_written(whorl: Whorl, project: Path) -> None:
    done = whorl("convert", "polish.yaml", "--to", "mcp-cli", "-o", "new.yaml")

    assert done.code == 1
    assert (
        "warning[W026]: polish.yaml:6:3: polish: a loop that any of several conditions ends"
        in done.err
    )
    assert "nothing is written: " in done.err
    assert "--force" in done.err
    assert not (project / "new.yaml").exists()


def test_losses_can_be_accepted(whorl: Whorl, project: Path) -> None:
    done = whorl("convert", "polish.yaml", "--to", "mcp-cli", "-o", "new/polish.yaml", "--force")

    assert done.code == 0
    assert "warning[W026]" in done.err
    assert (project / "new/polish.yaml").read_text().startswith("$schema: workflow/v2.0\n")


def test_no_file_is_overwritten(whorl: Whorl, project: Path) -> None:
    before = (project / "polish.yaml").read_text()

    done = whorl("convert", "polish.yaml", "--to", "native", "-o", "polish.yaml", "--force")

    assert done.code == 2
    assert "is the file itself" in done.err
    assert (project / "polish.yaml").read_text() == before


def test_an_unknown_dialect_and_a_wrong_file(whorl: Whorl, project: Path) -> None:
    (project / "wrong.yaml").write_text("whorl: 1\nsteps: {a: {aks: x}}\n")

    unknown = whorl("convert", "polish.yaml", "--to", "nativ")
    wrong = whorl("convert", "wrong.yaml", "--to", "native")

    assert (unknown.code, wrong.code) == (2, 2)
    assert "did you mean 'native'?" in unknown.err
    assert "W004" in wrong.err


def test_a_result_that_cannot_be_read_is_our_fault(
    whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(*_: object) -> Written:
        return Written({"a.yaml": "whorl: 1\nsteps: {a: {aks: x}}\n"})

    monkeypatch.setattr(writing, "write_workflow", write)
    done = whorl("convert", "polish.yaml", "--to", "native")

    assert done.code == 70
    assert "what was written as native is wrong" in done.err


def test_the_guide_shows_what_the_command_prints(whorl: Whorl, project: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "converting.md").read_text()
    [text] = re.findall(r"^```yaml\n(.*?)^```", guide, re.S | re.M)
    [told] = re.findall(r"^\$ whorl convert short.*?\n(.*?)^```", guide, re.S | re.M)
    (project / "short.yaml").write_text(text)

    done = whorl("convert", "short.yaml", "--to", "mcp-cli", "-o", "short-mcp.yaml")

    assert (done.code, done.err) == (1, told)
