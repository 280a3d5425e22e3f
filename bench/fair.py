"""A server full of runs that compute as much as they can: does it still answer everybody else?"""

from __future__ import annotations

import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

RUNS = 200
SECONDS = 40.0
P99_MS, STALL_MS = 50.0, 100.0

_REPEAT = """
whorl: 1
name: {name}
steps:
  l:
    repeat:
      until: "false"
      at_most: {{iterations: 1000}}
      steps:
        a: {{value: "{value}"}}
"""
_EXPRESSIONS = {
    "regex": "{{ ('a' * 5000) | regex_search('((a{0,30}){0,30})*b') }}",
    "states": "{{ ('ab' * 20000) | regex_findall('(a|b)a(a|b){9}c|a') | length }}",
    "sort": "{{ range(30000) | map('string') | sort | unique | list | length }}",
    "group": "{{ range(20000) | map('string') | groupby('0') | length }}",
    "json": "{{ (range(20000) | list | tojson | fromjson) | length }}",
    "replace": "{{ ('ab' * 400000) | replace('a', 'c') | length }}",
    "nested": "{% for i in range(200) %}{% for j in range(200) %}{{ j }}{% endfor %}{% endfor %}",
    "base64": "{{ ('x' * 700000) | b64encode | b64decode | length }}",
}
_OTHERS = {
    "each": "whorl: 1\nname: each\nsteps:\n  l:\n    each: '{{ range(90000) }}'\n    as: i\n"
    "    steps:\n      a: {value: '{{ i }}'}\n",
    "large": "whorl: 1\nname: large\nsteps:\n  l:\n    repeat:\n      until: 'false'\n"
    "      at_most: {iterations: 1000}\n      steps:\n        a: {value: \"{{ 'x' * 900000 }}\"}\n"
    "        b: {value: '{{ range(90000) | list }}'}\n        m: {ask: '{{ a[:99] }}'}\n",
}
CONFIGURATION = """
[defaults]
provider = "fake"
model = "m"
[providers.fake]
kind = "scripted"
[[providers.fake.replies]]
match = "."
replies = ["hello"]
"""


def measure(full: bool) -> None:
    """Starts all runs in one server and asks it for its health all the while."""
    print(f"{RUNS} runs of the worst expressions and large values in one server")
    print(f"  (goals: /healthz p99 {P99_MS:.0f} ms, no stall over {STALL_MS:.0f} ms)")
    with tempfile.TemporaryDirectory() as folder:
        names = _write(Path(folder))
        command = [sys.executable, "-m", "whorl.interfaces.cli", "serve", "--no-open", "--port=0"]
        environment = os.environ | {"WHORL_TRUST": "1"}
        with subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
        ) as server:
            try:
                _print(_attacked(server, names))
            finally:
                ended = time.perf_counter()
                server.terminate()
                server.wait(60)
                print(f"  SIGTERM ended it after {time.perf_counter() - ended:.1f} s")


def _write(folder: Path) -> list[str]:
    (folder / "whorl.toml").write_text(CONFIGURATION)
    files = {name: _REPEAT.format(name=name, value=text) for name, text in _EXPRESSIONS.items()}
    files |= _OTHERS
    for name, text in files.items():
        (folder / f"{name}.whorl.yaml").write_text(text)
    return [f"{name}.whorl.yaml" for name in files]


@dataclass(frozen=True, slots=True)
class Found:
    """How long answers took, all in all and of our own, the longest stall, and the runs."""

    times: list[float]
    own: list[float]
    stall: float
    started: int


def _attacked(server: subprocess.Popen[str], names: list[str]) -> Found:
    address, token = find_address(server)
    started: list[str] = []

    def start_all() -> None:
        for number in range(RUNS):
            body = json.dumps({"workflow": names[number % len(names)]})
            started.append(ask(address, "POST", "/api/runs", body, token)["run"])

    starting = threading.Thread(target=start_all)
    starting.start()
    times: list[float] = []
    own: list[float] = []
    worst = 0.0
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end or starting.is_alive():
        begun, held = time.perf_counter(), _held_up_ms(server.pid)
        worst = max(worst, ask(address, "GET", "/healthz")["stall_ms"])
        times.append((time.perf_counter() - begun) * 1000)
        own.append(max(0.0, times[-1] - (_held_up_ms(server.pid) - held)))
        time.sleep(0.02)
    return Found(times, own, worst, len(started))


def find_address(server: subprocess.Popen[str]) -> tuple[str, str]:
    """Where a server that has begun is, and the token that it lets in; the rest of it is read."""
    assert server.stdout is not None
    while line := server.stdout.readline():
        if match := re.search(r"http://([\d.:]+)/#\S*?([\w-]{16,})", line):
            threading.Thread(target=lambda: [*server.stdout], daemon=True).start()  # type: ignore[misc]
            return match[1], match[2]
    raise AssertionError("the server has ended")


def _held_up_ms(server: int) -> float:
    """How long we and the threads of the server were ready, while the machine ran others."""
    delays = 0
    for process in (server, os.getpid()):
        for file in Path(f"/proc/{process}/task").glob("*/schedstat"):
            try:
                delays += int(file.read_text().split()[1])
            except (OSError, IndexError):  # it has ended
                continue
    return delays / 1e6


def ask(address: str, method: str, path: str, body: str | None = None, token: str = "") -> dict:  # type: ignore[type-arg]
    """What a server answers."""
    connection = http.client.HTTPConnection(address, timeout=60)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    connection.request(method, path, body, headers if token else {})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer  # type: ignore[no-any-return]


def _print(found: Found) -> None:
    print(f"  {found.started} runs started, {len(found.times)} answers within {SECONDS:.0f} s")
    p99 = 0.0
    for name, times in (("/healthz", found.times), ("less what the machine ran", found.own)):
        cuts = statistics.quantiles(times, n=100)
        p99 = cuts[98]
        print(f"  {name}: p50 {cuts[49]:.1f} ms, p99 {p99:.1f} ms, max {max(times):.1f} ms")
    print(f"  longest stall of the server's event loop: {found.stall:.1f} ms")
    held = p99 <= P99_MS and found.stall <= STALL_MS
    print(f"  the goals are {'met' if held else 'not met'}")
