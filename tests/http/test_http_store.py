"""A server whose store is taken away says so, and drives nothing any more."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from served import connected

from waiting import wait_until
from whorl.services import runs

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from served import Client


def test_a_server_deletes_what_the_operator_does_not_keep(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RETIRED_EVERY_S", 0.05)
    config = project / "whorl.toml"
    config.write_text(config.read_text() + "\n[retention]\nmax_runs = 1\n")
    with connected(project) as client:
        waiting = client.start("gated.yaml")
        client.wait(waiting, "waiting")
        ended = [client.start("polish.yaml", inputs={"task": "x"}) for _ in range(3)]

        def listed() -> set[str]:
            return {row["id"] for row in client.get("/runs")["runs"]}

        wait_until(lambda: len(listed()) == 2)
        assert waiting in listed()
        assert listed() - {waiting} <= set(ended)


def test_a_store_that_is_deleted_fails_the_health_and_every_write(
    client: Client, project: Path
) -> None:
    slow = client.start("slow.yaml")
    wait_until(lambda: client.get(f"/runs/{slow}")["iteration"] >= 2)
    assert client.http.get("/healthz").status_code == 200

    shutil.rmtree(project / ".whorl")

    health = client.http.get("/healthz")
    assert (health.status_code, health.json()["error"]["code"]) == (503, "R907")
    refused = client.http.post("/api/runs", json={"workflow": "slow.yaml"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "R907")
    assert "was deleted" in refused.json()["error"]["message"]
    wait_until(lambda: client.http.get(f"/api/runs/{slow}").status_code == 503)
    assert not (project / ".whorl").exists()
