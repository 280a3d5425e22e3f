"""Looking at runs and workflows over HTTP, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from served import Client


@pytest.fixture(scope="module")
def polished(shared: Client) -> str:
    """A run of the loop that has ended."""
    return str(shared.finish(inputs={"task": "a haiku"})["id"])


def test_every_step_has_a_record_page_by_page_to_any_depth(shared: Client, polished: str) -> None:
    def records(**query: Any) -> list[Any]:
        return list(shared.get(f"/runs/{polished}/records", **query)["records"])

    run, inside = records(), records(at="polish[3]")
    turns = records(at="polish", depth=1, repetitions="true")
    whole = shared.get(f"/runs/{polished}/records", depth=5)
    first = shared.get(f"/runs/{polished}/records", depth=5, limit=4)
    rest = records(depth=5, limit=4, after=4)

    assert (run[0]["address"], run[0]["kind"], run[0]["repetitions"]) == ("polish", "loop", 3)
    names = ["polish[3]", *(f"polish[3]/{name}" for name in ("write", "length", "review"))]
    assert [record["address"] for record in inside] == names
    write = inside[1]
    assert (write["kind"], write["status"], write["usage"]["calls"]) == ("ask", "succeeded", 1)
    assert inside[0]["usage"]["calls"] == 2
    assert [(one["address"], one["kind"], one["number"]) for one in turns] == [
        (f"polish[{number}]", "iteration", number) for number in (1, 2, 3)
    ]
    assert (whole["more"], first["more"], len(first["records"])) == (False, True, 4)
    assert first["records"] + rest == whole["records"][:8]


def test_large_values_are_fetched_by_reference(client: Client) -> None:
    run = client.finish("big.yaml")["id"]
    events = client.get(f"/runs/{run}/events")["events"]
    started = next(event for event in events if event["kind"] == "task.started")
    prompt = started["body"]["inputs"]["prompt"]
    value = client.get(f"/runs/{run}/values/{prompt['$ref']}")["value"]

    record = client.get(f"/runs/{run}/step", at=started["address"])["record"]

    assert (prompt["size"], len(prompt["preview"])) == (30_006, 400)
    reference = record["inputs"]["prompt"]["$ref"]
    assert client.get(f"/runs/{run}/values/{reference}")["value"] == value
    assert value == "Write " + "abcdefghij" * 3000
    for ref in ("1.WyJub25lIl0", "999.WyJpbnB1dHMiXQ", "1.Ww", "1.!!"):
        assert client.http.get(f"/api/runs/{run}/values/{ref}").status_code in (400, 404)


def test_workflows_are_listed_with_their_inputs_and_mistakes(shared: Client) -> None:
    found = {one["file"]: one for one in shared.get("/workflows")["workflows"]}

    assert "notes.json" not in found
    assert found["polish.yaml"]["description"] == "Writes until it is good."
    assert found["polish.yaml"]["inputs"][0] | {"description": ""} == {
        "name": "task",
        "type": "string",
        "required": True,
        "default": None,
        "description": "",
    }
    assert found["flows/broken.yaml"]["errors"] == 1
    graph = shared.get("/workflows/graph", file="gated.yaml")
    kinds = {node["path"]: node["kind"] for node in graph["nodes"]}
    assert kinds == {"draft": "task", "check": "gate"}
    assert shared.get("/workflows/source", file="gated.yaml")["main"] == "gated.yaml"


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("path", ["source", "sketch", "etag", "graph"])
def test_settings_beside_workflows_are_not_shown(client: Client, project: Path, path: str) -> None:
    (project / "local.settings.json").write_text('{"Values": {"key": "a secret of the folder"}}')
    answer = client.http.get(f"/api/workflows/{path}", params={"file": "local.settings.json"})
    assert answer.status_code >= 400
    assert "a secret of the folder" not in answer.text


def test_texts_and_files_are_validated_with_places_and_worst_case(shared: Client) -> None:
    wrong = shared.post("/validate", {"text": "whorl: 1\nname: x\nsteps: {a: {asq: b}}\n"}, 200)
    found = shared.post("/validate", {"workflow": "polish.yaml"}, 200)
    command = shared.post("/validate", {"workflow": "commanding.yaml"}, 200)

    assert (found["ok"], found["dialect"], found["worst_case"]["calls"]) == (True, "native", 49)
    assert [one["code"] for one in command["diagnostics"]] == ["R110"]
    places = [(one["file"], one["line"]) for one in wrong["diagnostics"][:1]]
    assert (wrong["ok"], places) == (False, [("workflow.yaml", 3)])


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/runs/nope", 404),
        ("/runs/..%2f..", 404),
        ("/runs/%00", 400),
        ("/runs?limit=0", 400),
        ("/runs?status=odd", 400),
        ("/runs?limit=1&limit=2", 400),
        ("/runs?" + "&".join(f"a{n}=1" for n in range(60)), 400),
        ("/project?x=1", 400),
        ("/workflows/graph?file=../outside.yaml", 404),
        ("/workflows/graph?file=~/x.yaml", 404),
        ("/workflows/source?file=a%5Cb", 404),
        ("/runs/{run}/iterations/99", 404),
        ("/runs/{run}/diff?one=1", 400),
        ("/runs/{run}/step?at=nowhere", 404),
        ("/runs/{run}/records?depth=-1", 400),
    ],
)
def test_wrong_requests_get_words(shared: Client, polished: str, path: str, status: int) -> None:
    answer = shared.http.get(f"/api{path.replace('{run}', polished)}")

    error: dict[str, Any] = answer.json()["error"]
    assert (answer.status_code, bool(error["code"] and error["message"])) == (status, True)


@pytest.mark.parametrize(
    "path",
    ["/api/runs", "/api/experiments", "/api/workflows", "/api/workflows/etag?file=polish.yaml"],
)
def test_what_is_known_is_not_sent_again(shared: Client, path: str) -> None:
    first = shared.http.get(path)

    again = shared.http.get(path, headers={"If-None-Match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert again.headers["etag"] == first.headers["etag"]
    assert "content-type" not in again.headers
