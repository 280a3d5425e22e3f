"""`whorl project trust` and `whorl init`, the question at the terminal, and the user's own file."""

from __future__ import annotations

import json
import os
import stat
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl
    from terminals import At

CONFIG = "[allow]\ncommands = true\n"
COMMAND = "whorl: 1\nname: touch\nsteps:\n  a: {run: touch made}\n"
RIGHTS = {
    "[allow]\ncommands = ['git', 'make']": ["commands: git", "commands: make"],
    "[allow]\nprivate_network = ['db:5432']": ["network: db:5432"],
    "[allow]\nfiles = {write = ['out/**'], read = ['docs/']}": [
        "files: write out/**",
        "files: read docs/",
    ],
    "[tasks]\na = 'python:m:f'\nb = 'https://x.example/b'": [
        "code: m:f (task a)",
        "addresses: 'https://x.example/b' for the task b",
    ],
    "[mcp.m]\ncommand = ['run', 'a b']\nenv = {A = 'env:B', C = 'd', TOKEN = 'secret'}": [
        "programs: run 'a b' (MCP server m), with the variable B as A, C=***, TOKEN=***"
    ],
    "[mcp.m]\ncommand = ['npx', 'pg', '--token=secret', '--api-key', 'secret', 'a b', '-e',"
    " 'DB_PASSWORD=secret', 'postgres://u:secret@db/x']\n"
    "env = {PATH = '/own', NPM_TOKEN = 'secret'}": [
        "programs: npx pg --token=*** --api-key *** 'a b' -e DB_PASSWORD=*** postgres://***@db/x "
        "(MCP server m), with PATH=/own, NPM_TOKEN=***"
    ],
    "[mcp.m]\ncommand = ['bash', '-cauth', 'touch evil']": [
        "programs: bash -cauth 'touch evil' (MCP server m)"
    ],
    "[agents.a]\nkind = 'codex'\nflags = ['--token', 'secret']": [
        "programs: codex --token *** (agent a)"
    ],
    "[notify]\nurl = 'https://hooks.example/services/T1/secret'": [
        "notify: 'https://hooks.example/...' is notified about runs"
    ],
    "[agents.a]\nkind = 'codex'\nskip_permissions = true": [
        "programs: codex (agent a), without asking before it acts"
    ],
    "[providers.own]\nbase_url = 'https://x.example/v1'\napi_key = 'secret'": [
        "addresses: 'https://x.example/v1' for models (own), with its api_key"
    ],
    "[providers.openai]\napi_key = 'env:AWS_KEY'": [
        "addresses: the address of 'openai' for models (openai), with the variable AWS_KEY"
    ],
    "[providers.openai]\napi_key = 'secret-0123'": [
        "addresses: the address of 'openai' for models (openai), with its own key instead of yours"
    ],
    "[runtime.temporal]\naddress = 'x.example:7233'\napi_key = 'env:AWS_KEY'": [
        "addresses: x.example:7233 drives runs if you choose Temporal, with the variable AWS_KEY"
    ],
    "[providers.a]\nkind = 'scripted'\nreplies = '../r.toml'": [
        "files: read ../r.toml, the replies of a"
    ],
    "[keys.k]\nurl = 'https://x.example'\ntoken = 'env:T'": [
        "addresses: 'https://x.example' for HTTP steps (key k), with the variable T"
    ],
    "[notify]\nurl = 'https://x.example'\nheaders = {H = 'env:T'}": [
        "notify: 'https://x.example' is notified about runs, with the variable T as H"
    ],
    "[connectors]\nurl = 'https://x.example'": ["addresses: 'https://x.example' for connectors"],
    "[prices.m]\ninput = 0.1\noutput = 0": [
        "prices: m: input $0.1, output $0, for a million tokens"
    ],
    "[retention]\nolder_than = '1d'": ["deletion: runs that ended long ago (older_than 1d)"],
}


@pytest.fixture
def folder(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that nobody has trusted; the user's own folder is beside it."""
    monkeypatch.delenv("WHORL_TRUST")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(project / "home"))
    (project / "whorl.toml").write_text(CONFIG)
    (project / "touch.yaml").write_text(COMMAND)
    return project


@pytest.mark.parametrize("config", RIGHTS, ids=lambda text: text.partition("\n")[0])
def test_every_right_is_named_and_none_is_given(folder: Path, whorl: Whorl, config: str) -> None:
    (folder / "whorl.toml").write_text(config)

    shown = whorl("project", "trust", "--json").json
    whorl("run touch.yaml").ends(2, "error[W908]")

    named = [f"{right['kind']}: {right['text']}" for right in shown["permits"]]
    assert named == RIGHTS[config]
    assert (shown["standing"], shown["trusted"]) == ("new", False)
    assert "secret" not in json.dumps(shown).replace("(secret)", "")


def test_trust_is_kept_for_the_owner_only_and_can_be_taken_back(folder: Path, whorl: Whorl) -> None:
    unasked = whorl("project", "trust").prints("commands any program")
    trusted = whorl("project", "trust", "--yes")
    record = folder / "home" / "whorl" / "trust.json"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (record, record.parent)]
    listed, ran = record.read_text(), whorl("run", "touch.yaml")
    removed, after = whorl("project", "trust", "--remove"), whorl("run", "touch.yaml")

    assert (unasked.code, trusted.code, ran.code) == (2, 0, 0)
    assert modes == [0o600, 0o700]
    assert str(folder / "whorl.toml") in listed
    assert "no longer trusted" in removed.err
    assert "error[W908]" in after.err


