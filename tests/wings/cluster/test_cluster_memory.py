"""What runs remember for later ones, on a real server: loops, `memory` steps, commands."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from cluster.cluster import PROJECT, Server, worker
from cluster.histories import CONVERTER, FOLDER, read
from conformance.replies import Script, ScriptedWorkers
from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.language.libraries import Amendment
from whorl.runtimes.journal.forking import Fork
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.wings.cluster.decoder import Decoder
from whorl.wings.cluster.memory import ClusterMemories
from whorl.wings.cluster.mirror import Mirror

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whorl.language import Json
    from whorl.wings.cluster.runtime import TemporalRuntime

LESSONS = """
whorl: 1
name: lessons
steps:
  try:
    repeat:
      until: iteration >= 3
      at_most: 3
      memory: {keep: 5, across_runs: true, record: {n: "{{ iteration }}", said: "{{ write }}"}}
      steps: {write: {ask: "Write {{ past | length }}"}}
outputs: {text: "{{ try.write }}"}
"""
ORKA = """
orchestrator: {id: notes, strategy: sequential, agents: [keep, find]}
agents:
  - id: keep
    type: memory
    namespace: facts
    config: {operation: write}
    prompt: "{{ input }}"
  - id: find
    type: memory
    namespace: facts
    config: {operation: read}
    prompt: "capital"
"""


def _memories(runtime: TemporalRuntime) -> ClusterMemories:
    return ClusterMemories(runtime.client, runtime.settings)


def _prompts(runtime: TemporalRuntime, run: Any) -> list[Json]:
    events = [entry.event for entry in runtime.store.read(run)]
    inputs: list[Any] = [e.body["inputs"] for e in events if e.kind == "task.started"]
    return [each["prompt"] for each in inputs]


def test_a_loop_begins_with_what_earlier_runs_remember(server: Server, tmp_path: Path) -> None:
    workers = ScriptedWorkers(Script({"write": "a draft"}))
    workflow = read_workflow(LESSONS, "lessons.yaml").workflow

    async def go() -> None:
        async with server.runtime(tmp_path / "lessons.db", workers, events_max=15) as runtime:
            prompts = []
            for start in (Start(), Start(), Start(cold=True)):
                run, _ = await runtime.start(workflow, start)
                assert await runtime.drive(run) == "succeeded"
                prompts.append(_prompts(runtime, run))

            assert prompts == [
                ["Write 0", "Write 1", "Write 2"],
                ["Write 3", "Write 4", "Write 5"],
                ["Write 0", "Write 1", "Write 2"],
            ]
            [(row, newest)] = await _memories(runtime).all()
            assert (row.records, newest) == (5, [{"number": 3, "n": 3, "said": "a draft"}])
            records: Any = await _memories(runtime).memory_records(row.key)
            assert [record["n"] for record in records] == [2, 3, 1, 2, 3]
            # The mirror has the entries alone: what is remembered is the cluster's.
            assert runtime.store.memories() == []

            fork, _ = await runtime.fork(run, Fork("try[3]"))
            assert await runtime.drive(fork) == "succeeded"
            records = await _memories(runtime).memory_records(row.key)
            assert [record["n"] for record in records] == [3, 1, 2, 3, 3]

    asyncio.run(go())


def test_a_run_has_ended_when_all_that_it_remembers_is_kept(tmp_path: Path) -> None:
    """Whoever starts another one because this one is over finds the records."""
    recorded = read(FOLDER / "2" / "remembered.json.gz")
    [history] = recorded.histories()
    done = []

    async def go() -> None:
        async with SqliteStore(tmp_path / "ended.db", is_mirror=True) as store:
            nobody: Any = None
            mirror, decoder = Mirror(nobody, store), Decoder(CONVERTER, "", "")
            for event in history.events:
                await decoder.take(event)
                await mirror._keep(decoder)
                if decoder.pilot.machine.done:
                    done.append(store.run(RunId(recorded.run)).status)

    asyncio.run(go())

    assert set(done[:-1]) == {"running"}
    assert done[-1] == "succeeded"


def test_records_are_added_once_and_changed_by_one_at_a_time(
    server: Server, tmp_path: Path
) -> None:
    key = "memory/" + "long " * 200

    def counted(records: list[Json]) -> Amendment:
        last: Any = records[-1]
        changed = {"id": "count", "n": last["n"] + 1}
        return Amendment(changed["n"], changed)

    async def go() -> None:
        workers = ScriptedWorkers(Script({}))
        async with server.runtime(tmp_path / "records.db", workers) as runtime:
            memories = _memories(runtime)
            assert await memories.memory_records(key) == []
            assert await memories.forget(key) == 0
            added = [
                await memories.remember(key, {"id": name, "n": 0}, once=name, keep=20)
                for name in ("a", "b", "a", "count")
            ]
            assert added == [True, True, False, True]

            values = [
                (await each).value
                for each in [
                    asyncio.create_task(memories.amend(key, counted, keep=20)) for _ in range(5)
                ]
            ]
            assert sorted(values, key=str) == [1, 2, 3, 4, 5]
            records: Any = await memories.memory_records(key)
            assert [(each["id"], each["n"]) for each in records] == [
                ("a", 0),
                ("b", 0),
                ("count", 5),
            ]
            drop = Amendment(None, None, frozenset({"a", "b"}))
            await memories.amend(key, lambda records: drop, keep=20)
            assert await memories.forget(key) == 1
            assert await memories.memory_records(key) == []
            await memories.remember(key, {"id": "a"}, once="a", keep=20)
            assert await memories.memory_records(key) == [{"id": "a"}]

    asyncio.run(go())


def test_a_memory_that_grows_too_large_says_what_to_set(server: Server, tmp_path: Path) -> None:
    text = "x" * 400_000

    async def go() -> None:
        workers = ScriptedWorkers(Script({}))
        async with server.runtime(tmp_path / "large.db", workers) as runtime:
            memories = _memories(runtime)
            for once in "abc":
                await memories.remember("k", {"id": once, "t": text}, once=once, keep=9)
            with pytest.raises(StoreError, match="more than Temporal takes") as fault:
                await memories.remember("k", {"id": "d", "t": text}, once="d", keep=9)
            assert "values" in fault.value.help

            assert len(await memories.memory_records("k")) == 3

    asyncio.run(go())


def test_steps_and_commands_share_what_is_remembered(
    server: Server, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "whorl.toml").write_text(PROJECT.format(address=server.address, queue="facts"))
    (tmp_path / "notes.yml").write_text(ORKA)

    def printed(*words: str, code: int = 0) -> str:
        found, text, fault = command(tmp_path, *words)
        assert found == code, text + fault
        return text + fault

    with worker(tmp_path):
        printed("run", "notes.yml", "Paris is the capital of France")
        found = printed("run", "notes.yml", "Rome is the capital of Italy")
        assert "Paris is the capital of France" in found
        [row] = json.loads(printed("project", "memory", "ls", "--json"))
        assert (row["key"], row["records"]) == ("memory/facts", 2)
        assert row["newest"][0]["content"] == "Rome is the capital of Italy"
        assert "deleted 2 records" in printed("project", "memory", "rm", "memory/facts")
        assert "no loop has saved records" in printed("project", "memory", "ls")
        printed("project", "memory", "rm", "memory/facts", code=2)
