"""Runs on a real server: keys, requests, forks, mirrors, large values, encryption, kills."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from functools import partial
from itertools import cycle
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.enums.v1 import EventType
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest

from cluster.cluster import PROJECT, whorl, worker
from cluster.histories import record
from conformance.replies import Script, ScriptedWorkers
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.errors import StoreError, UsageError
from whorl.interpreter import BEHAVIOUR
from whorl.interpreter.events import Event
from whorl.providers.redaction import Secret, redact
from whorl.providers.settings import TemporalSettings
from whorl.runtimes.journal.forking import Fork
from whorl.runtimes.journal.journal import SNAPSHOT_EVERY, RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.wings.cluster import runtime as module
from whorl.wings.cluster.connection import execution_of
from whorl.wings.cluster.messages import INTENTS_MAX, check_runnable
from whorl.wings.cluster.mirror import Mirror
from whorl.wings.cluster.runtime import Following, _new_part
from whorl.wings.cluster.worker import working

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cluster.cluster import Server
    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.providers.task import Effect
    from whorl.wings.cluster.messages import Beginning
    from whorl.wings.cluster.runtime import TemporalRuntime

SHOWN = ("task.started", "iteration.finished")

POLISH = """
whorl: 1
name: polish
steps:
  polish:
    repeat: {until: [iteration >= 3], at_most: 5, steps: {write: {ask: "Write {{ iteration }}"}}}
  ok: {approve: "Is it good?"}
