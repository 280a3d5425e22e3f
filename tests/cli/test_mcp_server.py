"""`whorl mcp`, used by the official MCP client over standard input and output."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from retelling import retold
from trusted import TRUSTED
from waiting import PATIENCE_S

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


def talk(folder: Path, *words: str) -> Any:
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "whorl.interfaces.cli", "mcp", *words],
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


def test_workflows_are_tools_with_their_inputs(place: Path) -> None:
    async def ask() -> Any:
        async with talk(place) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in asyncio.run(ask())}

    assert set(tools) == {"polish", "slow", "whorl_result", "whorl_cancel"}
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


def test_a_long_run_is_called_now_and_fetched_later(place: Path) -> None:
    async def ask() -> tuple[Any, Any]:
        async with talk(place, "slow.yaml", "--wait", "0.1") as client:
            early = await client.call_tool("slow", {"text": "hi"})
            run = early.structured_content["run"]
            return early, await client.call_tool("whorl_result", {"run": run, "wait_s": PATIENCE_S})

    early, late = asyncio.run(ask())

    assert early.structured_content["status"] == "running"
    assert late.structured_content["status"] == "succeeded"
    assert late.content[0].text == "hi 2"


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


def test_a_mark_is_told_beside_the_output(place: Path) -> None:
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
