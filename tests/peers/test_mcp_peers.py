"""MCP in both directions: public servers used by our client, the inspector as a client of ours."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from programs import program
from provider_server import providers_for

from trusted import TRUSTED
from waiting import PATIENCE_S, wait_until
from whorl.errors import ProviderError
from whorl.providers.settings.sections import settings_from
from whorl.providers.task import Request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nowhere"}
Called = tuple[str, dict[str, Any]]
SLOW = """
whorl: 1
name: slow
inputs: {text: string, times: {type: integer, default: 2}}
steps:
  call: {run: "while [ ! -e go ]; do sleep 0.05; done"}
  say: {value: "{{ text }} {{ times }}"}
"""


def use(server: dict[str, Any], *calls: Called, hurry: str = "") -> list[Any]:
    """What tools of a server give, each its value or its error; one of them may be in a hurry."""
    table = {"allow": {"commands": True}, "mcp": {"t": {"timeout_s": PATIENCE_S, **server}}}

    async def main() -> list[Any]:
        found: list[Any] = []
        async with providers_for(settings_from(table, ENVIRONMENT)) as providers:
            for name, arguments in calls:
                inputs: Any = {"server": "t", "tool": name, "arguments": arguments}
                request = Request(
                    "r", "step", "tool", inputs, timeout_s=2.0 if name == hurry else None
                )
                try:
                    reply = await providers.kind("tool").perform(request, lambda _: None)
                    found.append(reply.value)
                except ProviderError as fault:
                    found.append(fault)
        return found

    return asyncio.run(main())


@contextmanager
def everything_at_an_address() -> Iterator[str]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    words = [*program("mcp-server-everything"), "streamableHttp"]
    environment = ENVIRONMENT | {"PORT": str(port)}
    quiet: Any = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
    with subprocess.Popen(words, env=environment, start_new_session=True, **quiet) as process:
        try:
            wait_until(lambda: _listens(port) or process.poll() is not None)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def _listens(port: int) -> bool:
    with socket.socket() as found:
        return found.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("way", ["program", "address"])
def test_tools_of_the_server_that_has_everything(way: str) -> None:
    calls: list[Called] = [
        ("echo", {"message": "grüße 😀"}),
        ("get-sum", {"a": 20, "b": 22}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-tiny-image", {}),
        # News of the server's own arrives between the answers from here on.
        ("toggle-simulated-logging", {}),
        ("trigger-long-running-operation", {"duration": 6, "steps": 12}),
        ("echo", {}),
        ("ecko", {}),
    ]
    if way == "program":
        found = use({"command": program("mcp-server-everything")}, *calls)
    else:
        with everything_at_an_address() as url:
            found = use({"url": url}, *calls)

    assert found[0] == "Echo: grüße 😀"
    assert "42" in found[1]
    assert set(found[2]) == {"temperature", "conditions", "humidity"}
    assert [part["type"] for part in found[3]["content"]][:2] == ["text", "image"]
    assert found[3]["content"][1]["mimeType"] == "image/png"
    assert "Duration: 6 seconds, Steps: 12" in found[5]
    assert [fault.code for fault in found[6:]] == ["P123", "P121"]
    assert "message" in str(found[6])
    assert "did you mean 'echo'" in str(found[7])


def test_a_call_that_takes_too_long_is_given_up_and_the_session_is_not() -> None:
    long = "trigger-long-running-operation"
    _, late, after = use(
        {"command": program("mcp-server-everything")},
        ("echo", {"message": "here"}),
        (long, {"duration": 3600, "steps": 3600}),
        ("echo", {"message": "still here"}),
        hurry=long,
    )

    assert (late.code, late.retryable) == ("P108", True)
    assert after == "Echo: still here"


def test_files_of_the_file_system_server(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Grüße\n")
    command = [*program("mcp-server-filesystem"), str(tmp_path)]
    read, _, listed, outside = use(
        {"command": command},
        ("read_text_file", {"path": str(tmp_path / "in.txt")}),
        ("write_file", {"path": str(tmp_path / "out.txt"), "content": "x" * 100_000}),
        ("list_directory", {"path": str(tmp_path)}),
        ("read_text_file", {"path": "/etc/passwd"}),
    )

    assert read == {"content": "Grüße\n"}
    assert (tmp_path / "out.txt").read_text() == "x" * 100_000
    assert listed == {"content": "[FILE] in.txt\n[FILE] out.txt"}
    assert outside.code == "P123"
    assert "Access denied" in str(outside)


def inspect(folder: Path, *words: str, wait: str = "20") -> Any:
    """What the inspector prints of an answer of `whorl server mcp`."""
    ours = ["-m", "whorl.interfaces.cli", "server", "mcp", "slow.yaml", "--wait", wait]
    names = ("PYTHONPATH", *TRUSTED)
    server = {
        "type": "stdio",
        "command": sys.executable,
        "args": ours,
        "env": {name: os.environ[name] for name in names if name in os.environ},
        # By itself it gives up on a server that takes a minute to start.
        **dict.fromkeys(("connectionTimeout", "requestTimeout"), int(PATIENCE_S * 1_000)),
    }
    (folder / "servers.json").write_text(json.dumps({"mcpServers": {"ours": server}}))
    chosen = ["--config", "servers.json", "--server", "ours"]
    done = subprocess.run(
        [*program("mcp-inspector"), "--cli", *chosen, "--method", *words],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "whorl.toml").write_text('[allow]\ncommands = ["sh"]\n')
    (tmp_path / "slow.yaml").write_text(SLOW)
    return tmp_path


@pytest.mark.slow
def test_the_inspector_lists_our_workflows_and_calls_one(place: Path) -> None:
    (place / "go").touch()

    tools = {tool["name"]: tool for tool in inspect(place, "tools/list")["tools"]}
    chosen = ("--tool-name", "slow", "--tool-arg", "text=hi", "times=3")
    called = inspect(place, "tools/call", *chosen)

    assert set(tools) == {"slow", "whorl_result", "whorl_cancel"}
    assert tools["slow"]["inputSchema"]["required"] == ["text"]
    assert called["content"] == [{"type": "text", "text": "hi 3"}]
    assert called["structuredContent"]["status"] == "succeeded"


@pytest.mark.slow
def test_what_takes_longer_than_a_client_waits_is_called_now_and_fetched_later(place: Path) -> None:
    """The inspector starts the server for each call, so the run goes on in another process."""
    early = inspect(place, "tools/call", "--tool-name", "slow", "--tool-arg", "text=hi", wait="0")
    (place / "go").touch()
    chosen = ("--tool-name", "whorl_result", "--tool-arg", f"wait_s={PATIENCE_S}")
    late = inspect(place, "tools/call", *chosen, f"run={early['structuredContent']['run']}")

    assert early["structuredContent"]["status"] == "running"
    assert late["content"] == [{"type": "text", "text": "hi 2"}]