outputs: {text: "{{ polish.write }}"}
"""


def _workflow(text: str = POLISH) -> Workflow:
    return read_workflow(text, "polish.yaml").workflow


def _workers(reply: Any = "a draft") -> ScriptedWorkers:
    return ScriptedWorkers(Script({"write": reply}))


def _told(store: SqliteStore, run: RunId) -> list[tuple[int, str, str, float]]:
    return [(e.seq, e.event.kind, e.event.address, e.event.at) for e in store.read(run)]


def _asked(kind: str, address: str = "", **body: Any) -> Event:
    return Event(kind, address, 0.0, {"request": os.urandom(4).hex(), **body})


async def _ended(runtime: TemporalRuntime) -> RunId:
    run, _ = await runtime.start(_workflow(), Start())
    assert await runtime.drive(run) == "waiting"
    assert await runtime.drive(run, [_asked("gate.decided", "ok", approved=True)]) == "succeeded"
    return run


def test_a_run_that_has_ended_continues_and_is_forked(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        mirror = tmp_path / "goes-on.db"
        async with server.runtime(mirror, _workers(), events_max=30) as runtime:
            run = await _ended(runtime)
            more = _asked("run.continued", at="polish", iterations=2)
            assert await runtime.drive(run, [more]) == "waiting"
            await runtime.drive(run, [_asked("run.cancelled")])
            with pytest.raises(UsageError):
                await runtime.request(run, _asked("run.paused"))

            fork, _ = await runtime.fork(run, Fork("polish[2]"))
            assert await runtime.drive(fork) == "waiting"

            # The mirror can be made again from what the server has, by anybody.
            runs, told = (run, fork), [_told(runtime.store, each) for each in (run, fork)]
            assert [runtime.store.run(each).status for each in runs] == ["cancelled", "waiting"]
            async with SqliteStore(tmp_path / "again.db", is_mirror=True) as again:
                mirrors = [Mirror(runtime.client, again) for _ in range(3)]
                await asyncio.gather(*(m.bring(each) for m in mirrors for each in runs))
                assert told == [_told(again, each) for each in runs]
                assert again.run(run).created_at == told[0][0][3]
                assert again.run(fork).parent == run

    asyncio.run(go())


def test_calls_of_a_run_are_made_by_any_worker_of_its_queue(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        async with server.runtime(tmp_path / "calls.db") as runtime:
            drives = working(runtime.client, runtime.settings, _workers(), queue="others")
            calls = working(runtime.client, runtime.settings, _workers(), calls_only=True)
            async with drives, calls:
                run, _ = await runtime.start(_workflow(), Start())
                assert await runtime.drive(run) == "waiting"
            about = [
                event.activity_task_scheduled_event_attributes
                for each in (await record("", run, runtime)).histories()
                for event in each.events
                if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
            ]
            # The queue of the run: the server gives a call to the worker that drives its run at
            # once, where that worker makes calls.
            assert {each.task_queue.name for each in about} == {f"calls.db-{BEHAVIOUR}"}

    asyncio.run(go())


def test_a_run_of_the_version_before_is_driven_and_moves_to_this_one(
    server: Server, tmp_path: Path
) -> None:
    async def go() -> None:
        async with server.runtime(tmp_path / "older.db", _workers(), events_max=10) as runtime:
            begin = runtime._begin

            async def begin_older(beginning: Beginning, **more: Any) -> bool:
                return await begin(replace(beginning, behaviour=BEHAVIOUR - 1), **more)

            runtime._begin = begin_older  # type: ignore[method-assign]
            run, _ = await runtime.start(_workflow(), Start())
            assert await runtime.drive(run) == "waiting"
            begun = [each.events[0] for each in (await record("", run, runtime)).histories()]
            about = [each.workflow_execution_started_event_attributes for each in begun]
            queues = [each.task_queue.name for each in about]
            assert queues[0] == f"older.db-{BEHAVIOUR - 1}"
            assert set(queues[1:]) == {f"older.db-{BEHAVIOUR}"}

    asyncio.run(go())


def test_a_watcher_that_leaves_does_not_block_writers(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        claimed = asyncio.Event()
        async with server.runtime(tmp_path / "left.db", _workers()) as runtime:
            run, _ = await runtime.start(_workflow(), Start())
            assert await runtime.drive(run) == "waiting"
            async with SqliteStore(tmp_path / "again.db", is_mirror=True) as store:
                mirror, claim = Mirror(runtime.client, store), store.claim
                await mirror.bring(run)
                await runtime.drive(run, [_asked("gate.decided", "ok", approved=True)])

                async def claim_slowly(run: RunId) -> int:
                    owner = await claim(run)
                    claimed.set()
                    await asyncio.sleep(0.1)
                    return owner

                store.claim = claim_slowly  # type: ignore[method-assign]
                leaving = asyncio.create_task(mirror.bring(run))
                await claimed.wait()
                leaving.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await leaving
                async with asyncio.timeout(PATIENCE_S):
                    await mirror.bring(run)
                assert store.run(run).status == "succeeded"

    asyncio.run(go())


def test_a_mirror_outlives_what_the_server_keeps(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        async with server.runtime(tmp_path / "outlives.db", _workers()) as runtime:
            run = await _ended(runtime)
            told = _told(runtime.store, run)
            service, execution = runtime.client.workflow_service, WorkflowExecution(workflow_id=run)
            await service.delete_workflow_execution(
                DeleteWorkflowExecutionRequest(namespace="default", workflow_execution=execution)
            )
            async with asyncio.timeout(PATIENCE_S):
                while await execution_of(runtime.client, run):
                    await asyncio.sleep(0.05)
            await runtime.refresh()
            await runtime.refresh(run)
            assert _told(runtime.store, run) == told
            with pytest.raises(UsageError, match="has deleted the history"):
                await runtime.request(run, _asked("run.continued", at="polish", iterations=2))

    asyncio.run(go())


def test_a_mirror_has_no_secret_of_who_reads(server: Server, tmp_path: Path) -> None:
    """Intents are made by workflows, which do not know what an operator keeps secret."""
    secret = Secret("Write 2")

    async def go() -> None:
        async with server.runtime(tmp_path / "read.db", _workers()) as runtime:
            run = await _ended(runtime)
            async with SqliteStore(tmp_path / "redacted.db", is_mirror=True) as store:
                redacted = partial(redact, secrets=(secret,))
                await Mirror(runtime.client, store, redacted=redacted).bring(run)
                told = [str(e.event.body) for e in store.read(run) if e.event.kind in SHOWN]
            assert "Write 1" in str(told)
            assert secret.reveal() not in str(told)

    asyncio.run(go())


def test_a_request_without_a_worker_is_reported(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        async with server.runtime(tmp_path / "alone.db") as runtime:
            runtime.patience_s = 1.0
            with pytest.raises(StoreError, match="none polls the queue") as fault:
                await runtime.start(_workflow(), Start())
            assert fault.value.code == "R922"

    asyncio.run(go())


@pytest.mark.threat(row="T22")
def test_large_values_lie_in_a_folder_and_are_encrypted(
    server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither the server's database nor the folder has a readable word of them."""
    large, folder, key = "plainly readable " * 1_200_000, tmp_path / "values", token_urlsafe()
    more = {"values": str(folder), "encrypt_with": Secret(key)}

    async def go() -> RunId:
        async with server.runtime(tmp_path / "large.db", _workers(large), **more) as runtime:
            run = await _ended(runtime)
            finished = [e.event for e in runtime.store.read(run, kinds=frozenset({"run.finished"}))]
            assert finished[0].body["outputs"] == {"text": large}

            # Those who have no key can read all other runs of the namespace.
            readable = server.runtime(tmp_path / "plain.db", _workers())
            async with readable as plain:
                mine = await _ended(plain)
                caplog.clear()
                await plain.refresh()
                found = {row.id for row in plain.store.runs()}
                assert (mine in found, run in found) == (True, False)
                assert "cannot be read here, the first: " in caplog.text
                with pytest.raises(StoreError, match="it is encrypted"):
                    await plain.refresh(run)

            other = {**more, "encrypt_with": Secret(token_urlsafe())}
            async with server.runtime(tmp_path / "other.db", queue="large.db", **other) as stranger:
                with pytest.raises(StoreError, match="another key"):
                    await stranger.refresh(run)
            return run

    run = asyncio.run(go())
    assert any(len(file.read_bytes()) > 1_000_000 for file in folder.iterdir())
    kept = [file.read_bytes() for file in server.folder.glob("temporal.db*")]
    assert any(run.encode() in data for data in kept)
    stored = kept + [file.read_bytes() for file in folder.iterdir()]
    assert not any(b"plainly readable" in data for data in stored)


