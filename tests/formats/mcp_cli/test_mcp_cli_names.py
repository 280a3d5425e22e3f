"""Called workflows are found by the name inside of their files: within bounds, in the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from mcp_cli_files import HEAD, Memory

from whorl.dialects import Opened, ProjectFiles, Reading, read_workflow
from whorl.dialects.files import CHARACTERS_MAX, FILES_MAX
from whorl.errors import Diagnostic, InvalidWorkflow

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.errors import Span


def workflow(name: str, text: str = "Go") -> str:
    return f"{HEAD.replace('name: main', f'name: {name}')}steps: [{{name: do, run: {text!r}}}]\n"


def caller(name: str) -> str:
    return f"{HEAD}steps: [{{name: go, template: {{name: {name}}}}}]\n"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def read(
    folder: Path, name: str, file: str = "main.yaml", folders: tuple[str, ...] = ()
) -> Reading:
    path = folder / file
    write(folder, {file: caller(name)})
    return read_workflow(path.read_text(), str(path), ProjectFiles(str(folder), folders))


def mistake(folder: Path, name: str, file: str = "main.yaml") -> Diagnostic:
    with pytest.raises(InvalidWorkflow) as caught:
        read(folder, name, file)
    assert len(caught.value.diagnostics) == 1
    return caught.value.diagnostics[0]


def called(reading: Reading) -> list[str]:
    return [key for key, _ in reading.workflow.workflows]


def test_folders_of_the_configuration_and_the_project_are_looked_through(tmp_path: Path) -> None:
    write(tmp_path, {"library/deep/x.yaml": workflow("shared"), "y.yaml": workflow("top")})
    write(tmp_path, {"other/z.yaml": workflow("far")})

    assert called(read(tmp_path, "shared", "f/m.yaml", ("library",))) == ["library/deep/x.yaml"]
    assert called(read(tmp_path, "top", "f/m.yaml")) == ["y.yaml"]
    assert called(read(tmp_path, "other/far", "f/m.yaml")) == ["other/z.yaml"]
    assert mistake(tmp_path, "far", "f/m.yaml").help == "did you mean 'other/far'?"


def test_hidden_files_and_what_leads_out_of_the_project_are_left_out(tmp_path: Path) -> None:
    project = tmp_path / "project"
    write(tmp_path, {"outside/x.yaml": workflow("work")})
    write(project, {".hidden/x.yaml": workflow("work"), ".x.yaml": workflow("work")})
    write(project, {"node_modules/x.yaml": workflow("work")})
    (project / "linked").symlink_to(tmp_path / "outside")
    (project / "link.yaml").symlink_to(tmp_path / "outside" / "x.yaml")

    assert mistake(project, "work").code == "W016"


class Counted(Memory):
    """Very many files, and which of them were opened."""

    def __init__(self, count: int, text: str) -> None:
        super().__init__({f"{index}.yaml": text for index in range(count)}, complete=False)
        self._files["known.yaml"] = text
        self.opened: list[str] = []

    def open(self, base: str, reference: str, span: Span) -> Opened:
        self.opened.append(reference)
        return super().open(base, reference, span)


@pytest.mark.parametrize(
    ("text", "most"),
    [("x: 1", FILES_MAX), ("x" * (CHARACTERS_MAX // 10), 10)],
    ids=["files", "characters"],
)
def test_only_so_many_files_are_looked_at_and_each_once(text: str, most: int) -> None:
    files = Counted(2 * FILES_MAX, text)
    steps = "".join(f"  - {{name: s{i}, template: {{name: none{i}}}}}\n" for i in range(3))
    with pytest.raises(InvalidWorkflow) as caught:
        read_workflow(f"{HEAD}steps:\n{steps}", "main.yaml", files)

    assert len(files.opened) == most
    assert all("nearest files" in found.message for found in caught.value.diagnostics)
