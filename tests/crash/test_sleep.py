"""A run that sleeps for long is dropped from memory, and nothing about it is lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from conformance.local import CountingStore, LoopClock, StoreLoop
from conformance.replies import Script, ScriptedWorkers
from whorl.dialects import read_workflow
from whorl.interpreter.events import Event
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.starting import Start

if TYPE_CHECKING:
    from pathlib import Path

_SLEEPER = """
whorl: 1
steps:
  work:
    repeat:
      at_most: 1
      steps:
        write: {ask: "Write."}
  pause: {wait: 10m}
  end: {ask: "End."}
"""


async def _sleep_and_look(
    runtime: LocalRuntime, store: CountingStore, event: Event | None
) -> tuple[list[str], str]:
    """Starts the sleeper, looks at its journal a minute later, and then perhaps asks for more."""
    run, _ = await runtime.start(read_workflow(_SLEEPER, "sleeper.yaml").workflow, Start())
    driving = asyncio.create_task(runtime.drive(run))
    await asyncio.sleep(120)
    kinds = [entry.event.kind for entry in store.read(run)]
    if event is not None:
        await runtime.request(run, event)
    return kinds, await driving


def _run(path: Path, event: Event | None) -> tuple[list[str], str, float]:
    store = CountingStore(path / "runs.db")
    loop = StoreLoop(lambda: store.under_way > 0)
    script = Script({"write": {"text": "a"}, "end": {"text": "b"}})
    runtime = LocalRuntime(store, ScriptedWorkers(script), clock=LoopClock(loop))
    loop.is_busy = lambda: store.under_way + runtime.turns.under_way > 0
    try:
        kinds, status = loop.run_until_complete(_sleep_and_look(runtime, store, event))
        return kinds, status, loop.time()
    finally:
        loop.close()
        store.close()


def test_what_a_sleeping_run_has_said_is_in_its_journal(tmp_path: Path) -> None:
    kinds, status, seconds = _run(tmp_path, None)

    assert "loop.finished" in kinds
    assert status == "succeeded"
    assert round(seconds) == 600


def test_a_request_wakes_a_sleeping_run(tmp_path: Path) -> None:
    _, status, seconds = _run(tmp_path, Event("run.cancelled", "", 0.0))

    assert status == "cancelled"
    assert seconds < 200
