"""Paths of a command line are seen from the current folder, those of files from the project."""

from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

LOOKING = """
whorl: 1
name: looking
inputs: {note: file, more: {type: files, default: []}}
steps:
  text: {read: "{{ note }}"}
  others: {ask: "Write about it", files: "{{ more }}"}
outputs: {text: "{{ text.content }}"}
"""


@pytest.fixture
def sub(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is below the project's."""
    (project / "looking.yaml").write_text(LOOKING)
    folder = project / "sub" / "notes"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("the note")
    monkeypatch.chdir(project / "sub")
    return project / "sub"


@pytest.mark.parametrize("how", ["notes/a.md", "./notes/../notes/a.md", "absolute"])
def test_a_file_of_the_command_line_is_seen_from_the_current_folder(
    whorl: Whorl, sub: Path, how: str
) -> None:
    path = str(sub / "notes" / "a.md") if how == "absolute" else how

    done = whorl("run", "../looking.yaml", "-i", f"note={path}", "--json")

    assert (done.code, done.json["outputs"]) == (0, {"text": "the note"}), done.err


@pytest.mark.parametrize("more", ["more=notes/a.md", 'more=["notes/a.md"]', 'more:=["notes/a.md"]'])
def test_lists_of_files_are_too(whorl: Whorl, sub: Path, more: str) -> None:
    done = whorl("run", "../looking.yaml", "-i", "note=notes/a.md", "-i", more, "--json")

    assert done.code == 0, done.err
    assert "sub/notes/a.md" in whorl("show", "last/others", "--json").out


def test_a_file_outside_of_the_project_is_refused_before_anything_runs(
    whorl: Whorl, sub: Path
) -> None:
    done = whorl("run", "../looking.yaml", "-i", "note=../../outside.md")

    assert done.code == 2
    assert "error[R111]: -i note: '../../outside.md' is outside of the project" in done.err
    assert "copy it into the project" in done.err


def test_a_missing_file_is_told_as_the_project_sees_it(whorl: Whorl, sub: Path) -> None:
    done = whorl("run", "../looking.yaml", "-i", "note=b.md")

    assert done.code == 1
    assert "'sub/b.md'" in done.err


def test_paths_that_a_file_writes_are_seen_from_the_project(
    whorl: Whorl, sub: Path, project: Path
) -> None:
    default = LOOKING.replace("note: file", "note: {type: file, default: sub/notes/a.md}")
    (project / "looking.yaml").write_text(default)

    assert whorl("run", "../looking.yaml", "--json").json["outputs"] == {"text": "the note"}


def test_advice_about_an_absolute_path_says_from_where_it_is_written(
    whorl: Whorl, project: Path
) -> None:
    (project / "t.yaml").write_text("whorl: 1\nsteps:\n  a: {read: /etc/hostname}\n")

    done = whorl("run", "t.yaml")

    assert "is absolute; write it relative to the project's folder" in done.err


def test_a_try_sees_paths_alike(whorl: Whorl, sub: Path) -> None:
    tried = whorl("try", "../looking.yaml", "--at", "text", "-i", "note=notes/a.md", "--json")

    assert tried.code == 0, tried.err
    assert "the note" in whorl("show", f"{tried.json['run']}/text").out


def test_a_schedule_keeps_the_path_that_was_meant(whorl: Whorl, sub: Path) -> None:
    done = whorl(
        "schedule", "add", "../looking.yaml", "--every", "1h", "-i", "note=notes/a.md", "--json"
    )

    assert done.code == 0, done.err
    assert "sub/notes/a.md" in json.dumps(done.json)


def test_the_command_that_uses_a_changed_file_names_its_files_from_here(
    whorl: Whorl, sub: Path, project: Path
) -> None:
    failing = LOOKING.replace("Write about it", "Fail please")
    (project / "looking.yaml").write_text(failing)
    whorl("run", "../looking.yaml", "-i", "note=notes/a.md")
    (project / "looking.yaml").write_text(LOOKING)

    done = whorl("resume", "last")

    command = re.findall(r"next: whorl (run .*)", done.err)[0]
    again = whorl(*shlex.split(command, comments=True))
    assert again.code == 0, again.err
