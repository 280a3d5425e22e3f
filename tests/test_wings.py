"""What may be taken off as a folder: without each wing and each format, the core works."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE_S

PACKAGE = Path(__file__).parent.parent / "src" / "whorl"
FOLDERS = sorted(
    path.parent.relative_to(PACKAGE).as_posix()
    for part in ("formats", "wings")
    for path in (PACKAGE / part).glob("*/__init__.py")
)
# The Python face of a wing.
FACES = {"wings/testing": ("testing.py",)}
# What is made of a wing, and says so in the contracts: formats are edited with the editor's kit,
# and a cluster keeps schedules.
MADE_OF = {
    "wings/automation": r"whorl\.wings\.cluster\.",
    "wings/editor": r"whorl\.formats\.\w+\.(editing|palette|rims|sketch)",
}
FLOW = """
whorl: 1
name: tiny
steps:
  twice: {repeat: {at_most: 2, steps: {n: {value: "{{ iteration }}"}}}}
outputs: {n: "{{ twice.n }}"}
"""
IMPORTS = """
import importlib.util, os, re, sys
root = os.path.dirname(importlib.util.find_spec("whorl").origin)
for folder, _, names in os.walk(root):
    for name in names:
        module = os.path.relpath(f"{folder}/{name}", os.path.dirname(root))[:-3].replace("/", ".")
        if name.endswith(".py") and not re.match(sys.argv[1], module) and "__" not in name:
            importlib.import_module(module)
from whorl.interfaces.http.app import build_app, document
print(len(document(build_app())["paths"]))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(PACKAGE, folder / "whorl", ignore=shutil.ignore_patterns("__pycache__", "web"))
    (folder / "project").mkdir()
    (folder / "project" / "tiny.yaml").write_text(FLOW)
    return folder


def python(copy: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, *words],
        cwd=copy / "project",
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.sample(5)
@pytest.mark.parametrize("folder", FOLDERS)
def test_the_core_works_without(copy: Path, folder: str) -> None:
    gone = [copy / "whorl" / name for name in (folder, *FACES.get(folder, ()))]
    for path in gone:
        path.rename(copy / path.name)
    try:
        assert int(python(copy, "-c", IMPORTS, MADE_OF.get(folder, "-"))) > 20
        shown = python(copy, "-m", "whorl.interfaces.cli", "--help")
        ran = python(copy, "-m", "whorl.interfaces.cli", "run", "tiny.yaml", "--json")
    finally:
        for path in gone:
            (copy / path.name).rename(path)

    assert " run " in shown
    assert '"n": 2' in ran


def test_the_folders_are_found() -> None:
    assert len(FOLDERS) == 10
