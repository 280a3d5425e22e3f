"""Runs of a workflow that wait for their turn, where only so many of them run at once."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from served import Client, connected, serving_process

from waiting import PATIENCE_S, wait_until
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from served import Spawn

EXAMPLE = Path(__file__).parents[2] / "examples" / "logic-apps"
GATE = """
whorl: 1
name: one
inputs: {n: number}
steps:
  hold: {run: "while [ ! -e go{{ n }} ]; do sleep 0.02; done"}
"""


@pytest.fixture
def queued(project: Path) -> Path:
    """A project in which one run of a workflow runs at once, and ends when a file is there."""
    with (project / "whorl.toml").open("a") as file:
        file.write("\n[queue]\none = 1\n")
    (project / "one.yaml").write_text(GATE)
    return project


def _start(client: Client, number: int) -> str:
    return client.start("one.yaml", inputs={"n": number})


def _positions(client: Client, *runs: str) -> list[Any]:
    found = {run["id"]: run for run in client.get("/runs")["runs"]}
    return [found[run]["position"] for run in runs]


def _go(project: Path, *numbers: int) -> None:
    for number in numbers:
        (project / f"go{number}").touch()


def test_more_runs_wait_in_order_and_hold_up_no_others(queued: Path) -> None:
    with connected(queued) as client:
        runs = [_start(client, number) for number in range(4)]
        wait_until(lambda: _positions(client, *runs) == [None, 1, 2, 3])
        second = client.get(f"/runs/{runs[1]}")
        assert (second["status"], second["driver"]) == ("running", "nobody")
        assert second["waiting_for"] == {"reason": "waits for its turn, as number 1"}
        assert 'whorl_queue_length{workflow="one"} 3.0' in client.http.get("/metrics").text
        # Another workflow has its own turn.
        client.finish("polish.yaml", "succeeded")
        # Out of order: the second one ends its wait before the first one does, and stays second.
        _go(queued, 1)
        assert _positions(client, *runs) == [None, 1, 2, 3]
        _go(queued, 0)
        client.wait(runs[1], "succeeded")
        wait_until(lambda: _positions(client, *runs) == [None, None, None, 1])
        _go(queued, 2, 3)
        for run in runs:
            client.wait(run, "succeeded")
        began = [client.get(f"/runs/{run}/events")["events"][1]["at"] for run in runs]
        assert began == sorted(began)


def test_who_waits_can_be_cancelled(queued: Path) -> None:
    with connected(queued) as client:
        runs = [_start(client, number) for number in range(3)]
        wait_until(lambda: _positions(client, *runs) == [None, 1, 2])
        client.post(f"/runs/{runs[1]}/cancel")
        client.wait(runs[1], "cancelled")
        wait_until(lambda: _positions(client, *runs) == [None, None, 1])
        # Nobody jumps the queue by going on with what has not begun.
        client.post(f"/runs/{runs[2]}/resume", status=409)
        _go(queued, 0, 2)
        client.wait(runs[2], "succeeded")


@pytest.mark.slow
def test_the_queue_outlives_its_servers(queued: Path, spawn: Spawn) -> None:
    """The server is killed; two others go on together, and the limit holds for both."""
    process, first = serving_process(spawn)
    runs = [_start(first, number) for number in range(3)]
    wait_until(lambda: _positions(first, *runs) == [None, 1, 2])
    first.close()
    process.kill()
    process.communicate(timeout=PATIENCE_S)
    with connected(queued) as one, connected(queued) as other:
        wait_until(lambda: one.get(f"/runs/{runs[0]}")["driver"] in ("here", "elsewhere"))
        assert _positions(other, *runs) == [None, 1, 2]
        late = _start(other, 3)
        wait_until(lambda: _positions(one, *runs, late) == [None, 1, 2, 3])
        _go(queued, 0, 1, 2, 3)
        for run in (*runs, late):
            one.wait(run, "succeeded")
        ends = [one.get(f"/runs/{run}")["updated_at"] for run in (*runs, late)]
        assert ends == sorted(ends)


def test_a_run_in_the_background_waits_without_a_server(queued: Path, spawn: Spawn) -> None:
    runs = []
    for number in range(2):
        process = spawn("run", "one.yaml", "-i", f"n:={number}", "--detach")
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err
        runs.append(out.strip())
    with closing(SqliteStore(queued / ".whorl" / "whorl.db")) as store:
        wait_until(lambda: store.is_owned(runs[0]))
        assert [store.run(run).position for run in runs] == [None, 1]
        shown = spawn("ls").communicate(timeout=PATIENCE_S)[0]
        assert "waits for its turn, as number 1" in shown
        _go(queued, 0, 1)
        wait_until(lambda: all(store.run(run).status == "succeeded" for run in runs))


def test_a_run_at_a_terminal_does_not_wait_in_a_queue(queued: Path, spawn: Spawn) -> None:
    with connected(queued) as client:
        _start(client, 0)
        _go(queued, 7)
        process = spawn("run", "one.yaml", "-i", "n:=7")
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0
        _go(queued, 0)


@pytest.mark.slow
def test_of_a_list_no_more_run_at_once_than_a_server_takes_up(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    with (tmp_path / "whorl.toml").open("a") as file:
        file.write("\n[server]\nmax_concurrent = 2\n")
    orders = [{"item": "eggs", "count": number} for number in range(1, 7)]
    body = {"workflow": "Import/workflow.json", "inputs": {"body": {"orders": orders}}}
    with connected(tmp_path) as client:
        runs = client.post("/runs", body, 201)["runs"]
        totals = [client.wait(run, "succeeded")["result"]["outputs"]["total"] for run in runs]

    assert totals == [3, 6, 9, 12, 15, 18]
    with closing(SqliteStore(tmp_path / ".whorl" / "whorl.db")) as store:
        assert store.queue_length("Import") == 0
        # The last one has taken a place that another one has left.
        assert store.is_queued(runs[-1]) is False
