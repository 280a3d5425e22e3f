"""A server whose store is taken away says so, and drives nothing any more."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from served import Client


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
