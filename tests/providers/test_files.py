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
