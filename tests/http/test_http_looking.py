"""Looking at runs and workflows over HTTP, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from served import POLISH, connected, make_project

from experiments.served import SERVED, model
from retelling import retold

if TYPE_CHECKING:
    from pathlib import Path

    from served import Client

__all__ = ["model"]


@pytest.fixture(scope="module")
def polished(shared: Client) -> str:
    """A run of the loop that has ended."""
    return str(shared.finish(inputs={"task": "a haiku"})["id"])


def test_a_run_tells_its_row_its_result_its_loop_and_what_can_be_asked(
    shared: Client, polished: str
) -> None:
    row = next(row for row in shared.get("/runs")["runs"] if row["id"] == polished)
    run = shared.get(f"/runs/{polished}")
    (loop,) = shared.get(f"/runs/{polished}/loops")["loops"]

    assert row["scores"] == [0.41, 0.63, 0.9]
    assert (row["name"], row["file"], row["status"]) == ("polish", "polish.yaml", "succeeded")
    assert (row["loop"], row["iteration"], row["iterations_max"]) == ("polish", 3, 5)
    assert (row["target"], row["exit_reason"]) == (0.95, "condition_met")
    assert row["stopped_by"] == "expression"
    assert run["result"]["outputs"] == {"text": "the report", "draft": "draft three"}
    assert run["inputs"] == {"task": "a haiku"}
    assert run["can"] == ["continue", "accept", "fork"]
    assert (run["driver"], run["approvals"], run["forks"]) == ("nobody", [], [])
    assert run["ended_at"] >= run["started_at"]
    assert loop["until"] == "review.approved or score ≥ 0.95"
    assert (loop["target"], loop["iterations_max"], loop["best_iteration"]) == (0.95, 5, 3)
    assert loop["why"] == "an expression became true"
    found = shared.get("/project")
    note = "no model is asked: the replies are scripted"
    assert found["provider"] == {"name": "canned", "note": note}
    assert found["workflows"] == 9


@pytest.mark.slow
def test_lists_are_filtered_searched_sorted_and_paged_and_costs_added_up(client: Client) -> None:
    results = [client.finish(inputs={"task": "a harbour"})]
    results += [client.finish(inputs={"task": f"hill {n}"}, max_iterations=1) for n in range(2)]
    gated = client.finish("gated.yaml")["id"]
    long, short, last = (result["id"] for result in results)

    def ids(**query: Any) -> list[str]:
        return [row["id"] for row in client.get("/runs", **query)["runs"]]

    first = client.get("/runs", limit=2)
    second = client.get("/runs", limit=2, before=first["next"])
    assert [row["id"] for row in first["runs"] + second["runs"]] == [gated, last, short, long]
    assert (second["next"], first["workflows"]) == (None, ["gated", "polish"])
    assert ids(status="waiting") == ids(search="GATE") == [gated]
    assert ids(search="HARBOUR") == ids(search=long[-6:]) == [long]
    page = client.get("/runs", workflow="polish", limit=2, since=1)
    assert (page["total"], [run["given"] for run in page["runs"]]) == (3, ["hill 1", "hill 0"])
    assert client.get("/runs", search="hill")["total"] is None
    assert page["runs"][0]["seconds"] > 0

    costs = {row["id"]: row["cost_usd"] for row in client.get("/runs", workflow="polish")["runs"]}
    assert ids(sort="cost", workflow="polish")[0] == long
    assert ids(sort="cost", reverse=True, workflow="polish")[-1] == long
    assert set(ids(sort="cost", workflow="polish", before=long)) == {short, last}
    assert ids(cost_min=costs[long]) == [long]
    assert (ids(since=9e9), len(ids(until=9e9))) == ([], 4)

    told = client.get("/costs", by="workflow", since=0)
    assert [line["name"] for line in told["lines"]] == ["polish", "gated"]
    assert (told["by"], told["runs"], told["more"]) == ("workflow", 4, False)
    assert told["lines"][0]["cost_usd"] == pytest.approx(sum(costs.values()))
    assert (told["lines"][0]["model_calls"], told["lines"][0]["calls"]) == (13, 13)
    assert results[0]["result"]["usage"]["model_calls"] == 7
    assert client.get("/costs", since=9e9)["lines"] == []


def test_iterations_tell_scores_costs_and_verdicts(shared: Client, polished: str) -> None:
    page = shared.get(f"/runs/{polished}/iterations", limit=2)
    rest = shared.get(f"/runs/{polished}/iterations", after=2)

    assert [one["score"] for one in page["iterations"] + rest["iterations"]] == [0.41, 0.63, 0.9]
    assert (page["more"], rest["more"]) == (True, False)
    assert page["iterations"][0]["words"] == "review.approved is false; score 0.41 < 0.95"
    facts = page["iterations"][0]["verdicts"][1]["facts"]
    assert facts == {"leaf": 2, "score": 0.41, "at_least": 0.95}
    assert page["iterations"][0]["usage"]["calls"] == 2
    found = shared.get(f"/runs/{polished}/iterations/2", at="polish")
    assert (found["results"]["write"], found["results"]["length"]) == ("draft two", 9)
    assert (found["carried"], found["note"]["score"]) == ({"hint": "draft one"}, 0.63)
    matrix = shared.get(f"/runs/{polished}/matrix")
    assert [row["cells"]["length"] for row in matrix["iterations"]] == ["new", "same", "new"]
    assert matrix["steps"] == ["write", "length", "review"]


def test_two_iterations_of_one_run_or_two_are_compared(shared: Client, polished: str) -> None:
    other = shared.finish(inputs={"task": "a haiku"})["id"]
    same = shared.get(f"/runs/{polished}/diff", one=2, other=2, **{"with": other})
    unknown = shared.http.get(f"/api/runs/{polished}/diff?one=1&other=1&with=nobody")

    for run in ({}, {"with": other}):
        found = shared.get(f"/runs/{polished}/diff", one=1, other=3, **run)
        alike = {node["name"]: node["similarity"] for node in found["steps"]}
        assert (found["one"]["number"], found["other"]["score"]) == (1, 0.9)
        assert 0.5 < alike["write"] < 1
        assert found["feedback"] == {"hint": "draft two"}
    assert all(node["same"] for node in same["steps"])
    assert unknown.status_code == 404


def test_a_step_tells_its_record_and_the_one_before(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/step", at="polish[2]/write")
    computed = shared.get(f"/runs/{polished}/step", at="polish[3]/length")

    assert found["record"]["kind"] == "ask"
    assert found["record"]["output"] == "draft two"
    assert found["record"]["inputs"] == {"prompt": "Write a haiku after draft one"}
    assert found["previous"] == {"address": "polish[1]/write", "output": "draft one"}
    # A step that only computes is found by replaying.
    assert (computed["record"]["kind"], computed["record"]["output"]) == ("compute", 11)
    assert list(computed["record"]["inputs"]) == ["write"]


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


def test_the_graph_has_the_paths_of_the_events(shared: Client, polished: str) -> None:
    graph = shared.get(f"/runs/{polished}/graph")
    events = shared.get(f"/runs/{polished}/events")["events"]

    paths = {node["path"] for node in graph["nodes"]}
    assert {_path(event["address"]) for event in events} - {""} <= paths
    assert {(e["from"], e["to"]) for e in graph["edges"] if e["kind"] == "feedback"} == {
        ("polish/review", "polish/write")
    }
    loop = graph["nodes"][0]["loop"]
    assert (loop["target"], loop["limits"], loop["carry"]) == (0.95, {"iterations": 5}, ["hint"])
    pinned = shared.get(f"/runs/{polished}/source")
    assert "Writes until it is good" in pinned["files"][pinned["main"]]


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


def test_events_are_paged_and_in_order(shared: Client, polished: str) -> None:
    seqs: list[int] = []
    after, more = 0, True
    while more:
        page = shared.get(f"/runs/{polished}/events", after=after, limit=7)
        seqs += [event["seq"] for event in page["events"]]
        after, more = page["last_seq"], page["more"]

    assert seqs == list(range(1, shared.get(f"/runs/{polished}")["last_seq"] + 1))


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
        ("/runs?colour=red", 400),
        ("/runs?status=odd", 400),
        ("/runs?limit=1&limit=2", 400),
        ("/runs?" + "&".join(f"a{n}=1" for n in range(60)), 400),
        ("/project?x=1", 400),
        ("/nothing", 404),
        ("/workflows/graph?file=../outside.yaml", 404),
        ("/workflows/graph?file=~/x.yaml", 404),
        ("/workflows/source?file=a%5Cb", 404),
        ("/runs/{run}/iterations?at=other", 404),
        ("/runs/{run}/iterations/99", 404),
        ("/runs/{run}/iterations/0", 400),
        ("/runs/{run}/diff?one=1", 400),
        ("/runs/{run}/step?at=nowhere", 404),
        ("/runs/{run}/records?at=nowhere", 404),
        ("/runs/{run}/records?depth=-1", 400),
        ("/runs/{run}/values/0.WyJhIiwwXQ", 404),
    ],
)
def test_wrong_requests_get_words(shared: Client, polished: str, path: str, status: int) -> None:
    answer = shared.http.get(f"/api{path.replace('{run}', polished)}")

    error: dict[str, Any] = answer.json()["error"]
    assert (answer.status_code, bool(error["code"] and error["message"])) == (status, True)


def _path(address: str) -> str:
    import re

    return re.sub(r"\[[0-9]+\]|#[0-9]+", "", address)


@pytest.mark.slow
def test_a_run_that_ended_at_a_limit_is_marked(client: Client, project: Path) -> None:
    client.finish(max_iterations=2)
    marked = retold(
        project, lambda event: {"mark": "limit"} if event.kind == "loop.finished" else {}
    )

    rows = {row["id"]: row["mark"] for row in client.get("/runs")["runs"]}
    assert rows[marked] == "limit"
    run = client.get(f"/runs/{marked}")
    assert (run["mark"], run["status"]) == ("limit", "succeeded")
    assert client.get(f"/runs/{marked}/loops")["loops"][0]["mark"] == "limit"


def test_a_cost_that_is_not_known_is_null(tmp_path: Path, model: str) -> None:
    make_project(tmp_path, SERVED.format(url=model))
    text = "whorl: 1\nname: dear\nsteps: {a: {ask: Write, model: unlisted}}\n"
    (tmp_path / "dear.yaml").write_text(text)
    with connected(tmp_path) as client:
        found = client.finish("dear.yaml")
        (row,) = client.get("/runs")["runs"]
        total = client.get("/costs", by="model")["total"]

    for usage in (found, found["result"]["usage"], row, total):
        assert (usage["cost_usd"], usage["unpriced_calls"]) == (None, 1)


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


def test_what_is_new_has_a_new_tag_and_refusals_and_streams_none(client: Client) -> None:
    before = client.http.get("/api/runs").headers["etag"]
    run = client.finish()["id"]
    after = client.http.get("/api/runs", headers={"If-None-Match": before})
    refused = client.http.get("/api/runs/nothing")
    accept = {"Accept": "text/event-stream"}
    with client.http.stream("GET", f"/api/runs/{run}/events", headers=accept) as stream:
        headers = stream.headers

    assert (after.status_code, after.headers["etag"] != before) == (200, True)
    assert [row["id"] for row in after.json()["runs"]] == [run]
    assert (refused.status_code, "etag" in refused.headers) == (404, False)
    assert headers["content-type"].startswith("text/event-stream")
    assert "etag" not in headers


@pytest.mark.slow
def test_a_run_says_that_its_file_has_changed_since_it_began(client: Client, project: Path) -> None:
    run = client.finish()
    assert run["changed_file"] is None

    (project / "polish.yaml").write_text(POLISH.replace("Report on", "Report about"))

    assert client.get(f"/runs/{run['id']}")["changed_file"] == "polish.yaml"
