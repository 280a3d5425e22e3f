"""`doctor` and `run` agree: what the one calls well, the other can use, and what not, it cannot."""

from __future__ import annotations

import json
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from documents.model import Handler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from command_line import Whorl

TOOLS = Path(__file__).parent.parent / "providers" / "tool_server.py"
ASK = {"say": {"ask": "Write", "retry": {"times": 0}}}
TOOL = {"server": "here", "tool": "add", "arguments": {"first": 1, "second": 2}}
ADD = {"say": {"task": {"kind": "tool", "inputs": TOOL}, "retry": {"times": 0}}}
WORK = {"say": {"agent": "mine", "prompt": "work"}}
COUNT = {"say": {"use": "count", "with": {"text": "abc"}}}
GET = {"say": {"http": {"url": "URL/v1/models", "key": "search"}}}


class Strict(Handler):
    """Wants a key below /v1, knows one model, and has nothing elsewhere but an open server."""

    counts: dict[bool, int] = {}  # noqa: RUF012 - one server, one count

    def do_GET(self) -> None:  # noqa: N802
        if self.path.startswith("/page"):
            self._say(200, b"<html>welcome</html>")
        elif self.path.startswith("/moved"):
            self._say(302, b"", f"/elsewhere/{self.headers['Authorization']}/x")
        elif self._is_welcome({"/v1/models", "/open/v1/models"}):
            super().do_GET()

    def do_POST(self) -> None:  # noqa: N802
        if self.path.startswith("/moved"):
            self._say(302, b"", f"/elsewhere/{self.headers['Authorization']}/x")
        elif self._is_welcome({"/v1/chat/completions", "/open/v1/chat/completions"}):
            super().do_POST()

    def _answer(self, value: dict[str, Any]) -> None:
        if value.get("model", "gpt-5-mini") == "gpt-5-mini":
            super()._answer(value)
        else:
            self._refuse(404)

    def _is_welcome(self, paths: set[str]) -> bool:
        if self.path not in paths:
            self._refuse(404)
        elif not self.path.startswith("/open") and self.headers["Authorization"] != "Bearer good":
            self._refuse(401)
        else:
            return True
        return False

    def _refuse(self, status: int) -> None:
        self._say(status, b"")

    def _say(self, status: int, content: bytes, location: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if location:
            self.send_header("Location", location)
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Strict)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


class Case(NamedTuple):
    """A configuration, what doctor calls the thing that it is about, and whether it works."""

    config: str
    steps: dict[str, Any]
    what: str
    works: bool
    environment: dict[str, str] = {}  # noqa: RUF012 - never changed


KEY = {"OPENAI_API_KEY": "good"}
OPENAI = "provider openai (default)"
MINE = '[providers.mine]\nbase_url = "URL/v1"\nmodel = "gpt-5-mini"\n'
PROGRAM = '[allow]\ncommands = true\n[mcp.here]\ncommand = ["PYTHON", "TOOLS"]\n'
AGENT = '[agents.mine]\nprogram = "./agent"\nkind = "text"\n'
SEARCH = '[allow]\nprivate_network = true\n[keys.search]\nurl = "URL"\n'
CASES = {
    "a key and an address of the environment": Case(
        "", ASK, OPENAI, True, KEY | {"OPENAI_BASE_URL": "URL/v1"}
    ),
    "an address without its path": Case("", ASK, OPENAI, True, KEY | {"OPENAI_BASE_URL": "URL"}),
    "an address with the whole path": Case(
        "", ASK, OPENAI, True, KEY | {"OPENAI_BASE_URL": "URL/v1/chat/completions"}
    ),
    "a wrong path": Case("", ASK, OPENAI, False, KEY | {"OPENAI_BASE_URL": "URL/v2"}),
    "a wrong key": Case(
        "", ASK, OPENAI, False, {"OPENAI_API_KEY": "bad", "OPENAI_BASE_URL": "URL/v1"}
    ),
    "an address of something else": Case(
        MINE.replace("/v1", "/page/v1"), ASK, "provider mine (default)", False
    ),
    "no server": Case("", ASK, OPENAI, False, KEY | {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}),
    "an address in the file, and no model": Case(
        '[providers.openai]\nbase_url = "URL/v1"\napi_key = "env:OPENAI_API_KEY"\n',
        ASK,
        "model",
        False,
        KEY,
    ),
    "a variable that is not set": Case(
        f'{MINE}api_key = "env:MY_KEY"\n', ASK, "provider mine (default)", False
    ),
    "a variable that is set": Case(
        f'{MINE}api_key = "env:MY_KEY"\n', ASK, "provider mine (default)", True, {"MY_KEY": "good"}
    ),
    "a server of one's own without a key": Case(
        MINE.replace("/v1", "/open/v1"), ASK, "provider mine (default)", True
    ),
    "the usual name for a server of one's own without a key": Case(
        '[providers.openai]\nmodel = "gpt-5-mini"\n',
        ASK,
        OPENAI,
        True,
        {"OPENAI_BASE_URL": "URL/open/v1"},
    ),
    "a default provider that is not there": Case(
        f'[defaults]\nprovider = "nope"\n{MINE}', ASK, "model", False
    ),
    "an MCP server": Case(PROGRAM, ADD, "MCP server here", True),
    "an MCP server without permission": Case(
        PROGRAM.replace("true", "false"), ADD, "MCP server here", False
    ),
    "an MCP server that does not start": Case(
        PROGRAM.replace("TOOLS", "nope.py"), ADD, "MCP server here", False
    ),
    "an MCP server without a tool that is allowed": Case(
        f'{PROGRAM}tools = ["ad"]\n', ADD, "MCP server here", False
    ),
    "an agent": Case(f"[allow]\ncommands = true\n{AGENT}", WORK, "agent mine", True),
    "an agent without permission": Case(AGENT, WORK, "agent mine", False),
    "an agent that is not installed": Case(
        f"[allow]\ncommands = true\n{AGENT.replace('./agent', 'nope-agent')}",
        WORK,
        "agent mine",
        False,
    ),
    "a task": Case('[tasks]\ncount = "python:own_tasks:count"\n', COUNT, "task count", True),
    "a task without its function": Case(
        '[tasks]\ncount = "python:own_tasks:cuont"\n', COUNT, "task count", False
    ),
    "a task without its module": Case(
        '[tasks]\ncount = "python:nope_tasks:count"\n', COUNT, "task count", False
    ),
    "a key for a service": Case(
        f'{SEARCH}token = "env:SEARCH_KEY"\n', GET, "key search", True, {"SEARCH_KEY": "good"}
    ),
    "a key for a service that is not set": Case(
        f'{SEARCH}token = "env:SEARCH_KEY"\n', GET, "key search", False
    ),
}


