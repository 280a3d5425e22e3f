"""A server that is told to stop answers until the calls that are under way have ended."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest
from served import Client, connected, serving_process

from waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from pathlib import Path

    from served import Spawn

HELD = """
whorl: 1
name: held
steps:
  l:
    repeat:
      at_most: 3
      steps: {hold: {run: "touch FOLDER/began; while [ ! -e FOLDER/go ]; do sleep 0.05; done"}}
outputs: {text: "{{ l.hold }}"}
"""


@contextmanager
def _stopping(project: Path, spawn: Spawn) -> Iterator[tuple[subprocess.Popen[str], Client, str]]:
    """A server that was told to stop while a call is under way, which ends when `go` is there."""
    (project / "held.yaml").write_text(HELD.replace("FOLDER", str(project)))
    process, client = serving_process(spawn, "--drain", "3600")
    try:
        run = client.start("held.yaml")
        wait_until((project / "began").exists)
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: client.http.get("/readyz").status_code == 503)
        yield process, client, run
    finally:
        client.close()
        process.kill()
        process.communicate(timeout=PATIENCE_S)


@pytest.mark.slow
def test_a_server_answers_while_calls_end_and_takes_nothing_new(
    project: Path, spawn: Spawn
) -> None:
    with _stopping(project, spawn) as (process, client, run):
        # Also those who come only now.
        late = Client(client.address, client.http.headers["Authorization"].partition(" ")[2])
        assert late.http.get("/readyz").json()["error"]["message"] == "the server is stopping"
        assert late.http.get("/healthz").status_code == 200
        assert "\nwhorl_ready 0" in late.http.get("/metrics").text
        assert late.get(f"/runs/{run}")["status"] == "running"
        waiting = {"workflow": "gated.yaml"}
        for path, body in (("/runs", waiting), (f"/runs/{run}/fork", {"iteration": 1})):
            refused = late.http.post(f"/api{path}", json=body)
            assert refused.status_code == 503, refused.text
            assert "is stopping" in refused.json()["error"]["message"]
            assert int(refused.headers["Retry-After"]) > 0
        assert [row["id"] for row in late.get("/runs")["runs"]] == [run]
        late.close()

        (project / "go").touch()
        assert process.wait(PATIENCE_S) == 0
        with pytest.raises(httpx2.ConnectError):
            client.http.get("/healthz")
    with connected(project) as client:
        assert client.wait(run, "succeeded")["in_doubt"] == 0


@pytest.mark.slow
def test_a_run_is_watched_and_cancelled_while_its_server_stops(project: Path, spawn: Spawn) -> None:
    with _stopping(project, spawn) as (process, client, run):
        with client.stream(f"/runs/{run}/events") as events:
            assert next(events)
        client.post(f"/runs/{run}/cancel")
        assert process.wait(PATIENCE_S) == 0
    with connected(project) as client:
        assert client.get(f"/runs/{run}")["status"] == "cancelled"


@pytest.mark.slow
def test_a_run_without_a_driver_is_left_to_the_next_server(project: Path, spawn: Spawn) -> None:
    with connected(project) as client:
        gated = client.start("gated.yaml")
        client.wait(gated, "waiting")
    with _stopping(project, spawn) as (_, client, _run):
        refused = client.http.post(f"/api/runs/{gated}/approve", json={"at": "check"})
        assert (refused.status_code, "Retry-After" in refused.headers) == (503, True)
    (project / "go").touch()
    with connected(project) as client:
        client.post(f"/runs/{gated}/approve", {"at": "check"})
        assert client.wait(gated, "succeeded")["result"]["outputs"]["ok"] is True


@pytest.mark.slow
def test_a_second_signal_cuts_the_calls_off(project: Path, spawn: Spawn) -> None:
    with _stopping(project, spawn) as (process, _, run):
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    (project / "go").touch()
    with connected(project) as client:
        assert client.wait(run, "succeeded", "failed", "waiting")["in_doubt"] == 1
