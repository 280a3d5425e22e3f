"""What commands print, and where: only the result, events, exit codes for programs, files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


def test_quiet_prints_the_result_alone(whorl: Whorl) -> None:
    done = whorl("run polish.yaml x -q").ends(0)
    assert (done.out, done.err) == ("text:\nthe report\n\ndraft:\ndraft three\n", "")
    failed = whorl("run failing.yaml --quiet").ends(1, "✗ failed", "error[", "next: ")
    assert failed.out == ""
    assert "at most" not in failed.err
    waiting = whorl("run gated.yaml -q").ends(4, "waiting", "Publish it?")
    assert waiting.out == ""
    whorl("run gone.yaml -q").ends(2, "error[")
    # The next command speaks again.
    whorl("run polish.yaml x").ends(0, "next: ")


def test_strict_makes_a_limit_a_failure(whorl: Whorl) -> None:
    whorl("run polish.yaml x --strict").ends(0)
    short = "run polish.yaml x --max-iterations 1"
    whorl(short).ends(0, "! limit")
    whorl(f"{short} --strict").ends(1, "! limit")
    whorl(f"{short} --strict --json").ends(1)
    whorl("continue last -n 1 --strict").ends(1, "! limit")
    whorl("continue last -n 3 --strict -q").ends(0)


def test_documents_are_written_to_files_in_the_form_of_their_ending(
    whorl: Whorl, project: Path
) -> None:
    whorl("run polish.yaml x").ends(0)
    whorl("runs cost -o out/cost.json").ends(0, "wrote out/cost.json")
    assert json.loads((project / "out" / "cost.json").read_text())["total"]
    done = whorl("runs cost -o cost.txt").ends(0)
    assert done.out == ""
    assert (project / "cost.txt").read_text() == whorl("runs", "cost").out
    whorl("runs cost -o cost.csv").ends(2, "this command writes no .csv file", ".json")
    whorl("file schema -o schema.json").ends(0)
    assert "properties" in json.loads((project / "schema.json").read_text())
    whorl("file graph polish.yaml -o polish.svg").ends(0)
    assert (project / "polish.svg").read_text().startswith("<svg")
    whorl("file graph polish.yaml -o polish.mmd").ends(0)
    assert (project / "polish.mmd").read_text().startswith("flowchart")
    whorl("file graph polish.yaml --text -o polish.txt").ends(0)

    (project / "e.experiment.yaml").write_text(
        'experiment: 1\nworkflow: polish.yaml\ncases: [{task: a}, {task: b}]\ngrade: "1"\n'
    )
    whorl("experiment run e.experiment.yaml").ends(0)
    whorl("experiment report e.experiment.yaml -o report.csv").ends(0)
    assert (project / "report.csv").read_text().count("\n") == 3
    whorl("experiment report e.experiment.yaml -o report.md").ends(0)
    assert "|" in (project / "report.md").read_text()
    whorl("experiment report e.experiment.yaml -o report.json").ends(0)
    assert json.loads((project / "report.json").read_text())
    whorl("experiment what-if last --at-most 2 -o what.json").ends(0)
    assert json.loads((project / "what.json").read_text())
    # The file that is read is not written, and a command that fails writes nothing.
    whorl("experiment report e.experiment.yaml -o e.experiment.yaml").ends(2, "is the file itself")
    whorl("runs cost gone -o gone.json").ends(2)
    assert not (project / "gone.json").exists()
