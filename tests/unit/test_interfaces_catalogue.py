"""Finding the workflow files of a project."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from whorl.services.project import DEPTH_MAX, Catalogue, find_project

if TYPE_CHECKING:
    from pathlib import Path

TINY = "whorl: 1\nname: {name}\nsteps: {{a: {{value: x}}}}\n"


def names(catalogue: Catalogue) -> dict[str, int]:
    return {one.file: one.errors for one in catalogue.listed()}


def test_workflows_are_found_below_the_folder_and_others_are_not(tmp_path: Path) -> None:
    deep = "/".join(["d"] * (DEPTH_MAX + 1))
    for name in ("a.yaml", "sub/b.yml", ".hidden/c.yaml", "node_modules/d.yaml", f"{deep}/e.yaml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TINY.format(name="x"))
    (tmp_path / "package.json").write_text('{"name": "page"}')
    (tmp_path / "broken.yaml").write_text("whorl: 1\nname: x\nsteps: {a: {asq: b}}\n")
    (tmp_path / "link.yaml").symlink_to(tmp_path / "a.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")

    found = names(Catalogue(find_project({}, folder=tmp_path)))

    assert found == {"a.yaml": 0, "broken.yaml": 1, "sub/b.yml": 0}


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    catalogue = Catalogue(find_project({}, folder=tmp_path))
    assert names(catalogue) == {}
    (tmp_path / "a.yaml").write_text(TINY.format(name="one"))
    assert [one.workflow.name for one in catalogue.listed() if one.workflow] == ["one"]
    (tmp_path / "a.yaml").write_text(TINY.format(name="another"))
    assert [one.workflow.name for one in catalogue.listed() if one.workflow] == ["another"]
    (tmp_path / "a.yaml").unlink()
    assert names(catalogue) == {}
