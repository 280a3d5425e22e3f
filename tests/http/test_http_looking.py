"""Looking at runs and workflows over HTTP, on a real server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from served import connected, make_project

from experiments.served import SERVED, model
from retelling import retold
from whorl.interfaces.http.views.runs import verdicts

if TYPE_CHECKING:
    from pathlib import Path

    from served import Client

__all__ = ["model"]


@pytest.fixture(scope="module")
def polished(shared: Client) -> str:
    """A run of the loop that has ended."""
    run = shared.start("polish.yaml", inputs={"task": "a haiku"})
    assert shared.wait(run)["status"] == "succeeded"
    return run


def test_the_project_tells_who_answers(shared: Client) -> None:
    found = shared.get("/project")

    assert found["provider"] == {
        "name": "canned",
        "note": "no model is asked: the replies are scripted",
    }
    assert found["workflows"] == 9


def test_a_row_of_the_list_has_all_that_the_page_shows(shared: Client, polished: str) -> None:
    row = next(row for row in shared.get("/runs")["runs"] if row["id"] == polished)

    assert row["scores"] == [0.41, 0.63, 0.9]
    assert (row["name"], row["file"], row["status"]) == ("polish", "polish.yaml", "succeeded")
    assert (row["loop"], row["iteration"], row["iterations_max"]) == ("polish", 3, 5)
    assert (row["target"], row["exit_reason"], row["stopped_by"]) == (
        0.95,
        "condition_met",
        "expression",
    )


@pytest.mark.slow
def test_lists_are_filtered_searched_and_paged(client: Client) -> None:
    runs = [client.start("polish.yaml", inputs={"task": str(n)}) for n in range(5)]
    runs.append(client.start("gated.yaml"))
    for run in runs:
        client.wait(run)

    first = client.get("/runs", limit=4)
    second = client.get("/runs", limit=4, before=first["next"])

    assert [row["id"] for row in first["runs"] + second["runs"]] == runs[::-1]
    assert second["next"] is None
    assert first["workflows"] == ["gated", "polish"]
    assert [r["id"] for r in client.get("/runs", status="waiting")["runs"]] == [runs[-1]]
    assert len(client.get("/runs", workflow="polish")["runs"]) == 5
    assert [r["id"] for r in client.get("/runs", search="GATE")["runs"]] == [runs[-1]]
    assert [r["id"] for r in client.get("/runs", search=runs[2][-6:])["runs"]] == [runs[2]]


@pytest.mark.slow
def test_lists_are_filtered_by_input_reason_date_and_cost_and_sorted(client: Client) -> None:
    long = client.start("polish.yaml", inputs={"task": "a harbour"})
    short = client.start("polish.yaml", inputs={"task": "a hill"}, max_iterations=1)
    for run in (long, short):
        assert client.wait(run)["status"] == "succeeded"

    def ids(**query: Any) -> list[str]:
        return [row["id"] for row in client.get("/runs", **query)["runs"]]

    costs = {row["id"]: row["cost_usd"] for row in client.get("/runs")["runs"]}
    assert ids(search="HARBOUR") == [long]
    assert ids(exit="max_iterations") == [short] == ids(exit="limit")
    assert ids(sort="cost") == [long, short]
    assert ids(sort="cost", reverse=True) == [short, long]
    assert ids(sort="cost", before=long) == [short]
    assert ids(cost_min=costs[long]) == [long]
    assert ids(cost_max=costs[short]) == [short]
    assert (ids(since=9e9), len(ids(until=9e9))) == ([], 2)
    assert client.get("/runs")["runs"][0]["seconds"] > 0


@pytest.mark.slow
def test_costs_are_added_up_over_a_time(client: Client) -> None:
    runs = [client.start("polish.yaml", inputs={"task": "a hill"}) for _ in range(2)]
    results = [client.wait(run)["result"] for run in runs]

    told = client.get("/costs", by="workflow", since=0)

    assert [line["name"] for line in told["lines"]] == ["polish"]
    assert (told["by"], told["runs"], told["more"]) == ("workflow", 2, False)
    cost = sum(result["usage"]["cost_usd"] for result in results)
    assert told["total"]["cost_usd"] == pytest.approx(cost)
    assert told["total"]["model_calls"] == 14 == told["total"]["calls"]
    assert results[0]["usage"]["model_calls"] == 7
    assert client.get("/costs", since=9e9)["lines"] == []
    one = client.get("/costs", by="loop", run=runs[0])["total"]
    assert one["cost_usd"] == pytest.approx(results[0]["usage"]["cost_usd"])


def test_one_run_tells_its_result_and_what_can_be_asked(shared: Client, polished: str) -> None:
    run = shared.get(f"/runs/{polished}")

    assert run["result"]["outputs"] == {"text": "the report", "draft": "draft three"}
    assert run["inputs"] == {"task": "a haiku"}
    assert run["can"] == ["continue", "accept", "fork"]
    assert (run["driver"], run["gates"], run["forks"]) == ("nobody", [], [])
    assert run["ended_at"] >= run["started_at"]


def test_loops_tell_their_condition_in_words(shared: Client, polished: str) -> None:
    (loop,) = shared.get(f"/runs/{polished}/loops")["loops"]

    assert loop["until"] == "review.approved or score ≥ 0.95"
    assert (loop["target"], loop["iterations_max"], loop["best_iteration"]) == (0.95, 5, 3)
    assert loop["why"] == "an expression became true"


def test_iterations_tell_scores_costs_and_verdicts(shared: Client, polished: str) -> None:
    page = shared.get(f"/runs/{polished}/iterations", limit=2)
    rest = shared.get(f"/runs/{polished}/iterations", after=2)

    assert [one["score"] for one in page["iterations"] + rest["iterations"]] == [0.41, 0.63, 0.9]
    assert (page["more"], rest["more"]) == (True, False)
    assert page["iterations"][0]["words"] == "review.approved is false; score 0.41 < 0.95"
    assert page["iterations"][0]["verdicts"][1]["facts"] == {
        "leaf": 2,
        "score": 0.41,
        "at_least": 0.95,
    }
    assert page["iterations"][0]["usage"]["calls"] == 2


def test_a_verdict_has_the_reason_and_the_evidence_of_a_judge() -> None:
    judged = {"by": "judge", "met": False, "answer": "NO. So.", "reason": "So.", "evidence": "x"}

    found = verdicts({"facts": [judged, {"by": "score", "met": None, "score": None}]})

    assert [(one.words, one.reason, one.evidence) for one in found] == [
        ("judge: NO. So.", "So.", "x"),
        ("no score", "", ""),
    ]


def test_an_iteration_tells_what_it_was_given_and_gave(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/iterations/2", loop="polish")

    assert found["results"]["write"] == "draft two"
    assert found["results"]["length"] == 9
    assert found["carried"] == {"hint": "draft one"}
    assert found["note"]["score"] == 0.63


def test_two_iterations_are_compared(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/compare", one=1, other=3)

    alike = {node["name"]: node["similarity"] for node in found["nodes"]}
    assert (found["one"]["number"], found["other"]["score"]) == (1, 0.9)
    assert 0.5 < alike["write"] < 1
    assert found["feedback"] == {"hint": "draft two"}


def test_iterations_of_two_runs_are_compared(shared: Client, polished: str) -> None:
    other = shared.start("polish.yaml", inputs={"task": "a haiku"})
    shared.wait(other)
    found = shared.get(f"/runs/{polished}/compare", one=1, other=3, **{"with": other})
    same = shared.get(f"/runs/{polished}/compare", one=2, other=2, **{"with": other})

    assert (found["one"]["number"], found["other"]["score"]) == (1, 0.9)
    assert found["feedback"] == {"hint": "draft two"}
    assert all(node["same"] for node in same["nodes"])
    unknown = shared.http.get(f"/api/runs/{polished}/compare?one=1&other=1&with=nobody")
    assert unknown.status_code == 404


def test_the_matrix_tells_what_changed_when(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/matrix")
    only = shared.get(f"/runs/{polished}/matrix", node="length")

    assert found["nodes"] == ["write", "length", "review"]
    assert [row["cells"]["length"] for row in only["iterations"]] == ["new", "same", "new"]


def test_a_step_tells_its_attempts_and_the_one_before(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/node", address="polish[2]/write")

    assert found["kind"] == "ask"
    assert found["attempts"][0]["output"] == "draft two"
    assert found["attempts"][0]["inputs"] == {"prompt": "Write a haiku after draft one"}
    assert found["previous"] == {"address": "polish[1]/write", "output": "draft one"}


def test_a_step_that_only_computes_is_found_by_replaying(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/node", address="polish[3]/length")

    assert (found["kind"], found["value"], found["attempts"]) == ("compute", 11, [])


def test_every_step_has_a_record(shared: Client, polished: str) -> None:
    run = shared.get(f"/runs/{polished}/records")
    inside = shared.get(f"/runs/{polished}/records", address="polish[3]")
    length = shared.get(f"/runs/{polished}/node", address="polish[3]/length")

    assert [(r["address"], r["kind"], r["repetitions"]) for r in run["records"]][:1] == [
        ("polish", "loop", 3)
    ]
    assert [record["address"] for record in inside["records"]] == [
        "polish[3]",
        "polish[3]/write",
        "polish[3]/length",
        "polish[3]/review",
    ]
    write = inside["records"][1]
    assert (write["kind"], write["status"], write["usage"]["calls"]) == ("ask", "succeeded", 1)
    assert inside["records"][0]["usage"]["calls"] == 2
    assert length["record"]["output"] == 11
    assert list(length["record"]["inputs"]) == ["write"]


def test_records_may_be_those_of_iterations_alone(shared: Client, polished: str) -> None:
    asked = {"address": "polish", "depth": 1, "repetitions": "true"}
    told = shared.get(f"/runs/{polished}/records", **asked)["records"]

    assert [(one["address"], one["kind"], one["number"]) for one in told] == [
        (f"polish[{number}]", "iteration", number) for number in range(1, len(told) + 1)
    ]
    assert len(told) > 1


def test_records_come_page_by_page_to_any_depth(shared: Client, polished: str) -> None:
    whole = shared.get(f"/runs/{polished}/records", depth=5)
    first, second = (
        shared.get(f"/runs/{polished}/records", depth=5, after=after, limit=4) for after in (0, 4)
    )

    assert not whole["more"]
    assert (first["more"], len(first["records"])) == (True, 4)
    addresses = [r["address"] for page in (first, second) for r in page["records"]]
    assert addresses == [record["address"] for record in whole["records"]][:8]


@pytest.mark.slow
def test_a_large_value_of_a_record_is_fetched_by_its_reference(
    client: Client, project: Path
) -> None:
    text = "whorl: 1\nname: large\nsteps: {long: {value: \"{{ 'plum ' * 3000 }}\"}}\n"
    (project / "large.yaml").write_text(text)
    run = client.start("large.yaml")
    client.wait(run, "succeeded")

    (record,) = client.get(f"/runs/{run}/records")["records"]

    assert record["output"]["size"] == 15_000
    assert client.get(f"/runs/{run}/values/{record['output']['$ref']}")["value"] == "plum " * 3_000


def test_a_history_has_the_shape_that_is_asked_for(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/history", **{"as": "azure"})["history"]

    assert found["properties"]["status"] == "Succeeded"
    assert len(found["properties"]["actions"]["write"]["repetitions"]) == 3


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


def test_the_pinned_source_is_told(shared: Client, polished: str) -> None:
    found = shared.get(f"/runs/{polished}/source")

    assert found["main"] == "polish.yaml"
    assert "Writes until it is good" in found["files"]["polish.yaml"]


def test_large_values_are_fetched_by_reference(client: Client) -> None:
    run = client.start("big.yaml")
    client.wait(run)

    started = next(
        event
        for event in client.get(f"/runs/{run}/events")["events"]
        if event["kind"] == "task.started"
    )
    prompt = started["body"]["inputs"]["prompt"]
    value = client.get(f"/runs/{run}/values/{prompt['$ref']}")["value"]

    assert (prompt["size"], len(prompt["preview"])) == (30_006, 400)
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


def test_a_file_is_shown_as_graph_and_text(shared: Client) -> None:
    graph = shared.get("/workflows/graph", file="gated.yaml")
    source = shared.get("/workflows/source", file="gated.yaml")

    assert [(node["path"], node["kind"]) for node in graph["nodes"]] == [
        ("draft", "task"),
        ("check", "gate"),
    ]
    assert source["main"] == "gated.yaml"


@pytest.mark.parametrize("file", ["../outside.yaml", "/etc/passwd", "~/x.yaml", "no.yaml", "a\\b"])
def test_files_outside_of_the_project_are_not_opened(shared: Client, file: str) -> None:
    for path in ("graph", "source"):
        answer = shared.http.get(f"/api/workflows/{path}", params={"file": file})
        assert answer.status_code == 404, answer.text


@pytest.mark.slow
@pytest.mark.sample(4)
@pytest.mark.parametrize("path", ["source", "sketch", "etag", "graph"])
def test_settings_beside_workflows_are_not_shown(client: Client, project: Path, path: str) -> None:
    (project / "local.settings.json").write_text('{"Values": {"key": "a secret of the folder"}}')
    answer = client.http.get(f"/api/workflows/{path}", params={"file": "local.settings.json"})
    assert answer.status_code >= 400
    assert "a secret of the folder" not in answer.text


@pytest.mark.slow
def test_a_file_with_mistakes_is_shown(client: Client, project: Path) -> None:
    (project / "broken.yaml").write_text("whorl: 1\nname: x\nsteps: {a: {asq: b}}\n")
    source = client.get("/workflows/source", file="broken.yaml")
    assert "asq" in source["files"]["broken.yaml"]


def test_a_text_is_validated_with_places(shared: Client) -> None:
    found = shared.post("/validate", {"text": "whorl: 1\nname: x\nsteps: {a: {asq: b}}\n"}, 200)

    assert found["ok"] is False
    assert found["diagnostics"][0]["line"] == 3
    assert found["diagnostics"][0]["file"] == "workflow.yaml"


def test_a_file_is_validated_with_its_worst_case(shared: Client) -> None:
    found = shared.post("/validate", {"workflow": "polish.yaml"}, 200)
    command = shared.post("/validate", {"workflow": "commanding.yaml"}, 200)

    assert (found["ok"], found["dialect"], found["worst_case"]["calls"]) == (True, "native", 49)
    assert [one["code"] for one in command["diagnostics"]] == ["R110"]


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
        ("/runs/{run}/iterations?loop=other", 404),
        ("/runs/{run}/iterations/99", 404),
        ("/runs/{run}/iterations/0", 400),
        ("/runs/{run}/compare?one=1", 400),
        ("/runs/{run}/node?address=nowhere", 404),
        ("/runs/{run}/events?as=dialect", 400),
        ("/runs/{run}/records?address=nowhere", 404),
        ("/runs/{run}/records?depth=-1", 400),
        ("/runs/{run}/history?as=nobody", 400),
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
    run = client.start("polish.yaml", inputs={"task": "x"}, max_iterations=2)
    client.wait(run, "succeeded")
    marked = retold(
        project, lambda event: {"mark": "limit"} if event.kind == "loop.finished" else {}
    )

    rows = {row["id"]: row["mark"] for row in client.get("/runs")["runs"]}
    assert rows[marked] == "limit"
    assert client.get(f"/runs/{marked}")["mark"] == "limit"
    assert client.get(f"/runs/{marked}/loops")["loops"][0]["mark"] == "limit"
    assert client.get(f"/runs/{marked}")["status"] == "succeeded"


@pytest.mark.slow
def test_a_loop_in_a_list_has_its_limit(client: Client, project: Path) -> None:
    (project / "all.yaml").write_text(
        """
