"""Runs that only compute keep a server from nothing: it answers, ends them in time, and ends."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import time
from typing import TYPE_CHECKING, Any

import pytest
from served import TOKEN

from whorl.runtimes.time_slices import CpuScheduler

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from served import Spawn

PATIENCE_S = 120
COMPUTING = """
whorl: 1
name: computing
steps:
  l:
    repeat:
      until: "false"
      at_most: {iterations: 1000%s}
      steps: {a: {value: "{{ range(3000) | map('string') | sort | length }}"}}
"""


def _waited(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def _ask(place: str, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection(place, timeout=PATIENCE_S)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
    connection.request(method, path, content, headers)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


@pytest.mark.slow
def test_a_server_full_of_computing_runs_answers_and_ends(project: Path, spawn: Spawn) -> None:
    (project / "token").write_text(TOKEN)
    (project / "endless.yaml").write_text(COMPUTING % "")
    (project / "timed.yaml").write_text(COMPUTING % ", time: 1s")
    process = spawn("serve", "--port", "0", "--no-open", "--token-file", "token")
    assert process.stdout is not None
    place = process.stdout.readline().strip().removeprefix("http://")

    def status(run: str) -> str:
        answer = _ask(place, f"/api/runs/{run}")
        assert "status" in answer, answer
        return str(answer["status"])

    try:
        started = [
            _ask(place, "/api/runs", {"workflow": f"{name}.yaml"})["run"]
            for name in ("endless", "endless", "timed")
        ]
        assert _ask(place, "/healthz")["status"] == "ok"
        _waited(lambda: status(started[2]) == "succeeded")
        assert status(started[0]) == "running"
        _ask(place, f"/api/runs/{started[0]}/cancel", {})
        _waited(lambda: status(started[0]) == "cancelled")
        assert status(started[1]) == "running"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (0, -signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_ends_a_command_whose_run_only_computes(
    project: Path, spawn: Spawn, number: signal.Signals
) -> None:
    (project / "endless.yaml").write_text(COMPUTING % "")
    process = spawn("run", "endless.yaml", "--events")
    assert process.stdout is not None
    try:
        for line in process.stdout:
            if "iteration.finished" in line:
                break
        process.send_signal(number)
        process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    assert process.returncode == 5


def test_a_mistake_in_a_turn_belongs_to_its_run() -> None:
    async def main() -> tuple[str, float]:
        turns = CpuScheduler()
        with pytest.raises(ZeroDivisionError):
            await turns.take(0.0, lambda: 1 / 0)
        return await turns.take(0.0, lambda: "next")

    made, seconds = asyncio.run(main())
    assert (made, seconds >= 0) == ("next", True)


def test_what_has_many_steps_can_be_stopped() -> None:
    def steps() -> Generator[None, None, None]:
        while True:
            yield

    asked: list[int] = []

    def is_stopped() -> bool:
        asked.append(1)
        return len(asked) > 5

    assert asyncio.run(CpuScheduler().go_through(steps(), is_stopped)) is None
