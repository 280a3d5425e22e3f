"""Event streams: replay and live, of runs of this process and of others."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest
from served import Client, running

from waiting import PATIENCE_S, wait_until
from whorl.interfaces.http import journal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Spawn


def until_end(events: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """All events up to the end of the run."""
    found = []
    for event in events:
        found.append(event)
        if event.get("event") == "end":
            return found
    raise AssertionError("the stream ended before the run")


def test_a_stream_continues_when_an_ended_run_is_continued(client: Client) -> None:
    run = client.finish(max_iterations=1)["id"]
    statuses, seqs = [], []
    with client.stream(f"/runs/{run}/events") as events:
        for event in events:
            seqs += [int(event["id"])] if "id" in event else []
            if event.get("event") == "end":
                statuses.append(event["data"]["status"])
                if len(statuses) == 2:
                    break
                client.post(f"/runs/{run}/continue", {"iterations": 1})

    assert statuses == ["succeeded", "succeeded"]
    assert seqs == list(range(1, len(seqs) + 1))
    assert client.get(f"/runs/{run}")["iteration"] == 2


def test_text_is_sent_as_it_comes_and_whole_to_late_watchers(client: Client) -> None:
    run = client.start("speaking.yaml")
    with client.stream(f"/runs/{run}/events") as events:
        begun = next(event for event in events if event.get("event") == "delta")
        with client.stream(f"/runs/{run}/events") as later:
            found = until_end(later)
        early = [begun, *until_end(events)]

    told, (first, *others) = (
        [event["data"] for event in each if event.get("event") == "delta"]
        for each in (early, found)
    )
    assert {delta["address"] for delta in told} == {"speak"}
    assert first["whole"] is True
    assert first["text"].split()[0] == "one"
    assert not any(delta["whole"] for delta in others)
    for deltas in (told, (first, *others)):
        assert "".join(delta["text"] for delta in deltas).split() == ["one", "two"]


def test_a_run_of_another_process_is_live(client: Client, spawn: Spawn) -> None:
    """Its entries come to several readers at once, each of them in order, while it goes on."""
    process = spawn("run", "slow.yaml", "--max-iterations", "12")
    try:
        wait_until(lambda: bool(client.get("/runs")["runs"]))
        run = client.get("/runs")["runs"][0]["id"]
        seen: list[list[int]] = [[], []]
        early: set[int] = set()

        def follow(found: list[int]) -> None:
            with client.stream(f"/runs/{run}/events") as events:
                for event in events:
                    if "id" in event:
                        found.append(int(event["id"]))
                        early.update(found[-1:] if process.poll() is None else ())
                    if event.get("event") == "end":
                        return

        readers = [threading.Thread(target=follow, args=(found,)) for found in seen]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join(PATIENCE_S)
        told = client.get(f"/runs/{run}")
    finally:
        process.communicate(timeout=PATIENCE_S)

    everything = list(range(1, told["last_seq"] + 1))
    assert seen == [everything, everything]
    assert len(everything) > 20
    assert len(early) > 10
    assert told["driver"] == "nobody"


def test_changes_of_any_process_reach_the_list(client: Client, spawn: Spawn) -> None:
    with client.stream("/changes") as events:
        process = spawn("run", "gated.yaml")
        found = next(e for e in events if e["data"]["status"] == "waiting")
        process.communicate(timeout=PATIENCE_S)
        mine = client.start("polish.yaml", inputs={"task": "x"})
        done = next(e for e in events if e["data"]["id"] == mine and e["data"]["score"] == 0.9)

    assert (found["event"], found["data"]["name"]) == ("run", "gated")
    assert done["data"]["scores"] == [0.41, 0.63, 0.9]


def test_a_killed_process_is_reported_as_interrupted(client: Client, spawn: Spawn) -> None:
    process = spawn("run", "slow.yaml")
    wait_until(lambda: bool(client.get("/runs")["runs"]))
    run = client.get("/runs")["runs"][0]["id"]
    client.turns(run, 0)
    with client.stream(f"/runs/{run}/events") as events, client.stream("/changes") as changes:
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        told = next(e for e in events if e.get("event") == "status" and _interrupted(e))
        row = next(e for e in changes if _interrupted(e))

    assert told["data"]["status"] == "interrupted"
    assert row["data"]["id"] == run
    can = ["resume", "cancel", "stop", "continue", "accept", "fork"]
    assert client.get(f"/runs/{run}")["can"] == can


def _interrupted(event: dict[str, Any]) -> bool:
    return bool(event["data"]["status"] == "interrupted")


@pytest.mark.slow
def test_streams_are_counted_and_given_back(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "LISTENERS_MAX", 3)
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(client.stream("/changes"))
        refused = client.http.get("/api/changes", headers={"Accept": "text/event-stream"})
    assert refused.status_code == 429

    def is_open() -> bool:
        with client.http.stream("GET", "/api/changes") as answer:
            return bool(answer.status_code == 200)

    for _ in range(6):
        wait_until(is_open)


@pytest.mark.slow
def test_streams_end_when_the_server_does(project: Path) -> None:
    seen: list[dict[str, Any]] = []
    with running(project) as server:
        client = Client(server.address)
        run = client.finish("gated.yaml")["id"]

        def follow() -> None:
            with client.stream(f"/runs/{run}/events") as events:
                seen.extend(events)
            seen.append({"event": "left"})

        reader = threading.Thread(target=follow)
        reader.start()
        wait_until(lambda: bool(client.get("/project")))
        server.stop()
        reader.join(10)
        client.close()

    assert seen[-1] == {"event": "left"}
