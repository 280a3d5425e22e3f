"""A project, a server on it, and a client with the token."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from served import TOKEN, connected, make_project

from trusted import TRUSTED
from whorl.interfaces.http.server import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Client, Spawn


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a configuration and workflows."""
    return make_project(tmp_path)


@pytest.fixture
def client(project: Path) -> Iterator[Client]:
    """A client of a server on the project."""
    with connected(project) as client:
        yield client


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server that all tests of a module share; it takes drafts, too."""
    folder = make_project(tmp_path_factory.mktemp("shared"))
    with connected(folder, Place(token=TOKEN, edits=True)) as client:
        yield client


@pytest.fixture
def spawn(project: Path) -> Spawn:
    """Starts a command in a process of its own, in the project."""

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "whorl.interfaces.cli", *words],
            cwd=project,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                # A process whose disk is full leaves half of a compiled file to all others.
                "PYTHONDONTWRITEBYTECODE": "1",
                **TRUSTED,
            },
        )

    return start
