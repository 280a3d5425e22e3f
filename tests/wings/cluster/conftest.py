"""One server for all tests of this folder; each test has a queue of its own."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cluster.cluster import Server

HAS_PACKAGE = find_spec("temporalio") is not None
# Without the extra there is nothing to collect, but for the test that says so.
collect_ignore_glob = [] if HAS_PACKAGE else ["test_cluster_*.py"]


# Not for longer: it takes some of a processor even if nobody asks it for anything.
@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    from cluster.cluster import Server, program

    if program() is None:
        pytest.skip("the server of Temporal is not installed")
    running = Server(tmp_path_factory.mktemp("temporal"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in a folder as the installed script does, but in this process.

    Gives its exit code, and what it printed to standard output and to standard error.
    """
    monkeypatch.setenv("NO_COLOR", "1")

    def run(folder: Path, *words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        monkeypatch.chdir(folder)
        code = run_safely(build_group(COMMANDS), words)
        return code, *capsys.readouterr()

    return run
