"""Called workflows are found beside the caller, below it, or in folders of the project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from whorl.source.paths import find_beside

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    for name in (
        *("flows/main.yaml", "flows/near.yaml", "flows/deep/near.yaml", "flows/deep/low.yml"),
        *("library/shared.yaml", "top.yaml", ".hidden/secret.yaml", "other/far.yaml"),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x: 1")
    (tmp_path / "outside.yaml").write_text("x: 1")
    return root


def find(project: Path, name: str, folders: tuple[str, ...] = ()) -> str | None:
    names = [name + ending for ending in (".yaml", ".yml")]
    return find_beside(
        str(project / "flows" / "main.yaml"), names, root=str(project), folders=folders
    )


def test_the_nearest_file_is_found(project: Path) -> None:
    assert find(project, "near") == "near.yaml"
    assert find(project, "low") == "deep/low.yml"
    assert find(project, "deep/near") == "deep/near.yaml"
    assert find(project, "top") == "../top.yaml"
    assert find(project, "flows/deep/near") == "deep/near.yaml"


def test_other_folders_are_searched_if_they_are_named(project: Path) -> None:
    assert find(project, "shared") is None
    assert find(project, "shared", ("library",)) == "../library/shared.yaml"
    assert find(project, "far", ("library",)) is None


@pytest.mark.parametrize("name", ["../../outside", "/etc/passwd", "a\0b", "..\\outside", "none"])
def test_nothing_outside_of_the_project_is_found(project: Path, name: str) -> None:
    assert find(project, name) is None
    assert find(project, name, ("..", "/")) is None


def test_hidden_folders_and_links_are_not_searched(project: Path) -> None:
    (project / "flows" / "link").symlink_to(project / "other")

    assert find(project, "secret", (".",)) is None
    assert find(project, "far") is None
