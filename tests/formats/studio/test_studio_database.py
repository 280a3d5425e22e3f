"""Workflows are taken over from the database of the public system, without its keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from studio_files import edges, node

from trusted import TRUSTED
from whorl.errors import UsageError
from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group, run_safely
from whorl.services.files.importing import take_over

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "secret-1234567"
TABLES = """
CREATE TABLE _meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE triggers (id TEXT, workflow_id TEXT, trigger_type TEXT, enabled INTEGER);
CREATE TABLE workflows (id TEXT PRIMARY KEY, name TEXT, description TEXT, graph_json TEXT,
    is_archived INTEGER NOT NULL DEFAULT 0, updated_at TEXT);
"""
TOPIC = {"name": "topic", "default": "tea"}
POLISH: dict[str, Any] = {
    "nodes": [
        {"id": "in", "type": "input", "data": TOPIC, "measured": {"width": 200}},
        node("lp", "loop", maxIterations=3),
        node("w", "llm", provider="local", model="", prompt="Improve: {{input}}"),
        node("ex", "exit"),
        node("out", "output"),
    ],
    "edges": edges("in > lp > w.prompt", "w.response > ex > out"),
}
CALLER: dict[str, Any] = {
    "nodes": [node("in", "input", default="t"), node("sub", "subworkflow", workflowId="id-1"),
              node("gone", "subworkflow", workflowId="id-3"), node("out", "output")],
    "edges": edges("in > sub > out"),
}  # fmt: skip


def database(path: Path, **changes: Any) -> Path:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "_meta": [("schema_version", "8")],
        "triggers": [("t1", "id-1", "cron", 1), ("t2", "id-2", "webhook", 0)],
        "workflows": [
            ("id-1", "Polish a text", "Three rounds", json.dumps(POLISH), 0, "2026-02-02"),
            ("id-2", "Caller", "", json.dumps(CALLER), 0, "2026-02-01"),
            ("id-3", "Old", "", '{"nodes": [], "edges": []}', 1, "2026-01-01"),
            ("id-4", "Polish, a TEXT!", "", json.dumps(POLISH), 0, "2026-01-02"),
            ("id-5", "Broken", "", "{", 0, "2026-01-03"),
        ],
    } | changes
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    for statement in TABLES.split(";"):
        connection.execute(statement)
    for table, values in rows.items():
        for row in values:
            connection.execute(f"INSERT INTO {table} VALUES({','.join('?' * len(row))})", row)
    connection.close()
    return path


def test_passwords_in_nodes_are_left_out_and_named(tmp_path: Path) -> None:
    mail = {"smtpHost": "h", "smtpPass": SECRET, "password": SECRET, "keywords": "tea"}
    call = {
        "authTokenSettingsKey": "named", "headers": {"X-Api-Key": SECRET, "Authorization": SECRET},
        "token": "{{ given }}", "apiKey": "", "hasPassword": True, "maxTokens": 5,
    }  # fmt: skip
    graph = {"nodes": [node("m", "email_send", **mail), node("c", "http_request", **call)]}
    row = ("id-1", "Mail", "", json.dumps(graph), 0, "2")

    taken = take_over(database(tmp_path / "data.db", workflows=[row], triggers=[]))

    one, two = (each["data"] for each in json.loads(taken.files["mail.json"])["nodes"])
    assert one == {"smtpHost": "h", "keywords": "tea"}
    assert two == call | {"headers": {}}
    fields = [("smtpPass", "m"), ("password", "m"), ("X-Api-Key", "c"), ("Authorization", "c")]
    assert taken.notes == tuple(
        f"mail.json: {name!r} of node {at!r} is left out: no password is copied"
        for name, at in fields
    )


def test_a_newer_database_is_read_as_far_as_it_is_known(tmp_path: Path) -> None:
    taken = take_over(database(tmp_path / "data.db", _meta=[("schema_version", "11")]))

    assert "has version 11" in taken.notes[0]
    assert taken.files


@pytest.mark.parametrize("content", [b"", b"no database", None])
def test_other_files_are_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "data.db"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(UsageError) as caught:
        take_over(path)
    assert caught.value.code == "W901"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in TRUSTED.items():
        monkeypatch.setenv(name, text)
    (tmp_path / "whorl.toml").write_text(
        '[providers.local]\nkind = "scripted"\nmodel = "m"\n'
        '[[providers.local.replies]]\nmatch = "."\nreplies = ["A", "B", "C"]\n'
    )
    database(tmp_path / "data.db", workflows=[
        ("id-1", "Polish a text", "", json.dumps(POLISH), 0, "2"),
        ("id-2", "Caller", "", json.dumps({**CALLER, "nodes": [
            each for each in CALLER["nodes"] if each["id"] != "gone"]}), 0, "1"),
    ])  # fmt: skip
    return tmp_path


def whorl(*words: str) -> int:
    return run_safely(build_group(COMMANDS), words)


def test_imported_workflows_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert whorl("file", "import", "data.db", "flows") == 0
    assert "wrote flows/caller.json" in capsys.readouterr().err
    assert whorl("run", "flows/caller.json", "x", "--json") == 0
    document = json.loads(capsys.readouterr().out)

    assert document["output"] == "C"
    assert document["loops"][0]["iterations"] == 3
    assert whorl("file", "import", "data.db", "flows") == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert whorl("file", "import", "data.db", "flows", "--force", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["files"]) == 2


NOTHING = '{"nodes": [], "edges": []}'


def named(path: Path, *rows: tuple[str, str]) -> Path:
    """A database of workflows by id and name, the first one the newest."""
    written = [(i, n, "", NOTHING, 0, str(9 - at)) for at, (i, n) in enumerate(rows)]
    return database(path, workflows=written, triggers=[])


def test_files_are_named_by_letters_of_any_script(tmp_path: Path) -> None:
    names = ["日本語", "Überprüfung №1", "हिन्दी पाठ", "مرحبا", "../../etc/x", ".env", "…", "a\nb\0"]
    path = named(tmp_path / "data.db", *((str(at), name) for at, name in enumerate(names)))

    assert [*take_over(path).files] == [
        *("日本語.json", "überprüfung-1.json", "हिन्दी-पाठ.json", "مرحبا.json"),
        *("etc-x.json", "env.json", "workflow.json", "a-b.json"),
    ]


@pytest.mark.threat(row="T20")
def test_an_id_names_no_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    idents = ["1", "/../../P", "../../Q", "x/Y", "../../Q", "..", ""]
    path = named(folder / "n.db", *((f"{ident}{' ' * at}", "a") for at, ident in enumerate(idents)))
    before = {entry.name for entry in folder.iterdir()}

    assert whorl("file", "import", str(path), "flows") == 0
    written = {str(entry.relative_to(folder / "flows")) for entry in (folder / "flows").rglob("*")}

    assert {entry.name for entry in folder.iterdir()} == before | {"flows"}
    assert written == {f"{name}.json" for name in ("a", "a-p", "a-q", "a-x-y", "a-4", "a-", "a-6")}


@pytest.mark.threat(row="T20")
def test_nothing_is_written_outside_of_the_folder(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "flows").mkdir()
    (folder / "flows" / "caller.json").symlink_to(folder / "mine.json")

    assert whorl("file", "import", "data.db", "flows", "--force") == 2
    assert "would be written outside of 'flows'" in capsys.readouterr().err
    assert not (folder / "mine.json").exists()
    assert not (folder / "flows" / "polish-a-text.json").exists()


@pytest.mark.threat(row="T20")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("ALTER TABLE triggers RENAME TO s; CREATE TABLE triggers (id TEXT, "
         "value TEXT GENERATED ALWAYS AS (hex(zeroblob(9000000))) VIRTUAL); "
         "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) "
         "INSERT INTO triggers SELECT i FROM n", ""),
        ("ALTER TABLE triggers RENAME TO s; CREATE VIEW triggers AS SELECT * FROM s", ""),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) "
         "INSERT INTO triggers SELECT i, printf('%.7000c', 'x'), '', 0 FROM n",
         "more than 50,000,000 bytes"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) "
         "INSERT INTO triggers SELECT i, '', '', 0 FROM n", "or 10,000 triggers"),
        ("INSERT INTO triggers VALUES('k', hex(zeroblob(11000000)), '', 0)", "too big"),
        ("INSERT INTO triggers VALUES('k', CAST(x'ff' AS TEXT), '', 0)", "cannot be read"),
    ],
)  # fmt: skip
def test_a_database_is_read_within_limits(tmp_path: Path, change: str, why: str) -> None:
    path = database(tmp_path / "data.db")
    connection = apsw.Connection(str(path))
    connection.execute(change)
    connection.close()

    if not why:
        assert not [note for note in take_over(path).notes if "trigger" in note]
        return
    with pytest.raises(UsageError, match=why) as caught:
        take_over(path)
    assert caught.value.code == "W901"


@pytest.mark.threat(row="T20")
@pytest.mark.parametrize("graph", ["[" * 5_000, '{"a":' * 90 + "1" + "}" * 90])
def test_a_graph_that_no_file_may_hold_is_left_out(tmp_path: Path, graph: str) -> None:
    path = database(tmp_path / "data.db", workflows=[("1", "Odd", "", graph, 0, "1")], triggers=[])

    taken = take_over(path)

    assert (taken.files, len(taken.notes)) == ({}, 1)
    assert taken.notes[0].startswith("'Odd' is not imported: ")
