"""`whorl server token` and `whorl server audit`, as a person uses them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import click
import pytest

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.group import build_group
from whorl.interfaces.cli.options import action_of
from whorl.runtimes.service.tables import Audit, AuditEntry
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl


@pytest.fixture
def folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (project / "a.yaml").write_text('whorl: 1\nname: a\nsteps:\n  a: {value: "1"}\n')
    monkeypatch.setenv("LOGNAME", "ada")
    return project


@pytest.mark.usefixtures("folder")
def test_tokens_are_made_and_removed(whorl: Whorl) -> None:
    token = whorl("server token add ci --role run --expires 30d").ends(0).out.strip()
    assert len(token) > 40
    (row,) = whorl("server token ls --json").ends(0).json
    assert (row["name"], row["role"]) == ("ci", "run")
    assert row["expires_at"] - row["created_at"] == 30 * 86_400
    assert token not in json.dumps(row)

    rotated = whorl("server token rotate ci --grace 1h --json").json["token"]
    assert rotated != token
    assert len(whorl("server token ls --json").json) == 2
    whorl("server token rm ci").ends(0)
    assert whorl("server token ls --json").json == []

    whorl("server token add ci --role read").ends(0)
    for words, message in {
        "add server --role read": "cannot be the name of a token",
        "add 'a b' --role read": "cannot be the name of a token",
        "add ci --role read": "there is a token 'ci' already",
        "add x --role owner": "'owner' is not one of",
        "add x --role read --expires 30": "has no unit",
        "rm cj": "there is no token 'cj'",
        "rotate other": "there is no token 'other'",
    }.items():
        whorl(f"server token {words}").ends(2, message)


def test_what_changes_something_is_audited(folder: Path, whorl: Whorl) -> None:
    for line in ("server token ls", "server audit", "server schedule ls", "server hook ls"):
        whorl(line).ends(0)
    # Who only looks makes no store.
    assert not (folder / ".whorl").exists()
    run = whorl("run a.yaml --json").json["run"]
    whorl("runs pause last").ends(2)
    for line in ("ls", "show last", "run a.yaml --dry-run", "server token add ci --role read"):
        whorl(line).ends(0)

    rows = whorl("server audit --json").json
    assert {row["who"] for row in rows} == {"command line ada"}
    found = [(row["action"], row["run"], row["file"], row["outcome"]) for row in reversed(rows)]
    assert found == [
        ("start", run, str(folder / "a.yaml"), "ok"),
        ("pause", run, "", "W905"),
        ("add token", "", "ci", "ok"),
    ]
    assert len(whorl("server audit --run last --json").json) == 2
    assert whorl("server audit --who nobody --json").json == []
    assert whorl("server audit --since 2038-01-01 --json").json == []


def test_the_audit_is_kept_as_long_as_the_operator_says(tmp_path: Path) -> None:
    now = [1_000.0]

    async def work() -> list[str]:
        async with SqliteStore(tmp_path / "whorl.db", clock=lambda: now[0]) as store:
            audit = Audit(store)
            await audit.add(AuditEntry(who="a", action="start", outcome="ok"))
            now[0] = 5_000.0
            await audit.add(AuditEntry(who="b", action="start", outcome="ok"))
            assert await audit.retire(2_000.0) == 1
            return [deed.who for deed in audit.read()]

    assert asyncio.run(work()) == ["b"]


def commands_of(command: click.Command, path: str = "") -> set[str]:
    context = click.Context(command)
    if not isinstance(command, click.Group):
        return {path}
    inner = {name: command.get_command(context, name) for name in command.list_commands(context)}
    parts = [commands_of(each, f"{path} {name}".strip()) for name, each in inner.items() if each]
    return set().union(*parts)


def test_every_command_looks_or_is_in_the_audit() -> None:
    """What writes files of the person or serves others is not about the runs of a store."""
    looking = {"ls", "show", "watch", "why", "diff", "runs cost", "server audit", "help"}
    looking |= {f"server {group} ls" for group in ("hook", "schedule", "token")}
    looking |= {"project tools ls", "project memory ls", "project doctor", "project completion"}
    looking |= {f"experiment {words}" for words in ("ls", "gate", "report", "what-if", "judge")}
    files = {f"file {name}" for name in ("convert", "graph", "import", "lint", "schema")}
    files |= {"init", "new", "test", "validate"}
    others = {"project backup", "project trust", "server mcp", "server worker", "serve"}
    others |= {"drive", "experiment drive"}

    known = commands_of(build_group(COMMANDS))
    assert {path for path in known if not action_of(path)} == looking | files | others
