"""`whorl serve` on a cluster: every button of the page, over HTTP, and what starts by itself."""

from __future__ import annotations

import asyncio
import time
from contextlib import ExitStack, suppress
from datetime import timedelta
from itertools import pairwise
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import pytest
from served import CONFIG, POLISH, Client, connected
from temporalio.api.workflowservice.v1 import RegisterNamespaceRequest
from temporalio.client import Client as Temporal
from temporalio.service import RPCError

from cluster.cluster import Server, whorl, worker
from waiting import PATIENCE_S, wait_until
from whorl.wings.automation.webhooks import standard_signature
from whorl.wings.cluster.connection import connect
from whorl.wings.cluster.worker import missing_attributes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


CLUSTER = """
[runtime]
kind = "temporal"
[runtime.temporal]
address = "{address}"
queue = "{queue}"
encrypt_with = "{key}"
heartbeat = "3m"
[runtime.temporal.queues]
run = "{queue}"
"""
# It speaks, and ends when a file is there.
HOLD = """
whorl: 1
name: hold
inputs: {n: number}
steps:
  hold: {run: "echo so far; while [ ! -e go{{ n }} ]; do sleep 0.02; done; echo done"}
  report: {ask: "Report on it"}
"""
LOOPED = """
whorl: 1
name: looped
steps:
  polish:
    repeat:
      at_most: 5
      steps: {hold: {run: "while [ ! -e looped ]; do sleep 0.02; done; echo done"}}
  ok: {approve: "Is it good?"}
outputs: {words: "{{ ok.feedback }}"}
"""
SECRET = """
whorl: 1
name: secret
inputs: {pin: secret}
steps:
  show: {run: [printf, "%s", "{{ pin }}"]}
  check: {approve: "Go on?"}
outputs: {text: "{{ show.stdout }}"}
"""


def make_cluster_project(folder: Path, server: Server, queue: str) -> Path:
    config = CONFIG.replace('["sh"]', '["sh", "printf"]')
    config += CLUSTER.format(address=server.address, queue=queue, key=token_urlsafe())
    (folder / "whorl.toml").write_text(config)
    (folder / "polish.yaml").write_text(POLISH)
    (folder / "secret.yaml").write_text(SECRET)
    (folder / "looped.yaml").write_text(LOOPED)
    (folder / "hold.yaml").write_text(HOLD)
    return folder