whorl: 1
name: all
steps:
  all:
    each: [1, 2, 3, 4]
    at_once: 2
    steps:
      polish:
        repeat:
          at_most: 3
          until: [{score: {from: "{{ review.score }}", at_least: 0.8}}]
          steps:
            review:
              ask: "Review {{ item }}"
              returns: {approved: boolean, score: number}
"""
    )
    run = client.start("all.yaml")
    row = client.wait(run, "succeeded")

    assert row["loop"].startswith("all[")
    assert (row["iteration"], row["iterations_max"], row["target"]) == (3, 3, 0.8)
    loops = client.get(f"/runs/{run}/loops")["loops"]
    assert [(loop["iterations_max"], loop["target"]) for loop in loops] == [(3, 0.8)] * 4


SIDE_BY_SIDE = """
whorl: 1
name: side-by-side
steps:
  all:
    each: [0.01, 0.2]
    as: pause
    at_once: 2
    steps:
      turns:
        repeat:
          at_most: 5
          until: iteration == 4
          steps:
            nap: {wait: "{{ pause }}"}
"""


@pytest.mark.slow
def test_the_limit_of_a_loop_inside_a_list_is_told(tmp_path: Path) -> None:
    make_project(tmp_path)
    (tmp_path / "beside.yaml").write_text(SIDE_BY_SIDE)
    with connected(tmp_path) as client:
        run = client.start("beside.yaml")
        found = client.wait(run, "succeeded")
        (row,) = client.get("/runs")["runs"]

    assert (found["loop"], found["iteration"], found["iterations_max"]) == ("all[2]/turns", 4, 5)
    assert row["iterations_max"] == 5


@pytest.mark.slow
def test_a_list_tells_how_many_runs_there_are_and_what_they_were_given(client: Client) -> None:
    runs = [client.start("polish.yaml", inputs={"task": f"counted {n}"}) for n in range(3)]
    for run in runs:
        client.wait(run, "succeeded")
    found = client.get("/runs", workflow="polish", limit=2, since=1)
    all_of_them = client.get("/runs", workflow="polish", limit=500)["runs"]

    assert found["total"] == len(all_of_them) > len(found["runs"]) == 2
    assert [run["given"] for run in found["runs"]] == ["counted 2", "counted 1"]
    assert client.get("/runs", search="counted")["total"] is None


def test_a_cost_that_is_not_known_is_null(tmp_path: Path, model: str) -> None:
    make_project(tmp_path, SERVED.format(url=model))
    text = "whorl: 1\nname: dear\nsteps: {a: {ask: Write, model: unlisted}}\n"
    (tmp_path / "dear.yaml").write_text(text)
    with connected(tmp_path) as client:
        run = client.start("dear.yaml")
        found = client.wait(run)
        (row,) = client.get("/runs")["runs"]
        total = client.get("/costs", by="model")["total"]

    for usage in (found, found["result"]["usage"], row, total):
        assert (usage["cost_usd"], usage["unpriced_calls"]) == (None, 1)
