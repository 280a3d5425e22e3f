"""The cluster of a cloned folder gets no connection before a person trusts the folder."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from cloned import document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cloned import Clone

pytest.importorskip("temporalio", reason="the extra `temporal` is not installed")
PURE = "whorl: 1\nname: pure\nsteps:\n  a: {value: 1}\n"
CLUSTER = '[runtime.temporal]\naddress = "$ADDRESS"\napi_key = "env:AWS_SECRET_ACCESS_KEY"\n'
COMMANDS = [
    ("run", "pure.yaml"),
    ("ls",),
    ("project", "memory", "ls"),
    ("server", "schedule", "ls"),
    ("server", "worker"),
]


class Cluster:
    """It stands for the server of a stranger, and counts who connects."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.connections = 0

    def accept(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            connection.close()


@contextmanager
def listening() -> Iterator[Cluster]:
    cluster = Cluster()
    thread = threading.Thread(target=cluster.accept)
    thread.start()
    try:
        yield cluster
    finally:
        cluster.socket.shutdown(socket.SHUT_RDWR)
        cluster.socket.close()
        thread.join()


@pytest.fixture
def cluster(clone: Clone) -> Iterator[Cluster]:
    with listening() as cluster:
        (clone.folder / "pure.yaml").write_text(PURE)
        (clone.folder / "whorl.toml").write_text(CLUSTER.replace("$ADDRESS", cluster.address))
        yield cluster


def write_own(clone: Clone, text: str) -> None:
    path = clone.home / "config" / "whorl" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.sample(2)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("way", ["variable", "own file"])
def test_it_is_not_used_before_trust(
    clone: Clone, cluster: Cluster, words: tuple[str, ...], way: str
) -> None:
    if way == "own file":
        write_own(clone, '[runtime]\nkind = "temporal"\n')
    variables = {"WHORL_RUNTIME": "temporal"} if way == "variable" else {}

    done = clone.whorl(*words, **variables)

    assert (done.returncode, cluster.connections) == (2, 0), done.stderr
    assert "error[W908]" in done.stderr
    assert f"{cluster.address} drives runs" in done.stderr
    assert "`whorl project trust`" in done.stderr


def test_an_option_of_run_does_not_use_it_either(clone: Clone, cluster: Cluster) -> None:
    done = clone.whorl("run", "pure.yaml", "--runtime", "temporal")
    looked = clone.whorl("project", "doctor", WHORL_RUNTIME="temporal")

    assert "error[W908]" in done.stderr
    assert (looked.returncode, "whorl project trust" in looked.stdout) == (1, True), looked.stderr
    assert cluster.connections == 0


def test_trust_names_it_and_then_it_is_used(clone: Clone, cluster: Cluster) -> None:
    (right,) = document(clone.whorl("project", "trust", "--json"))["permits"]
    clone.whorl("project", "trust", "--yes")

    done = clone.whorl("ls", WHORL_RUNTIME="temporal")

    words = "drives runs if you choose Temporal, with the variable AWS_SECRET_ACCESS_KEY"
    assert right == {"kind": "addresses", "text": f"{cluster.address} {words}"}
    assert "error[R922]" in done.stderr
    assert cluster.connections > 0
