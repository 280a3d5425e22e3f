"""The life of runs beyond that of a server: what the next one takes up, and what it leaves."""

from __future__ import annotations

import asyncio
import json
import signal
from typing import TYPE_CHECKING, Any

import pytest
from served import Client, connected, make_project

import whorl
from trusted import TRUSTED
from waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from served import Spawn

GATE = """
whorl: 1
name: gate
steps:
  check: {approve: {message: "Now?", timeout: 1s, on_timeout: approve}}
  write: {ask: "Write it"}
outputs: {text: "{{ write }}"}
"""


def _goes_on(client: Client, run: str) -> None:
    client.turns(run, client.get(f"/runs/{run}")["iteration"])


def _started(spawn: Spawn, client: Client, *words: str) -> tuple[subprocess.Popen[str], Any]:
    """A process that runs a workflow, and the run once it is under way."""
    known = {run["id"] for run in client.get("/runs")["runs"]}
    process = spawn("run", *words)

    def new() -> list[Any]:
        found = client.get("/runs")["runs"]
        return [run for run in found if run["id"] not in known and run["iteration"] > 0]

    wait_until(lambda: bool(new()))
    return process, new()[0]


def _end(process: subprocess.Popen[str], number: signal.Signals) -> None:
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)


def test_a_run_of_a_terminal_is_left_to_people(client: Client, spawn: Spawn) -> None:
    process, run = _started(spawn, client, "slow.yaml", "--key", "order 7")
    _end(process, signal.SIGKILL)
    other, detached = _started(spawn, client, "slow.yaml", "--detach")
    other.communicate(timeout=PATIENCE_S)
    # The server looks at both: once it has been at work for the second, it has left the first.
    _goes_on(client, detached["id"])

    found = client.get(f"/runs/{run['id']}")
    assert (found["status"], found["driver"]) == ("interrupted", "nobody")
    assert found["origin"] == "terminal"
    # Whoever has its key goes on with it.
    again = client.post("/runs", {"workflow": "slow.yaml", "key": "order 7"}, 200)
    assert (again["run"], again["created"], again["status"]) == (run["id"], False, "running")
    _goes_on(client, run["id"])
    for each in (run, detached):
        client.post(f"/runs/{each['id']}/cancel")


@pytest.mark.parametrize("is_up", [True, False], ids=["beside", "later"])
def test_a_server_fires_the_timer_that_a_command_left(
    project: Path, spawn: Spawn, is_up: bool
) -> None:
    (project / "gate.yaml").write_text(GATE)

    def leave() -> None:
        process = spawn("run", "gate.yaml")
        process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 4

    if not is_up:
        leave()
    with connected(project) as client:
        if is_up:
            leave()
        run = client.get("/runs")["runs"][0]
        done = client.wait(run["id"], "succeeded")

        assert done["result"]["outputs"] == {"text": "draft one"}
        assert client.kinds(run["id"]).count("timer.fired") == 1


def test_a_timer_of_a_run_without_its_task_is_left_to_those_who_have_it(
    project: Path, spawn: Spawn
) -> None:
    (project / "gate.yaml").write_text(GATE.replace('{ask: "Write it"}', "{use: mine}"))
    config, store = project / "whorl.toml", project / ".whorl"
    tasks = whorl.Tasks()
    tasks.add("mine", lambda: "done")

    async def start() -> str:
        async with whorl.Session(config=config, store=store, tasks=tasks) as session:
            run = await session.start(project / "gate.yaml")
            await run.result()
            return run.id

    run = asyncio.run(start())
    with connected(project) as client:
        wait_until(lambda: bool(client.get(f"/runs/{run}")["waiting_for"]))
        found = client.get(f"/runs/{run}")
        assert (found["status"], found["origin"]) == ("waiting", "python")
        assert "uses the task 'mine', which is not known" in found["waiting_for"]["reason"]
        assert "mine" in spawn("ls").communicate(timeout=PATIENCE_S)[0]
        shown = "".join(spawn("show", run).communicate(timeout=PATIENCE_S))
        assert "no server will start it" in shown
        refused = client.post(f"/runs/{run}/approve", {"at": "check"}, 409)
        assert refused["error"]["code"] == "P114"

    async def approve() -> None:
        async with whorl.Session(config=config, store=store) as session:
            with pytest.raises(whorl.UsageError, match="which is not known") as caught:
                await session.run(run).approve()
            assert caught.value.code == "P114"
            await session.run(run).resume()
            assert session.run(run).status == "waiting"

    asyncio.run(approve())
    done = asyncio.run(whorl.resume(run, config=config, store=store, tasks=tasks))
    assert done.outputs == {"text": "done"}


@pytest.mark.slow
def test_a_server_takes_up_only_the_runs_of_its_own_project(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    home = TRUSTED | {"WHORL_HOME": str(tmp_path / "store")}
    runs = []
    for folder in folders:
        folder.mkdir()
        with connected(make_project(folder), environment=home) as client:
            runs.append(client.start("slow.yaml"))
            client.wait(runs[-1], "running")
    with connected(folders[1], environment=home) as client:
        client.wait(runs[1], "running")
        other = client.get(f"/runs/{runs[0]}")
        refused = client.post(f"/runs/{runs[0]}/resume", status=409)
        listed = {one["id"]: one["project"] for one in client.get("/runs")["runs"]}

        assert (other["status"], other["project"]) == ("interrupted", str(folders[0]))
        assert listed == {runs[0]: str(folders[0]), runs[1]: None}
        assert f"belongs to the project {str(folders[0])!r}" in refused["error"]["message"]
        assert f"`cd {folders[0]}`" in refused["error"]["help"]
        with connected(folders[0], environment=home) as own:
            own.wait(runs[0], "running")
            for run in runs:
                client.post(f"/runs/{run}/cancel")
                client.wait(run, "cancelled")


def test_last_is_the_first_row_of_every_list(project: Path, client: Client, spawn: Spawn) -> None:
    own = client.finish("gated.yaml")["id"]

    async def newer() -> list[str]:
        session = whorl.Session(config=project / "whorl.toml", store=project / ".whorl")
        async with session:
            for key in ("experiment:e:1:2", "try:1"):
                started = await session.start(whorl.build("x", {"a": {"value": 1}}), key=key)
                await started.result()
            return [session.run("last").id, session.runs()[0].id]

    found = [*asyncio.run(newer()), client.get("/runs")["runs"][0]["id"]]
    for words in (("show", "last", "--json"), ("ls", "--json")):
        told = json.loads(spawn(*words).communicate(timeout=PATIENCE_S)[0])
        found.append((told[0] if isinstance(told, list) else told)["run"])
    assert found == [own] * 5
