"""What a file would write, run and call is named before it does, and refused where it may not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from command_line import Whorl

FLOW = """
whorl: 1
name: flow
inputs: {site: string}
steps:
  test: {run: [pytest, -q]}
  script: {run: "make all && echo done"}
  get: {http: {url: "https://api.example.com/items/{{ site }}"}}
  any: {http: {url: "https://{{ site }}/x"}}
  lint: {use: lint}
  agent: {agent: claude-code, prompt: "Fix it"}
  ask: {ask: "Hello", model: openai/gpt-5-mini}
"""
CONFIG = """
[providers.openai]
api_key = "k-0123456789"
[tasks]
lint = "python:my_checks:lint"
[allow]
commands = true
"""
STRANGER: dict[str, Any] = {
    "nodes": [
        {"id": "i", "type": "input", "data": {"name": "text"}},
        {"id": "w", "type": "file_write", "data": {"path": "Makefile", "content": "all: evil"}},
        {"id": "v", "type": "file_write", "data": {"path": "out/{{i}}.md", "content": "x"}},
        {"id": "o", "type": "output", "data": {}},
    ],
    "edges": [
        {"id": "1", "source": "i", "target": "w"},
        {"id": "2", "source": "w", "target": "v"},
        {"id": "3", "source": "v", "target": "o"},
    ],
}


def test_validate_names_what_a_file_would_run_and_call(project: Path, whorl: Whorl) -> None:
    (project / "whorl.toml").write_text(CONFIG)
    (project / "flow.yaml").write_text(FLOW)

    done, document = whorl("validate", "flow.yaml"), whorl("validate", "flow.yaml", "--json").json

    assert document[0]["effects"] == {
        "reads": [],
        "writes": [],
        "runs": ["pytest -q", "make all && echo done", "python:my_checks:lint", "claude"],
        "calls": ["api.openai.com", "api.example.com", "an address that is computed"],
    }
    assert "  runs pytest -q, make all && echo done, " in done.out
    assert "; calls api.openai.com, api.example.com, an address that is computed" in done.out


def test_a_stranger_rewrites_nothing(project: Path, whorl: Whorl) -> None:
    """A file from elsewhere, run in a folder without a configuration."""
    (project / "whorl.toml").unlink()
    (project / "Makefile").write_text("all: mine")
    elsewhere = project.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    (elsewhere / "stranger.json").write_text(json.dumps(STRANGER))

    checked = whorl("validate", "../elsewhere/stranger.json")
    whorl("run ../elsewhere/stranger.json x").ends(1, "[P125]")

    assert "writes Makefile, a path that is computed" in checked.out
    assert "warning[P125]" in checked.err
    assert (project / "Makefile").read_text() == "all: mine"
    assert not (project / "out").exists()


def test_a_command_finds_the_workspace_of_its_run(project: Path, whorl: Whorl) -> None:
    (project / "whorl.toml").write_text("[allow]\ncommands = true\n")
    (project / "work.yaml").write_text("""
whorl: 1
name: work
steps:
  make: {run: "echo made > {{ workspace }}/a.txt"}
  look: {run: [cat, a.txt], folder: "{{ workspace }}"}
outputs: {text: "{{ look.stdout | trim }}", where: "{{ workspace }}"}
""")

    result = whorl("run", "work.yaml", "--json").json
    whorl("test work.yaml").ends(0)
    folder = project / ".whorl" / "work" / result["run"]

    assert result["outputs"] == {"text": "made", "where": f".whorl/work/{result['run']}"}
    assert (folder / "a.txt").read_text() == "made\n"
    whorl("project", "prune", "--older-than", "0s", "--dry-run")
    assert folder.exists()
    whorl("project", "prune", "--older-than", "0s")
    assert not folder.exists()


def test_a_wrong_permission_is_an_error(project: Path, whorl: Whorl) -> None:
    (project / "pure.yaml").write_text("whorl: 1\nname: pure\nsteps:\n  a: {value: 1}\n")
    for allow in (
        "files = ['out']",
        "files = {reads = ['a']}",
        "files = {write = '/etc'}",
        "files = {write = ['/etc/*']}",
        "files = {write = ['../x']}",
        "files = {read = ['~/x']}",
        "hosts = true",
        "hosts = 'example.com'",
    ):
        (project / "whorl.toml").write_text(f"[allow]\n{allow}\n")
        whorl("run pure.yaml").ends(2, "error[W901]")


@pytest.mark.parametrize(
    ("url", "allowed", "is_warned"),
    [
        ("http://localhost:1234", "", True),
        ("http://10.0.0.7:8000/v1", "", True),
        ("https://models.example.com", "", False),
        ("http://localhost:1234", '[allow]\nprivate_network = ["localhost:1234"]\n', False),
        ("https://models.example.com", '[allow]\nhosts = ["other.example.com"]\n', True),
        (
            "http://localhost:1234",
            '[providers.own]\nbase_url = "http://localhost:1234/v1"\n',
            False,
        ),
    ],
)
def test_validate_says_once_which_address_needs_permission(
    project: Path, whorl: Whorl, url: str, allowed: str, is_warned: bool
) -> None:
    agent = {"type": "local_llm", "provider": "lm_studio", "model": "m", "prompt": "x"}
    agents = [{"id": name, "model_url": url, **agent} for name in ("a", "b")]
    (project / "flow.json").write_text(json.dumps({"orchestrator": {}, "agents": agents}))
    (project / "whorl.toml").write_text(allowed)

    [document] = whorl("validate", "flow.json", "--json").json

    warned = [found for found in document["diagnostics"] if found["code"] == "P107"]
    assert document["ok"]
    assert len(warned) == is_warned
    for found in warned:
        assert "step 'a' asks a model at" in found["message"]
        assert "[allow]" in found["message"]


def test_a_step_may_not_call_the_address_of_a_provider(project: Path, whorl: Whorl) -> None:
    (project / "whorl.toml").write_text('[providers.own]\nbase_url = "http://localhost:9/v1"\n')
    (project / "h.yaml").write_text(
        "whorl: 1\nsteps:\n  q: {ask: Hi}\n  h: {http: {url: 'http://localhost:9/x'}}\n"
    )

    done = whorl("run h.yaml --json").ends(1)

    assert done.json["error"]["code"] == "P107"
    assert done.json["usage"]["calls"] == 0


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("{agent: absent, prompt: hi}", "starts the program 'no-such-program'"),
        ("{run: [no-such-program]}", "which is not installed here"),
        ("{use: f}", "uses the task 'f', whose module is not there: 'python:nowhere:f'"),
        ("{agent: gem, prompt: hi, session: s}", "continues a session, but agent 'gem' keeps none"),
    ],
)
def test_what_is_missing_is_reported_before_a_model_is_asked(
    project: Path, whorl: Whorl, step: str, told: str
) -> None:
    with (project / "whorl.toml").open("a") as config:
        config.write(
            '[allow]\ncommands = true\n[tasks]\nf = "python:nowhere:f"\n'
            '[agents.absent]\nkind = "codex"\nprogram = "no-such-program"\n'
            '[agents.gem]\nkind = "gemini"\nprogram = "true"\n'
        )
    (project / "late.yaml").write_text(f"whorl: 1\nsteps:\n  q: {{ask: Hi}}\n  late: {step}\n")

    whorl("run late.yaml").ends(2, told)
    whorl("validate late.yaml").says(told)
    assert whorl("ls --json").json == []
