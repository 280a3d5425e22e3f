"""Schedules over HTTP and on the command line, and over a restart of everything."""

from __future__ import annotations

import json
import signal
from contextlib import closing, suppress
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from served import Client, serving_process

from waiting import PATIENCE_S, wait_until
from whorl.runtimes.sqlite import SqliteStore
from whorl.wings.automation.rules import key_of
from whorl.wings.automation.table import ScheduleTable

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from served import Spawn

    from whorl.wings.automation.table import Firing


def test_schedules_are_made_listed_steered_and_removed(client: Client) -> None:
    new = {
        "workflow": "polish.yaml",
        "cron": "0 7 * * mon-fri",
        "zone": "Europe/Berlin",
        "inputs": {"task": "a haiku"},
        "budget_usd": 0.5,
    }
    made = client.post("/schedules", new, 201)
    assert (made["name"], made["when"]) == ("polish", "0 7 * * mon-fri (Europe/Berlin)")
    assert (made["file"], made["next"] > 0, made["trouble"]) == ("polish.yaml", True, "")
    client.post("/schedules", new, 409)
    assert client.get("/schedules")["schedules"] == [made]
    assert client.post("/schedules/polish/pause", {}, 200)["paused"]
    assert client.post("/schedules/polish/pause", {}, 200)["next"] is None
    client.post("/schedules/polish/run", {}, 202)

    def has_started() -> bool:
        firings = client.get("/schedules")["schedules"][0]["firings"]
        return [firing["state"] for firing in firings] == ["started"]

    wait_until(has_started)
    run = client.get("/schedules")["schedules"][0]["firings"][0]["run"]
    assert client.wait(run)["status"] == "succeeded"
    assert not client.post("/schedules/polish/resume", {}, 200)["paused"]
    assert client.http.delete("/api/schedules/polish").status_code == 200
    assert client.http.delete("/api/schedules/polish").status_code == 404
    assert client.get(f"/runs/{run}")["status"] == "succeeded"
    deeds = [(row["action"], row["file"]) for row in client.get("/audit")["audit"]]
    assert deeds[-1] == ("add schedule", "polish.yaml")
    assert ("pause schedule", "polish") in deeds


def firings(project: Path) -> list[Firing]:
    with closing(SqliteStore(project / ".whorl" / "whorl.db")) as store:
        table = ScheduleTable(store)
        return [f for schedule in table.all() for f in reversed(table.newest(schedule, 1_000))]


@pytest.mark.slow
def test_a_schedule_continues_over_a_restart_of_everything(project: Path, spawn: Spawn) -> None:
    """Servers are killed and stopped, two at a time; no time is made twice, none is left out."""
    (project / "tick.yaml").write_text('whorl: 1\nname: tick\nsteps:\n  a: {value: "1"}\n')
    words = ("--every", "2s", "--backfill", "--overlap", "parallel", "--json")
    out, err = spawn("server", "schedule", "add", "tick.yaml", *words).communicate(
        timeout=PATIENCE_S
    )
    assert json.loads(out)["when"] == "every 2s", err
    servers: list[subprocess.Popen[str]] = []
    try:
        for how in (signal.SIGKILL, signal.SIGTERM):
            before = started(project)
            servers = []
            for process, client in (serving_process(spawn), serving_process(spawn)):
                servers.append(process)
                client.close()
            wait_until(lambda known=before: len(started(project) - known) >= 2)
            for server in servers:
                server.send_signal(how)
                server.communicate(timeout=PATIENCE_S)
    finally:
        for server in servers:
            with suppress(ProcessLookupError):
                server.kill()
            server.communicate()

    dues = [firing.due for firing in firings(project)]
    assert {after - before for before, after in pairwise(dues)} == {2.0}
    with closing(SqliteStore(project / ".whorl" / "whorl.db")) as store:
        runs = {row.id: row.key for row in store.runs(limit=10_000)}
        (schedule,) = ScheduleTable(store).all()
    # Of a start that was not noted, the next server would have found the run.
    assert started(project) <= set(runs)
    made = {key_of(schedule, due) for due in dues}
    assert len(made & set(runs.values())) >= 4
    assert len(set(runs.values())) == len(runs)


def started(project: Path) -> set[str]:
    return {firing.run for firing in firings(project) if firing.state == "started"}
