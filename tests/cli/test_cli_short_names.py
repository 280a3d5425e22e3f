"""Workflows by the names that other systems have for them: the stem of a file, or its own name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

SAY = """
version: 2
metadata: {{name: Say {word}}}
nodes:
  - id: say
    type: constant
    position: {{x: 0, y: 0}}
    data: {{nodeType: constant, label: Say, valueType: string, value: {word},
      outputs: [{{name: value, type: string}}]}}
edges: []
"""
NAMED = """
$schema: workflow/v2.0
name: {name}
version: 1.0.0
execution: {{provider: canned, model: m}}
steps:
  - {{name: write, run: "Write {{{{input}}}}"}}
"""


@pytest.fixture
def shop(project: Path) -> Path:
    for folder in (".robomesh/workflows", "workflows/components", "src"):
        (project / folder).mkdir(parents=True)
    for path, word in (
        (".robomesh/workflows/greet.yaml", "first"),
        ("workflows/greet.yaml", "second"),
        ("workflows/v1.2.yml", "dotted"),
        (".robomesh/plan.yaml", "planned"),
        ("workflows/components/part.yaml", "part"),
    ):
        (project / path).write_text(SAY.format(word=word))
    return project


@pytest.mark.parametrize(
    ("name", "word", "path"),
    [
        ("greet", "first", ".robomesh/workflows/greet.yaml"),
        ("v1.2", "dotted", "workflows/v1.2.yml"),
        ("plan", "planned", ".robomesh/plan.yaml"),
    ],
)
def test_a_short_name_is_the_stem_of_a_file(
    shop: Path, whorl: Whorl, name: str, word: str, path: str
) -> None:
    done = whorl("run", name)

    assert (done.code, done.out.strip()) == (0, word)
    assert f"{name} is {path}" in done.err


@pytest.mark.parametrize("name", ["part", "greet.yaml", "Say first", "components/part"])
def test_what_is_no_short_name_is_missed(shop: Path, whorl: Whorl, name: str) -> None:
    done = whorl("run", name)

    assert done.code == 2
    assert "does not exist" in done.err


def test_a_file_comes_before_a_name(shop: Path, whorl: Whorl) -> None:
    (shop / "greet").write_text(SAY.format(word="itself"))

    assert whorl("run", "greet").out.strip() == "itself"


def test_names_are_found_from_a_folder_below(
    shop: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "whorl.toml").unlink()
    monkeypatch.chdir(shop / "src")

    done = whorl("run", "greet")

    assert done.out.strip() == "first"
    assert (shop / ".whorl").is_dir()


def test_what_a_system_keeps_at_home_is_no_project(
    shop: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shop / "whorl.toml").unlink()
    monkeypatch.setenv("HOME", str(shop))
    monkeypatch.chdir(shop / "src")

    assert whorl("run", "greet").code == 2


def test_a_name_inside_of_a_file_counts(project: Path, whorl: Whorl) -> None:
    (project / "flows" / "dev").mkdir(parents=True)
    (project / "flows" / "dev" / "anything.yaml").write_text(NAMED.format(name="polish_it"))

    for name in ("polish_it", "dev/polish_it", "flows/dev/polish_it"):
        assert whorl("run", name, "x").out.strip() == "draft one"
        assert whorl("validate", name).code == 0
    assert whorl("run", "anything", "x").code == 2


def test_a_name_that_means_two_files_is_refused(project: Path, whorl: Whorl) -> None:
    for folder in ("a", "b"):
        (project / folder).mkdir()
        (project / folder / "x.yaml").write_text(NAMED.format(name="twice"))

    done = whorl("run", "twice", "x")

    assert done.code == 2
    assert "'twice' could be a/x.yaml or b/x.yaml" in done.err
    assert whorl("run", "a/twice", "x").code == 0
