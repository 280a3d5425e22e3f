"""Every request in every state of a run, twice: one effect or a clear refusal (T13)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from served import Client, at_once, connected, make_project

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.threat(row="T13")

STATES = ("running", "waiting", "paused", "succeeded", "failed", "cancelled")
BODIES: dict[str, dict[str, Any]] = {
    "pause": {},
    "resume": {},
    "cancel": {},
    "continue": {"iterations": 40},
    "accept": {"iteration": 1},
    "approve": {"at": "check"},
    "reject": {"at": "check"},
    "fork": {"at": "l[1]", "key": "k"},
}
# What is carried out; everything else is refused. A loop that runs is continued with `seen` only.
TAKEN = {
    "running": {"pause", "cancel", "accept", "fork"},
    "waiting": {"pause", "cancel", "approve", "reject"},
    "paused": {"resume", "cancel", "accept", "fork"},
    "succeeded": {"continue", "accept", "fork"},
    "failed": {"resume"},
    "cancelled": {"fork"},
}
# What may be asked again at once, since it asks for something new or fits as well.
AGAIN = {("fork", "*"), ("resume", "failed")}

LOOPING = """
whorl: 1
name: looping
steps:
  l: {repeat: {at_most: 400, wait: 50ms, steps: {w: {ask: "Write {{ iteration }}"}}}}
"""
NEVER = 'whorl: 1\nname: never\nsteps: {a: {ask: "Never"}}\n'
SHORT = LOOPING.replace("at_most: 400", "at_most: 2").replace("name: looping", "name: short")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server whose project has the loops of this module."""
    folder = make_project(tmp_path_factory.mktemp("states"))
    (folder / "looping.yaml").write_text(LOOPING)
    (folder / "short.yaml").write_text(SHORT)
    (folder / "never.yaml").write_text(NEVER)
    with connected(folder) as client:
        yield client


def run_in(client: Client, state: str) -> str:
    """A run in a state."""
    files = {"waiting": "gated.yaml", "succeeded": "short.yaml", "failed": "never.yaml"}
    run = client.start(files.get(state, "looping.yaml"))
    if state in ("running", "paused", "cancelled"):
        client.turns(run)
    if state in ("paused", "cancelled"):
        client.post(f"/runs/{run}/{'pause' if state == 'paused' else 'cancel'}")
    client.wait(run, state)
    return run


@pytest.mark.sample(9)
@pytest.mark.parametrize("action", BODIES)
@pytest.mark.parametrize("state", STATES)
def test_a_request_is_carried_out_once_or_refused(shared: Client, state: str, action: str) -> None:
    run = run_in(shared, state)
    can = shared.get(f"/runs/{run}")["can"]
    body = BODIES[action] | ({"key": f"{run}"} if action == "fork" else {})

    first, second = (
        shared.http.post(f"/api/runs/{run}/{action}", json=body).status_code for _ in range(2)
    )

    is_taken = action in TAKEN[state]
    assert (first in (201, 202)) == is_taken, first
    assert first in ((201, 202) if is_taken else (404, 409))
    if action == "fork":
        assert second == (200 if is_taken else first)
    elif (action, state) not in AGAIN:
        assert second in (404, 409)
    # What the run says of itself is what happens.
    if (action, state) not in (("continue", "running"), ("continue", "paused")):
        assert (action in can) == is_taken
    _end(shared, run)


KINDS = {
    "cancel": "run.cancelled",
    "pause": "run.paused",
    "resume": "run.resumed",
    "approve": "gate.decided",
}


@pytest.mark.sample(3)
@pytest.mark.parametrize("action", KINDS)
@pytest.mark.parametrize("state", STATES)
def test_a_request_that_comes_four_times_at_once_is_carried_out_once(
    shared: Client, state: str, action: str
) -> None:
    run = run_in(shared, state)
    before = shared.kinds(run).count(KINDS[action])
    statuses = at_once(shared, f"/runs/{run}/{action}", BODIES[action], 4)
    taken = statuses.count(202)
    assert set(statuses) <= {202, 404, 409}
    assert taken == (action in TAKEN[state]) or (action, state) in AGAIN
    assert shared.kinds(run).count(KINDS[action]) == before + taken
    _end(shared, run)


def _end(client: Client, run: str) -> None:
    """Nothing goes on behind the next test."""
    client.http.post(f"/api/runs/{run}/cancel", json={})
    for fork in client.get(f"/runs/{run}")["forks"]:
        client.http.post(f"/api/runs/{fork}/cancel", json={})