def prepare(project: Path, case: Case, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def real(text: str) -> str:
        words = {"URL": address, "PYTHON": sys.executable, "TOOLS": str(TOOLS)}
        for word, value in words.items():
            text = text.replace(word, value)
        return text

    (project / "whorl.toml").write_text(real(case.config))
    workflow = {"whorl": 1, "name": "flow", "steps": case.steps}
    (project / "flow.yaml").write_text(real(json.dumps(workflow)))
    (project / "own_tasks.py").write_text("def count(text):\n    return len(text)\n")
    (project / "agent").write_text("#!/bin/sh\ncat\n")
    (project / "agent").chmod(0o755)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "own_tasks", raising=False)
    for name, value in case.environment.items():
        monkeypatch.setenv(name, value.replace("URL", address))


@pytest.mark.sample(2)
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_doctor_says_of_a_configuration_what_a_run_makes_of_it(
    case: Case, whorl: Whorl, project: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "[mcp" in case.config:
        pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    prepare(project, case, address, monkeypatch)

    told = {finding["what"]: finding for finding in whorl("doctor", "--json").json}
    ran = whorl("run", "flow.yaml")

    assert case.what in told, told
    assert told[case.what]["ok"] is case.works, told[case.what]
    assert (ran.code == 0) is case.works, ran.err


def test_doctor_tells_of_a_model_that_its_server_does_not_list(
    whorl: Whorl, project: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some servers take any name, so it is said and is no fault."""
    config = MINE.replace("gpt-5-mini", "gpt-5-mimi").replace("/v1", "/open/v1")
    prepare(project, Case(config, ASK, "", False), address, monkeypatch)

    told = {finding["what"]: finding for finding in whorl("doctor", "--json").json}
    whorl("run flow.yaml").ends(1)

    words = told["provider mine (default)"]["words"]
    assert "but does not list the model 'gpt-5-mimi'; did you mean 'gpt-5-mini'?" in words


SECRET = "NeSfkUdz-VJklf3aAJ5Q"
DIES = """import os, sys
sys.exit('x' * int(os.environ['N']) + ' bad token ' + os.environ['TOK'])
"""


def test_doctor_tells_no_key(
    whorl: Whorl, project: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs, servers and modules that fail tell what they were given."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    (project / "dies.py").write_text(DIES)
    config = "[allow]\ncommands = true\nprivate_network = true\n"
    for count in (0, 277, 280):
        env = f"{{TOK = 'env:MY_KEY', N = '{count}'}}"
        config += f'[mcp.dies{count}]\ncommand = ["PYTHON", "{project}/dies.py"]\nenv = {env}\n'
    config += '[mcp.moved]\nurl = "URL/moved"\nheaders = {Authorization = "env:MY_KEY"}\n'
    config += '[tasks]\ncount = "python:bad_tasks:count"\n'
    (project / "bad_tasks.py").write_text("import os\nraise ValueError(os.environ['MY_KEY'])\n")
    prepare(project, Case(config, ASK, "", False, {"MY_KEY": SECRET}), address, monkeypatch)

    told = [whorl("doctor"), whorl("doctor", "--json")]

    for one in told:
        assert SECRET[:7] not in one.out + one.err
        assert "it said: bad token ***" in one.out
        assert "ValueError: ***" in one.out
        assert "/elsewhere/***/x" in one.out
