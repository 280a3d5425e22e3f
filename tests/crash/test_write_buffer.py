"""What waits to be written, what is written at once, and that nothing leaves before it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from conformance.replies import Script, ScriptedWorkers
from crash.in_memory import Crash
from crash.priced import Priced
from strikes import StruckJournal
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.errors import ProviderError
from whorl.providers.task import Reply
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.simulated import MemoryJournal, SimulatedRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.providers.task import Effect, Emit, Request
    from whorl.runtimes.journal.journal import Journal, RunId

pytestmark = pytest.mark.threat(row="T1")


_MIXED = """
whorl: 1
steps:
  work:
    repeat:
      until: iteration >= 5
      at_most: 9
      steps:
        first: {use: count}
        second: {use: count}
        third: {ask: "Say {{ second }}."}
        fourth: {use: count}
outputs: {said: "{{ work.fourth }}"}
"""
_FREE = """
whorl: 1
steps:
  work: {repeat: {until: iteration >= 30, at_most: 40, steps: {one: {use: count}}}}
"""
_REPLIES = {"first": 1, "second": 2, "third": {"text": "ok"}, "fourth": 4, "one": 1}


class _Counted(StruckJournal):
    """Counts appends and crashes at one of them."""

    def __init__(self, crash_at: int = 0) -> None:
        super().__init__(strike=self._strike_at)
        self.appends = 0
        self._crash_at = crash_at

    def _strike_at(self, point: str, run: str) -> None:
        if point == "before":
            self.appends += 1
            if self.appends == self._crash_at:
                raise Crash


def _simulated(text: str, journal: MemoryJournal, script: Script) -> tuple[SimulatedRuntime, RunId]:
    runtime = SimulatedRuntime(ScriptedWorkers(script), journal)
    return runtime, runtime.start(read_workflow(text, "case.yaml").workflow, {})


def _replied(journal: Journal, run: RunId) -> list[str]:
    return [e.event.address for e in journal.read(run) if e.event.kind == "task.finished"]


def test_a_reply_is_written_before_anything_is_made_of_it() -> None:
    """One that was paid for at once, and the others no later than the next intent."""
    journal, script = _Counted(), Script(_REPLIES)
    runtime, run = _simulated(_MIXED, journal, script)
    unwritten: list[str] = []
    written: list[list[str]] = []

    def look(address: str) -> None:
        replied = _replied(journal, run)
        paid = [known for known in script.performed if known.endswith("third") and known != address]
        unwritten.extend(set(paid) - set(replied))
        if address.endswith("third"):
            written.append(replied[-2:])

    script.on_perform = look
    assert runtime.resume(run) == "succeeded"

    assert unwritten == []
    assert written == [[f"work[{n}]/first", f"work[{n}]/second"] for n in range(1, 6)]


def test_a_reply_and_the_intent_that_follows_from_it_share_an_append() -> None:
    journal, script = _Counted(), Script({"one": {"text": "1"}, "two": {"text": "2"}})
    text = "whorl: 1\nsteps: {one: {ask: 'One.'}, two: {ask: '{{ one }}'}}\n"
    runtime, run = _simulated(text, journal, script)
    written: list[str] = []

    def look(address: str) -> None:
        written.append(next(reversed(list(journal.read(run)))).event.kind)

    script.on_perform = look
    assert runtime.resume(run) == "succeeded"

    # The intent of one; its reply with the intent of two; the reply of two with the end.
    assert journal.appends == 1 + 3
    assert written == ["task.started", "task.started"]


class _Refusing(ScriptedWorkers):
    """Refuses every task before it is begun."""

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        raise ProviderError("not here", code="P112")


def test_a_run_that_never_waits_is_written_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    journal = MemoryJournal()
    append, sizes = journal.append, list[int]()

    def measured(run: RunId, owner: int, events: Sequence[Event], **more: Any) -> Any:
        sizes.append(len(events))
        return append(run, owner, events, **more)

    monkeypatch.setattr(journal, "append", measured)
    runtime = SimulatedRuntime(_Refusing(Script({})), journal)
    text = _FREE.replace("one: {use: count}", "one: {use: count, on_failure: continue}")
    run = runtime.start(read_workflow(text, "case.yaml").workflow, {})

    assert runtime.resume(run) == "succeeded"
    assert len(list(journal.read(run))) > 100
    assert 1 < max(sizes) < 80


def test_a_crash_loses_none_that_was_paid_for() -> None:
    clean = _Counted()
    runtime, run = _simulated(_MIXED, clean, Script(_REPLIES))
    runtime.resume(run)
    repeated: set[str] = set()
    for crash_at in range(2, clean.appends + 1):
        journal, script = _Counted(crash_at), Script(_REPLIES)
        runtime, run = _simulated(_MIXED, journal, script)
        try:
            runtime.resume(run)
        except Crash:
            assert runtime.resume(run) == "succeeded"
        twice = {address for address, times in script.performed.items() if times > 1}
        doubts = {e.event.address for e in journal.read(run) if e.event.kind == "task.in_doubt"}

        assert _replied(journal, run) == _replied(clean, run)
        assert {address for address in twice if address.endswith("third")} == doubts
        repeated |= twice - doubts

    assert repeated, "no crash came while something waited to be written"


class _Quick(Priced):
    """Tasks without effects: the first answers at once, the second keeps the run busy."""

    def __init__(self) -> None:
        super().__init__()
        self.done = asyncio.Event()

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        return "none"

    async def perform(self, request: Request, emit: Emit) -> Reply:
        if request.address == "second":
            self.done.set()
            await asyncio.sleep(3600.0)
        return Reply("done")


@pytest.mark.parametrize("is_stopped", [False, True])
def test_they_are_written_soon_or_when_the_run_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_stopped: bool
) -> None:
    """The second task takes longer than anybody waits here."""
    if is_stopped:
        monkeypatch.setattr("whorl.runtimes.driver.WAIT_S", 60.0)
    text = "whorl: 1\nsteps: {first: {use: quick}, second: {use: slow, after: first}}\n"

    async def look() -> None:
        async with SqliteStore(tmp_path / "runs.db") as store:
            workers = _Quick()
            runtime = LocalRuntime(store, workers)
            run, _ = await runtime.start(read_workflow(text, "two.yaml").workflow, Start())
            driving = asyncio.create_task(runtime.drive(run))
            await workers.done.wait()
            if is_stopped:
                assert _replied(store, run) == []
            else:
                async with asyncio.timeout(PATIENCE_S):
                    while not _replied(store, run):
                        await asyncio.sleep(0.01)
                assert _replied(store, run) == ["first"]
            runtime.stop()
            assert await driving == "stopped"
            assert _replied(store, run) == ["first"]

    asyncio.run(look())
