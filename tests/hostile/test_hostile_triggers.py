"""A file that the clock starts is not started because a person serves the folder that it is in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from cloned import Clone, empty_clone, runs_of, served

from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2

NAME = "beat.Clock"
SLOW = """
whorl: 1
name: slow
steps:
  l: {repeat: {at_most: 15, wait: 100ms, steps: {a: {value: "{{ iteration }}"}}}}
"""


def beat(every: int = 1) -> str:
    """A workflow of Logic Apps that is due every second, or so."""
    clock = {"type": "Recurrence", "recurrence": {"frequency": "Second", "interval": every}}
    definition = {
        "$schema": "https://schema.management.azure.com/schemas/2016-06-01/Microsoft.Logic.json",
        "triggers": {"Clock": clock},
        "actions": {"Text": {"type": "Compose", "inputs": "tick"}},
    }
    return json.dumps({"definition": definition})


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = empty_clone(tmp_path)
    (made.folder / "beat.json").write_text(beat())
    (made.folder / "slow.yaml").write_text(SLOW)
    return made


def shown(client: httpx2.Client) -> dict[str, Any]:
    found = client.get("/api/schedules").json()["schedules"]
    return dict(found[0]) if found else {}


def first_looks(client: httpx2.Client, until: Callable[[], bool]) -> None:
    """A server looks at its schedules each second; a run takes longer than that."""
    wait_until(until)
    begun = client.post("/api/runs", json={"workflow": "slow.yaml"})
    assert begun.status_code == 201, begun.text
    wait_until(lambda: all(row["status"] == "succeeded" for row in runs_of(client, "slow")))


def test_a_trigger_starts_nothing_before_a_person_lets_it(clone: Clone) -> None:
    with served(clone) as (client, said):
        first_looks(client, lambda: bool(shown(client)))
        assert runs_of(client, "beat") == []
        assert (shown(client)["paused"], shown(client)["firings"]) == (True, [])
        assert f"`whorl server schedule resume {NAME}`" in shown(client)["trouble"]
        listed = clone.whorl("server", "schedule", "ls")
        assert f"{NAME} starts nothing: this trigger comes from a workflow file" in listed.stderr

        # What is advised helps.
        assert clone.whorl("server", "schedule", "resume", NAME).returncode == 0
        wait_until(lambda: bool(runs_of(client, "beat")))
        assert (shown(client)["paused"], shown(client)["trouble"]) == (False, "")
        count = len(runs_of(client, "beat"))
    assert [line for line in said if f"{NAME} starts nothing" in line]

    # It is remembered; a change of the rule asks again.
    with served(clone) as (client, _):
        wait_until(lambda: len(runs_of(client, "beat")) > count + 1)
    (clone.folder / "beat.json").write_text(beat(2))
    with served(clone) as (client, _):
        first_looks(client, lambda: bool(shown(client)["paused"]))


@pytest.mark.slow
def test_what_a_person_has_paused_stays_so_where_it_is_trusted(clone: Clone) -> None:
    with served(clone, trusts=True) as (client, _):
        wait_until(lambda: bool(shown(client)))
        assert clone.whorl("server", "schedule", "pause", NAME).returncode == 0
    with served(clone, trusts=True) as (client, _):
        first_looks(client, lambda: bool(shown(client)))
        assert shown(client)["paused"]
