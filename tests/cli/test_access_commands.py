"""`whorl token` and `whorl audit`, as a person uses them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import click
import pytest

from whorl.interfaces.cli import COMMANDS
from whorl.interfaces.cli.auditing import ACTIONS
from whorl.interfaces.cli.group import build_group, run_safely
from whorl.runtimes.service.audit import Audit, Deed
from whorl.runtimes.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

FILE = 'whorl: 1\nname: a\nsteps:\n  a: {value: "1"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "a.yaml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOGNAME", "ada")
    return tmp_path


def whorl(*words: str) -> int:
    return run_safely(build_group(COMMANDS), words)


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    capsys.readouterr()
    assert whorl(*words) == 0
    return json.loads(capsys.readouterr().out)


def test_tokens_are_made_listed_rotated_and_removed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert whorl("token", "add", "ci", "--role", "run", "--expires", "30d") == 0
    token = capsys.readouterr().out.strip()
    assert len(token) > 40
    (row,) = printed(capsys, "token", "ls", "--json")
    assert (row["name"], row["role"]) == ("ci", "run")
    assert row["expires_at"] - row["created_at"] == 30 * 86_400
    assert token not in json.dumps(row)

    rotated = printed(capsys, "token", "rotate", "ci", "--grace", "1h", "--json")["token"]
    assert rotated != token
    assert len(printed(capsys, "token", "ls", "--json")) == 2
    assert whorl("token", "rm", "ci") == 0
    assert printed(capsys, "token", "ls", "--json") == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "server", "--role", "read"), "cannot be the name of a token"),
        (("add", "a b", "--role", "read"), "cannot be the name of a token"),
        (("add", "ci", "--role", "read"), "there is a token 'ci' already"),
        (("add", "x", "--role", "owner"), "'owner' is not one of"),
        (("add", "x", "--role", "read", "--expires", "30"), "has no unit"),
        (("rm", "cj"), "there is no token 'cj'"),
        (("rotate", "other"), "there is no token 'other'"),
    ],
)
def test_what_does_not_fit_is_said(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    assert whorl("token", "add", "ci", "--role", "read") == 0
    assert whorl("token", *words) == 2
    assert message in capsys.readouterr().err


def test_commands_that_change_something_are_in_the_audit(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = printed(capsys, "run", "a.yaml", "--json")["run"]
    assert whorl("pause", "last") == 2
    assert whorl("ls") == whorl("show", "last") == 0
    assert whorl("run", "a.yaml", "--dry-run") == 0
    assert whorl("token", "add", "ci", "--role", "read") == 0

    rows = printed(capsys, "audit", "--json")
    assert {row["who"] for row in rows} == {"command line ada"}
    found = [(row["action"], row["run"], row["file"], row["outcome"]) for row in reversed(rows)]
    assert found == [
        ("start", run, str(folder / "a.yaml"), "ok"),
        ("pause", run, "", "W905"),
        ("add token", "", "ci", "ok"),
    ]
    assert len(printed(capsys, "audit", "--run", "last", "--json")) == 2
    assert printed(capsys, "audit", "--who", "nobody", "--json") == []
    assert printed(capsys, "audit", "--since", "2038-01-01", "--json") == []


def test_the_audit_is_kept_as_long_as_the_operator_says(tmp_path: Path) -> None:
    now = [1_000.0]

    async def work() -> list[str]:
        async with SqliteStore(tmp_path / "whorl.db", clock=lambda: now[0]) as store:
            audit = Audit(store)
            await audit.add(Deed(who="a", action="start", outcome="ok"))
            now[0] = 5_000.0
            await audit.add(Deed(who="b", action="start", outcome="ok"))
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
    looking = {"ls", "show", "status", "watch", "why", "diff", "cost", "audit", "what-if", "judge"}
    looking |= {f"{group} ls" for group in ("experiment", "hook", "memory", "schedule", "token")}
    looking |= {"tools ls", "experiment gate", "experiment report", "doctor", "explain", "schema"}
    looking |= {"completion"}
    files = {"convert", "graph", "import", "init", "lint", "new", "templates", "test", "validate"}
    others = {"backup", "mcp", "serve", "trust", "worker", "experiment drive"}

    assert commands_of(build_group(COMMANDS)) == set(ACTIONS) | looking | files | others


def test_looking_makes_no_store(folder: Path) -> None:
    for command in ("token ls", "audit", "schedule ls", "hook ls"):
        assert whorl(*command.split()) == 0
    assert not (folder / ".whorl").exists()
