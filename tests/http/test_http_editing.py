"""Editing over HTTP: pictures and operations for everybody, saving where the operator allows it.

Tries run a draft's loop once with pinned results, and no list shows them.
"""

from __future__ import annotations

import os
import time
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import pytest
from served import POLISH, TOKEN, connected, make_project

from waiting import wait_until
from whorl.interfaces.http.server import ListenOptions

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from served import Client


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("edited"))


@pytest.fixture(scope="module")
def editor(folder: Path) -> Iterator[Client]:
    """A client of a server that saves files."""
    with connected(folder, ListenOptions(token=TOKEN, edits=True)) as client:
        yield client


def asked(client: Client, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    """The answer to saving a file, which is tried again where others were just saved."""
    while True:
        answer = client.http.request(method, path, json=body)
        if answer.status_code != HTTPStatus.TOO_MANY_REQUESTS:
            return answer.status_code, answer.json()
        time.sleep(0.1)


def put(client: Client, **body: Any) -> tuple[int, Any]:
    return asked(client, "PUT", "/api/workflows/source", body)


def test_operations_give_patches_in_utf16_units_and_save_nothing(
    editor: Client, folder: Path
) -> None:
    text = 'whorl: 1\nname: "😀"\nsteps:\n  a: {ask: "😀 one"}\n  b: {ask: "{{ a }}"}\n'
    operations = [{"operation": "rename", "at": "a", "name": "first"}]
    body = {"name": "new.yaml", "text": text, "operations": operations}

    edited = editor.post("/workflows/edit", body, 200)

    units = text.encode("utf-16-le")
    for patch in reversed(edited["patches"]):
        new = patch["text"].encode("utf-16-le")
        units = units[: 2 * patch["start"]] + new + units[2 * patch["end"] :]
    assert units.decode("utf-16-le") == edited["text"]
    assert edited["rewired"] == [{"path": "b", "field": "ask", "line": 5}]
    assert edited["select"] == ["first"]
    assert edited["diagnostics"] is not None
    assert not (folder / "new.yaml").exists()
    assert editor.get("/palette", dialect="native")["groups"][0]["kinds"]


def test_a_refused_operation_says_which_and_where(editor: Client) -> None:
    text = editor.get("/workflows/sketch", file="polish.yaml")["text"]
    operations = [
        {"operation": "set", "at": "report", "field": ["ask"], "value": "x"},
        {"operation": "remove", "at": "polish/write"},
    ]

    body = {"name": "polish.yaml", "text": text, "operations": operations}
    error = editor.post("/workflows/edit", body, 422)["error"]

    assert (error["code"], error["operation"]) == ("C106", 1)
    assert error["line"]


@pytest.mark.parametrize(
    "operation",
    [{"operation": "explode"}, {"operation": "set", "at": "a"}, {"operation": "unwrap", "at": 1},
     {"operation": "rename", "at": "a", "name": "b", "more": 1}, {}],
)  # fmt: skip
def test_the_shapes_of_operations_are_closed(editor: Client, operation: dict[str, Any]) -> None:
    body = {"name": "a.yaml", "text": "whorl: 1\nsteps: {a: {ask: x}}\n", "operations": [operation]}

    assert editor.post("/workflows/edit", body, 400)["error"]["code"] == "W900"


def test_a_save_needs_the_version_that_it_was_made_from(editor: Client, folder: Path) -> None:
    (folder / "timed.yaml").chmod(0o640)
    drawn = editor.get("/workflows/sketch", file="timed.yaml")
    new = drawn["text"].replace("Now?", "Then?")

    status, saved = put(editor, file="timed.yaml", text=new, etag=drawn["etag"])
    again, refused = put(editor, file="timed.yaml", text="x", etag=drawn["etag"])

    assert (status, again) == (200, 409)
    assert (folder / "timed.yaml").read_text() == new
    assert (folder / "timed.yaml").stat().st_mode & 0o777 == 0o640
    assert refused["current"] == {"text": new, "etag": saved["etag"]}
    assert editor.get("/workflows/etag", file="timed.yaml")["etag"] == saved["etag"]
    assert [name for name in os.listdir(folder) if name.startswith(".timed")] == []


NEW = "whorl: 1\nsteps: {a: {ask: x}}\n"


@pytest.mark.parametrize(
    "file",
    ["whorl.toml", ".whorl/x.yaml", "../x.yaml", "/tmp/x.yaml", ".hidden.yaml", "no/such.yaml",
     "link.yaml", "linked/x.yaml", "hard.yaml", "flows/../x.yaml", "x.txt", "a\\b.yaml"],
)  # fmt: skip
def test_only_workflow_files_of_the_project_are_written(
    editor: Client, folder: Path, file: str
) -> None:
    if not (folder / "link.yaml").exists():
        (folder / "link.yaml").symlink_to(folder / "gated.yaml")
        (folder / "linked").symlink_to(folder / "flows")
        os.link(folder / "slow.yaml", folder / "hard.yaml")
    before = {path: path.read_bytes() for path in folder.rglob("*.yaml")}

    status, answer = put(editor, file=file, text=NEW, etag=None)

    assert status in (400, 403, 404, 409), answer
    assert {path: path.read_bytes() for path in folder.rglob("*.yaml")} == before


def test_other_data_is_not_written_over(editor: Client, folder: Path) -> None:
    from whorl.wings.editor.files import etag_of

    etag = etag_of((folder / "notes.json").read_bytes())

    assert put(editor, file="notes.json", text=NEW, etag=etag)[0] == 403
    assert put(editor, file="more.json", text='{"some": "data"}', etag=None)[0] == 403


@pytest.mark.slow
def test_without_permission_nothing_is_written(client: Client) -> None:
    drawn = client.get("/workflows/sketch", file="polish.yaml")

    status, answer = put(client, file="polish.yaml", text=NEW, etag=drawn["etag"])

    assert (status, answer["error"]["code"]) == (403, "C112")
    assert client.get("/project")["edit"] is False
    assert client.get("/workflows/etag", file="polish.yaml")["etag"] == drawn["etag"]


def test_new_files_come_from_templates_copies_and_nothing(editor: Client, folder: Path) -> None:
    for body in (
        {"file": "made-1.yaml", "template": "self-refine"},
        {"file": "made-2.json", "template": "self-refine"},
        {"file": "made-3.yaml", "copy_of": "gated.yaml"},
        {"file": "made-4.yaml", "convert": "made-2.json"},
        *({"file": f"made-{name}.yaml", "empty": name} for name in ("native", "shodan")),
        {"file": "made-studio.json", "empty": "studio"},
    ):
        status, made = asked(editor, "POST", "/api/workflows", body)
        assert status == 200, made
        mistakes = [one for one in made["diagnostics"] if one["severity"] == "error"]
        assert mistakes == [], body
        assert (folder / made["file"]).exists()
    for body, wrong in (
        ({"file": "made-1.yaml", "empty": "native"}, 409),
        ({"file": "x.yaml"}, 400),
    ):
        assert asked(editor, "POST", "/api/workflows", body)[0] == wrong


def test_a_part_in_a_new_file_is_known_before_it_is_saved(editor: Client, folder: Path) -> None:
    text = 'whorl: 1\nsteps:\n  a: {ask: "One"}\n  b: {ask: "{{ a }}"}\noutputs: {x: "{{ b }}"}\n'
    operations = [{"operation": "extract", "at": "a", "file": "part.yaml"}]
    body = {"name": "whole.yaml", "text": text, "operations": operations}
    edited = editor.post("/workflows/edit", body, 200)
    others = {name: other["text"] for name, other in edited["others"].items()}
    named = {"name": "whole.yaml", "text": edited["text"]}

    assert edited["diagnostics"] == []
    assert not (folder / "part.yaml").exists()
    alone = editor.post("/workflows/sketch", named, 200)
    assert alone["diagnostics"][0]["code"] == "W016"
    assert editor.post("/workflows/sketch", {**named, "others": others}, 200)["diagnostics"] == []
    back = [{"operation": "inline", "at": "a"}]
    again = editor.post("/workflows/edit", {**named, "operations": back, "others": others}, 200)
    assert again["text"] == text

    saving = {"file": "whole.yaml", "text": edited["text"], "etag": None, "others": others}
    assert put(editor, **saving)[0] == 200
    assert (folder / "part.yaml").read_text() == others["part.yaml"]
    # What is there already, as it is wanted, is no obstacle; anything else is.
    etag = editor.get("/workflows/etag", file="whole.yaml")["etag"]
    assert put(editor, **{**saving, "etag": etag})[0] == 200
    other = {"part.yaml": others["part.yaml"] + "# mine\n"}
    status, answer = put(editor, **{**saving, "etag": etag, "others": other})
    assert (status, answer["error"]["code"]) == (422, "W012")


# Tries.


def ended(editor: Client, run: str) -> dict[str, Any]:
    def is_over() -> bool:
        return editor.get(f"/runs/{run}")["status"] not in ("running", "queued")

    wait_until(is_over)
    records = editor.get(f"/runs/{run}/records", depth=2)["records"]
    return {record["address"]: record for record in records}


def test_a_draft_is_tried_with_pins_and_is_in_no_list(editor: Client) -> None:
    draft = POLISH.replace("Write {{ task }}", "Write again {{ task }}")
    pins = {"polish/review": {"value": {"approved": True}}}
    put = editor.http.put("/api/pins", json={"file": "polish.yaml", "pins": pins})
    kept = editor.get("/pins", file="polish.yaml")
    body = {"name": "polish.yaml", "text": draft, "at": "polish", "inputs": {"task": "x"}}
    body["values"] = {"polish/hint": "that"}

    made = editor.post("/tries", body, 201)
    records = ended(editor, made["run"])

    assert put.status_code == 200
    assert kept["pins"]["polish/review"] == {"value": {"approved": True}, "stale": False}
    assert records["polish[1]/write"]["inputs"]["prompt"] == "Write again x after that"
    assert records["polish[1]/review"]["kind"] == "compute"
    assert made["run"] not in [run["id"] for run in editor.get("/runs")["runs"]]
    assert made["run"] in [run["id"] for run in editor.get("/runs", tries="true")["runs"]]


def test_a_pin_of_a_step_that_is_not_there_is_refused_or_stale(editor: Client) -> None:
    pins = {"polish/review": {"value": 1}}
    editor.http.put("/api/pins", json={"file": "polish.yaml", "pins": pins})
    draft = POLISH.replace("        review:", "        look:").replace("review.", "look.")
    body = {"name": "polish.yaml", "text": draft, "at": "polish", "inputs": {"task": "x"}}

    made = editor.post("/tries", body, 201)
    wrong = {"file": "polish.yaml", "pins": {"no": {"value": 1}}}
    refused = editor.http.put("/api/pins", json=wrong)

    assert made["stale"] == ["polish/review"]
    assert refused.status_code == 400
    assert editor.http.put("/api/pins", json={"file": "polish.yaml", "pins": {}}).status_code == 200


def test_effects_and_unknown_steps_are_refused(editor: Client) -> None:
    text = "whorl: 1\nsteps:\n  a: {run: 'sh -c true'}\n"
    body = {"name": "new.yaml", "text": text, "at": "a"}

    asked = editor.post("/tries", body, 409)
    made = editor.post("/tries", {**body, "effects": True}, 201)

    assert asked["error"]["code"] == "C113"
    assert ended(editor, made["run"])["a"]["output"]["exit_code"] == 0
    assert editor.post("/tries", {**body, "at": "b"}, 400)["error"]["code"] == "W005"
