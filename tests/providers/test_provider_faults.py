"""Every fault of a provider under a run of every format: the documented end, and no key told."""

from __future__ import annotations

import asyncio
import json
import resource
import selectors
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from faults import ANSWER, FAULTS, KEY
from provider_server import serve, settings_for

from conformance.local import CountingStore
from leaks import places_of
from threats import tally
from whorl.dialects import read_workflow
from whorl.providers.registry import Providers
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.start_options import Start
from whorl.services.runs import ProviderWorkers

if TYPE_CHECKING:
    from pathlib import Path

    from faults import Fault
    from provider_server import Seen, Server

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.providers.task import Emit, Reply, Request
    from whorl.runtimes.time_slices import CpuScheduler

pytestmark = pytest.mark.threat(row="T5")

PROMPT = "Say it"
# One call, and three more where another try may help.
TRIES = 4
# A minute is the most that a provider can ask for; what is on top is drawn, so that not all come
# back at once.
WAIT_S_MAX = 75.0
MEGABYTES_MAX = 256
_SHODAN = {"nodeType": "agent", "runner": "one", "prompt": PROMPT}
_SHODAN["outputs"] = [{"name": "text", "type": "string"}]  # type: ignore[assignment]
_STUDIO = {"in": ("input", {}), "say": ("llm", {"prompt": PROMPT}), "out": ("output", {})}
_LOOM = {
    "actions": {"say": {"type": "ai", "inputs": {"prompt": PROMPT}}},
    "outputs": {"text": {"type": "string", "value": "@body('say')"}},
}
FILES: dict[str, tuple[str, str]] = {
    "loom": ("a.json", json.dumps(_LOOM)),
    "mcp-cli": (
        "a.yaml",
        f"$schema: workflow/v2.0\nname: a\nversion: 1.0.0\n"
        f"execution: {{provider: one, model: m}}\nsteps:\n  - {{name: say, run: '{PROMPT}'}}\n",
    ),
    "orka": (
        "a.yml",
        "orchestrator: {id: a, strategy: sequential, agents: [say]}\n"
        f"agents:\n  - {{id: say, type: openai-answer, prompt: '{PROMPT}'}}\n",
    ),
    "shodan": (
        "a.yaml",
        "version: 1\nmetadata: {name: a}\nedges: []\n"
        f"nodes: [{{id: say, type: agent, data: {json.dumps(_SHODAN)}}}]\n",
    ),
    "studio": (
        "a.json",
        json.dumps(
            {
                "nodes": [{"id": n, "type": k, "data": data} for n, (k, data) in _STUDIO.items()],
                "edges": [{"id": a, "source": a, "target": b} for a, b in pairwise(_STUDIO)],
            }
        ),
    ),
}


class _Selector(selectors.DefaultSelector):
    loop: HastyLoop

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout <= 0 or self.loop.is_busy():
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            self.loop.jump(timeout)
        return ready


class HastyLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes as usual, and at once while nobody does anything."""

    def __init__(self) -> None:
        selector = _Selector()
        selector.loop = self
        self._ahead = 0.0
        self.calls = 0
        self.begun = 0
        # How many requests have come to somebody who lets them wait.
        self.dawdling = 0
        self.store: CountingStore | None = None
        self.turns: CpuScheduler | None = None
        super().__init__(selector)

    def time(self) -> float:
        return time.monotonic() + self._ahead

    def jump(self, seconds: float) -> None:
        self._ahead += seconds

    def is_busy(self) -> bool:
        is_calling = self.calls > 0 and self.dawdling < self.begun
        at_work = (self.store, self.turns)
        return is_calling or any(one is not None and one.under_way > 0 for one in at_work)


class Workers(ProviderWorkers):
    """The real ones; the loop knows when one of them is at work."""

    def __init__(self, providers: Providers, loop: HastyLoop) -> None:
        super().__init__(providers)
        self._loop = loop
        self.kind = self._kind  # type: ignore[method-assign, assignment]
        self._providers = providers

    def _kind(self, name: str) -> Any:
        return _Kind(self._providers.kind(name), self._loop)


class _Kind:
    def __init__(self, kind: Any, loop: HastyLoop) -> None:
        self._loop, self._inner = loop, kind
        self.effect, self.estimate = kind.effect, kind.estimate

    async def perform(self, request: Request, emit: Emit) -> Reply:
        self._loop.calls += 1
        self._loop.begun += 1
        try:
            reply: Reply = await self._inner.perform(request, emit)
            return reply
        finally:
            self._loop.calls -= 1


def _drive(fault: Fault, dialect: str, path: Path) -> tuple[str, list[Event], Server]:
    loop = HastyLoop()

    async def work() -> tuple[str, list[Event], Server]:
        file, text = FILES[dialect]
        workflow = read_workflow(text, file).workflow
        assert workflow.dialect == dialect

        async def answer(seen: Seen, writer: asyncio.StreamWriter) -> None:
            loop.dawdling += "timeout_s" in fault.provider
            await fault.answer(seen, writer, len(server.seen))

        async with serve(answer) as server, CountingStore(path / "runs.db") as store:
            loop.store = store
            provider = {"base_url": fault.base_url or f"{server.url}/v1", "api_key": KEY}
            settings = settings_for(server.url, **provider, **fault.provider)
            providers = Providers(settings)
            runtime = LocalRuntime(store, Workers(providers, loop), clock=loop.time)
            loop.turns = runtime.turns
            given: dict[str, Json] = {p.name: "x" for p in workflow.inputs}
            run, _ = await runtime.start(workflow, Start(input=given))
            status = await runtime.drive(run)
            await providers.close()
            return status, [entry.event for entry in store.read(run)], server

    try:
        return loop.run_until_complete(work())
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@pytest.mark.sample(16)
@pytest.mark.parametrize("dialect", FILES)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_a_provider_has_its_documented_end(
    name: str, dialect: str, tmp_path: Path
) -> None:
    fault = FAULTS[name]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status, told, server = _drive(fault, dialect, tmp_path)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    failures: list[Any] = [event for event in told if event.kind == "task.failed"]
    is_well = fault.well_at > 0
    tries = fault.well_at or (TRIES if fault.retried else 1)
    usage: Any = told[-1].body["usage"]
    assert status == ("succeeded" if is_well else "failed")
    assert [f.body["error"]["code"] for f in failures] == [fault.code] * (tries - is_well)
    assert usage.get("in_doubt", 0) == (len(failures) if fault.in_doubt else 0)
    assert all(amount >= 0 for amount in usage.values())
    assert len(server.seen) == (0 if fault.base_url else tries)
    # What may have been carried out is asked for again under the same key.
    keys = {seen.headers["idempotency-key"] for seen in server.seen}
    assert len(keys) == (1 if fault.in_doubt else len(server.seen))
    waits = [_wait_after(failure, told) for failure in failures[: tries - 1]]
    assert all(wait <= WAIT_S_MAX for wait in waits)
    assert fault.waits_s is None or all(wait >= fault.waits_s for wait in waits)
    assert grown < MEGABYTES_MAX
    assert places_of(KEY, tmp_path) == []
    assert ANSWER in json.dumps(told[-1].body["output"]) or not is_well
    tally("most MB that a run added", grown)
    tally("most seconds before another try", max(waits, default=0))


def _wait_after(failure: Event, told: list[Event]) -> float:
    """For how long the next try is put off; that it begins later on a busy machine is no matter."""
    later = told[told.index(failure) :]
    kinds = ("timer.fired", "task.started")
    return next(event.at for event in later if event.kind in kinds) - failure.at
