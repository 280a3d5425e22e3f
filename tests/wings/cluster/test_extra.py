"""The cluster is an extra: without it nothing of Temporal is needed."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest


def test_with_the_extra_the_server_has_a_program() -> None:
    if find_spec("temporalio") is None:
        pytest.skip("the extra `temporal` is not installed")
    from cluster.cluster import program

    if program() is None:
        pytest.skip("the server of Temporal is not installed")
    version = subprocess.run([str(program()), "--version"], capture_output=True, check=True)
    assert b"temporal version" in version.stdout


def test_nothing_of_temporal_is_imported_for_local_runs() -> None:
    code = (
        "import sys, whorl.services.runs, whorl.runtimes.local, whorl.interfaces.cli.session;"
        "sys.exit(any(name.startswith('temporalio') for name in sys.modules))"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
