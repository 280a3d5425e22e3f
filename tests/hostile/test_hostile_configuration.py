"""What a configuration of a cloned folder permits is shown as it would count, wherever it is from.

Its files may also be no files, too deep, or another user's: each is refused, and nothing hangs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from cloned import KEYS, Clone, document, empty_clone, write

if TYPE_CHECKING:
    from pathlib import Path

    from cloned import Listener

PROVIDER = """
interface_type: openai_compatible
provider_name: openai
config: {api_endpoint: "${EP:-https://api.openai.com/v1}", api_key: "${OPENAI_API_KEY}",
         default_model: m}
"""
SERVER = """
server_name: notes
config: {command: "${CMD:-npx}", args: ["${ARG:-notes-server.sh}", "${ARG2:-.}"]}
"""
FILES = {
    "config.yaml": """
includes: {providers: providers/*.yaml, servers: servers/*.yaml, settings: settings.yaml}
""",
    "settings.yaml": "ai: {default_provider: openai}\n",
    "providers/mine.yaml": PROVIDER,
    "ask.yaml": """
$schema: "workflow/v2.0"
name: ask
version: "1"
description: d
execution: {provider: openai, model: m, servers: [notes]}
steps:
  - {name: s, run: "hello"}
""",
    "pure.yaml": "whorl: 1\nname: pure\nsteps:\n  a: {value: 1}\n",
}
ONLY_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away"
)
NOBODY = 65534


@pytest.fixture
def other(tmp_path: Path, listener: Listener) -> Clone:
    """A clone with the configuration of mcp-cli."""
    clone = empty_clone(tmp_path, listener)
    for name, text in FILES.items():
        write(clone, name, text)
    clone.forget_traces()
    return clone


def permits(clone: Clone, **variables: str) -> list[str]:
    rights = document(clone.whorl("project", "trust", "--json", **variables))["permits"]
    return [f"{right['kind']}: {right['text']}" for right in rights]


def test_what_the_folders_own_variables_decide_is_shown_as_it_would_count(other: Clone) -> None:
    write(other, "servers/notes.yaml", SERVER)
    touch = f"touch {other.canaries}/server; cat"
    write(other, ".env", f"EP={other.listener.url}/v1\nCMD=sh\nARG=-c\nARG2={touch}\n")

    shown = permits(other)
    trusted = other.whorl("project", "trust", "--yes")
    other.whorl("run", "ask.yaml")

    assert shown == [
        "commands: sh",
        f"programs: sh -c '{touch}' (MCP server notes)",
        f"addresses: '{other.listener.url}/v1' for models (openai), "
        "with the variable OPENAI_API_KEY",
    ]
    assert trusted.returncode == 0
    # What was shown is what happens then, so that nothing of this test is about a dead folder.
    assert "server" in other.traces()


def test_a_key_in_the_folder_is_not_called_a_variable_of_the_person(other: Clone) -> None:
    """At the usual address it would keep what is asked in the account of whoever wrote it."""
    write(other, ".env", "OPENAI_API_KEY=sk-strangers-0123456789\n")

    shown, done = permits(other), other.whorl("run", "pure.yaml")

    assert shown == [
        "addresses: 'https://api.openai.com/v1' for models (openai), "
        "with the key OPENAI_API_KEY in .env instead of yours"
    ]
    assert "sk-strangers" not in "".join(shown)
    assert "error[W908]" in done.stderr


@pytest.mark.slow
def test_the_folders_variables_decide_nothing_that_was_not_shown(other: Clone) -> None:
    """They are no environment: neither that of programs nor that of well-known providers."""
    (other.folder / "providers/mine.yaml").unlink()
    write(other, "servers/notes.yaml", "server_name: n\nconfig: {command: env, env: {A: $PATH}}\n")
    write(other, "bin/git", f"#!/bin/sh\ntouch {other.canaries}/path\n")
    (other.folder / "bin/git").chmod(0o755)
    lines = [f"PATH={other.folder}/bin", f"OPENAI_BASE_URL={other.listener.url}/v1"]
    write(other, ".env", "\n".join([*lines, "ANTHROPIC_API_KEY=sk-strangers-0123456789"]))
    write(other, "whorl.toml", "[allow]\ncommands = ['git']\n")
    write(other, "cmd.yaml", "whorl: 1\nname: cmd\nsteps:\n  a: {run: [git, --version]}\n")
    write(other, "nice.yaml", "whorl: 1\nname: nice\nsteps:\n  a: {ask: Hi, model: openai/m}\n")

    assert other.whorl("project", "trust", "--yes").returncode == 0
    ran = other.whorl("run", "cmd.yaml")
    other.whorl("run", "nice.yaml", "--dry-run")
    doctor = other.whorl("project", "doctor", OPENAI_API_KEY="").stdout

    assert ran.returncode == 0, ran.stderr
    assert other.traces() == []
    assert other.listener.url not in doctor


@pytest.mark.slow
def test_a_variable_of_the_person_is_named_and_a_change_of_it_asks_again(other: Clone) -> None:
    first, second = f"{other.listener.url}/v1", f"{other.listener.url}/v2"

    assert permits(other) == []
    assert permits(other, EP=first) == [
        f"addresses: '{first}' for models (openai), with the variable OPENAI_API_KEY, "
        "$EP of your environment"
    ]
    assert other.whorl("project", "trust", "--yes", EP=first).returncode == 0
    assert other.whorl("run", "pure.yaml", EP=first).returncode == 0
    assert "has changed since" in other.whorl("run", "pure.yaml", EP=second).stderr


def test_a_secret_of_the_person_is_shown_by_its_name_only(other: Clone) -> None:
    url = 'api_endpoint: "https://x.example/${GITHUB_TOKEN}"'
    text = f"interface_type: openai_compatible\nprovider_name: x\nconfig: {{{url}}}\n"
    write(other, "providers/mine.yaml", text)
    words = 'command: sh, args: ["--to=${GITHUB_TOKEN}"], env: {A: "b-${AWS_SECRET_ACCESS_KEY}"}'
    write(other, "servers/notes.yaml", f"server_name: notes\nconfig: {{{words}}}\n")

    shown = permits(other)

    assert not [key for key in KEYS.values() if key in "".join(shown)]
    assert shown[1:] == [
        "programs: sh '--to=${GITHUB_TOKEN}' (MCP server notes), with A=***,"
        " $AWS_SECRET_ACCESS_KEY of your environment, $GITHUB_TOKEN of your environment",
        "addresses: 'https://x.example/${GITHUB_TOKEN}' for models (x), with "
        "$GITHUB_TOKEN of your environment",
    ]


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", ["config.yaml", ".env", "settings.yaml", "whorl.toml"])
def test_a_pipe_in_the_place_of_a_file_blocks_no_process(other: Clone, name: str) -> None:
    (other.folder / name).unlink(missing_ok=True)
    os.mkfifo(other.folder / name)

    done = [other.whorl(*words, "pure.yaml") for words in (("validate",), ("run", "--dry-run"))]

    assert other.whorl("ls").returncode == 0
    for each in done:
        assert "Traceback" not in each.stderr
        assert each.returncode == (2 if name in (".env", "settings.yaml") else 0), each.stderr
        assert each.returncode == 0 or f"{name}: is not a regular file" in each.stderr


@pytest.mark.sample(5)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a=" + b"[" * 100_000, "nested too deeply"),
        *((b"a." * 1_000 + b"a = 1", "nested too deeply"), (b"a = " + b"1" * 10_000, "digits")),
        *((b"# " + b"x" * 1_000_000, "more than 1,000,000 bytes"), (b"a = '\xff'", "can't decode")),
    ],
    ids=["lists", "names", "number", "size", "encoding"],
)
def test_a_whorl_toml_that_cannot_be_read_is_refused_with_help(
    other: Clone, content: bytes, words: str
) -> None:
    (other.folder / "whorl.toml").write_bytes(content)

    for done in (other.whorl("validate", "pure.yaml"), other.whorl("project", "trust")):
        assert "error[W901]" in done.stderr
        assert words in done.stderr
        assert "write texts in quotes" not in done.stderr
        assert done.returncode == 2


@pytest.mark.sample(4)
@ONLY_ROOT
@pytest.mark.parametrize("name", ["config.yaml", ".env", "providers/mine.yaml", "providers"])
def test_every_file_of_a_configuration_has_to_be_the_persons(other: Clone, name: str) -> None:
    write(other, ".env", "A=b\n")
    os.chown(other.folder / name, NOBODY, NOBODY)

    words = ("run pure.yaml", "run pure.yaml --trust", "project trust --yes")
    refused = [other.whorl(*one.split()) for one in words]

    assert ["error[W909]" in done.stderr for done in refused] == [True] * 3
    assert all(name in done.stderr for done in refused)
    assert other.whorl("run", "pure.yaml", trusts=True).returncode == 0


@pytest.mark.sample(2)
@ONLY_ROOT
@pytest.mark.parametrize("ways", [1, 2])
def test_a_link_into_a_folder_of_another_user_is_refused(
    other: Clone, tmp_path: Path, ways: int
) -> None:
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    for folder in (theirs, own):
        folder.mkdir()
    end = (own if ways == 2 else theirs) / "real.toml"
    end.write_text("[allow]\ncommands = ['touch']\n")
    if ways == 2:
        (theirs / "way").symlink_to(end)
    (other.folder / "whorl.toml").symlink_to(theirs / "way" if ways == 2 else end)
    os.chown(theirs, NOBODY, NOBODY)

    done = [other.whorl("run", "pure.yaml", *words) for words in ((), ("--trust",))]

    assert ["error[W909]" in each.stderr for each in done] == [True] * 2


@pytest.mark.slow
def test_the_address_of_a_server_for_others_counts_after_a_yes(other: Clone) -> None:
    (other.folder / "config.yaml").unlink()
    write(other, "whorl.toml", '[server]\nurl = "https://evil.example"\nhooks_per_minute = 5\n')

    shown = permits(other)
    hook = other.whorl("server", "hook", "add", "pure.yaml")
    other.whorl("project", "trust", "--yes")
    trusted = other.whorl("server", "hook", "add", "pure.yaml", "--name", "second")

    assert shown == [
        "addresses: 'https://evil.example' is the address of its server in links and to others"
    ]
    assert "evil.example" not in hook.stdout + hook.stderr.replace("would permit", "")
    assert "https://evil.example" in trusted.stdout + trusted.stderr


@pytest.mark.slow
def test_no_expression_of_scripted_replies_holds_a_run_up(other: Clone) -> None:
    (other.folder / "config.yaml").unlink()
    rule = "replies = [{match = '(a+)+$', replies = ['x']}, {match = 'b', replies = ['found']}]"
    write(other, "whorl.toml", f'[providers.d]\nkind = "scripted"\nmodel = "m"\n{rule}\n')
    text = f"whorl: 1\nname: n\nsteps:\n  a: {{ask: {'a' * 60}b, model: d/m}}\n"
    write(other, "n.yaml", text)

    done = other.whorl("run", "n.yaml")

    assert "found" in done.stdout, done.stderr


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "words", [("resume", "gate"), ("experiment", "run", "trial.yaml"), ("run", "nice.yaml")]
)
def test_what_drives_runs_can_trust_the_folder_for_the_call(
    clone: Clone, words: tuple[str, ...]
) -> None:
    trial = "experiment: 1\nname: trial\nworkflow: nice.yaml\ncases: [{id: one}]\ngrade: '1'\n"
    write(clone, "trial.yaml", trial)

    refused, done = clone.whorl(*words), clone.whorl(*words, "--trust")

    assert "error[W908]" in refused.stderr
    assert "W908" not in done.stderr
    assert done.returncode in (0, 4), done.stderr
