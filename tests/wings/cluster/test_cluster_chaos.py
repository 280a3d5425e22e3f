"""Whatever happens to workers and the server: all runs end right, no finished call is repeated."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

import pytest

from campaign import amount, seeds
from chaos.test_chaos import CONFIG, WORKFLOWS, repeated, text_of
from chaos.witness import Witness
from cluster.cluster import PROJECT, Server, program, worker_in
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.errors import StoreError
from whorl.runtimes.start_options import Start
from whorl.services.inspecting.results import full_result

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from whorl.language import Json
    from whorl.runtimes.journal.journal import RunId
    from whorl.wings.cluster.runtime import TemporalRuntime

pytestmark = [pytest.mark.slow, pytest.mark.campaign]

RUNS = amount(8, 110)
STRIKES = [*["kill"] * amount(2, 20), "freeze", "restart"]
WORKERS = 3
# A call whose worker is silent for this long is in doubt.
HEARTBEAT_S = 3.0
# So many calls are made before each strike, at least.
CALLS = 2
# A workflow function that does the same kinds of things, and what it gives.
CODE = """
import asyncio

import whorl


async def call(port, name, n):
    url = f"http://127.0.0.1:{port}/{name}"
    return (await whorl.http(url, method="POST", body={"n": n}, name=name)).body["n"]


@whorl.workflow
async def coded(id: str, port: int) -> dict[str, int]:
    outer = whorl.loop(int, at_most=3)
    async for turn in outer:
        inner = whorl.loop(int, "inner", at_most=5, state=0)
        async for part in inner:
            part.state = part.value = await call(port, "inner", part.state)
            if part.number == 2:
                break
        await asyncio.sleep(0.5)
        a, b = await asyncio.gather(call(port, "a", inner.result), call(port, "b", turn.number))
        turn.value = a + b
    return {"last": await call(port, "last", outer.result), "n": outer.iterations}
"""
CODED = {"result": {"last": 8, "n": 3}}
NAMES = ["coded", *WORKFLOWS]
ENDED = ("succeeded", "failed", "cancelled")


@dataclass(eq=False)
class Chaos:
    """Three workers and their server, to which something happens every few calls."""

    folder: Path
    server: Server
    witness: Witness
    random: random.Random
    workers: list[subprocess.Popen[str]] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)

    def begin(self) -> None:
        config = PROJECT.format(address=self.server.address, queue="chaos") + CONFIG
        config += '[workflows]\npython = ["chaos_flow:coded"]\n'
        (self.folder / "whorl.toml").write_text(config)
        (self.folder / "chaos_flow.py").write_text(CODE)
        self.workers = [worker_in(self.folder) for _ in range(WORKERS)]

    def end(self) -> None:
        for process in self.workers:
            process.kill()
            process.communicate()

    async def strike(self, what: str, calls: int) -> None:
        """Does something bad as soon as so many calls have been made."""
        while len(self.witness.calls) < calls:
            await asyncio.sleep(0.02)
        self.events[what] += 1
        await getattr(self, what)()

    async def kill(self) -> None:
        index = self.random.randrange(WORKERS)
        self.workers[index].kill()
        self.workers[index].communicate()
        self.workers[index] = await asyncio.to_thread(worker_in, self.folder)

    async def freeze(self) -> None:
        """Stops a worker for longer than it may be silent; then it tells what nobody awaits."""
        process = self.random.choice(self.workers)
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(2 * HEARTBEAT_S)
        process.send_signal(signal.SIGCONT)

    async def restart(self) -> None:
        await asyncio.to_thread(self.server.kill)
        await asyncio.to_thread(self.server.start)


async def _ended(runtime: TemporalRuntime, run: RunId) -> None:
    while runtime.store.run(run).status not in ENDED:
        with suppress(StoreError):  # the server is being restarted
            await runtime.refresh(run)
        await runtime.drive(run)
        await asyncio.sleep(0.1)


async def _survive(chaos: Chaos, mirror: Path) -> dict[str, int]:
    """Strikes while a few runs more are under way each time; gives how many calls were sent."""
    more = {"queue": "chaos", "heartbeat_s": HEARTBEAT_S}
    async with chaos.server.runtime(mirror, **more) as runtime, asyncio.timeout(PATIENCE_S * 3):
        runs: dict[RunId, str] = {}
        endings: list[asyncio.Task[None]] = []
        for what in chaos.random.sample(STRIKES, len(STRIKES)):
            calls = len(chaos.witness.calls)
            for _ in range(RUNS // len(STRIKES)):
                name = NAMES[len(runs) % len(NAMES)]
                run = await _started(runtime, name, chaos.witness.port, len(runs))
                runs[run] = name
                endings.append(asyncio.create_task(_ended(runtime, run)))
            await chaos.strike(what, calls + CALLS)
        await asyncio.gather(*endings)

        for run, name in runs.items():
            assert runtime.store.run(run).status == "succeeded"
            wanted = CODED if name == "coded" else WORKFLOWS[name][1]
            assert full_result(runtime.store, run)["outputs"] == wanted
        again, unasked = repeated(runtime.store, chaos.witness.calls)
        assert unasked == []
        return {"runs": len(runs), "calls": len(chaos.witness.calls), "again": again}


async def _started(runtime: TemporalRuntime, name: str, port: int, number: int) -> RunId:
    given: dict[str, Json] = {"id": str(number)}
    if name == "coded":
        workflow, given["port"] = import_module("chaos_flow").coded.workflow.ir, port
    else:
        workflow = read_workflow(text_of(name, port), f"{name}.yaml").workflow
    run, _ = await runtime.start(workflow, Start(input=given, key=str(number)))
    return run


@pytest.mark.parametrize("seed", seeds(1, 1))
def test_all_runs_end_right(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    if program() is None:
        pytest.skip("the server of Temporal is not installed")
    witness, server = Witness(), Server(tmp_path)
    server.start()
    chaos = Chaos(tmp_path, server, witness, random.Random(seed))
    try:
        chaos.begin()
        sent = asyncio.run(_survive(chaos, tmp_path / "mirror.db"))
    finally:
        chaos.end()
        server.stop()
        witness.close()
    assert chaos.events == Counter(STRIKES)
    with capsys.disabled():
        print(f"\nchaos: {dict(chaos.events)}, {sent}")