TINY = """
whorl: 1
name: tiny
steps:
  l:
    repeat:
      until: [iteration >= {n}]
      at_most: {n}
      steps:
        write: {{use: nothing}}
outputs: {{text: "{{{{ l.write }}}}"}}
"""


class _Effortless(ScriptedWorkers):
    """Their tasks have no effects: a workflow has them done in its own tasks."""

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        return "none"


def test_many_steps_without_effects_are_several_tasks_of_a_worker(
    server: Server, tmp_path: Path
) -> None:
    """What a task has done stands in the history at its end: a long one would be lost whole."""
    steps = 2 * INTENTS_MAX + 10

    async def go() -> None:
        workers = _Effortless(Script({"write": "a draft"}))
        async with server.runtime(tmp_path / "tiny.db", workers, events_max=300) as runtime:
            run, _ = await runtime.start(_workflow(TINY.format(n=steps)), Start())
            assert await runtime.drive(run) == "succeeded"
            kinds = frozenset({"iteration.finished"})
            assert len(list(runtime.store.read(run, kinds=kinds))) == steps
            histories = (await record("", run, runtime)).histories()
            markers = [_longest_stretch(history) for history in histories]
            assert len(markers) > 1
            assert max(markers) <= INTENTS_MAX

    asyncio.run(go())


@pytest.mark.slow
def test_a_mirror_has_snapshots_in_the_middle_of_an_execution(
    server: Server, tmp_path: Path
) -> None:
    """What somebody looks at is never far from one, however long the run is."""

    async def go() -> None:
        workers = _Effortless(Script({"write": "a draft"}))
        async with server.runtime(tmp_path / "snapshots.db", workers) as runtime:
            run, _ = await runtime.start(_workflow(TINY.format(n=4 * INTENTS_MAX)), Start())
            await runtime.client.get_workflow_handle(run).result()
            assert len((await record("", run, runtime)).histories()) == 1
            await runtime.refresh(run)
            gaps, last = [], runtime.store.run(run).last_seq
            while found := runtime.store.last_snapshot(run, 0, last - 1):
                gaps.append(last - found[0])
                last = found[0]
            # A store keeps the last two, and fewer of those before them.
            assert len(gaps) >= 2, gaps
            assert max(gaps[:2]) <= 2 * SNAPSHOT_EVERY
            assert runtime.store.run(run).status == "succeeded"

    asyncio.run(go())


def _longest_stretch(history: Any) -> int:
    """The most markers that follow upon the end of one task."""
    longest = count = 0
    for event in history.events:
        if event.event_type == EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
            count = 0
        count += event.event_type == EventType.EVENT_TYPE_MARKER_RECORDED
        longest = max(longest, count)
    return longest


