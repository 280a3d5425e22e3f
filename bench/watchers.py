"""A run that many look at: how much longer does it take than one that nobody looks at?"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from bench.fair import CONFIGURATION, ask, find_address

WATCHERS, WATCHERS_FULL = 20, 200
ITERATIONS = 300
# So long the run waits before its loop, while those who watch it come.
BEFORE_S = 15
GOAL = 1.3

_WORKFLOW = f"""
whorl: 1
name: watched
steps:
  before: {{wait: {BEFORE_S}s}}
  l:
    repeat:
      until: "false"
      at_most: {{iterations: {ITERATIONS}}}
      steps:
        a: {{ask: "hello"}}
"""


def measure(full: bool) -> None:
    """Prints how long the loop of a run takes, and the CPU of its server, without and with them.

    `--full` has 200 of them, as the goal says, which may take minutes.
    """
    print(f"A loop of {ITERATIONS} calls in a server, by how many watch it over HTTP")
    alone_s = alone_cpu_s = 0.0
    for count in (0, WATCHERS_FULL if full else WATCHERS):
        seconds, cpu_s, received = _watched(count)
        alone_s, alone_cpu_s = alone_s or seconds, alone_cpu_s or cpu_s
        times, cpus = seconds / alone_s, cpu_s / alone_cpu_s
        print(
            f"  {count:>4} watchers  {seconds:6.2f} s {times:5.2f}x (goal: {GOAL}x)"
            f"  CPU of the server {cpu_s:6.2f} s {cpus:5.2f}x  {received / 1e6:7.1f} MB sent"
        )


def _watched(count: int) -> tuple[float, float, int]:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "whorl.toml").write_text(CONFIGURATION)
        Path(folder, "watched.whorl.yaml").write_text(_WORKFLOW)
        command = [sys.executable, "-m", "whorl.interfaces.cli", "serve", "--no-open", "--port=0"]
        environment = os.environ | {"WHORL_TRUST": "1"}
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                return _measured(server, count)
            finally:
                server.terminate()
                server.wait(60)


def _measured(server: subprocess.Popen[str], count: int) -> tuple[float, float, int]:
    """The seconds of the loop, the CPU of its server, and the bytes that all were sent."""
    address, token = find_address(server)
    body = '{"workflow": "watched.whorl.yaml"}'
    run = ask(address, "POST", "/api/runs", body, token)["run"]
    readers = _Readers(address, token, run, count)
    reading = threading.Thread(target=readers.read, daemon=True)
    reading.start()
    cpu_s = _cpu_s(server.pid)
    while ask(address, "GET", f"/api/runs/{run}", token=token)["status"] in ("running", "waiting"):
        time.sleep(0.5)
    cpu_s = _cpu_s(server.pid) - cpu_s
    page = ask(address, "GET", f"/api/runs/{run}/events?limit=5000", token=token)
    times = [event["at"] for event in page["events"] if event["kind"].startswith("loop.")]
    readers.is_over = True
    reading.join()
    return times[-1] - times[0], cpu_s, readers.received


class _Readers:
    """Connections that read what comes of a run, and throw it away."""

    def __init__(self, address: str, token: str, run: str, count: int) -> None:
        host, _, port = address.partition(":")
        self.received = 0
        self.is_over = False
        self._selector = selectors.DefaultSelector()
        words = f"GET /api/runs/{run}/events HTTP/1.1\r\nHost: {address}\r\n"
        words += f"Authorization: Bearer {token}\r\nAccept: text/event-stream\r\n\r\n"
        for _ in range(count):
            one = socket.create_connection((host, int(port)), timeout=60)
            one.sendall(words.encode())
            answer = one.recv(4096)
            assert b" 200 " in answer.partition(b"\r\n")[0], answer
            self._selector.register(one, selectors.EVENT_READ)

    def read(self) -> None:
        while not self.is_over:
            for key, _ in self._selector.select(0.2) if self._selector.get_map() else ():
                piece = key.fileobj.recv(65_536)  # type: ignore[union-attr]
                self.received += len(piece)
                if not piece:
                    self._selector.unregister(key.fileobj)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
