"""A store that came with a folder gives nobody rights, and starts nothing: it is history to read.

The stranger and the person have the same folder at the same path, so all paths in the store fit;
what they do not share is the configuration of the user. Each refusal has its counterpart.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import apsw
import pytest
from cloned import Clone, Listener, document, runs_of, served

from whorl.errors import UsageError
from whorl.services.project import find_project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx2

pytestmark = pytest.mark.threat(row="T19")

FILES = {
    "tick.yaml": "whorl: 1\nname: tick\nsteps:\n  a: {value: '{{ 1 }}'}\n",
    "wait.yaml": "whorl: 1\nname: wait\n"
    "steps: {check: {approve: {message: 'Now?'}, timeout: 1s}}\n",
    "past.yaml": """
whorl: 1
name: past
steps:
  l:
    repeat:
      at_most: 1
      memory: {across_runs: true, record: {a: "POISONED"}, key: kk}
      steps: {x: {value: "{{ past }}"}}
outputs: {p: "{{ l.x }}"}
""",
}
FILES["two.yaml"] = (
    FILES["past.yaml"].replace("past\n", "two\n").replace("at_most: 1", "at_most: 2")
)
TOKEN = "whorl_A1b2C3d4E5f6G7h8J9k0L1m2N3p4Q5r6S7t8U9v0w1x"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all of them have the folder: a store counts at the path at which it was made."""
    return tmp_path_factory.mktemp("strangers")


