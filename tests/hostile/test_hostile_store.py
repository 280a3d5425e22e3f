"""A store that came with a folder gives nobody rights, and starts nothing, before it is trusted.

The stranger and the person have the same folder at the same path, so all paths in the store fit;
what they do not share is the configuration of the user. Each refusal has its counterpart.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from cloned import Clone, Listener, document, runs_of, served

from waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    import httpx2

FILES = {
    "tick.yaml": "whorl: 1\nname: tick\nsteps:\n  a: {value: '{{ 1 }}'}\n",
    "wait.yaml": """
whorl: 1
name: wait
steps:
  check: {approve: {message: "Now?"}, timeout: 1s}
""",
    "slow.yaml": """
whorl: 1
name: slow
steps:
  l:
    repeat:
      at_most: 15
      wait: 100ms
      steps:
        a: {value: "{{ iteration }}"}
""",
}
HELD = "1 token, 1 schedule and 1 run that would go on"


@pytest.fixture
def stranger(tmp_path: Path) -> Clone:
    """Somebody whose folder has a store, with a token, a schedule, and a run that waits."""
    clone = Clone(tmp_path / "clone", tmp_path / "canaries", tmp_path / "home", Listener())
    for folder in (clone.folder, clone.home):
        folder.mkdir(parents=True)
    for name, text in FILES.items():
        (clone.folder / name).write_text(text)
    return clone


@pytest.fixture
def token(stranger: Clone) -> str:
    made = stranger.whorl("token", "add", "evil", "--role", "admin", "--json")
    assert stranger.whorl("schedule", "add", "tick.yaml", "--every", "1s").returncode == 0
    assert stranger.whorl("run", "wait.yaml", "--id", "wait").returncode == 4
    return str(document(made)["token"])


@pytest.fixture
def person(stranger: Clone, token: str, tmp_path: Path) -> Clone:
    """Who has cloned the folder; nothing of the stranger's is in the home folder."""
    (tmp_path / "person").mkdir()
    return replace(stranger, home=tmp_path / "person")


def status_for(client: httpx2.Client, token: str) -> int:
    """What a token is answered with that is not the server's."""
    headers = {"Authorization": f"Bearer {token}"}
    return int(client.get("/api/audit", headers=headers).status_code)


def status_of(client: httpx2.Client, name: str) -> str:
    (row,) = runs_of(client, name)
    return str(row["status"])


def all_works(client: httpx2.Client, token: str) -> None:
    """The token counts, the schedule starts runs, and the run goes on whose time is over."""
    assert status_for(client, token) == 200
    wait_until(lambda: bool(runs_of(client, "tick")))
    wait_until(lambda: status_of(client, "wait") != "waiting")


def test_a_store_of_others_gives_nobody_rights(person: Clone, token: str) -> None:
    with served(person) as (client, said):
        assert status_for(client, token) == 401
        # What the person starts is driven; that takes longer than the server's first looks.
        begun = client.post("/api/runs", json={"workflow": "slow.yaml"})
        assert begun.status_code == 201, begun.text
        wait_until(lambda: status_of(client, "slow") == "succeeded")
        assert runs_of(client, "tick") == []
        assert status_of(client, "wait") == "waiting"
        firings = client.get("/api/schedules").json()["schedules"][0]["firings"]
        assert firings == []
        refused = client.post("/api/schedules/tick/run", json={})
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "W908")

    warnings = [line for line in said if "was not made here" in line]
    assert len(warnings) == 1
    assert f"its {HELD} may be a stranger's" in warnings[0]
    assert "`whorl trust`" in warnings[0]


def test_it_counts_once_it_is_trusted_and_then_no_longer(person: Clone, token: str) -> None:
    asked = person.whorl("trust")
    assert (asked.returncode, "nobody can be asked here" in asked.stderr) == (2, True)
    assert f"a server would obey what it holds: {HELD}" in asked.stdout
    shown = document(person.whorl("trust", "--json"))
    assert not shown["trusted"]
    assert shown["store"]["holds"] == {"token": 1, "schedule": 1, "run": 1}
    assert shown["store"]["standing"] == "strange"

    assert person.whorl("trust", "--yes").returncode == 0
    with served(person) as (client, said):
        all_works(client, token)
    assert not [line for line in said if "was not made here" in line]
    assert document(person.whorl("trust", "--json"))["store"]["standing"] == "trusted"

    assert "no longer trusted" in person.whorl("trust", "--remove").stderr
    with served(person) as (client, _):
        assert status_for(client, token) == 401


