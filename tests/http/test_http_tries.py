"""Tries over HTTP: a draft's loop runs once with pinned results, and no list shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from served import POLISH, TOKEN, connected, make_project

from waiting import wait_until
from whorl.interfaces.http.server import Place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder: Path = make_project(tmp_path_factory.mktemp("tried"))
    with connected(folder, Place(token=TOKEN, edits=True)) as client:
        yield client


def ended(client: Client, run: str) -> dict[str, Any]:
    def is_over() -> bool:
        return client.get(f"/runs/{run}")["status"] not in ("running", "queued")

    wait_until(is_over)
    records = client.get(f"/runs/{run}/records", depth=2)["records"]
    return {record["address"]: record for record in records}


def test_a_draft_is_tried_with_pins_and_is_in_no_list(client: Client) -> None:
    draft = POLISH.replace("Write {{ task }}", "Write again {{ task }}")
    pins = {"polish/review": {"value": {"approved": True}}}
    put = client.http.put("/api/pins", json={"file": "polish.yaml", "pins": pins})
    kept = client.get("/pins", file="polish.yaml")
    body = {"name": "polish.yaml", "text": draft, "at": "polish", "inputs": {"task": "x"}}
    body["values"] = {"polish/hint": "that"}

    made = client.post("/tries", body, 201)
    records = ended(client, made["run"])

    assert put.status_code == 200
    assert kept["pins"]["polish/review"] == {"value": {"approved": True}, "stale": False}
    assert records["polish[1]/write"]["inputs"]["prompt"] == "Write again x after that"
    assert records["polish[1]/review"]["kind"] == "compute"
    assert made["run"] not in [run["id"] for run in client.get("/runs")["runs"]]
    assert made["run"] in [run["id"] for run in client.get("/runs", tries="true")["runs"]]


def test_a_pin_of_a_step_that_is_not_there_is_refused_or_stale(client: Client) -> None:
    pins = {"polish/review": {"value": 1}}
    client.http.put("/api/pins", json={"file": "polish.yaml", "pins": pins})
    draft = POLISH.replace("        review:", "        look:").replace("review.", "look.")
    body = {"name": "polish.yaml", "text": draft, "at": "polish", "inputs": {"task": "x"}}

    made = client.post("/tries", body, 201)
    wrong = {"file": "polish.yaml", "pins": {"no": {"value": 1}}}
    refused = client.http.put("/api/pins", json=wrong)

    assert made["stale"] == ["polish/review"]
    assert refused.status_code == 400
    assert client.http.put("/api/pins", json={"file": "polish.yaml", "pins": {}}).status_code == 200


def test_a_try_knows_new_files_that_are_not_saved(client: Client) -> None:
    name, moved = "polish.yaml", {"operation": "extract", "at": "polish/review", "file": "new.yaml"}
    made = client.post(
        "/workflows/edit", {"name": name, "text": POLISH, "operations": [moved]}, 200
    )
    draft = {"text": made["text"], "others": {"new.yaml": made["others"]["new.yaml"]["text"]}}
    pins = {"polish/write": {"value": "A draft."}}
    put = client.http.put("/api/pins", json={"file": name, "pins": pins, **draft})

    tried = client.post("/tries", {"name": name, "at": "polish", **draft}, 201)
    records = ended(client, tried["run"])

    assert put.status_code == 200, put.text
    assert records["polish[1]/review/review"]["inputs"]["prompt"] == "Review A draft."
    assert client.http.put("/api/pins", json={"file": name, "pins": {}}).status_code == 200


def test_effects_and_unknown_steps_are_refused(client: Client) -> None:
    text = "whorl: 1\nsteps:\n  a: {run: 'sh -c true'}\n"
    body = {"name": "new.yaml", "text": text, "at": "a"}

    asked = client.post("/tries", body, 409)
    made = client.post("/tries", {**body, "effects": True}, 201)

    assert asked["error"]["code"] == "C113"
    assert ended(client, made["run"])["a"]["output"]["exit_code"] == 0
    assert client.post("/tries", {**body, "at": "b"}, 400)["error"]["code"] == "C105"