def settle(place: Path) -> Clone:
    clone = Clone(place / "clone", place / "canaries", place / "home", Listener())
    for folder in (clone.folder, clone.home, place / "person"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    for name, text in FILES.items():
        (clone.folder / name).write_text(text)
    return clone


@pytest.fixture
def stranger(place: Path) -> Clone:
    """Somebody whose folder has workflows, and no store yet."""
    return settle(place)


@pytest.fixture(scope="module")
def full_store(place: Path) -> str:
    """A store with a token, a schedule, a run that waits, and a memory; it is made once."""
    stranger = settle(place)
    made = stranger.whorl("server", "token", "add", "evil", "--role", "admin", "--json")
    assert stranger.whorl("server", "schedule", "add", "tick.yaml", "--every", "1s").returncode == 0
    assert stranger.whorl("run", "wait.yaml", "--key", "wait").returncode == 4
    assert stranger.whorl("run", "past.yaml").returncode == 0
    for folder in (stranger.folder, stranger.home):
        shutil.copytree(folder, place / "kept" / folder.name)
    return str(document(made)["token"])


@pytest.fixture
def token(full_store: str, stranger: Clone, place: Path) -> str:
    for folder in (stranger.folder, stranger.home):
        shutil.copytree(place / "kept" / folder.name, folder, dirs_exist_ok=True)
    return full_store


@pytest.fixture
def person(stranger: Clone, place: Path) -> Clone:
    """Who has cloned the folder; nothing of the stranger's is in the home folder."""
    return replace(stranger, home=place / "person")


def store_of(clone: Clone) -> Path:
    return clone.folder / ".whorl" / "whorl.db"


def lets_in(clone: Clone, token: str, *words: str, trusts: bool = False) -> bool:
    """Whether a server honours a token; one that does not start honours none."""
    with served(clone, *words, trusts=trusts) as (client, _):
        return bool(client.base_url.host) and status_for(client, token) == 200


def status_for(client: httpx2.Client, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return int(client.get("/api/audit", headers=headers).status_code)


def status_of(client: httpx2.Client, name: str) -> str:
    (row,) = runs_of(client, name)
    return str(row["status"])


# By what an attacker changes in a store so that nobody notices what would act.


def rename_table(database: apsw.Connection) -> None:
    database.execute("ALTER TABLE upkeep RENAME TO z")
    database.execute("ALTER TABLE z RENAME TO Upkeep")


def add_token(database: apsw.Connection) -> None:
    digest = hashlib.sha256(TOKEN.encode()).digest()
    database.execute("DELETE FROM tokens")
    database.execute("INSERT INTO tokens VALUES(?, 'ops', 'admin', 1, NULL)", (digest,))


def hide_token(database: apsw.Connection) -> None:
    """An index that is empty answers how many tokens there are."""
    database.execute(
        "CREATE INDEX tokens_by_role ON tokens(role); CREATE TABLE ze(a); CREATE INDEX zi ON ze(a)"
    )
    add_token(database)
    root = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'zi'").get
    database.pragma("writable_schema", 1)
    database.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = 'tokens_by_role'", (root,))
    database.execute("DELETE FROM sqlite_schema WHERE name = 'zi'")
    database.pragma("schema_version", database.pragma("schema_version") + 1)


def hide_trigger(database: apsw.Connection) -> None:
    """A trigger whose type is written in capitals makes a token as soon as something is written."""
    digest = hashlib.sha256(TOKEN.encode()).hexdigest()
    names = {row[0] for row in database.execute("SELECT name FROM sqlite_schema")}
    database.execute("DELETE FROM tokens")
    database.pragma("writable_schema", 1)
    for table in sorted(names & {"identity", "runs", "journal", "audit"}):
        sql = (
            f"CREATE TRIGGER z{table} AFTER INSERT ON {table} BEGIN INSERT OR IGNORE INTO tokens"
            "(name, role, created_at, digest)"
            f" VALUES('ops', 'admin', 1, x'{digest}');"
            " END"
        )
        database.execute(
            "INSERT INTO sqlite_schema VALUES('TRIGGER', ?, ?, 0, ?)", (f"z{table}", table, sql)
        )
    database.pragma("schema_version", database.pragma("schema_version") + 1)
    assert database.execute("PRAGMA integrity_check").get == "ok"


def change(file: Path, attack: Callable[[apsw.Connection], None]) -> None:
    database = apsw.Connection(str(file))
    attack(database)
    database.pragma("wal_checkpoint", "TRUNCATE")
    database.close()


@pytest.mark.slow
def test_a_planted_run_is_not_resumed(stranger: Clone, person: Clone) -> None:
    assert stranger.whorl("run", "wait.yaml", "--key", "wait").returncode == 4
    change(store_of(stranger), rename_table)

    checked = person.whorl("project", "doctor")
    with served(person) as (client, _):
        assert not client.base_url.host, status_of(client, "wait")
    assert any(line.split()[:2] == ["✗", "store"] for line in checked.stdout.splitlines())


@pytest.mark.sample(2)
@pytest.mark.parametrize("attack", [hide_token, hide_trigger])
def test_a_planted_token_opens_nothing(
    stranger: Clone, person: Clone, attack: Callable[[apsw.Connection], None]
) -> None:
    assert stranger.whorl("server", "token", "add", "first", "--role", "read").returncode == 0
    change(store_of(stranger), attack)

    assert not lets_in(person, TOKEN)


@pytest.mark.slow
def test_a_planted_trigger_is_in_nothing_that_is_made_of_a_store(
    stranger: Clone, person: Clone, tmp_path: Path
) -> None:
    assert stranger.whorl("server", "token", "add", "first", "--role", "read").returncode == 0
    assert stranger.whorl("run", "tick.yaml").returncode == 0
    change(store_of(stranger), hide_trigger)
    shutil.copy(store_of(stranger), tmp_path / "evil.db")

    for words in (
        ("project", "restore", str(tmp_path / "evil.db"), "--force"),
        ("project", "adopt"),
    ):
        done = person.whorl(*words)
        assert not lets_in(person, TOKEN)
        assert "tokens, schedules, hooks, memories and waiting runs were left out" in done.stderr
        assert person.whorl("run", "tick.yaml").returncode == 0
        assert document(person.whorl("server", "token", "ls", "--json")) == []
        assert len(document(person.whorl("ls", "--json"))) == 2
        shutil.copy(tmp_path / "evil.db", store_of(person))


def test_a_server_does_not_start_with_it(person: Clone, token: str) -> None:
    for words, trusts in (((), False), (("--trust",), False), ((), True)):
        done = person.whorl("serve", "--port", "0", "--no-open", *words, trusts=trusts)
        assert (done.returncode, done.stdout) == (2, "")
        assert "error[W908]: the store" in done.stderr
        assert "`whorl project adopt`" in done.stderr


WRITES = """run tick.yaml; run tick.yaml --detach; run past.yaml; resume wait; runs approve wait;
    runs cancel wait; fork wait; server token add mine --role read; server token rm evil;
    project memory rm kk; server schedule add tick.yaml --every 1h --name mine;
    server schedule resume tick; server hook add tick.yaml; project prune --older-than 1s --yes"""


@pytest.mark.slow
def test_nothing_is_written_to_it(person: Clone, token: str) -> None:
    before = store_of(person).read_bytes()
    for words in WRITES.split(";"):
        done = person.whorl(*words.split(), trusts=True)
        assert done.returncode == 2, (words, done.stderr)
        assert "error[W908]: the store" in done.stderr
    assert store_of(person).read_bytes() == before


@pytest.mark.slow
def test_it_can_be_looked_at(stranger: Clone, person: Clone, token: str) -> None:
    assert stranger.whorl("run", "two.yaml").returncode == 0
    before = store_of(person).read_bytes()
    for words in (
        *(
            "ls",
            "ls --json",
            "show wait",
            "why wait",
            "show --brief wait",
            "diff last 1 2",
            "runs cost",
        ),
        *(
            "server token ls",
            "server schedule ls",
            "server hook ls",
            "project memory ls",
            "server audit",
        ),
    ):
        done = person.whorl(*words.split())
        assert done.returncode == 0, (words, done.stderr)
    assert "tick start" in person.whorl("server", "schedule", "ls").stderr
    checked = person.whorl("project", "doctor")
    (line,) = (row for row in checked.stdout.splitlines() if row.split()[1] == "store")
    assert line.startswith("✗")
    assert "`whorl project adopt`" in line
    assert "✓  schedule" not in checked.stdout
    assert store_of(person).read_bytes() == before
    assert not (person.home / "config").exists()


@pytest.mark.slow
def test_trust_is_about_the_configuration(person: Clone, token: str) -> None:
    (person.folder / "whorl.toml").write_text("[allow]\ncommands = true\n")
    assert person.whorl("project", "trust", "--yes").returncode == 0
    assert "store" not in document(person.whorl("project", "trust", "--json"))
    assert "error[W908]" in person.whorl("run", "tick.yaml").stderr


@pytest.mark.slow
def test_adopted_runs_are_history(person: Clone, token: str) -> None:
    done = person.whorl("project", "adopt")

    assert done.returncode == 0, done.stderr
    assert "4 runs" not in done.stdout
    statuses = {row["workflow"]: row["status"] for row in document(person.whorl("ls", "--json"))}
    assert statuses == {"wait": "cancelled", "past": "succeeded"}
    for words in (
        ("server", "token", "ls"),
        ("server", "schedule", "ls"),
        ("project", "memory", "ls"),
        ("server", "hook", "ls"),
    ):
        assert document(person.whorl(*words, "--json")) == []
    assert "✗ cancelled" in person.whorl("resume", "wait").stderr
    assert "POISONED" not in person.whorl("run", "past.yaml").stdout
    assert not lets_in(person, token)
    assert person.whorl("project", "doctor").stdout.count("✗  store") == 0
    assert "there is nothing to adopt" in person.whorl("project", "adopt").stderr
    aside = [name for name in os.listdir(person.folder / ".whorl") if "before-" in name]
    assert any(name.endswith(tuple("0123456789")) for name in aside)


@pytest.mark.slow
def test_a_copy_counts_only_where_the_operator_names_it(
    stranger: Clone, token: str, tmp_path: Path
) -> None:
    """Others may have the id in a copy: it counts at the path at which the store was made."""
    shutil.copytree(stranger.folder, tmp_path / "moved")
    moved = replace(stranger, folder=tmp_path / "moved")
    home = {"WHORL_HOME": str(tmp_path / "moved" / ".whorl")}

    refused = moved.whorl("run", "tick.yaml")

    assert "error[W908]" in refused.stderr
    assert f"WHORL_HOME={home['WHORL_HOME']}" in refused.stderr
    assert moved.whorl("run", "tick.yaml", **home).returncode == 0
    # A backup of it is one of the user's own, and makes it so at its new place.
    file = str(tmp_path / "backup.db")
    assert moved.whorl("project", "backup", file, **home).returncode == 0
    assert moved.whorl("project", "restore", file, "--force").returncode == 0
    assert lets_in(moved, token)
    assert lets_in(stranger, token)


@pytest.mark.slow
def test_a_store_that_was_named_is_adopted_by_what_is_advised(person: Clone, token: str) -> None:
    store = store_of(person)
    words = ("server", "token", "add", "mine", "--role", "read", "--store", str(store))
    (person.home / "elsewhere").mkdir()
    away = replace(person, folder=person.home / "elsewhere")

    refused = away.whorl(*words)

    assert f"`whorl --store {store} project adopt`" in refused.stderr
    assert away.whorl("--store", str(store), "project", "adopt").returncode == 0
    assert away.whorl(*words).returncode == 0


@pytest.mark.slow
def test_a_backup_counts_as_it_was_written(
    stranger: Clone, person: Clone, token: str, tmp_path: Path
) -> None:
    file, changed = tmp_path / "copy.db", tmp_path / "changed.db"
    assert stranger.whorl("project", "backup", str(file)).returncode == 0
    shutil.copy(file, changed)
    change(changed, add_token)

    assert stranger.whorl("project", "restore", str(changed), "--force").returncode == 0
    assert not lets_in(stranger, TOKEN)
    done = document(stranger.whorl("project", "restore", str(file), "--force", "--json"))
    assert (done["is_whole"], len(done["under_way"])) == (True, 1)
    assert lets_in(stranger, token)
    assert "POISONED" in stranger.whorl("run", "past.yaml").stdout
    # To others it is history.
    assert "were left out" in person.whorl("project", "restore", str(file), "--force").stderr


@pytest.mark.slow
def test_an_id_that_others_have_written_is_ignored(
    person: Clone, token: str, tmp_path: Path
) -> None:
    # That of a store which the person has made somewhere else.
    (tmp_path / "mine").mkdir()
    mine = replace(person, folder=tmp_path / "mine")
    assert mine.whorl("server", "token", "add", "mine", "--role", "read").returncode == 0
    (known,) = os.listdir(person.home / "config" / "whorl" / "stores")
    project = find_project(person.environment(), folder=person.folder)
    for own in ("", "../../key", "0" * 32, 5, b"\xff", known):
        database = apsw.Connection(str(store_of(person)))
        database.execute("UPDATE identity SET id = ?", (own,))
        database.close()
        with pytest.raises(UsageError, match="is read-only: you did not make it here"):
            project.open_store(create=True)
    assert not lets_in(person, token)


@pytest.mark.slow
def test_where_no_store_can_be_registered_the_operator_names_one(stranger: Clone) -> None:
    (stranger.home / "config").write_text("")

    done = stranger.whorl("run", "tick.yaml")

    assert done.returncode == 3, done.stderr
    assert "no store can be registered in" in done.stderr
    assert "WHORL_HOME" in done.stderr
    home = {"WHORL_HOME": str(stranger.home / "data")}
    assert stranger.whorl("run", "tick.yaml", **home).returncode == 0
    assert stranger.whorl("run", "tick.yaml", **home).returncode == 0
    kept = stranger.whorl("project", "backup", str(stranger.home / "copy.db"), **home)
    assert (kept.returncode, "you did not make the store" in kept.stderr) == (0, True)


def test_many_make_one_store_at_once(stranger: Clone) -> None:
    project = find_project(stranger.environment(), folder=stranger.folder)

    def opened(number: int) -> bool:
        with closing(project.open_store(create=True)) as store:
            return store.is_strange

    with ThreadPoolExecutor(8) as pool:
        assert not any(pool.map(opened, range(8)))
    assert len(os.listdir(stranger.home / "config" / "whorl" / "stores")) == 1


@pytest.mark.slow
def test_a_mirror_of_others_is_not_used(stranger: Clone, person: Clone, token: str) -> None:
    """What a server on a cluster keeps here has tokens, too."""
    store_of(person).rename(person.folder / ".whorl" / "whorl.mirror.db")
    environment = person.environment() | {"WHORL_RUNTIME": "temporal"}

    with pytest.raises(UsageError, match="is read-only: you did not make it here"):
        find_project(environment, folder=person.folder).open_store(create=True)
    assert person.whorl("project", "adopt", WHORL_RUNTIME="temporal").returncode == 0
    with closing(find_project(environment, folder=person.folder).open_store(create=True)) as store:
        assert store.runs() == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", [1e300, -1e300])
def test_invalid_timestamps_are_shown(stranger: Clone, token: str, moment: float) -> None:
    database = apsw.Connection(str(store_of(stranger)))
    database.execute("UPDATE runs SET created_at = ?", (moment,))
    database.execute("UPDATE schedules SET created_at = ?1, cursor = ?1", (moment,))
    database.close()

    looking = ("ls", "show last", "show last --brief", "why last", "runs cost", "ls --json")
    for words in (*looking, "server schedule ls", "server schedule ls --json", "project doctor"):
        done = stranger.whorl(*words.split())
        assert "I900" not in done.stderr + done.stdout, (words, done.stderr)
