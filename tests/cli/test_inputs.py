"""Inputs of a run out of files: one object, files for inputs that are files, and lists of them."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

ECHO = """
whorl: 1
name: echo
inputs:
  task: string
  count: {type: integer, default: 1}
  doc: {type: file, default: ""}
  docs: {type: files, default: []}
steps: {all: {value: "{{ [task, count, doc, docs] }}"}}
outputs: {all: "{{ all }}"}
"""
TABLES = {
    "a.json": '{"task": "bees", "count": 2}',
    "a.yaml": "task: bees\ncount: 2\n",
    "a.toml": 'task = "bees"\ncount = 2\n',
    "a": "task: bees\ncount: 2\n",
}


@pytest.fixture
def echo(project: Path, whorl: Whorl) -> Whorl:
    (project / "echo.yaml").write_text(ECHO)
    (project / "docs" / "deep").mkdir(parents=True)
    for name in ("docs/b.txt", "docs/a.txt", "docs/c.md", "docs/.hidden", "docs/deep/d.txt"):
        (project / name).write_text(name)
    return whorl


def _got(whorl: Whorl, words: str) -> Any:
    return whorl(f"run echo.yaml {words} --json").ends(0).json["outputs"]["all"]


def test_one_object_in_a_file_is_the_inputs(
    echo: Whorl, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in TABLES.items():
        (project / name).write_text(text)
        assert _got(echo, f"--inputs {name}") == ["bees", 2, "", []]
    assert _got(echo, "-i @a.json") == ["bees", 2, "", []]
    # What is written itself wins.
    assert _got(echo, "--inputs a.json -i count:=3") == ["bees", 3, "", []]
    assert _got(echo, "ants --inputs a.toml") == ["ants", 2, "", []]
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"task": "wasps"}')))
    assert _got(echo, "--inputs -") == ["wasps", 1, "", []]

    (project / "bad.json").write_text('{"task": "a secret" x}')
    bad = echo("run echo.yaml --inputs bad.json").ends(2, "--inputs bad.json", "bad.json:1:21")
    assert "a secret" not in bad.err
    echo("run echo.yaml --inputs gone.json").ends(2, "'gone.json' does not exist")
    (project / "other.json").write_text('{"tsk": 1}')
    echo("run echo.yaml --inputs other.json").ends(2, "tsk")
    (project / "text.yaml").write_text("just a text")
    echo("run echo.yaml --inputs text.yaml").ends(2, "--inputs text.yaml is not an object")


@pytest.mark.parametrize("name", ["cases.csv", "cases.jsonl", "cases.json"])
def test_several_objects_are_cases_of_an_experiment(echo: Whorl, project: Path, name: str) -> None:
    rows = [{"task": "bees"}, {"task": "ants"}]
    texts = {
        "cases.csv": "task\nbees\nants\n",
        "cases.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        "cases.json": json.dumps(rows),
    }
    (project / name).write_text(texts[name])

    done = echo(f"run echo.yaml --inputs {name}").ends(2, f"{name} has several cases")

    done.says("`whorl experiment run echo.experiment.yaml`")
    lines = [line.strip() for line in done.err.splitlines()]
    at = lines.index("experiment: 1")
    (project / "echo.experiment.yaml").write_text("\n".join(lines[at : at + 4]) + "\n")
    echo("experiment run echo.experiment.yaml").ends(0, "2 trials")


def test_files_are_given_by_their_names_patterns_or_folders(echo: Whorl, project: Path) -> None:
    assert _got(echo, "x -i doc=@docs/a.txt")[2] == "docs/a.txt"
    assert _got(echo, "x -i 'docs=@docs/*.txt'")[3] == ["docs/a.txt", "docs/b.txt"]
    assert _got(echo, "x -i docs=@docs")[3] == ["docs/a.txt", "docs/b.txt", "docs/c.md"]
    both = _got(echo, "x -i docs=@docs/c.md -i 'docs=@docs/**/d.txt'")
    assert both[3] == ["docs/c.md", "docs/deep/d.txt"]

    echo("run echo.yaml x -i 'docs=@docs/*.pdf'").ends(2, "'docs/*.pdf' matches 0 files")
    echo("run echo.yaml x -i docs=docs").ends(2, "is a folder", "write -i 'docs=@docs'")
    echo("run echo.yaml x -i 'docs=docs/*.txt'").ends(2, "write -i 'docs=@docs/*.txt'")
    echo("run echo.yaml x docs/a.txt").ends(2, "for a list of files, write -i NAME=@FOLDER")
    echo("run echo.yaml -i a.json").ends(2, "for a file of inputs: --inputs a.json")
    for number in range(501):
        (project / "docs" / "deep" / f"{number}.txt").touch()
    echo("run echo.yaml x -i docs=@docs/deep").ends(2, "502 files", "name 1 to 500")
