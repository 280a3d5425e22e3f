"""What operators look at: metrics, health, readiness, and the log in JSON."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import shutil
import signal
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from served import Client, connected, serving_process

from waiting import PATIENCE_S, wait_until
from whorl.interfaces.http.operations import JsonLines
from whorl.interpreter.events import Event
from whorl.providers.redaction import Secret
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.services import runs
from whorl.services.serving.watchers import NAMES_MAX, OTHER, Metrics, text_of_families

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from served import Spawn


def _parsed(text: str) -> dict[str, dict[tuple[str, ...], float]]:
    """The samples of a page by their names and the values of their labels."""
    found: dict[str, dict[tuple[str, ...], float]] = {}
    for family in text_string_to_metric_families(text):
        assert family.documentation, family.name
        for sample in family.samples:
            place = found.setdefault(sample.name, {})
            labels = tuple(sample.labels.values())
            assert labels not in place
            place[labels] = sample.value
    return found


def _metrics(client: Client) -> dict[str, dict[tuple[str, ...], float]]:
    answer = client.http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return _parsed(answer.text)


def _settled(client: Client, ended: int) -> dict[str, dict[tuple[str, ...], float]]:
    """The metrics once so many runs have ended, and none is driven: they come after the journal."""
    found: dict[str, dict[tuple[str, ...], float]] = {}

    def is_settled() -> bool:
        found.clear()
        found.update(_metrics(client))
        counted = sum(found.get("whorl_runs_ended_total", {}).values())
        return counted == ended and found["whorl_runs_driven"] == {(): 0}

    wait_until(is_settled)
    return found


@pytest.mark.slow
def test_metrics_tell_what_runs_did(client: Client) -> None:
    done = client.finish()
    found, usage = _settled(client, 1), done["result"]["usage"]
    assert round(sum(found["whorl_cost_usd_total"].values()), 9) == round(usage["cost_usd"], 9)
    tokens = usage["input_tokens"] + usage["output_tokens"]
    assert sum(found["whorl_tokens_total"].values()) == tokens

    client.finish("gated.yaml", "waiting")
    client.finish("failing.yaml", "failed")
    found = _settled(client, 2)
    ended = {("polish", "succeeded"): 1, ("failing", "failed"): 1}
    assert found["whorl_runs_ended_total"] == ended
    assert found["whorl_iterations_total"] == {("polish",): 3}
    assert found["whorl_loops_ended_total"] == {("polish", "condition_met"): 1}
    calls = found["whorl_calls_total"]
    assert sum(calls.values()) == usage["calls"] + 3
    assert {outcome for _, outcome in calls} <= {"answered", "failed"}
    assert found["whorl_call_seconds_count"][("ask",)] == usage["calls"] + 3
    assert found["whorl_run_seconds_count"] == {("polish",): 1, ("failing",): 1}
    assert found["whorl_runs"] == {("gated", "waiting"): 1}
    assert found["whorl_runs_driven"] == {(): 0}
    assert found["whorl_store_bytes"][()] > 0
    assert found["whorl_event_loop_lag_seconds"][()] >= 0


class AnyRuntime:
    """Drives runs of one workflow each, which were started at 0."""

    store = SimpleNamespace(run=lambda run: SimpleNamespace(created_at=0.0))

    def plan(self, run: RunId) -> Any:
        return SimpleNamespace(workflow=SimpleNamespace(name=f'w"{run}\\\n'))


def test_the_number_of_series_is_bounded_and_names_are_escaped() -> None:
    metrics = Metrics()
    for number in range(NAMES_MAX + 50):
        usage: Any = {"calls": 1, "input_tokens": 5, "output_tokens": 1, "cost_usd": 0.5}
        events = [
            Event("task.started", "a", 1.0, {"kind": "ask"}),
            Event("task.held", "a", 2.0, {}),
            Event("task.finished", "a", 4.0, {"usage": usage, "model": f"m{number}"}),
            Event("task.in_doubt", "b", 4.0, {}),
            Event("run.finished", "", 2.0e6, {"status": "succeeded"}),
        ]
        entries = [Entry(seq, event) for seq, event in enumerate(events, 1)]
        metrics.take(RunId(f"r{number}"), entries, cast("Any", AnyRuntime()))
    found = _parsed(text_of_families(metrics.families()))

    ended = found["whorl_runs_ended_total"]
    assert len(ended) == NAMES_MAX + 1
    assert ended[(OTHER, "succeeded")] == 50
    assert ended[('w"r1\\\n', "succeeded")] == 1
    assert len(found["whorl_cost_usd_total"]) == NAMES_MAX + 1
    assert sum(found["whorl_cost_usd_total"].values()) == 0.5 * (NAMES_MAX + 50)
    buckets = found["whorl_call_seconds_bucket"]
    assert buckets[("ask", "2.5")] == 0
    assert buckets[("ask", "5.0")] == buckets[("ask", "+Inf")] == NAMES_MAX + 50
    assert found["whorl_run_seconds_bucket"][(OTHER, "86400.0")] == 0
    assert found["whorl_calls_in_doubt_total"] == {(): NAMES_MAX + 50}


def test_who_is_ready_and_who_may_see_numbers(client: Client, project: Path) -> None:
    def asked(path: str) -> httpx2.Response:
        return httpx2.get(f"{client.address}{path}", timeout=PATIENCE_S, trust_env=False)

    assert asked("/metrics").status_code == 401
    assert asked("/readyz").json() == {"status": "ready"}
    assert asked("/healthz").status_code == 200
    shutil.rmtree(project / ".whorl")
    wait_until(lambda: asked("/readyz").status_code == 503)
    assert asked("/readyz").json()["error"]["code"] == "R907"


def _health(client: Client) -> list[int]:
    """What is said of health and readiness, and by the number that is made of it."""
    answers = [client.http.get(path).status_code for path in ("/healthz", "/readyz")]
    return [*answers, int(_metrics(client)["whorl_ready"][()])]


def _limit(process: subprocess.Popen[str], most: int) -> None:
    """How large a file may be that the process writes: beyond that, its disk is full."""
    hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, hard))


@pytest.mark.slow
@pytest.mark.parametrize("is_idle", [False, True], ids=["a run waits", "nothing else is written"])
def test_a_store_without_room_is_neither_healthy_nor_ready(spawn: Spawn, is_idle: bool) -> None:
    process, client = serving_process(spawn)
    try:
        run = client.start("gated.yaml" if is_idle else "slow.yaml")
        wait_until(lambda: client.get(f"/runs/{run}")["last_seq"] >= 4)
        assert _health(client) == [200, 200, 1]

        _limit(process, 4096)
        refused = client.http.post("/api/runs", json={"workflow": "slow.yaml"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "R900")
        wait_until(lambda: _health(client) == [503, 503, 0])
        for path in ("/healthz", "/readyz"):
            error = client.http.get(path).json()["error"]
            assert error["code"] == "R900"
            assert "cannot be read or written" in error["message"]

        _limit(process, resource.RLIM_INFINITY)
        wait_until(lambda: _health(client) == [200, 200, 1])
        if not is_idle:
            before = client.get(f"/runs/{run}")["iteration"]
            wait_until(lambda: client.get(f"/runs/{run}")["iteration"] > before)
        client.post(f"/runs/{run}/cancel")
    finally:
        client.close()
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def test_the_log_in_json_names_runs_and_requests_and_no_secrets(
    project: Path, spawn: Spawn
) -> None:
    process, client = serving_process(spawn, "--log", "json")
    run = client.finish()["id"]
    client.http.get("/hooks/workflows/a/b?sig=5ecret")
    client.close()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)

    lines = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert {"time", "level", "logger", "message"} <= set(lines[0])
    ended = next(line for line in lines if "has ended" in line["message"])
    assert (ended["run"], ended["level"]) == (run, "info")
    started = next(line for line in lines if line.get("path") == "/api/runs")
    assert (started["method"], started["status"]) == ("POST", 201)
    assert client.http.headers["Authorization"].partition(" ")[2] not in err
    assert "5ecret" not in err


def test_a_line_of_the_log_shows_no_secret() -> None:
    formatter = JsonLines((Secret("hunter2-hunter2"),))
    record = logging.LogRecord(
        "whorl", 30, "", 1, "run %s is left: %s", ("r1", "k=hunter2-hunter2"), None
    )
    line = json.loads(formatter.format(record))

    assert line["run"] == "r1"
    assert "hunter2" not in line["message"]


# A server whose store is taken away says so, and drives nothing any more.


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
