"""Files of the project, and no others: not the operator's, not what a link leads to."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from whorl.errors import ProviderError
from whorl.providers.registry import Providers
from whorl.providers.settings import Allow, Settings
from whorl.providers.task import Request

if TYPE_CHECKING:
    from pathlib import Path

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
    with pytest.raises(ProviderError, match="may not read"):
        perform(project, "file_read", path=path, mode=mode)


def test_a_link_to_the_operators_files_is_not_read(project: Path) -> None:
    (project / "innocent.txt").symlink_to("whorl.toml")

    with pytest.raises(ProviderError, match="may not read"):
        perform(project, "file_read", path="innocent.txt")


@pytest.mark.parametrize("pattern", ["*", ".e*", "whorl.*", "**/*"])
def test_they_are_not_found(project: Path, pattern: str) -> None:
    found = perform(project, "file_glob", pattern=pattern, recursive=True)

    assert [one["path"] for one in found["files"]] in ([], ["notes.txt"])
    with pytest.raises(ProviderError, match="no folder for workflows"):
        perform(project, "file_glob", folder=".whorl")


@pytest.mark.parametrize("path", ["whorl.toml", "Whorl.TOML", ".env", ".git/hooks/pre-commit"])
def test_they_are_not_written(project: Path, path: str) -> None:
    with pytest.raises(ProviderError, match="may not write"):
        perform(project, "file_write", path=path, content="x")


@pytest.mark.parametrize("write", ["overwrite", "append", "create"])
def test_no_link_leads_a_write_out_of_the_project(project: Path, write: str) -> None:
    victim = project.parent / "victim.txt"
    for name in (".out.txt.part", "out.txt.part", ".out.txt.tmp"):
        (project / name).symlink_to(victim)

    perform(project, "file_write", path="out.txt", content="x", write=write)

    assert victim.read_text() == "mine"
    assert (project / "out.txt").read_text() == "x"
    assert not (project / "out.txt").is_symlink()


def test_a_write_replaces_the_file_and_leaves_nothing_beside_it(project: Path) -> None:
    before = sorted(one.name for one in project.iterdir())

    perform(project, "file_write", path="notes.txt", content="new")

    assert (project / "notes.txt").read_text() == "new"
    assert sorted(one.name for one in project.iterdir()) == before


@pytest.mark.parametrize("path", ["my_checks.py", "sub/__init__.py", "native.SO"])
def test_code_that_the_engine_would_import_is_not_written(project: Path, path: str) -> None:
    """Otherwise a file could run what it likes, without `[allow] commands`."""
    own = {"check": "python:my_checks:style"}
    some = {"tasks": own, "allow": Allow(commands=("git",))}

    with pytest.raises(ProviderError, match="imported"):
        perform(project, "file_write", {"tasks": own}, path=path, content="x")
    with pytest.raises(ProviderError, match="imported"):
        perform(project, "file_write", some, path=path, content="x")
    perform(project, "file_write", path=path, content="x")
    perform(
        project,
        "file_write",
        {"tasks": own, "allow": Allow(commands=True)},
        path=path,
        content="y",
    )