HELD = """[mcp.m]
command = ["npx", "pg", "--token=KEY"]
env = {A = "KEY"}
[notify]
url = "https://hooks.example/services/KEY"
"""


def test_a_value_that_is_not_shown_is_one_that_has_changed(folder: Path, whorl: Whorl) -> None:
    config, record = folder / "whorl.toml", folder / "home" / "whorl" / "trust.json"
    config.write_text(HELD.replace("KEY", "NeSfkUdz"))
    told = [
        whorl("project", "trust"),
        whorl("run", "touch.yaml"),
        whorl("project", "trust", "--yes"),
    ]
    kept = record.read_text()
    config.write_text(HELD.replace("KEY", "NeSfkUdz", 2).replace("KEY", "VJklf3aA"))
    shown, listed = whorl("project", "trust"), whorl("project", "trust", "--json")

    assert not {key for key in ("NeSfkUdz", "VJklf3aA") if key in f"{told} {kept} {shown} {listed}"}
    assert "  programs: npx pg --token=*** (MCP server m), with A=***\n" in shown.out
    notified = "'https://hooks.example/...' is notified about runs"
    assert f"+ notify: {notified} (changed values, which are not shown)\n" in shown.out
    assert "\n-" not in shown.out
    assert [right["kind"] for right in listed.json["added"]] == ["notify"]


def test_a_folder_is_named_by_its_path(folder: Path, whorl: Whorl) -> None:
    other = folder / "other"
    other.mkdir()
    whorl("project trust other --yes").ends(2, "there is no whorl.toml")
    (other / "whorl.toml").write_text(CONFIG)
    shown = whorl("project", "trust", "other/whorl.toml", "--json", "--yes").json
    (other / "whorl.toml").unlink()

    assert shown["path"] == str(other / "whorl.toml")
    assert whorl("project", "trust", "other", "--remove", "--json").json["removed"]


def test_a_record_that_is_damaged_or_others_can_write_does_not_count(
    folder: Path, whorl: Whorl
) -> None:
    whorl("project trust --yes")
    record = folder / "home" / "whorl" / "trust.json"
    record.chmod(0o666)
    whorl("run touch.yaml").ends(2, "can be used by others")
    record.chmod(0o600)
    record.write_text("{")
    whorl("run touch.yaml").says("is damaged")

    assert not (folder / "made").exists()


def test_what_init_writes_is_trusted_as_written(folder: Path, whorl: Whorl) -> None:
    (folder / "whorl.toml").unlink()
    made = whorl("init", "--allow-commands")
    ran = whorl("run", "touch.yaml")
    again = whorl("init").says("whorl.toml exists already, and is not changed")
    with (folder / "whorl.toml").open("a") as file:
        file.write("[notify]\nurl = 'https://x.example'\n")
    whorl("run touch.yaml").says("has changed since you trusted it")

    assert (made.code, ran.code, again.code) == (0, 0, 0)


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("\n", 2)])
def test_a_yes_at_the_terminal_is_kept_and_a_no_runs_nothing(
    folder: Path, at: At, whorl: Whorl, typed: str, code: int
) -> None:
    terminal = at("run", "touch.yaml")
    ends = "next: whorl" if code == 0 else "error[W908]"
    terminal.talk(("Trust it? [y/N]: ", typed), until=ends, code=code)

    assert "commands any program" in terminal.shown
    assert (folder / "made").exists() == (code == 0)
    assert whorl("run", "touch.yaml").code == code


def test_the_persons_own_file_wins_and_grants(folder: Path, whorl: Whorl) -> None:
    own = folder / "home" / "whorl" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f'[trust."{folder}"]\n')
    granted = whorl("run", "touch.yaml")
    own.write_text(f'[trust."{folder}"]\n[allow]\ncommands = ["git"]\n')
    whorl("run touch.yaml").says("commands are not allowed")
    (folder / "whorl.toml").unlink()
    own.write_text("[allow]\ncommands = true\n")
    alone = whorl("run", "touch.yaml")
    own.write_text('[trust."/x"]\nall = true\n')
    whorl("run touch.yaml").ends(2, "error[W901]")

    assert (granted.code, alone.code) == (0, 0)


def test_no_own_key_goes_to_another_address(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry of the person's own file stands for the whole entry of the folder's."""
    from whorl.services.project import find_project

    own = folder / "home" / "whorl" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[providers.openai]\napi_key = "sk-own-0123456789"\n')
    (folder / "whorl.toml").write_text('[providers.openai]\nbase_url = "https://x.example/v1"\n')
    monkeypatch.setenv("WHORL_TRUST", "1")

    provider = find_project(os.environ).settings().providers["openai"]

    assert provider.base_url == "https://api.openai.com/v1"


def test_files_of_another_user(folder: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch) -> None:
    own = os.geteuid()
    whorl("project", "trust", "--yes")
    below = folder / "below"
    below.mkdir()
    (below / "touch.yaml").write_text(COMMAND)
    monkeypatch.chdir(below)
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    monkeypatch.setenv("WHORL_HOME", str(folder / "store"))

    refused = [whorl("run", "touch.yaml", *more) for more in ((), ("--trust",))]
    named = whorl("run", "touch.yaml", "--config", str(folder / "whorl.toml"))
    monkeypatch.setenv("WHORL_TRUST", "1")
    allowed = whorl("run", "touch.yaml")

    assert ["error[W909]" in done.err for done in refused] == [True, True]
    assert (named.code, allowed.code) == (0, 0)
