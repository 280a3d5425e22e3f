"""Taking the wheel over HTTP: each request has one effect, also twice and in parallel (T13)."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from served import at_once, connected, make_project

from waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Client, Spawn

pytestmark = pytest.mark.threat(row="T13")

PARALLEL = 6
ONCE = [202] + [409] * (PARALLEL - 1)


def slow(client: Client) -> str:
    """A run that is under way."""
    run = client.start("slow.yaml")
    client.turns(run)
    return run


@pytest.mark.slow
def test_a_run_is_started_once_for_a_key_which_no_other_request_may_use(
    client: Client, project: Path
) -> None:
    body = {"workflow": "polish.yaml", "inputs": {"task": "x"}, "key": "order 7"}
    assert at_once(client, "/runs", body) == [200] * (PARALLEL - 1) + [201]
    (run,) = [row["id"] for row in client.get("/runs")["runs"]]
    client.wait(run, "succeeded")

    for other in ({"inputs": {"task": "y"}}, {"workflow": "slow.yaml", "inputs": {}}):
        error = client.post("/runs", body | other, 409)["error"]
        assert error["code"] == "W905"
        assert f"the key 'order 7' belongs to run {run}" in error["message"]

    # The request is the same, whatever became of the file meanwhile.
    file = project / "polish.yaml"
    file.write_text(f"{file.read_text()}# changed\n")
    assert client.post("/runs", body, 200)["run"] == run
    assert len(client.get("/runs")["runs"]) == 1


@pytest.mark.slow
def test_the_same_key_leaves_a_run_as_a_person_left_it(client: Client) -> None:
    body = {"workflow": "slow.yaml", "key": "order 7"}
    run = client.post("/runs", body, 201)["run"]

    for action, status in (("pause", "paused"), ("cancel", "cancelled")):
        client.post(f"/runs/{run}/{action}")
        client.wait(run, status)
        answer = client.post("/runs", body, 200)
        assert (answer["run"], answer["status"]) == (run, status)
        assert client.get(f"/runs/{run}")["status"] == status


def test_a_run_has_the_limits_that_it_is_given_and_tells_the_worst_case(client: Client) -> None:
    new = {"workflow": "polish.yaml", "inputs": {"task": "x"}}
    told = client.post("/runs", new, 201)
    assert told["forecast"].startswith("at most 49 calls (11 without retries)")
    assert "scripted" in told["note"]

    found = client.finish(budget_usd=2.5, max_iterations=2)
    assert (found["budget_usd"], found["iteration"]) == (2.5, 2)
    assert found["exit_reason"] == "max_iterations"


def test_a_command_fails_the_run_without_permission(client: Client, project: Path) -> None:
    found = client.finish("commanding.yaml")

    assert (found["status"], found["result"]["error"]["code"]) == ("failed", "R110")
    assert not (project / "ran.txt").exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"workflow": "polish.yaml"}, 400),
        ({"workflow": "polish.yaml", "inputs": {"task": "x", "other": 1}}, 400),
        ({"workflow": "none.yaml"}, 404),
        ({"workflow": "../polish.yaml"}, 404),
        ({"workflow": "flows/broken.yaml"}, 400),
        ({"workflow": "polish.yaml", "inputs": {"task": "x"}, "budget": 1}, 400),
        ({"workflow": "polish.yaml", "inputs": {"task": "x"}, "budget_usd": -1}, 400),
        ({"inputs": {}}, 400),
    ],
)
def test_what_cannot_start_does_not(shared: Client, body: dict[str, Any], status: int) -> None:
    shared.post("/runs", body, status)

    assert shared.get("/runs")["runs"] == []


def test_cancel_keeps_the_words(client: Client) -> None:
    run = slow(client)
    client.post(f"/runs/{run}/cancel", {"feedback": "wrong file"})
    found = client.wait(run, "cancelled")

    assert "wrong file" in found["result"]["error"]["message"]
    assert found["can"] == ["fork"]
    for path in ("cancel", "pause", "resume"):
        assert client.post(f"/runs/{run}/{path}", status=409)["error"]["code"] == "W905"


@pytest.mark.slow
def test_a_rejection_in_parallel_is_taken_once(client: Client) -> None:
    run = client.start("gated.yaml")
    (gate,) = client.wait(run, "waiting")["approvals"]
    assert (gate["address"], gate["message"], gate["show"]) == ("check", "Publish it?", "draft one")
    assert gate["waiting_since"] > 0

    body = {"feedback": "well", "at": "check"}
    assert at_once(client, f"/runs/{run}/reject", body) == ONCE

    outputs = client.wait(run, "succeeded")["result"]["outputs"]
    assert outputs == {"ok": False, "words": "well"}
    assert client.kinds(run).count("gate.decided") == 1
    late = client.post(f"/runs/{run}/approve", {"at": "check"}, 409)
    assert "has no open question" in late["error"]["message"]


def test_seen_makes_a_second_press_harmless(client: Client) -> None:
    found = client.finish(max_iterations=1)
    run, seen = found["id"], found["last_seq"]

    statuses = at_once(client, f"/runs/{run}/continue", {"iterations": 1, "seen": seen})

    assert statuses == ONCE
    assert client.wait(run, "succeeded")["iteration"] == 2


@pytest.mark.slow
def test_continue_of_a_loop_that_runs_needs_seen(client: Client) -> None:
    run = slow(client)

    error = client.post(f"/runs/{run}/continue", {"iterations": 5}, 409)["error"]
    assert "still running" in error["message"]
    seen = client.get(f"/runs/{run}")["last_seq"]
    client.post(f"/runs/{run}/continue", {"iterations": 5, "seen": seen})
    assert client.get(f"/runs/{run}/loops")["loops"][0]["iterations_max"] == 205
    assert client.post(f"/runs/{run}/continue", {}, 400)["error"]["code"] == "W900"
    client.post(f"/runs/{run}/cancel")


@pytest.mark.slow
def test_accept_takes_an_iteration_once(client: Client) -> None:
    run = client.finish()["id"]

    statuses = at_once(client, f"/runs/{run}/accept", {"iteration": 2})
    found = client.wait(run, "succeeded")

    assert statuses == ONCE
    assert found["result"]["outputs"]["draft"] == "draft two"
    assert found["exit_reason"] == "accepted"
    assert client.post(f"/runs/{run}/accept", {"iteration": 9}, 409)["error"]["code"] == "W902"


def test_a_fork_has_another_prompt_and_another_model(client: Client) -> None:
    run = client.finish(inputs={"task": "bees"})["id"]
    steps = {"polish/write": {"prompt": "Write again about {{ task }}.", "model": "other"}}
    made = client.post(f"/runs/{run}/fork", {"at": "polish[1]", "steps": steps}, 201)["run"]
    client.wait(made)
    asked = client.get(f"/runs/{made}/step", at="polish[1]/write")["record"]
    done = [e for e in client.get(f"/runs/{made}/events")["events"] if "model" in e["body"]]
    graph = client.get(f"/runs/{made}/graph")["nodes"]
    refused = [
        client.post(f"/runs/{run}/fork", {"at": "polish[1]", "steps": {name: fields}}, 409)
        for name, fields in (("wrote", {"model": "x"}), ("write", {"prompt": "{{ a ++ }}"}))
    ]

    assert asked["inputs"]["prompt"] == "Write again about bees."
    assert done[0]["body"]["model"].endswith("other")
    [settings] = [node["settings"] for node in graph if node["path"] == "polish/write"]
    assert settings["prompt"] == "Write again about {{ task }}."
    assert "polish/write" in refused[0]["error"]["help"]
    assert "cannot be read" in refused[1]["error"]["message"]


def test_fork_redoes_an_iteration_with_other_values(client: Client) -> None:
    run = client.finish(budget_usd=2.5)["id"]
    poor = client.post(f"/runs/{run}/fork", {"at": "polish[2]", "budget_usd": 1.0}, 201)["run"]

    body = {"at": "polish[2]", "set": {"hint": "shorter"}, "key": "f1"}
    made = client.post(f"/runs/{run}/fork", body, 201)
    again = client.post(f"/runs/{run}/fork", body, 200)
    others = [{"set": {}}, {"at": "polish[1]"}, {"steps": {"write": {"prompt": "Other"}}}]
    for other in others:
        refused = client.post(f"/runs/{run}/fork", body | other, 409)["error"]
        assert refused["code"] == "W905"
        assert "the key 'f1' belongs to run" in refused["message"]
    fork = client.wait(made["run"], "succeeded")

    assert again == {"run": made["run"], "created": False}
    assert (fork["parent"], fork["budget_usd"]) == (run, 2.5)
    assert client.wait(poor, "succeeded")["budget_usd"] == 1.0
    assert set(client.get(f"/runs/{run}")["forks"]) == {poor, made["run"]}
    step = client.get(f"/runs/{made['run']}/step", at="polish[2]/write")
    assert "after shorter" in step["record"]["inputs"]["prompt"]
    client.post(f"/runs/{run}/fork", {"at": "polish[9]"}, 404)
    client.post(f"/runs/{run}/fork", {"at": "polish"}, 404)
    client.post(f"/runs/{run}/fork", {"at": "polish[2]", "set": {"no": 1}}, 400)


def test_a_run_of_another_process_is_steered_through_its_inbox(
    client: Client, spawn: Spawn
) -> None:
    process = spawn("run", "slow.yaml")
    wait_until(lambda: bool(client.get("/runs")["runs"]))
    run = client.get("/runs")["runs"][0]["id"]
    client.turns(run)
    assert client.get(f"/runs/{run}")["driver"] == "elsewhere"
    assert client.post(f"/runs/{run}/resume", status=409)["error"]["code"] == "R902"

    assert at_once(client, f"/runs/{run}/pause", {}) == ONCE
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 5

    client.post(f"/runs/{run}/resume")
    assert client.get(f"/runs/{run}")["driver"] == "here"
    client.post(f"/runs/{run}/cancel")
    client.wait(run, "cancelled")


@pytest.mark.slow
def test_runs_are_started_with_labels_and_listed_by_them(client: Client) -> None:
    new = {"workflow": "polish.yaml", "inputs": {"task": "x"}}
    red = client.post("/runs", new | {"labels": {"team": "red", "n": "1"}}, 201)["run"]
    client.post("/runs", new | {"labels": {"team": "blue"}}, 201)
    refused = client.post("/runs", new | {"labels": {"experiment": "mine"}}, 400)

    (found,) = client.get("/runs", label="team=red")["runs"]
    assert found["id"] == red
    assert found["labels"] == {"n": "1", "team": "red"}
    assert client.get("/runs", label="team=red=")["runs"] == []
    assert "only for runs of experiments" in refused["error"]["message"]


LETTER = """
whorl: 1
name: letter
steps:
  letter:
    repeat:
      at_most: 3
      ask_person: each
      steps:
        write: {ask: "Write a letter. {{ person.feedback | default('') }}"}