@pytest.mark.parametrize(("words", "trusts"), [(("--trust",), False), ((), True)])
def test_one_call_may_trust_it(
    person: Clone, token: str, words: tuple[str, ...], trusts: bool
) -> None:
    with served(person, *words, trusts=trusts) as (client, _):
        all_works(client, token)
    with served(person) as (client, _):
        assert status_for(client, token) == 401


@pytest.mark.parametrize(
    "words",
    [
        ("token", "add", "mine", "--role", "read"),
        ("token", "rotate", "evil"),
        ("schedule", "add", "tick.yaml", "--every", "1h", "--name", "mine"),
        ("schedule", "resume", "tick"),
        ("schedule", "run", "tick"),
        ("hook", "add", "tick.yaml"),
    ],
    ids=" ".join,
)
def test_nothing_of_the_persons_own_is_put_beside_it(person: Clone, words: tuple[str, ...]) -> None:
    done = person.whorl(*words)

    assert done.returncode == 2
    assert "error[W908]" in done.stderr
    assert "whorl trust" in done.stderr
    assert person.whorl(*words, trusts=True).returncode == 0


def test_looking_removing_and_going_on_by_hand_work(person: Clone) -> None:
    for words in (("ls",), ("show", "wait"), ("token", "ls"), ("schedule", "ls"), ("hook", "ls")):
        assert person.whorl(*words).returncode == 0
    assert person.whorl("run", "tick.yaml").returncode == 0
    # The person has it go on; it is too late for a yes.
    assert "nobody decided 'check' in time" in person.whorl("resume", "wait").stderr
    for words in (("token", "rm", "evil"), ("schedule", "rm", "tick")):
        assert person.whorl(*words).returncode == 0
    # Nothing is left in it that could act.
    assert person.whorl("token", "add", "mine", "--role", "read").returncode == 0


def test_the_own_store_needs_no_word(stranger: Clone, token: str) -> None:
    for _ in range(2):
        with served(stranger) as (client, said):
            all_works(client, token)
        assert not [line for line in said if "warning" in line.lower()]
    assert stranger.whorl("token", "add", "other", "--role", "read").returncode == 0
    assert stranger.whorl("trust").returncode == 0


def test_a_store_that_was_moved_is_taken_over(stranger: Clone, token: str, tmp_path: Path) -> None:
    """Its mark is that of another path, also for the same user."""
    shutil.move(stranger.folder, tmp_path / "moved")
    moved = replace(stranger, folder=tmp_path / "moved")
    with served(moved) as (client, _):
        assert status_for(client, token) == 401
    assert moved.whorl("trust", "--yes").returncode == 0
    with served(moved) as (client, _):
        assert status_for(client, token) == 200


def test_a_store_that_was_named_is_trusted_by_what_is_advised(person: Clone, token: str) -> None:
    store = person.folder / ".whorl" / "whorl.db"
    words = ("token", "add", "mine", "--role", "read", "--store", str(store))
    (person.home / "elsewhere").mkdir()
    away = replace(person, folder=person.home / "elsewhere")

    refused = away.whorl(*words)

    assert f"`whorl --store {store} trust`" in refused.stderr
    assert away.whorl("--store", str(store), "trust", "--yes").returncode == 0
    assert away.whorl(*words).returncode == 0


def test_an_empty_file_in_the_place_of_a_store_is_made_the_persons(
    stranger: Clone, tmp_path: Path
) -> None:
    folder = stranger.folder / ".whorl"
    folder.mkdir()
    (folder / "whorl.db").touch()
    made = document(stranger.whorl("token", "add", "mine", "--role", "admin", "--json"))
    with served(stranger) as (client, _):
        assert status_for(client, made["token"]) == 200


def test_a_server_says_whether_its_store_is_new(stranger: Clone) -> None:
    """Whoever serves another folder than they mean, or has lost the file, sees it at once."""
    for words in (", with a new store; end with", "clone; end with"):
        with served(stranger) as (_, said):
            pass
        assert words in "".join(said)


def test_a_mark_that_others_have_written_is_none(person: Clone, token: str) -> None:
    """Whoever knows the path of the folder cannot make a mark without the person's key."""
    import apsw

    database = apsw.Connection(str(person.folder / ".whorl" / "whorl.db"))
    (mark,) = [row[0] for row in database.execute("SELECT mark FROM marks")]
    guesses = ["", "1", mark.upper(), secrets.token_hex(32)]
    database.executemany("INSERT INTO marks VALUES(?)", [(guess,) for guess in guesses])
    database.close()
    assert json.loads(person.whorl("trust", "--json").stdout)["store"]["standing"] == "strange"
    assert os.listdir(person.home / "config" / "whorl") == ["key"]
