"""A fork is there as a whole or not at all, and can be replayed for ever, whoever made it."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import pytest

from conformance.person import fork_run
from conformance.replies import Script, ScriptedWorkers
from crash.stored import Crash
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.errors import StoreError, UsageError
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.forking import Fork, look_into
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.sqlite.pruning import delete
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.ir import Workflow

pytestmark = pytest.mark.threat(row="T1")


_OLD = """
whorl: 1
inputs: {word: {type: string, default: old}}
steps:
  plan: {ask: "Plan."}
  work:
    repeat:
      until: "iteration >= 4"
      at_most: 6
      steps:
        write: {if: "iteration != 2", ask: "{{ word }} {{ iteration }}"}
"""
_LONGER = _OLD + '  publish: {ask: "Publish {{ work.write }}."}\n'
_FULLER = _OLD.replace("        write:", '        think: {ask: "Think."}\n        write:')
_EARLIER = _OLD.replace("  work:\n", '  research: {ask: "Search."}\n  work:\n')


def _read(text: str) -> Workflow:
    return read_workflow(text, "case.yaml").workflow


def _runtime(store: SqliteStore) -> tuple[LocalRuntime, Script]:
    names = ("plan", "write", "publish", "think", "research")
    script = Script({name: {"text": f"by {name}"} for name in names})
    return LocalRuntime(store, ScriptedWorkers(script)), script


async def _ended(runtime: LocalRuntime, text: str = _OLD) -> RunId:
    run, _ = await runtime.start(_read(text), Start())
    assert await runtime.drive(run) == "succeeded"
    return run


async def _forked(
    store: SqliteStore, source: RunId, at: str, text: str, run: str = "fork"
) -> RunId:
    fork = Fork(at, workflow=_read(text))
    found, _ = await fork_run(store, source, fork, run=RunId(run), now=time.time())
    return found


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("strike", [1, 2, 3])
def test_a_fork_that_was_cut_short_is_made_again(tmp_path: Path, strike: int) -> None:
    fork = Fork("work[3]", {"word": "new"}, key="once")
    struck = 0
    armed = False

    def hook(point: str, run: str, events: Sequence[Event]) -> None:
        nonlocal struck
        struck += armed
        if armed and struck == strike:
            raise Crash

    async def make() -> None:
        nonlocal armed
        store = SqliteStore(tmp_path / "runs.db", crash_hook=hook)
        run = await _ended(_runtime(store)[0])
        armed = True
        with pytest.raises(StoreError):
            await fork_run(store, run, fork, run=RunId("first"), now=time.time())
        store.close()

    async def make_again() -> tuple[bool, list[str], list[RunId]]:
        later = time.monotonic() + 60
        async with SqliteStore(tmp_path / "runs.db", monotonic=lambda: later) as store:
            runtime, script = _runtime(store)
            source = store.runs()[-1].id
            found, made = await fork_run(store, source, fork, run=RunId("2nd"), now=time.time())
            assert await runtime.drive(found) == "succeeded"
            kinds = [entry.event.kind for entry in store.read(found)]
            assert kinds.count("run.forked") == 1
            return made, [str(i["prompt"]) for i in script.inputs.values()], store.forks(source)

    asyncio.run(make())
    made, prompts, forks = asyncio.run(make_again())

    assert made == (strike < 3)
    assert prompts == ["new 3", "new 4"]
    assert len(forks) == 1


@pytest.mark.parametrize("text", [_OLD, _LONGER, _FULLER, _EARLIER])
@pytest.mark.parametrize("at", ["work[2]", "work[3]"])
def test_all_iterations_of_a_fork_can_be_looked_into(tmp_path: Path, text: str, at: str) -> None:
    async def look() -> None:
        async with SqliteStore(tmp_path / "runs.db") as store:
            runtime, _ = _runtime(store)
            source = await _ended(runtime)
            run = await _forked(store, source, at, text)
            assert await runtime.drive(run) == "succeeded"
            again = await _forked(store, run, "work[2]", text, "again")
            assert await runtime.drive(again) == "succeeded"
            wanted = frozenset(f"work[{number}]" for number in range(1, 5))
            for _ in range(2):
                for fork in (run, again):
                    found = look_into(store, fork, wanted)
                    assert set(found) == wanted
                    assert found["work[1]"]["results"] == {"write": "by write"}
                    assert ("think" in found["work[4]"]["results"]) == (text is _FULLER)  # type: ignore[operator]
                await store._ask(
                    lambda tables: delete(tables, source, "succeeded", time.time() + 60)
                )
            with pytest.raises(UsageError, match="no run"):
                store.workflow(source)

    asyncio.run(look())


@pytest.mark.parametrize(
    ("old", "new", "calls"),
    [
        (_OLD, _LONGER, ["work[3]/write", "work[4]/write", "publish"]),
        (_LONGER, _OLD, ["work[3]/write", "work[4]/write"]),
        (_OLD, _EARLIER, ["work[3]/write", "work[4]/write"]),
        (_EARLIER, _OLD, ["work[3]/write", "work[4]/write"]),
    ],
)
def test_another_version_may_have_more_or_fewer_steps(
    tmp_path: Path, old: str, new: str, calls: list[str]
) -> None:
    async def run() -> list[str]:
        async with SqliteStore(tmp_path / "runs.db") as store:
            runtime, script = _runtime(store)
            source = await _ended(runtime, old)
            script.forget_calls()
            fork = await _forked(store, source, "work[3]", new)
            assert await asyncio.wait_for(runtime.drive(fork), PATIENCE_S) == "succeeded"
            result = fold(store, fork).machine.state["result"]
            assert result["output"] is not None
            return list(script.performed)

    assert asyncio.run(run()) == calls
