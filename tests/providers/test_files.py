"""Files of the project, and no others: not the operator's, not what a link leads to."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from whorl.errors import ProviderError
from whorl.providers.registry import Providers
from whorl.providers.settings import Allow, Settings
from whorl.providers.task import Request
from whorl.source.paths import fits_glob

if TYPE_CHECKING:
    from pathlib import Path

ALL = Allow(write=("**",))
_KEY = 'api_key = "sk-SECRET-0123456789abcdef"'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".whorl").mkdir(parents=True)
    (root / "whorl.toml").write_text(_KEY)
    (root / ".env").write_text(_KEY)
    (root / ".whorl" / "whorl.db").write_text("runs of everybody")
    (root / "notes.txt").write_text("notes")
    (tmp_path / "victim.txt").write_text("mine")
    return root


def perform(root: Path, task: str, settings: dict[str, Any] | None = None, **inputs: Any) -> Any:
    providers = Providers(Settings(project_root=str(root), **(settings or {})))
    request = Request(run="r", address="a", kind=task, inputs=inputs)
    return asyncio.run(providers.kind(task).perform(request, lambda _: None)).value


@pytest.mark.parametrize("mode", ["text", "binary", "csv"])
@pytest.mark.parametrize("path", ["whorl.toml", ".env", ".whorl/whorl.db", "./whorl.toml"])
def test_the_operators_files_are_not_read(project: Path, path: str, mode: str) -> None:
    with pytest.raises(ProviderError, match="may not be read"):
        perform(project, "file_read", path=path, mode=mode)


def test_a_link_to_the_operators_files_is_not_read(project: Path) -> None:
    (project / "innocent.txt").symlink_to("whorl.toml")

    with pytest.raises(ProviderError, match="may not be read"):
        perform(project, "file_read", path="innocent.txt")


@pytest.mark.parametrize("pattern", ["*", ".e*", "whorl.*", "**/*"])
def test_they_are_not_found(project: Path, pattern: str) -> None:
    found = perform(project, "file_glob", pattern=pattern, recursive=True)

    assert [one["path"] for one in found["files"]] in ([], ["notes.txt"])
    with pytest.raises(ProviderError, match="may not use as a folder"):
        perform(project, "file_glob", folder=".whorl")


@pytest.mark.parametrize("path", ["whorl.toml", "Whorl.TOML", ".env", ".git/hooks/pre-commit"])
def test_they_are_not_written(project: Path, path: str) -> None:
    with pytest.raises(ProviderError, match="may not be written"):
        perform(project, "file_write", {"allow": ALL}, path=path, content="x")


@pytest.mark.parametrize("write", ["overwrite", "append", "create"])
def test_no_link_leads_a_write_out_of_the_project(project: Path, write: str) -> None:
    victim = project.parent / "victim.txt"
    for name in (".out.txt.part", "out.txt.part", ".out.txt.tmp"):
        (project / name).symlink_to(victim)

    perform(project, "file_write", {"allow": ALL}, path="out.txt", content="x", write=write)

    assert victim.read_text() == "mine"
    assert (project / "out.txt").read_text() == "x"
    assert not (project / "out.txt").is_symlink()


def test_a_write_replaces_the_file_and_leaves_nothing_beside_it(project: Path) -> None:
    before = sorted(one.name for one in project.iterdir())

    perform(project, "file_write", {"allow": ALL}, path="notes.txt", content="new")

    assert (project / "notes.txt").read_text() == "new"
    assert sorted(one.name for one in project.iterdir()) == before


@pytest.mark.parametrize("path", ["my_checks.py", "sub/__init__.py", "native.SO"])
def test_code_that_the_engine_would_import_is_not_written(project: Path, path: str) -> None:
    """Otherwise a file could run what it likes, without `[allow] commands`."""
    own = {"check": "python:my_checks:style"}
    some = {"tasks": own, "allow": replace(ALL, commands=("git",))}
    every = {"tasks": own, "allow": replace(ALL, commands=True)}

    with pytest.raises(ProviderError, match="imported"):
        perform(project, "file_write", {"tasks": own, "allow": ALL}, path=path, content="x")
    with pytest.raises(ProviderError, match="imported"):
        perform(project, "file_write", some, path=path, content="x")
    perform(project, "file_write", {"allow": ALL}, path=path, content="x")
    perform(project, "file_write", every, path=path, content="y")


@pytest.mark.parametrize("path", ["notes.txt", "new.txt", "src/app.py", "out/a.txt", ".hidden"])
@pytest.mark.parametrize("write", ["overwrite", "append", "create"])
def test_without_permission_nothing_of_the_project_is_written(
    project: Path, path: str, write: str
) -> None:
    before = sorted(project.rglob("*"))

    with pytest.raises(ProviderError, match="may not be written") as refused:
        perform(project, "file_write", path=path, content="x", write=write)

    assert refused.value.code == "P125"
    assert "files = {write = [" in str(refused.value)
    assert sorted(project.rglob("*")) == before
    assert (project / "notes.txt").read_text() == "notes"


def test_a_run_writes_and_reads_its_own_workspace(project: Path) -> None:
    for content in ("one", "two"):
        perform(project, "file_write", path=".whorl/work/r/deep/a.txt", content=content)

    read = perform(project, "file_read", path=".whorl/work/r/deep/a.txt")
    found = perform(project, "file_glob", folder=".whorl/work/r", recursive=True)

    assert read["content"] == "two"
    assert [file["path"] for file in found["files"]] == [".whorl/work/r/deep/a.txt"]


@pytest.mark.parametrize(
    "path",
    [".whorl/work/other/a.txt", ".whorl/work/a.txt", ".whorl/whorl.db", ".whorl/work/r/../x"],
)
def test_no_run_writes_the_workspace_of_another_or_the_store(project: Path, path: str) -> None:
    for allow in (Allow(), ALL, Allow(write=(".whorl/**", ".whorl/work/*/*", ".whorl/*"))):
        with pytest.raises(ProviderError, match="may not be written"):
            perform(project, "file_write", {"allow": allow}, path=path, content="x")


def test_a_link_in_place_of_the_workspace_leads_nowhere(project: Path) -> None:
    (project / "src").mkdir()
    (project / ".whorl" / "work").symlink_to(project / "src")

    with pytest.raises(ProviderError, match="may not be written"):
        perform(project, "file_write", path=".whorl/work/r/a.txt", content="x")

    assert list((project / "src").iterdir()) == []


def test_what_a_pattern_names_is_written_also_over_what_is_there(project: Path) -> None:
    allow = {"allow": Allow(write=("out/**", "notes.txt", ".github/*.yml"))}
    for path in ("out/a.txt", "out/deep/b.txt", "notes.txt", ".github/ci.yml"):
        perform(project, "file_write", allow, path=path, content="x")

    for path in ("other.txt", "out/.hidden", ".github/deep/ci.yml", "sub/notes.txt"):
        with pytest.raises(ProviderError, match="may not be written"):
            perform(project, "file_write", allow, path=path, content="x")
    assert (project / "notes.txt").read_text() == "x"


def test_a_list_of_files_to_read_replaces_what_is_usual(project: Path) -> None:
    (project / "docs").mkdir()
    (project / "docs" / "a.md").write_text("a")
    allow = {"allow": Allow(read=("docs/", ".env"))}

    assert perform(project, "file_read", allow, path="docs/a.md")["content"] == "a"
    assert perform(project, "file_read", allow, path=".env")["content"] == _KEY
    found = perform(project, "file_glob", allow, pattern="**/*", recursive=True)
    assert [file["path"] for file in found["files"]] == [".env", "docs/a.md"]
    for path in ("notes.txt", "whorl.toml", ".whorl/whorl.db"):
        with pytest.raises(ProviderError, match="may not be read"):
            perform(project, "file_read", allow, path=path)


@pytest.mark.parametrize(
    ("path", "glob", "fits"),
    [
        *(("a.txt", "*.txt", True), ("d/a.txt", "*.txt", False), ("d/a.txt", "**/*.txt", True)),
        *(("a.txt", "**/*.txt", True), ("d/e/a.txt", "d/**", True), ("d", "d/**", False)),
        *(("d/e/a.txt", "d/", True), (".env", "*", False), (".env", "**", False)),
        *((".env", ".*", True), ("d/.git/x", "d/**", False), ("d/.git/x", "d/.git/*", True)),
        *((".git/x", "**/x", False), ("a", "**", True), ("A.txt", "a.txt", False)),
    ],
)
def test_a_pattern_fits(path: str, glob: str, fits: bool) -> None:
    assert fits_glob(path.split("/"), glob) is fits
