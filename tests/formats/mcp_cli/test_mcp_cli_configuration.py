"""The folder that mcp-cli is configured by, as it is: what counts of it, and after which yes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from whorl.errors import ProviderError, UsageError
from whorl.providers.files import FileRights
from whorl.providers.models.client import choose_models
from whorl.services.configuration.trust import remember
from whorl.services.project import Project, find_project

if TYPE_CHECKING:
    from pathlib import Path

    from whorl.providers.settings import Settings

HOUSE = """
interface_type: openai_compatible
provider_name: house
config: {api_key: "${HOUSE_KEY}", api_endpoint: "${HOUSE_URL}", default_model: small-1,
         timeout_seconds: 20, max_tokens: 100}
"""
FILES = {
    "config.yaml": """
includes:
  settings: config/settings.yaml
  providers: config/providers/*.yaml
  servers: config/servers/*.yaml
  workflows: config/workflows/**/*.yaml
""",
    "config/settings.yaml": "ai: {default_provider: judge}\nskills: {outputs_dir: out}\n",
    "config/providers/house.yaml": HOUSE,
    "config/providers/judge.yaml": HOUSE.replace("house", "judge").replace("small-1", "judge-1"),
    "config/providers/ollama.yaml": """
interface_type: openai_compatible
provider_name: ollama
config: {api_endpoint: "http://localhost:11434", default_model: llama}
""",
    "config/providers/bedrock.yaml": "interface_type: aws_bedrock\nprovider_name: bedrock\n",
    "config/servers/notes.yaml": """
server_name: my-notes
config:
  command: python3
  args: [notes_server.py, "--place=${PLACE:-here}"]
  env: {NOTES_DIR: "${NOTES}"}
""",
    ".env": "HOUSE_KEY=k1\nHOUSE_URL='http://127.0.0.1:9000/v1'\n# no=thing\nEMPTY=\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def found(folder: Path, **environment: str) -> Project:
    known = {"XDG_CONFIG_HOME": str(folder / "own"), "HOUSE_KEY": "loses", **environment}
    return find_project(known, folder=folder)


def settings(folder: Path, **environment: str) -> Settings:
    return found(folder, WHORL_TRUST="1", **environment).settings()


def test_providers_servers_and_folders_count(folder: Path) -> None:
    read = settings(folder, NOTES="/data/notes")
    house, ollama = read.providers["house"], read.providers["ollama"]

    assert house.base_url == "http://127.0.0.1:9000/v1"
    assert house.api_key is not None
    assert house.api_key.reveal() == "k1"
    assert (house.model, house.timeout_s) == ("small-1", 20.0)
    assert ollama.base_url == "http://localhost:11434/v1"
    assert ollama.api_key is None
    assert (read.default_provider, read.judge_model) == ("judge", "judge/judge-1")
    notes = read.mcp["my-notes"]
    assert notes.command == ("python3", "notes_server.py", "--place=here")
    assert [str(text) for text in notes.env.values()] != ["/data/notes"]
    assert read.allow.commands == ("python3",)
    assert read.workflows["folders"] == ["config/workflows", "config/skills"]


def test_what_has_no_effect_is_noted(folder: Path) -> None:
    notes = "\n".join(found(folder).configuration().notes)

    assert "'max_tokens' of a provider has no effect" in notes
    assert "'bedrock' has the interface 'aws_bedrock'" in notes


def test_nothing_counts_before_it_is_trusted(folder: Path) -> None:
    project = found(folder)
    read, judged = project.settings(), project.configuration().judged

    assert "house" not in read.providers
    assert read.mcp == {}
    assert read.untrusted is not None
    assert judged is not None
    rights = [f"{right.kind}: {right.text}" for right in judged.rights]
    assert "commands: python3" in rights
    # The folder's .env decides about both, and the person sees what it decides.
    words = "'http://127.0.0.1:9000/v1' for models (house), with the key HOUSE_KEY in"
    assert f"addresses: {words} .env" in rights
    assert "programs: python3 notes_server.py --place=here (MCP server my-notes)" in [
        right.partition(", with")[0] for right in rights
    ]
    assert not any("k1" in right for right in rights)


@pytest.mark.parametrize("is_trusted", [True, False])
def test_no_workflow_reads_or_writes_the_configuration(folder: Path, is_trusted: bool) -> None:
    read = settings(folder) if is_trusted else found(folder).settings()
    rights = FileRights(folder, replace(read.allow, write=("**",)))

    for name in FILES:
        assert not rights.may_read(folder / name), name
        assert not rights.may_write(folder / name), name
    assert rights.may_read(folder / "config" / "workflows" / "a.yaml")
    assert rights.may_write(folder / "config" / "other.yaml")


@pytest.mark.parametrize(
    ("changed", "added"),
    [
        *((name, "# changed\n") for name in ("config/providers/house.yaml", ".env", "config.yaml")),
        ("config/providers/z.yaml", HOUSE.replace("HOUSE_URL", "OTHER")),
    ],
)
def test_a_change_of_any_file_is_asked_about_again(folder: Path, changed: str, added: str) -> None:
    project = found(folder)
    judged = project.configuration().judged
    assert judged is not None
    remember(project.environment, judged)
    assert "house" in found(folder).settings().providers

    with (folder / changed).open("a") as file:
        file.write(added)

    again = found(folder).configuration().judged
    assert again is not None
    assert again.standing == "changed"


def test_a_variable_that_is_not_set_is_named_when_it_is_needed(folder: Path) -> None:
    (folder / ".env").unlink()
    read = settings(folder)

    with pytest.raises(ProviderError, match="HOUSE_URL"):
        choose_models(read, {"provider": "house", "model": "x"})
    assert choose_models(read, {"provider": "ollama"}).candidates


@pytest.mark.parametrize(
    ("file", "text", "words"),
    [
        ("config/providers/house.yaml", "interface_type: openai_compatible\n", "'provider_name'"),
        ("config/providers/house.yaml", HOUSE + "colour: red\n", "has no 'colour'"),
        ("config/servers/notes.yaml", "server_name: x\nconfig: {}\n", "lacks its 'command'"),
        ("config/settings.yaml", "ai: [\n", "settings.yaml:"),
        ("config.yaml", "includes: {servers: x, providrs: x}\n", "has no 'providrs'"),
        ("config.yaml", "includes: {settings: none.yaml}\n", "none.yaml: does not exist"),
        ("config.yaml", "includes: {settings: ../../x.yaml}\n", "is outside of"),
    ],
)
def test_mistakes_are_named_with_their_file(folder: Path, file: str, text: str, words: str) -> None:
    (folder / file).write_text(text)

    with pytest.raises(UsageError) as caught:
        settings(folder)
    assert caught.value.code == "W901"
    assert words in str(caught.value)
