"""Whatever happens to servers, each run ends by itself, rightly; no finished call is repeated."""

from __future__ import annotations

import math
import os
import random
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from campaign import amount, seeds
from chaos.witness import Call, Witness
from threats import tally
from waiting import PATIENCE_S, wait_until
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.inspecting.results import full_result

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.runtimes.journal.journal import Entry, RunId

pytestmark = [pytest.mark.threat(row="T1"), pytest.mark.threat(row="T9")]

RUNS = amount(50, 200)
ACTIONS = amount(5, 40)
WAIT_S = 2.0
# A timer may be so much early by the measure of another process.
SLACK_S = 0.02
STRIKES = ("kill", "stop", "kill both", "clock", "disk")
HOUR = 3600.0
TOKEN = "0123456789abcdef" * 3
LAUNCHER = Path(__file__).with_name("launcher.py")

CONFIG = "[allow]\nprivate_network = true\n"

HTTP = '{http: {method: POST, url: "http://127.0.0.1:PORT/NAME", body: {n: "{{ N }}"}}}'

# By name: the workflow, and what it gives.
WORKFLOWS: dict[str, tuple[str, dict[str, Any]]] = {
    "nested": (
        """
steps:
  outer:
    repeat:
      until: iteration >= 3
      at_most: 4
      carry: {total: "{{ both.b.body.n }}"}
      steps:
        inner:
          repeat:
            until: iteration >= 2
            at_most: 3
            carry: {m: "{{ h.body.n }}"}
            steps: {h: CALL(inner, m | default(0))}
        both:
          together:
            a: CALL(a, inner.h.body.n)
            b: CALL(b, total | default(0))
outputs: {a: "{{ outer.both.a.body.n }}", b: "{{ outer.both.b.body.n }}"}
""",
        {"a": 3, "b": 3},
    ),
    "memory": (
        """
steps:
  l:
    repeat:
      until: iteration >= 4
      at_most: 5
      memory: {keep: 1000, across_runs: true, record: {id: "{{ id }}-{{ iteration }}"}}
      steps: {h: CALL(memory, iteration)}
outputs: {n: "{{ l.h.body.n }}"}
""",
        {"n": 5},
    ),
    "wait": (
        """
steps:
  before: CALL(before, 1)
  nap: {wait: WAITs}
  after: CALL(after, before.body.n)
outputs: {n: "{{ after.body.n }}"}
""",
        {"n": 3},
    ),
    "gate": (
        """
steps:
  before: CALL(before, 1)
  ask: {approve: {message: "Well?", timeout: WAITs, on_timeout: approve}}
  after: CALL(after, before.body.n)
outputs: {n: "{{ after.body.n }}"}
""",
        {"n": 3},
    ),
    "retry": (
        """
steps:
  before:
    http: {method: POST, url: "http://127.0.0.1:PORT/busy", body: {n: 1}}
    retry: {times: 3, wait: WAITs, backoff: 1}
outputs: {n: "{{ before.body.n }}"}
""",
        {"n": 2},
    ),
}


def text_of(name: str, port: int) -> str:
    text = f"whorl: 1\nname: {name}\ninputs: {{id: string}}{WORKFLOWS[name][0]}"
    while "CALL(" in text:
        head, _, rest = text.partition("CALL(")
        path, _, rest = rest.partition(", ")
        # The last bracket of the line belongs to the call.
        line, _, after = rest.partition("\n")
        value, _, tail = line.rpartition(")")
        call = HTTP.replace("NAME", path).replace("{{ N }}", f"{{{{ {value} }}}}")
        text = f"{head}{call}{tail}\n{after}"
    return text.replace("PORT", str(port)).replace("WAIT", f"{WAIT_S:g}")


@dataclass(eq=False)
class Server:
    """A server in a process of its own, and from when to when it was up."""

    folder: Path
    address: str = ""
    errors: list[str] = field(default_factory=list)
    ready_at: float = math.inf
    ended_at: float = math.inf

    def __post_init__(self) -> None:
        words = ["serve", "--port", "0", "--no-open", "--token-file", "token"]
        self.process = subprocess.Popen(
            [sys.executable, str(LAUNCHER), "clock", *words],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Where the disk is full, Python would leave half of a compiled file to all others.
            env=os.environ
            | {
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )
        self._readers = [
            threading.Thread(target=self._read_address),
            threading.Thread(target=self._read_errors),
        ]
        for reader in self._readers:
            reader.start()

    def _read_address(self) -> None:
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        if self.address:
            self.ready_at = time.monotonic()

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.errors += self.process.stderr

    def limit_files(self, size: int) -> None:
        """The disk is full for this server, or has room again."""
        with suppress(ProcessLookupError):
            limits = (size, resource.RLIM_INFINITY)
            resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, limits)

    def end(self, number: signal.Signals) -> None:
        self.ended_at = time.monotonic()
        self.process.send_signal(number)
        self.process.wait(PATIENCE_S)
        for reader in self._readers:
            reader.join(PATIENCE_S)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


