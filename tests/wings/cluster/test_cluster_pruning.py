"""Runs that are deleted from a mirror stay away, as long as nobody wants them again."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import pytest
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest

from conformance.replies import Script, ScriptedWorkers
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.errors import UsageError
from whorl.interpreter.events import Event
from whorl.providers.settings import Retention
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.wings.cluster.mirror import Mirror

if TYPE_CHECKING:
    from pathlib import Path

    from cluster.cluster import Server
    from whorl.runtimes.journal.journal import RunId
    from whorl.wings.cluster.runtime import TemporalRuntime

LOOP = """
whorl: 1
name: polish
steps:
  polish: {repeat: {at_most: 2, steps: {write: {ask: "Write {{ iteration }}"}}}}
"""


def _workers() -> ScriptedWorkers:
    return ScriptedWorkers(Script({"write": "a draft"}))


async def _ended(runtime: TemporalRuntime, key: str = "") -> RunId:
    workflow = read_workflow(LOOP, "polish.yaml").workflow
    run, _ = await runtime.start(workflow, Start(key=key))
    assert await runtime.drive(run) == "succeeded"
    return run


def _ids(store: SqliteStore) -> list[str]:
    return [row.id for row in store.runs()]


def _more() -> Event:
    body: dict[str, Any] = {"request": os.urandom(4).hex(), "at": "polish", "iterations": 1}
    return Event("run.continued", "", 0.0, body)


@pytest.mark.parametrize("way", ["prune", "retention"])
def test_a_run_that_was_pruned_stays_away(way: str, server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        async with server.runtime(tmp_path / f"{way}.db", _workers()) as runtime:
            store = runtime.store
            gone, kept = await _ended(runtime), await _ended(runtime)
            if way == "prune":
                pruned = await store.prune(store.clock() - store.run(kept).created_at)
            else:
                pruned = await store.retire(Retention(max_runs=1))
            assert pruned.runs == (gone,)
            await runtime.refresh()
            await runtime.refresh(gone)
            assert gone not in _ids(store)
            assert gone not in await runtime.mirror.stale_runs(1_000, 0.0)
            with pytest.raises(UsageError, match="no run"):
                await runtime.request(gone, _more())

            # Whoever reads the file elsewhere, or makes a new one.
            async with SqliteStore(tmp_path / f"{way}.db", is_mirror=True) as same:
                await Mirror(runtime.client, same).bring(gone)
                assert gone not in _ids(same)
            async with SqliteStore(tmp_path / f"{way}-again.db", is_mirror=True) as other:
                await Mirror(runtime.client, other).bring(gone)
                assert gone in _ids(other)

    asyncio.run(go())


def test_a_run_that_was_pruned_comes_again_when_it_is_used(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        async with (
            server.runtime(tmp_path / "here.db", _workers()) as here,
            server.runtime(tmp_path / "there.db", queue="here.db") as there,
        ):
            run = await _ended(here, key="pruned once")
            await there.refresh(run)
            await there.store.prune(-1.0)
            assert run not in _ids(there.store)
            assert await here.drive(run, [_more()]) == "succeeded"
            await there.refresh(run)
            assert there.store.run(run).last_seq == here.store.run(run).last_seq

            await there.store.prune(-1.0)
            assert run not in _ids(there.store)
            workflow = read_workflow(LOOP, "polish.yaml").workflow
            assert await there.start(workflow, Start(key="pruned once")) == (run, False)
            assert await there.drive(run) == "succeeded"

    asyncio.run(go())


def test_what_the_server_has_deleted_too_is_forgotten(server: Server, tmp_path: Path) -> None:
    async def go() -> None:
        async with server.runtime(tmp_path / "forgotten.db", _workers()) as runtime:
            run = await _ended(runtime)
            await runtime.store.prune(-1.0)
            await runtime.refresh()
            assert run in runtime.store.pruned_runs()
            deleted = DeleteWorkflowExecutionRequest(
                namespace="default", workflow_execution=WorkflowExecution(workflow_id=run)
            )
            await runtime.client.workflow_service.delete_workflow_execution(deleted)
            async with asyncio.timeout(PATIENCE_S):
                while run in runtime.store.pruned_runs():
                    await asyncio.sleep(0.05)
                    await runtime.refresh()
            assert run not in _ids(runtime.store)

    asyncio.run(go())
