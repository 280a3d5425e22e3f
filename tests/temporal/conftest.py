"""One server for all tests of the cluster; each test has a queue of its own."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from temporal.cluster import Server

HAS_PACKAGE = find_spec("temporalio") is not None
# Without the extra there is nothing to collect, but for the test that says so.
collect_ignore_glob = [] if HAS_PACKAGE else ["test_cluster_*.py"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    from temporal.cluster import Server, program

    if program() is None:
        pytest.skip("the server of Temporal is not installed")
    running = Server(tmp_path_factory.mktemp("temporal"))
    running.start()
    yield running
    running.stop()
