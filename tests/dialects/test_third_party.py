"""A dialect of another package, installed from a wheel: its reader, syntax and functions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import PATIENCE_S

HERE = Path(__file__).parent / "third_party"
SONG = """\
ballad: The hare
verses:
  - "There was a hare, <hero>, of <years> years."
  - "<shout hero> and <shout years>"
"""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the package was installed into, without a network."""
    project = tmp_path_factory.mktemp("project")
    shutil.copytree(HERE, project, dirs_exist_ok=True)
    target = tmp_path_factory.mktemp("packages")
    execute(project, sys.executable, "-m", "hatchling", "build", "-t", "wheel")
    (wheel,) = (project / "dist").glob("*.whl")
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    execute(project, sys.executable, "-m", "pip", "install", *options, "--target", target, wheel)
    return target


def execute(
    folder: Path, *words: str | Path, packages: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = dict(os.environ, WHORL_HOME=str(folder / ".whorl"))
    if packages is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(packages), *sys.path])
    done = subprocess.run(
        words,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if packages is None:
        assert done.returncode == 0, done.stderr
    return done


def whorl(folder: Path, packages: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return execute(folder, sys.executable, "-m", "whorl.interfaces.cli", *words, packages=packages)


def test_a_file_runs_with_the_dialects_own_syntax_functions_and_printing(
    packages: Path, tmp_path: Path
) -> None:
    (tmp_path / "song.yaml").write_text(SONG)

    done = whorl(
        tmp_path, packages, "run", "song.yaml", "--input", "hero=Jack", "--input", "years:=3"
    )

    assert done.returncode == 0, done.stderr
    verses = ("There was a hare, Jack, of three years.", "JACK! and THREE!")
    assert done.stdout == "".join(f"{verse}\n{verse}\n" for verse in verses) + "\n"


def test_a_mistake_in_its_syntax_has_its_place(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "song.yaml").write_text(SONG.replace("<shout hero>", "<whisper hero>"))

    done = whorl(tmp_path, packages, "validate", "song.yaml")

    assert done.returncode == 2
    assert "a ballad has no function 'whisper'" in done.stderr
    assert "song.yaml:4:" in done.stderr


@pytest.mark.parametrize(
    ("library", "message", "advice"),
    [
        ("broken", "plugin 'broken' of whorl.libraries (ballad_nowhere:LIBRARY)", "install its"),
        ("balad", "there is no function library 'balad'", "did you mean 'ballad'?"),
    ],
)
def test_a_library_that_cannot_be_opened_is_named(
    packages: Path, tmp_path: Path, library: str, message: str, advice: str
) -> None:
    (tmp_path / "song.yaml").write_text(f"library: {library}\n{SONG}")

    done = whorl(tmp_path, packages, "validate", "song.yaml")

    assert done.returncode == 2
    assert message in done.stderr
    assert advice in done.stderr


def test_its_functions_are_explained_and_what_is_broken_beside_it_is_named(
    packages: Path, tmp_path: Path
) -> None:
    done = whorl(tmp_path, packages, "help", "refrain")

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("refrain(times)\n  sung again\n")
    assert done.stdout.endswith("'ballad', for verses: <...>\n")
    assert "plugin 'broken' of whorl.libraries" in done.stderr


def test_it_says_what_another_system_would_refuse(packages: Path, tmp_path: Path) -> None:
    (tmp_path / "merry.yaml").write_text(SONG)
    (tmp_path / "sad.yaml").write_text(SONG.replace("hare", "hare in tears"))

    merry, sad = (
        whorl(tmp_path, packages, "file", "lint", name) for name in ("merry.yaml", "sad.yaml")
    )
    elsewhere = whorl(tmp_path, packages, "file", "lint", "merry.yaml", "--target", "opera")

    assert (merry.returncode, merry.stdout) == (0, "merry.yaml: nothing that tavern would refuse\n")
    assert (sad.returncode, "it is too sad" in sad.stderr) == (2, True)
    assert (elsewhere.returncode, "no rules of 'opera'" in elsewhere.stderr) == (2, True)
