"""`whorl server mcp`, used by the official MCP client over standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retelling import retold
from trusted import TRUSTED
from waiting import PATIENCE_S, wait_until
from whorl.interfaces.operations import TOOLS

mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

ROOT = Path(__file__).parents[2]
_KEPT = ("PATH", "HOME", "PYTHONPATH", *TRUSTED)
SLOW = """
whorl: 1
name: slow
inputs: {text: string, times: {type: integer, default: 2}}
steps:
  pause: {wait: 1s}
  say: {value: "{{ text }} {{ times }}"}
"""

LONG = """
whorl: 1
name: long
steps:
  call: {run: "touch began; while [ ! -e go ]; do sleep 0.05; done; sleep 0.5"}
  after: {run: "touch after"}
"""
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}
PIPES: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)


def talk(folder: Path, *words: str) -> Any:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "whorl.interfaces.cli", "server", "mcp", *words],
        cwd=str(folder),
        env=environment,
    )
    return Client(stdio_client(server))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, copy in (("polish.yaml", "polish.yaml"), ("demo.toml", "whorl.toml")):
        (tmp_path / copy).write_text((ROOT / "examples" / name).read_text())
    (tmp_path / "slow.yaml").write_text(SLOW)
    return tmp_path


def test_of_a_file_with_several_workflows_all_are_served_or_the_chosen_one(tmp_path: Path) -> None:
    from whorl.interfaces.cli.commands.server import served_workflows
    from whorl.services.project import find_project

    actions = {"actions": {"A": {"type": "Compose", "inputs": 1}}}
    resources = [
        {"type": "Microsoft.Logic/workflows", "name": name, "properties": {"definition": actions}}
        for name in ("first", "second")
    ]
    file = tmp_path / "template.json"
    file.write_text(json.dumps({"$schema": "deploymentTemplate.json#", "resources": resources}))
    project = find_project(TRUSTED, folder=tmp_path)

    assert sorted(served_workflows(project, (str(file),))) == ["first", "second"]
    assert sorted(served_workflows(project, (str(file),), "second")) == ["second"]


def test_workflows_are_tools_with_their_inputs(place: Path) -> None:
    async def ask() -> Any:
        async with talk(place) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(ask())}

    own = {"whorl_result", "whorl_cancel"}
    assert set(tools) == {"polish", "slow"} | own
    assert tools["polish"].input_schema["required"] == ["task"]
    assert tools["slow"].input_schema["properties"]["times"] == {"type": "integer", "default": 2}


def test_a_call_runs_the_workflow_and_gives_its_output(place: Path) -> None:
    async def ask() -> Any:
        async with talk(place, "polish.yaml") as client:
            return await client.call_tool("polish", {"task": "a haiku about rain"})

    answer = asyncio.run(ask())

    assert not answer.is_error
    assert "the cat counting drops" in answer.content[0].text
    assert answer.structured_content["loops"][0]["exit_reason"] == "condition_met"


def test_a_run_continues_for_a_client_that_comes_back(place: Path) -> None:
    async def ask() -> tuple[Any, Any]:
        async with talk(place, "slow.yaml", "--wait", "0") as client:
            early = await client.call_tool("slow", {"text": "hi"})
        chosen = {"run": early.structured_content["run"], "wait_s": PATIENCE_S}
        async with talk(place, "slow.yaml") as client:
            return early, await client.call_tool("whorl_result", chosen)

    early, late = asyncio.run(ask())

    assert early.structured_content["status"] == "running"
    assert late.structured_content["status"] == "succeeded"
    assert late.content[0].text == "hi 2"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_calls_end(place: Path, number: int) -> None:
    (place / "whorl.toml").write_text('[allow]\ncommands = ["sh"]\n')
    (place / "long.yaml").write_text(LONG)
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    words = [
        sys.executable,
        "-m",
        "whorl.interfaces.cli",
        "server",
        "mcp",
        "long.yaml",
        "--wait",
        "0",
    ]
    asked = (
        {"id": 1, "method": "initialize", "params": GREETING},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "long", "arguments": {}}},
    )
    with subprocess.Popen(words, cwd=place, env=environment, text=True, **PIPES) as process:
        assert process.stdin
        for message in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
        process.stdin.flush()
        wait_until((place / "began").exists)
        process.send_signal(number)
        (place / "go").touch()
        assert process.wait(PATIENCE_S) == -number

    shown = [*words[:3], "show", "last", "--json"]
    told = subprocess.run(shown, cwd=place, env=environment, capture_output=True, check=True)
    assert json.loads(told.stdout)["records"][0]["status"] == "succeeded"
    assert not (place / "after").exists()


def test_mistakes_are_answers(place: Path) -> None:
    async def ask() -> list[Any]:
        async with talk(place, "slow.yaml") as client:
            missing = await client.call_tool("slow", {})
            unknown = await client.call_tool("whorl_result", {"run": "nosuchrun"})
            return [missing, unknown]

    missing, unknown = asyncio.run(ask())

    assert missing.is_error
    assert "needs the input 'text'" in missing.content[0].text
    assert unknown.is_error
    assert "nosuchrun" in unknown.content[0].text


SEVERAL = """
whorl: 1
name: several
outputs: {title: "Rain", facts: {words: 2}}
steps: {nothing: {value: 1}}
"""


def test_several_outputs_stand_below_their_names(place: Path) -> None:
    (place / "several.yaml").write_text(SEVERAL)

    async def ask() -> Any:
        async with talk(place, "several.yaml") as client:
            return await client.call_tool("several", {})

    answer = asyncio.run(ask())

    assert [part.text for part in answer.content] == ['title:\nRain\n\nfacts:\n{\n  "words": 2\n}']
    assert answer.structured_content["mark"] is None


def test_a_mark_is_printed_beside_the_output(place: Path) -> None:
    command = [sys.executable, "-m", "whorl.interfaces.cli", "run", "polish.yaml"]
    subprocess.run([*command, "a haiku about rain"], cwd=place, check=True, capture_output=True)
    marked = retold(place, lambda event: {"mark": "limit"} if event.kind == "loop.finished" else {})

    async def ask() -> Any:
        async with talk(place, "polish.yaml") as client:
            return await client.call_tool("whorl_result", {"run": marked})

    answer = asyncio.run(ask())

    assert answer.content[0].text.endswith("the cat counting drops.")
    assert answer.content[1].text.startswith("! limit: a loop ended at its limit")
    assert answer.structured_content["mark"] == "limit"


@pytest.mark.threat(row="T21")
def test_only_runs_of_the_workflows_that_are_served_are_reached(place: Path) -> None:
    """Neither `last` nor an id reaches a run of another workflow; every tool has an operation."""
    (place / "private.yaml").write_text("whorl: 1\nname: private\nsteps: {g: {approve: 'go?'}}\n")
    words = [sys.executable, "-m", "whorl.interfaces.cli"]
    gated = [*words, "run", "private.yaml", "--json"]
    waiting = subprocess.run(gated, cwd=place, capture_output=True, text=True, check=False)
    other = json.loads(waiting.stdout)["run"]

    async def ask() -> tuple[list[str], str, list[Any]]:
        async with talk(place, "slow.yaml") as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            own = await client.call_tool("slow", {"text": "hi"})
            run = own.structured_content["run"]
            fetched = await client.call_tool("whorl_result", {"run": run})
            refused = [
                await client.call_tool(tool, {"run": wanted})
                for tool in ("whorl_result", "whorl_cancel")
                for wanted in ("last", other, other[:6], "", "nobody")
            ]
            return tools, fetched.structured_content["status"], refused

    tools, status, refused = asyncio.run(ask())

    assert set(tools) == {"slow", *TOOLS}
    assert status == "succeeded"
    assert {answer.structured_content["code"] for answer in refused} == {"W902"}
    assert all(answer.is_error for answer in refused)
    shown = subprocess.run(
        [*words, "show", other, "--json"], cwd=place, capture_output=True, text=True, check=False
    )
    assert json.loads(shown.stdout)["status"] == "waiting"