def test_a_run_that_computes_too_long_is_ended(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        workers = _Effortless(Script({"write": "a draft"}))
        async with server.runtime(tmp_path / "cpu.db", workers, cpu_max_s=0.02) as runtime:
            run, _ = await runtime.start(_workflow(TINY.format(n=10_000)), Start())
            assert await runtime.drive(run) == "failed"
            [ended] = runtime.store.read(run, kinds=frozenset({"run.finished"}))
            error: Any = ended.event.body["error"]
            assert error["code"] == "R105"
            assert "computed for 0.02 s of CPU" in error["message"]

    asyncio.run(go())


NEEDS = {
    "folder": ('steps: {s: {run: "ls"}}', "queues"),
    "secret": ("inputs: {pin: secret}\nsteps: {s: {ask: 'Hi'}}", "encrypt_with"),
}


@pytest.mark.parametrize("need", NEEDS)
def test_what_the_cluster_lacks_is_refused_with_the_line_to_write(need: str) -> None:
    from whorl.interpreter.plan import Plan

    text, line = NEEDS[need]
    plan = Plan(_workflow(f"whorl: 1\nname: n\n{text}\n"))
    with pytest.raises(UsageError) as fault:
        check_runnable(plan, TemporalSettings())

    assert fault.value.code == "W920"
    assert line in fault.value.help
    check_runnable(plan, TemporalSettings(queues={"run": "q"}, encrypt_with=Secret("k")))


LONG = """
whorl: 1
name: long
steps:
  polish:
    repeat:
      until: [iteration >= 6]
      at_most: 6
      steps: {pause: {wait: 1s}, write: {ask: "Write {{ iteration }}"}}
outputs: {text: "{{ polish.write }}"}
"""


def test_a_run_survives_its_workers(
    server: Server, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    """Two workers, of which one is killed and the other told to leave when the run has ended."""
    config = PROJECT.format(address=server.address, queue="survives")
    (tmp_path / "whorl.toml").write_text(config)
    (tmp_path / "long.yaml").write_text(LONG)
    with worker(tmp_path) as killed, worker(tmp_path) as left:
        run = whorl(tmp_path, "run", "long.yaml", "--events")
        try:
            assert run.stdout is not None
            for number, line in enumerate(run.stdout):
                if number == 12:
                    killed.kill()
                if '"run.finished"' in line:
                    break
            assert run.wait(PATIENCE_S) == 0
        finally:
            run.kill()
            run.communicate()
        code, text, fault = command(tmp_path, "show", "last")
        assert (code, "succeeded" in text) == (0, True), text + fault
        left.send_signal(signal.SIGTERM)
        assert left.wait(PATIENCE_S) == 0


def test_following_a_run_again_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server looks for runs that have ended while others begin to follow them again."""

    class Brought:
        looks, server = 0, None

        async def bring_all(self) -> None:
            pass

        async def bring_schedules(self) -> None:
            self.looks += 1

        async def stale_runs(self, limit: int, since: float) -> list[str]:
            return ["one", "two"]

        async def bring(self, run: str, *, wait: bool) -> None:
            await asyncio.sleep(0)

    async def go() -> None:
        mirror: Any = Brought()
        following = Following(mirror, None, lambda run: False)
        looking = asyncio.create_task(following.follow_all())
        ticks = cycle((0, 1, 2, 3, 5))
        while mirror.looks < 100 and not looking.done():
            async with following.followed(RunId("one")):
                for _ in range(next(ticks)):
                    await asyncio.sleep(0)
            async with following.followed(RunId("two")):
                for _ in range(next(ticks)):
                    await asyncio.sleep(0)
        assert not looking.done()
        looking.cancel()

    monkeypatch.setattr(module, "LOOK_S", 0.0)
    asyncio.run(go())


@pytest.mark.parametrize(
    ("before", "text", "new"),
    [("", "a draft", "a draft"), ("a dr", "a draft", "aft"), ("one two", "two three", " three"),
     ("one", "two", "two"), ("same", "same", "")],
)  # fmt: skip
def test_only_what_is_new_of_a_streamed_text_is_shown(before: str, text: str, new: str) -> None:
    """A heartbeat has the end of what was streamed."""
    assert _new_part(before, text) == new
