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


@pytest.mark.parametrize(
    ("name", "folders", "expected"),
    [
        ("near", (), "near.yaml"),
        ("low", (), "deep/low.yml"),
        ("deep/near", (), "deep/near.yaml"),
        ("top", (), "../top.yaml"),
        ("flows/deep/near", (), "deep/near.yaml"),
        # Others are searched if they are named; hidden ones, links and what is outside never.
        ("shared", (), None),
        ("shared", ("library",), "../library/shared.yaml"),
        ("far", ("library",), None),
        ("secret", (".",), None),
        *((name, folders, None) for folders in ((), ("..", "/"))
          for name in ("../../outside", "/etc/passwd", "a\0b", "..\\outside", "none")),
    ],
)  # fmt: skip
def test_the_nearest_file_is_found(
    project: Path, name: str, folders: tuple[str, ...], expected: str | None
) -> None:
    (project / "flows" / "link").symlink_to(project / "other")
    caller, names = project / "flows" / "main.yaml", [name + end for end in (".yaml", ".yml")]

    assert find_beside(str(caller), names, root=str(project), folders=folders) == expected