@pytest.fixture(scope="module")
def project(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project on the cluster, with a worker."""
    folder = make_cluster_project(tmp_path_factory.mktemp("served"), server, "served")
    with worker(folder):
        yield folder


@pytest.fixture(scope="module")
def client(project: Path) -> Iterator[Client]:
    with connected(project) as client:
        yield client


def test_every_button_works_on_a_run_of_the_cluster(client: Client) -> None:
    body = {"workflow": "polish.yaml", "inputs": {"task": "x"}, "key": "order 7"}
    run = client.post("/runs", body, 201)["run"]
    assert client.post("/runs", body, 200)["run"] == run
    assert client.wait(run)["status"] == "succeeded"
    assert client.post("/runs", body, 200)["run"] == run
    client.post(f"/runs/{run}/continue", {"at": "polish", "iterations": 1})
    assert client.wait(run, "succeeded")["iteration"] == 4
    client.post(f"/runs/{run}/accept", {"at": "polish", "iteration": 2})
    assert client.wait(run, "succeeded")["result"]["outputs"]["draft"] == "draft two"
    fork = client.post(f"/runs/{run}/fork", {"at": "polish[2]"}, 201)["run"]
    forked = client.wait(fork, "succeeded")
    assert (forked["parent"], forked["iteration"]) == (run, 3)
    client.post(f"/runs/{run}/cancel", {}, 409)
    assert {each["id"] for each in client.get("/runs")["runs"]} >= {run, fork}
    graph = client.get(f"/runs/{run}/graph")
    assert graph


def test_watchers_are_shown_what_a_call_streams_and_runs_are_steered(
    client: Client, project: Path
) -> None:
    run = client.start("hold.yaml", inputs={"n": 1})
    texts: list[str] = []
    with client.stream(f"/runs/{run}/events") as events:
        for event in events:
            if event.get("event") == "delta":
                if not texts:
                    client.post(f"/runs/{run}/pause")
                    (project / "go1").touch()
                texts.append(event["data"]["text"])
            status = event["data"].get("status")
            if event.get("event") == "status" and status == "paused":
                client.post(f"/runs/{run}/resume")
            if event.get("event") == "end":
                break
    # Its end may come with the answer, in place of another piece.
    shown = "".join(texts)
    assert "so far".startswith(shown[:6])
    assert shown.count("so fa") == 1
    assert client.get(f"/runs/{run}")["status"] == "succeeded"
    held = client.start("hold.yaml", inputs={"n": 2})
    client.post(f"/runs/{held}/cancel")
    assert client.wait(held)["status"] == "cancelled"


def test_a_loop_is_stopped_and_a_question_is_answered_with_no(
    client: Client, project: Path
) -> None:
    run = client.start("looped.yaml")
    wait_until(lambda: "task.started" in client.http.get(f"/api/runs/{run}/events").text)
    client.post(f"/runs/{run}/stop", {"at": "polish"})
    (project / "looped").touch()
    assert client.wait(run, "waiting")["iteration"] == 1
    client.post(f"/runs/{run}/reject", {"at": "ok", "feedback": "too short"})
    assert client.wait(run, "succeeded")["result"]["outputs"] == {"words": "too short"}
    client.post(f"/runs/{run}/reject", {"at": "ok"}, 409)


@pytest.mark.parametrize(("overlap", "number"), [("skip", 31), ("queue", 32), ("parallel", 33)])
def test_a_schedule_that_is_run_now_keeps_to_its_overlap(
    client: Client, project: Path, server: Server, overlap: str, number: int
) -> None:
    new = {"workflow": "hold.yaml", "name": overlap, "every": "1h", "overlap": overlap}
    client.post("/schedules", {**new, "inputs": {"n": number}}, 201)

    def runs() -> list[str]:
        [listed] = [s for s in client.get("/schedules")["schedules"] if s["name"] == overlap]
        return [each["run"] for each in listed["firings"] if each["state"] == "started"]

    async def skipped() -> int:
        handle = (await Temporal.connect(server.address)).get_schedule_handle(f"whorl/{overlap}")
        return int((await handle.describe()).info.num_actions_skipped_overlap)

    assert client.post(f"/schedules/{overlap}/pause", {}, 200)["paused"]
    client.post(f"/schedules/{overlap}/run", {}, 202)
    wait_until(lambda: len(runs()) == 1)
    assert not client.post(f"/schedules/{overlap}/resume", {}, 200)["paused"]
    client.post(f"/schedules/{overlap}/run", {}, 202)
    if overlap == "skip":
        wait_until(lambda: asyncio.run(skipped()) == 1)
    if overlap == "parallel":
        wait_until(lambda: len(runs()) == 2)
    (project / f"go{number}").touch()
    if overlap == "queue":
        wait_until(lambda: len(runs()) == 2)
    for run in runs():
        client.wait(run, "succeeded")
    assert len(runs()) == (1 if overlap == "skip" else 2)
    if overlap == "queue":
        spans = [client.get(f"/runs/{run}/events")["events"] for run in runs()]
        assert _are_apart([(told[0]["at"], told[-1]["at"]) for told in spans])
    client.http.delete(f"/api/schedules/{overlap}")


def test_secret_inputs_reach_calls_and_nothing_else(client: Client, project: Path) -> None:
    pin = "quite-a-secret-7351"
    run = client.start("secret.yaml", inputs={"pin": pin})
    client.wait(run, "waiting")
    client.post(f"/runs/{run}/approve", {"at": "check"})
    found = client.wait(run, "succeeded")
    assert found["result"]["outputs"] == {"text": "***"}
    assert pin not in client.http.get(f"/api/runs/{run}/events").text
    assert not any(pin.encode() in file.read_bytes() for file in project.rglob("*.db*"))
    # The call had it: what it printed was taken out.
    told = client.get(f"/runs/{run}/events")["events"]
    shown = [each["body"]["value"] for each in told if each["kind"] == "task.finished"]
    assert "***" in str(shown[0])


def _are_apart(spans: list[tuple[float, float]]) -> bool:
    """Whether each begins when the one before has ended."""
    return all(before[1] <= after[0] for before, after in pairwise(sorted(spans)))


TICK = 'whorl: 1\nname: tick\nsteps:\n  a: {ask: "Write it"}\n'


class Everything:
    """All processes of a project: a server, and on the cluster its workers and its server, too."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.stack = folder, ExitStack()
        self.temporal = Server(folder / "temporal") if kind == "temporal" else None
        (folder / "temporal").mkdir()

    def start(self) -> Client:
        if self.temporal is not None:
            self.temporal.start()
            self.stack.callback(self.temporal.stop)
            if not (self.folder / "whorl.toml").exists():
                make_cluster_project(self.folder, self.temporal, "again")
            self.stack.enter_context(worker(self.folder))
        elif not (self.folder / "whorl.toml").exists():
            (self.folder / "whorl.toml").write_text(CONFIG)
        serving = whorl(self.folder, "serve", "--port", "0", "--no-open")
        self.stack.callback(serving.communicate)
        self.stack.callback(serving.kill)
        assert serving.stdout is not None
        address, _, token = serving.stdout.readline().strip().partition("/#token=")
        client = Client(address, token)
        self.stack.callback(client.close)
        return client

    def kill(self) -> None:
        self.stack.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local", "temporal"])
def test_schedules_and_webhooks_outlive_a_restart_of_everything(tmp_path: Path, kind: str) -> None:
    everything = Everything(tmp_path, kind)
    (tmp_path / "tick.yaml").write_text(TICK)
    try:
        client = everything.start()
        added = whorl(tmp_path, "server", "hook", "add", "tick.yaml").communicate(
            timeout=PATIENCE_S
        )[0]
        secret = next(line for line in added.splitlines() if line.startswith("whsec_"))
        before = _called(client, secret, "order-1")
        new = {"workflow": "tick.yaml", "every": "2s", "overlap": "parallel", "backfill": True}
        client.post("/schedules", new, 201)
        client.post("/schedules", new, 409)
        wait_until(lambda: len(_fired(client)) >= 2)
        known = _fired(client)
        everything.kill()

        client = everything.start()
        assert _called(client, secret, "order-1") == before
        assert _called(client, secret, "order-2") != before
        wait_until(lambda: len(_fired(client) - known) >= 2)
        # What was due while nobody was there is made up for.
        wait_until(lambda: _gaps(client) == {2.0})
        if everything.temporal is not None:
            assert asyncio.run(_made_up_for(everything.temporal)) == timedelta(days=366)
        for run in _fired(client):
            assert client.wait(run)["status"] == "succeeded"
        assert client.post("/schedules/tick/pause", {}, 200)["paused"]
        assert client.http.delete("/api/schedules/tick").status_code == 200
        assert client.get("/schedules")["schedules"] == []
    finally:
        everything.kill()


def _fired(client: Client) -> set[str]:
    listed = client.get("/schedules")["schedules"]
    return {each["run"] for each in listed[0]["firings"] if each["state"] == "started"}


async def _made_up_for(server: Server) -> timedelta:
    """How long the server may have been away."""
    client = await Temporal.connect(server.address)
    about = await client.get_schedule_handle("whorl/tick").describe()
    return about.schedule.policy.catchup_window


def _gaps(client: Client) -> set[float]:
    """The seconds between one time at which a run was started and the next."""
    firings = client.get("/schedules")["schedules"][0]["firings"]
    dues = sorted(each["due"] for each in firings if each["state"] == "started")
    return {after - before for before, after in pairwise(dues)}


def _called(client: Client, secret: str, delivery: str) -> str:
    at, body = str(int(time.time())), b"{}"
    signature = standard_signature(secret, delivery, at, body)
    headers = {"webhook-id": delivery, "webhook-timestamp": at, "webhook-signature": signature}
    headers["content-type"] = "application/json"
    answer = client.http.post("/hooks/tick", content=body, headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["run"])


async def _make_namespace(server: Server, name: str) -> None:
    """Makes a namespace, and waits until the server knows it."""
    client = await connect(server.settings("q", namespace=name))
    retention: Any = timedelta(days=1)
    await client.workflow_service.register_namespace(
        RegisterNamespaceRequest(namespace=name, workflow_execution_retention_period=retention)
    )
    async with asyncio.timeout(PATIENCE_S):
        while True:
            with suppress(RPCError):
                await missing_attributes(client)
                return
            await asyncio.sleep(0.2)


def test_a_cluster_is_set_up_looked_at_and_left_for_once(
    server: Server, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    def printed(*words: str) -> tuple[int, str]:
        code, text, fault = command(tmp_path, *words)
        return code, text + fault

    asyncio.run(_make_namespace(server, "looked-at"))
    make_cluster_project(tmp_path, server, "looked-at")
    config = (tmp_path / "whorl.toml").read_text()
    config = config.replace("[runtime.temporal]", '[runtime.temporal]\nnamespace = "looked-at"')
    (tmp_path / "whorl.toml").write_text(config)

    code, text = printed("server", "worker", "--setup")
    assert (code, "added: WhorlStatus" in text) == (0, True), text
    assert "has all that it needs" in printed("server", "worker", "--setup")[1]
    code, text = printed("project", "doctor")
    assert code == 1
    assert "start a worker: `whorl server worker`" in text
    mirror = tmp_path / ".whorl" / "whorl.mirror.db"
    with worker(tmp_path):
        code, text = printed("run", "polish.yaml", "x")
        assert code == 0, text
        before = mirror.read_bytes()
        code, text = printed("project", "doctor")
        assert (code, text.count("workers poll it")) == (0, 3), text
        assert "it was up to date with the cluster" in text
        code, text = printed("run", "polish.yaml", "y")
        assert code == 0, text
        mirror.write_bytes(before)
        assert "it was behind by 1 run that ended on the cluster" in printed("project", "doctor")[1]
        assert "it was up to date with the cluster" in printed("project", "doctor")[1]
    code, text = printed("run", "polish.yaml", "x", "--runtime", "local", "--json")
    assert (code, '"succeeded"' in text) == (0, True), text
    assert (tmp_path / ".whorl" / "whorl.db").exists()
