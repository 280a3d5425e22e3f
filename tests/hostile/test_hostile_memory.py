"""What a stranger's store remembers is given to no run before it is trusted, nor added to."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import apsw
import pytest
from cloned import Clone, Listener, document, served

if TYPE_CHECKING:
    from pathlib import Path

LOOP = """
whorl: 1
name: NAME
steps:
  l:
    repeat:
      at_most: 1
      memory: {across_runs: true, record: {a: "VALUE"}, key: kk}
      steps: {x: {value: "{{ past }}"}}
outputs: {p: "{{ l.x }}"}
"""
NOTES = """
orchestrator: {id: notes, strategy: sequential, agents: [notes]}
agents:
  - id: notes
    type: memory
    namespace: n
    config: {operation: write}
    prompt: "POISON"
"""
PLAIN = "whorl: 1\nname: plain\nsteps: {a: {value: 1}}\n"


@pytest.fixture
def stranger(tmp_path: Path) -> Clone:
    clone = Clone(tmp_path / "clone", tmp_path / "canaries", tmp_path / "home", Listener())
    for folder in (clone.folder, clone.home, tmp_path / "person"):
        folder.mkdir(parents=True)
    (clone.folder / "past.yaml").write_text(
        LOOP.replace("NAME", "past").replace("VALUE", "POISONED")
    )
    (clone.folder / "plain.yaml").write_text(PLAIN)
    (clone.folder / "notes.yml").write_text(NOTES)
    done = clone.whorl("run", "past.yaml")
    assert done.returncode == 0, done.stderr
    return clone


@pytest.fixture
def person(stranger: Clone, tmp_path: Path) -> Clone:
    return replace(stranger, home=tmp_path / "person")


@pytest.mark.parametrize("file", ["past.yaml", "notes.yml"])
def test_no_run_is_made_that_would_use_it(person: Clone, file: str) -> None:
    runs = len(json.loads(person.whorl("ls", "--json").stdout))
    refused = person.whorl("run", file)

    assert refused.returncode == 2, refused.stderr
    assert "error[W908]" in refused.stderr
    assert "its 1 memory may be a stranger's" in refused.stderr
    assert "POISONED" not in refused.stdout
    assert len(json.loads(person.whorl("ls", "--json").stdout)) == runs
    assert person.whorl("run", "plain.yaml").returncode == 0
    shown = document(person.whorl("memory", "ls", "--json"))
    assert "POISONED" in json.dumps(shown)


def test_a_server_refuses_it_too(person: Clone) -> None:
    with served(person) as (client, said):
        answer = client.post("/api/runs", json={"workflow": "past.yaml"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "W908")
    assert any("its 1 memory may be a stranger's" in line for line in said)


def test_it_is_used_once_it_is_trusted(person: Clone) -> None:
    asked = person.whorl("trust")
    assert "a server would obey what it holds: 1 memory" in asked.stdout
    assert "runs would be given what its memories say" in asked.stdout
    assert document(person.whorl("trust", "--json"))["store"]["holds"] == {"memory": 1}
    assert "POISONED" in person.whorl("run", "past.yaml", trusts=True).stdout

    assert person.whorl("trust", "--yes").returncode == 0
    assert "POISONED" in person.whorl("run", "past.yaml").stdout


def test_the_own_memories_need_no_word(stranger: Clone) -> None:
    assert "POISONED" in stranger.whorl("run", "past.yaml").stdout


def test_doctor_and_the_list_of_schedules_say_whose_store_it_is(
    stranger: Clone, person: Clone
) -> None:
    for name in ("one", "two"):
        words = ("schedule", "add", "plain.yaml", "--every", "1m", "--name", name)
        assert stranger.whorl(*words).returncode == 0

    checked = person.whorl("doctor")
    assert checked.returncode == 1
    (store,) = (line for line in checked.stdout.splitlines() if line.split()[1] == "store")
    assert store.startswith("✗")
    assert "was not made here" in store
    assert "`whorl trust`" in store
    assert "✓  schedule" not in checked.stdout

    listed = person.whorl("schedule", "ls")
    assert "one, two start nothing: the store" in listed.stderr
    assert [row.get("next") for row in document(person.whorl("schedule", "ls", "--json"))] == [
        None,
        None,
    ]
    assert "✗" not in stranger.whorl("schedule", "ls").stdout
    assert "start nothing" not in stranger.whorl("schedule", "ls").stderr
    assert "was not made here" not in stranger.whorl("doctor").stdout


@pytest.mark.parametrize("moment", [1e300, -1e300])
def test_moments_that_are_none_are_looked_at(stranger: Clone, moment: float) -> None:
    file = next(path.name for path in stranger.folder.glob("*.yaml"))
    made = stranger.whorl("schedule", "add", file, "--every", "1h", "--name", "far")
    assert made.returncode == 0, made.stderr
    database = apsw.Connection(str(stranger.folder / ".whorl" / "whorl.db"))
    database.execute("UPDATE runs SET created_at = ?", (moment,))
    database.execute("UPDATE schedules SET created_at = ?1, cursor = ?1", (moment,))
    database.close()

    looking = ("ls", "show last", "status last", "why last", "cost", "ls --json")
    for words in (*looking, "schedule ls", "schedule ls --json", "doctor"):
        done = stranger.whorl(*words.split())
        assert "I900" not in done.stderr + done.stdout, (words, done.stderr)


def test_trust_says_what_is_wrong_with_a_store(person: Clone) -> None:
    database = apsw.Connection(str(person.folder / ".whorl" / "whorl.db"))
    database.execute("CREATE TRIGGER alien AFTER INSERT ON runs BEGIN SELECT 1; END")
    database.close()

    done = person.whorl("trust")
    assert done.returncode == 3, done.stderr
    assert "holds 'alien', a trigger or view" in done.stderr
    (person.folder / "whorl.toml").write_text("[allow]\nprivate_network = true\n")
    both = person.whorl("trust", "--yes")
    assert both.returncode == 0
    assert "nothing in the store counts: the store" in both.stderr
    assert "holds 'alien', a trigger or view" in both.stderr
