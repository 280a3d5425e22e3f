"""A server whose store is taken away says so, and drives nothing any more."""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from served import connected

from waiting import wait_until
from whorl.runtimes.sqlite import SqliteStore
from whorl.services import runs

if TYPE_CHECKING:
    from pathlib import Path

    from served import Client


def test_a_server_deletes_what_the_operator_does_not_keep(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RETIRED_EVERY_S", 0.05)
    config = project / "whorl.toml"
    config.write_text(config.read_text() + "\n[retention]\nmax_runs = 1\n")
    with connected(project) as client:
        waiting = client.finish("gated.yaml")["id"]
        ended = [client.start("polish.yaml", inputs={"task": "x"}) for _ in range(3)]

        def listed() -> set[str]:
            return {row["id"] for row in client.get("/runs")["runs"]}

        wait_until(lambda: len(listed()) == 2)
        assert waiting in listed()
        assert listed() - {waiting} <= set(ended)


@pytest.mark.slow
def test_a_run_that_is_deleted_while_it_is_listed_hides_no_others(
    client: Client, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, ended = client.finish("gated.yaml")["id"], client.finish()["id"]
    listed = SqliteStore.list_runs

    def prune_after(store: SqliteStore, *which: Any) -> Any:
        rows = listed(store, *which)
        monkeypatch.setattr(SqliteStore, "list_runs", listed)
        with closing(SqliteStore(project / ".whorl" / "whorl.db")) as other:
            pruned = asyncio.run(other.prune(-1.0))
        assert pruned.runs == (ended,)
        return rows

    monkeypatch.setattr(SqliteStore, "list_runs", prune_after)
    assert [row["id"] for row in client.get("/runs")["runs"]] == [waiting]


def test_a_mistake_of_ours_is_an_answer_like_others(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SqliteStore, "list_runs", None)
    answer = client.http.get("/api/runs")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "I900")
    assert "TypeError" in answer.json()["error"]["message"]


def test_a_store_that_is_deleted_fails_the_health_and_every_write(
    client: Client, project: Path
) -> None:
    slow = client.start("slow.yaml")
    client.turns(slow)
    assert client.http.get("/healthz").status_code == 200

    shutil.rmtree(project / ".whorl")

    health = client.http.get("/healthz")
    assert (health.status_code, health.json()["error"]["code"]) == (503, "R907")
    refused = client.http.post("/api/runs", json={"workflow": "slow.yaml"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "R907")
    assert "was deleted" in refused.json()["error"]["message"]
    wait_until(lambda: client.http.get(f"/api/runs/{slow}").status_code == 503)
    assert not (project / ".whorl").exists()


def test_damage_that_nobody_reads_fails_the_health(client: Client, project: Path) -> None:
    client.finish("polish.yaml", "succeeded")
    store = project / ".whorl" / "whorl.db"
    with closing(apsw.Connection(str(store))) as other:
        find = "SELECT rootpage FROM sqlite_schema WHERE name = 'journal'"
        page = other.execute(find).get
        other.set_busy_timeout(60_000)
        other.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)

    with open(os.open(store, os.O_WRONLY), "wb") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xa5" * 4096)

    wait_until(lambda: client.http.get("/healthz").status_code == 503)
    error = client.http.get("/healthz").json()["error"]
    assert error["code"] == "R906"
    # By the look through its pages, or by whatever the server happened to read meanwhile.
    assert "is damaged" in error["message"]
    refused = client.http.post("/api/runs", json={"workflow": "slow.yaml"})
    assert refused.status_code == 503