class Chaos:
    """Two servers on one store, and all that happens to them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.witness = folder, Witness()
        self._dice = random.Random(seed)
        self.events: Counter[str] = Counter()
        # All servers that there were, and when the disk was full.
        self._all: list[Server] = []
        self._full: list[tuple[float, float]] = []
        (folder / "whorl.toml").write_text(CONFIG)
        (folder / "token").write_text(TOKEN)
        (folder / "token").chmod(0o600)
        for name in WORKFLOWS:
            (folder / f"{name}.yaml").write_text(text_of(name, self.witness.port))
        self._set_clock(0.0)
        self.servers = [self._new(), self._new()]

    def start(self, number: int) -> None:
        """Starts a run; if its server is killed meanwhile, another is asked, by the same key."""
        name = list(WORKFLOWS)[number % len(WORKFLOWS)]
        body = {"workflow": f"{name}.yaml", "inputs": {"id": str(number)}, "key": str(number)}
        headers = {"Authorization": f"Bearer {TOKEN}"}

        def is_started() -> bool:
            ready = [server for server in self.servers if server.address]
            with suppress(httpx2.HTTPError):
                for server in ready[number % 2 :] or ready:
                    url = f"{server.address}/api/runs"
                    answer = httpx2.post(url, json=body, headers=headers, trust_env=False)
                    return answer.status_code in (200, 201)
            return False

        wait_until(is_started)

    def strike(self, what: str) -> None:
        """Lets something happen to servers that are at work."""
        wait_until(lambda: any(server.address for server in self.servers))
        time.sleep(self._dice.uniform(0.3, 1.5))
        self.events[what] += 1
        match what:
            case "clock":
                self._set_clock(self._dice.choice([-HOUR, 0.0, HOUR]))
            case "disk":
                began = time.monotonic()
                for server in self.servers:
                    server.limit_files(4096)
                time.sleep(self._dice.uniform(0.5, 2.0))
                for server in self.servers:
                    server.limit_files(resource.RLIM_INFINITY)
                self._full.append((began, time.monotonic()))
            case "kill both":
                for index in range(2):
                    self._replace(index, signal.SIGKILL)
            case _:
                index = next(i for i, server in enumerate(self.servers) if server.address)
                self._replace(index, signal.SIGKILL if what == "kill" else signal.SIGTERM)

    def end(self) -> None:
        wait_until(lambda: all(server.address for server in self.servers))
        for server in self.servers:
            server.end(signal.SIGTERM)
            assert server.process.returncode == 0, "".join(server.errors)
        self.witness.close()

    def up_s(self, since: float, until: float) -> float:
        """How long between two moments there was a server that could work."""
        marks = sorted({since, until, *(m for s in self._all for m in (s.ready_at, s.ended_at)),
                        *(m for span in self._full for m in span)})  # fmt: skip
        parts = [(b, e) for b, e in pairwise(marks) if since <= b and e <= until]
        return sum(e - b for b, e in parts if self._is_up((b + e) / 2))

    def _is_up(self, moment: float) -> bool:
        is_full = any(b <= moment <= e for b, e in self._full)
        return not is_full and any(s.ready_at <= moment <= s.ended_at for s in self._all)

    def _replace(self, index: int, number: signal.Signals) -> None:
        self.servers[index].end(number)
        self.servers[index] = self._new()

    def _new(self) -> Server:
        self._all.append(Server(self.folder))
        return self._all[-1]

    def _set_clock(self, wrong_s: float) -> None:
        new = self.folder / "clock.new"
        new.write_text(str(wrong_s))
        new.replace(self.folder / "clock")


def _runs(store: SqliteStore) -> dict[str, tuple[RunId, str, str]]:
    return {row.key: (row.id, row.name, row.status) for row in store.runs(limit=10_000)}


def repeated(store: SqliteStore, calls: list[Call]) -> tuple[int, list[str]]:
    """How many calls were sent again, and those of them that were not in doubt."""
    sent = Counter(call.key for call in calls)
    doubts: Counter[str] = Counter()
    for run, _, _ in _runs(store).values():
        for entry in store.read(run):
            if entry.event.kind == "task.in_doubt":
                doubts[f"{run}:{entry.event.address}"] += 1
    again = [key for key, times in sent.items() if times > 1]
    return len(again), [key for key in again if sent[key] > 1 + doubts[key]]


def _waits(store: SqliteStore, calls: list[Call]) -> Iterator[tuple[float, float]]:
    """When a wait could begin at the latest call before it, and when the call after it came."""
    of_key: dict[str, list[Call]] = {}
    for call in calls:
        of_key.setdefault(call.key, []).append(call)
    after = {"wait": "after", "gate": "after", "retry": "before#2"}
    for run, name, _ in _runs(store).values():
        if name in after:
            began = of_key[f"{run}:before"][-1].went_at
            assert began is not None
            yield began, of_key[f"{run}:{after[name]}"][0].came_at


def _own_lags(entries: list[Entry]) -> Iterator[float]:
    """By how much a run itself says that its timers came late."""
    due: float | None = None
    for entry in entries:
        event = entry.event
        if event.kind in ("task.retrying", "run.waiting"):
            found = event.body.get("due")
            due = float(found) if isinstance(found, int | float) else None
        elif event.kind == "task.finished":
            due = event.at + WAIT_S
        elif event.kind == "timer.fired" and due is not None:
            yield event.at - due


@pytest.mark.slow
@pytest.mark.campaign
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_every_run_ends_by_itself(
    tmp_path: Path, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    strikes = random.Random(seed).choices(STRIKES, k=ACTIONS)
    _let_happen(Chaos(tmp_path, seed), RUNS, strikes, capsys)


def test_a_few_runs_end_though_a_server_is_killed_and_the_clock_is_set(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _let_happen(Chaos(tmp_path, 1), 2 * len(WORKFLOWS), ["clock", "kill"], capsys)


def _let_happen(
    chaos: Chaos, runs: int, strikes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        began = time.monotonic()
        starting = [
            threading.Thread(target=_start, args=(chaos, range(first, runs, 5)))
            for first in range(5)
        ]
        for thread in starting:
            thread.start()
        for what in strikes:
            chaos.strike(what)
        for thread in starting:
            thread.join(PATIENCE_S)
        with closing(SqliteStore(chaos.folder / ".whorl" / "whorl.db")) as store:
            wait_until(lambda: all(status == "succeeded" for *_, status in _runs(store).values()))
            assert len(_runs(store)) == runs
            _check(store, chaos, capsys, time.monotonic() - began)
    finally:
        chaos.end()


def _start(chaos: Chaos, numbers: range) -> None:
    for number in numbers:
        chaos.start(number)


def _check(
    store: SqliteStore, chaos: Chaos, capsys: pytest.CaptureFixture[str], seconds: float
) -> None:
    runs, calls = _runs(store), chaos.witness.calls
    for run, name, _ in runs.values():
        assert full_result(store, run)["outputs"] == WORKFLOWS[name][1]
    again, unasked = repeated(store, calls)
    assert unasked == []
    (memory,) = store.memories()
    records: list[Any] = store.memory(memory.key)
    made = [key for key, (_, name, _) in runs.items() if name == "memory"]
    assert sorted(record["id"] for record in records) == sorted(
        f"{key}-{iteration}" for key in made for iteration in range(1, 5)
    )
    waits = list(_waits(store, calls))
    assert min(came - began for began, came in waits) >= WAIT_S - SLACK_S
    own = [lag for run, *_ in runs.values() for lag in _own_lags(list(store.read(run)))]
    lags: dict[bool, list[float]] = {True: [], False: []}
    for began, came in waits:
        was_up = came - began - chaos.up_s(began, came) < SLACK_S
        lags[was_up].append(chaos.up_s(began + WAIT_S, came))
    tally("servers killed", chaos.events["kill"] + 2 * chaos.events["kill both"])
    tally("most s that a timer was late while a server was up", max(lags[True], default=0))
    with capsys.disabled():
        print(
            f"\nchaos: {len(runs)} runs in {seconds:.0f} s, {dict(chaos.events)},"
            f" load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors;"
            f" {len(calls)} calls sent, {again} again (all in doubt)"
            f"\n  timers, late by: while a server was up {_figures(lags[True])};"
            f"\n  across an outage, without the time of it {_figures(lags[False])};"
            f"\n  all, as the runs say themselves {_figures(own)}"
        )


def _figures(lags: list[float]) -> str:
    if not lags:
        return "none"
    half, ninth = statistics.median(lags), sorted(lags)[int(len(lags) * 0.9)]
    figures = f"{half:.2f} s (median), {ninth:.2f} s (90 %), {max(lags):.2f} s (most)"
    return f"{figures} of {len(lags)}"
