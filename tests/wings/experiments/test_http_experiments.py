"""Experiments over HTTP: running them, how far they are, what they found, and what-if."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from served import Client, connected, make_project, running

from waiting import wait_until
from whorl import Experiment
from whorl.runtimes.service.tables import Audit
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

FILE = """
experiment: 1
name: tried
workflow: polish.yaml
cases: [{task: a}, {task: b}, {task: c}]
grade: "1 if 'three' in results.write else 0"
explore: {polish: 4}
"""
PEOPLE = """
experiment: 1
workflow: failing.yaml
cases: [{id: one}, {id: two}]
variants: {other: {model: m2}}
grade:
  taste: {person: "Would you send this?", show: "{{ case.id }} {{ outputs.text }}"}
  always: "1"
"""


@pytest.fixture
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("project"))


def conducted(client: Client, name: str, *states: str) -> Any:
    """The experiment once it is in one of these states."""
    found: dict[str, Any] = {}

    def is_there() -> bool:
        found.update(client.get(f"/experiments/{name}"))
        return found["state"] in states

    wait_until(is_there)
    return found


def test_what_an_experiment_found_and_what_if(project: Path) -> None:
    (project / "tried.experiment.yaml").write_text(FILE)
    file, config = str(project / "tried.experiment.yaml"), str(project / "whorl.toml")
    report = Experiment(file, config=config, store=project / ".whorl").run_sync()
    with connected(project) as client:
        (listed,) = client.get("/experiments")
        found = client.get("/experiments/tried/report")["document"]
        run = report.frame()[0]["run"]
        asked = client.post(f"/runs/{run}/what-if", {"at_most": 1}, 200)
        swept = client.post("/experiments/tried/what-if", {}, 200)
        unknown = client.post("/experiments/other/what-if", {}, 404)
        facts = client.get("/experiments/tried/facts")["document"]
        alone = client.get(f"/runs/{run}/facts", at="polish")["document"]
        cases = client.get("/experiments/tried/cases")

    assert (listed["name"], listed["runs"], listed["state"]) == ("tried", 3, "done")
    assert listed["file"] == "tried.experiment.yaml"
    assert listed["best"]["variant"] == "base"
    assert found["variants"]["base"]["grade"]["value"] == report.variants["base"].grade.value
    assert asked["document"]["answer"]["iterations"] == 1
    assert swept["document"]["runs"] == 3
    assert unknown["error"]["code"] == "W902"
    assert [case["cells"]["base"]["grade"] for case in cases["cases"]] == [1.0, 1.0, 1.0]
    assert cases["cases"][0]["cells"]["base"]["trials"][0]["returned"] == 3
    assert [len(run["iterations"]) for run in facts["runs"]] == [4, 4, 4]
    assert facts["own"]["at_most"] == 5
    first, second = facts["own"]["until"]["any"]
    assert (first["kind"], second["kind"], second["at_least"]) == ("when", "score", 0.95)
    third = facts["runs"][0]["iterations"][2]
    assert (third["atoms"][first["atom"]], third["atoms"][second["atom"]]) == (True, 0.9)
    assert (third["grade"], third["is_solved"]) == (1.0, True)
    assert alone["runs"][0]["iterations"][2]["atoms"] == third["atoms"]


def test_a_server_conducts_an_experiment_and_streams_how_far_it_is(project: Path) -> None:
    (project / "tried.experiment.yaml").write_text(FILE)
    with connected(project) as client:
        (new,) = client.get("/experiments")
        assert (new["state"], new["trials"], new["best"]) == ("new", 3, None)
        early = client.post("/experiments/tried/what-if", {}, 400)["error"]
        assert early["code"] == "X110"
        assert early["help"] == "whorl experiment run tried.experiment.yaml"
        with client.stream("/experiments/tried/events") as events:
            first = next(events)
            begun = client.post("/experiments", {"file": "tried.experiment.yaml"})
            last = next(e for e in events if e["data"]["state"] == "done")
        again = client.post("/experiments", {"file": "tried.experiment.yaml"})
        same = conducted(client, "tried", "done")
        wrong = client.post("/experiments", {"file": "polish.yaml"}, 400)

    assert first["event"] == last["event"] == "experiment"
    assert first["data"]["done"] == 0
    # It may be done before it is told.
    assert {begun["state"], again["state"]} <= {"running", "done"}
    assert last["data"]["done"] == same["done"] == 3
    assert last["data"]["progress"] == [{"name": "base", "trials": 3, "done": 3}]
    assert last["data"]["spent_usd"] == same["spent_usd"] > 0
    assert wrong["error"]["diagnostics"][0]["code"] == "W006"
    with closing(SqliteStore(project / ".whorl" / "whorl.db")) as store:
        deeds = [(deed.action, deed.file) for deed in Audit(store).read()]
    assert deeds.count(("run experiment", "tried.experiment.yaml")) == 2


@pytest.mark.slow
def test_another_server_continues_where_one_was_stopped(project: Path) -> None:
    slow = FILE.replace("polish.yaml", "slow.yaml").replace("explore: {polish: 4}", "at_once: 1")
    (project / "tried.experiment.yaml").write_text(slow.replace("results.write", "outputs.text"))
    flow = (project / "slow.yaml").read_text().replace("at_most: 200", "at_most: 20")
    flow = flow.replace("name: slow", "name: slow\ninputs: {task: string}")
    (project / "slow.yaml").write_text(flow)
    with running(project) as server:
        client = Client(server.address)
        client.post("/experiments", {"file": "tried.experiment.yaml", "budget_usd": 50})
        wait_until(lambda: client.get("/experiments/tried")["running"] > 0)
        client.close()
    with connected(project) as client:
        found = conducted(client, "tried", "done")
        (project / "slow.yaml").write_text(flow.replace("at_most: 20", "at_most: 400"))
        fresh = client.post("/experiments", {"file": "tried.experiment.yaml", "fresh": True})
        stopped = client.post("/experiments/tried/stop", {})
        halted = client.post("/experiments/tried/stop", {}, 409)

    assert (found["done"], found["runs"], found["budget_usd"]) == (3, 3, 50)
    assert fresh["state"] == "running"
    assert stopped["state"] == "stopped"
    assert halted["error"]["code"] == "W905"


def test_people_grade_in_a_queue_that_names_no_variant(project: Path) -> None:
    flow = 'whorl: 1\nsteps: {a: {ask: "Write it"}}\noutputs: {text: "{{ a }}"}\n'
    (project / "failing.yaml").write_text(flow)
    (project / "people.experiment.yaml").write_text(PEOPLE)
    with connected(project) as client:
        client.post("/experiments", {"file": "people.experiment.yaml"})
        conducted(client, "people", "done")
        queue = client.get("/experiments/people/queue")["gradings"]
        for each in queue:
            verb = "approve" if each["show"].startswith("one") else "reject"
            client.post(f"/runs/{each['run']}/{verb}", {"at": each["address"]})
            client.wait(each["run"], "succeeded")
        left = client.get("/experiments/people/queue")["gradings"]
        found = client.get("/experiments/people/report")["document"]
        judged = client.get("/experiments/people/judge", against="always", of="taste")

    # Equal results of a case share a grading.
    assert sorted(each["show"] for each in queue) == ["one draft one", "two draft one"]
    assert {each["grader"] for each in queue} == {"taste"}
    assert "other" not in str(queue)
    assert left == []
    grades = {(row["case"], row["variant"]): row["grades"]["taste"] for row in found["rows"]}
    assert set(grades.values()) == {0.0, 1.0}
    assert grades["one", "base"] == grades["one", "other"] == 1.0
    assert judged["document"]["results"] == 4
