"""A person in the loop, over HTTP: after each iteration, and at the limit."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from served import Client, connected, make_project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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
        (gate,) = client.wait(run, "waiting")["gates"]
        assert (gate["reason"], gate["address"]) == ("iteration", "letter[1]/:ask")
        assert gate["show"] == {"write": "draft one"}
        client.post(f"/runs/{run}/reject", {"feedback": "shorter", "address": gate["address"]})

        (gate,) = client.wait(run, "waiting")["gates"]
        assert gate["address"] == "letter[2]/:ask"
        step = client.get(f"/runs/{run}/node", address="letter[2]/write")
        asked = client.get(f"/runs/{run}/node", address="letter[1]/:ask")
        late = client.post(f"/runs/{run}/approve", {"address": "letter[1]/:ask"}, 409)
        for nothing in ({}, {"address": ""}, {"address": None}):
            client.post(f"/runs/{run}/approve", nothing, 400)
        client.post(f"/runs/{run}/approve", {"address": gate["address"]})
        found = client.wait(run, "succeeded")

    assert "shorter" in step["attempts"][0]["inputs"]["prompt"]
    assert asked["attempts"][0]["output"]["feedback"] == "shorter"
    assert "already" in late["error"]["message"]
    assert (found["iteration"], found["exit_reason"]) == (2, "condition_met")


def test_an_iteration_is_taken_with_edits(tmp_path: Path) -> None:
    with _letter(tmp_path, LETTER) as (client, run):
        (gate,) = client.wait(run, "waiting")["gates"]
        told = {"address": gate["address"]}
        approve, reject = f"/runs/{run}/approve", f"/runs/{run}/reject"
        unknown = client.post(approve, told | {"value": {"wrote": "x"}}, 409)
        unnamed = client.post(approve, told | {"value": "x"}, 409)
        rejected = client.post(reject, told | {"value": {"write": "x"}}, 400)
        client.post(approve, told | {"value": {"write": "By hand."}})
        result = client.wait(run, "succeeded")
        kept = client.get(f"/runs/{run}/iterations/1", loop="letter")["results"]

    assert unknown["error"]["message"] == "'letter[1]' has no result 'wrote'"
    assert "'write'" in unknown["error"]["help"]
    assert "by their names" in unnamed["error"]["message"]
    assert "value" in rejected["error"]["message"]
    assert result["result"]["output"] == "By hand."
    assert kept == {"write": "draft one"}


def test_a_loop_is_stopped_after_its_iteration(tmp_path: Path) -> None:
    with _letter(tmp_path, LETTER) as (client, run):
        assert "stop" in client.wait(run, "waiting")["can"]
        client.post(f"/runs/{run}/stop", {"loop": "letter"})
        found = client.wait(run, "succeeded")
        again = client.post(f"/runs/{run}/stop", {}, 409)
        [loop] = client.get(f"/runs/{run}/loops")["loops"]

    assert loop["why"] == "a person stopped it; iteration 1 is returned"
    assert (found["iteration"], found["exit_reason"]) == (1, "accepted")
    assert "stop" not in found["can"]
    assert "has ended already" in again["error"]["message"]