outputs: {letter: "{{ letter.write }}"}
"""


@contextmanager
def _letter(folder: Path, text: str) -> Iterator[tuple[Client, str]]:
    """A server with a loop that asks, and a run of it."""
    make_project(folder)
    (folder / "letter.yaml").write_text(text)
    with connected(folder) as client:
        yield client, client.start("letter.yaml")


def test_an_iteration_is_sent_back_and_the_next_one_taken(tmp_path: Path) -> None:
    with _letter(tmp_path, LETTER) as (client, run):
        (gate,) = client.wait(run, "waiting")["approvals"]
        assert (gate["reason"], gate["address"]) == ("iteration", "letter[1]/:ask")
        assert gate["show"] == {"write": "draft one"}
        client.post(f"/runs/{run}/reject", {"feedback": "shorter", "at": gate["address"]})

        (gate,) = client.wait(run, "waiting")["approvals"]
        assert gate["address"] == "letter[2]/:ask"
        step = client.get(f"/runs/{run}/step", at="letter[2]/write")
        late = client.post(f"/runs/{run}/approve", {"at": "letter[1]/:ask"}, 409)
        for nothing in ({}, {"at": ""}, {"at": None}):
            client.post(f"/runs/{run}/approve", nothing, 400)
        client.post(f"/runs/{run}/approve", {"at": gate["address"]})
        found = client.wait(run, "succeeded")

    assert "shorter" in step["record"]["inputs"]["prompt"]
    assert "already" in late["error"]["message"]
    assert (found["iteration"], found["exit_reason"]) == (2, "condition_met")


def test_an_iteration_is_taken_with_edits(tmp_path: Path) -> None:
    with _letter(tmp_path, LETTER) as (client, run):
        (gate,) = client.wait(run, "waiting")["approvals"]
        told = {"at": gate["address"]}
        approve, reject = f"/runs/{run}/approve", f"/runs/{run}/reject"
        unknown = client.post(approve, told | {"value": {"wrote": "x"}}, 409)
        unnamed = client.post(approve, told | {"value": "x"}, 409)
        rejected = client.post(reject, told | {"value": {"write": "x"}}, 400)
        client.post(approve, told | {"value": {"write": "By hand."}})
        result = client.wait(run, "succeeded")
        kept = client.get(f"/runs/{run}/iterations/1", at="letter")["results"]

    for refused in (unknown, unnamed):
        assert "the names of its results" in refused["error"]["message"]
        assert "write" in refused["error"]["help"]
    assert "value" in rejected["error"]["message"]
    assert result["result"]["output"] == "By hand."
    assert kept == {"write": "draft one"}


def test_a_loop_is_stopped_after_its_iteration(tmp_path: Path) -> None:
    with _letter(tmp_path, LETTER) as (client, run):
        assert "stop" in client.wait(run, "waiting")["can"]
        client.post(f"/runs/{run}/stop", {"at": "letter"})
        found = client.wait(run, "succeeded")
        again = client.post(f"/runs/{run}/stop", {}, 409)
        [loop] = client.get(f"/runs/{run}/loops")["loops"]

    assert loop["why"] == "a person stopped it; iteration 1 is returned"
    assert (found["iteration"], found["exit_reason"]) == (1, "accepted")
    assert "stop" not in found["can"]
    assert "has ended already" in again["error"]["message"]
