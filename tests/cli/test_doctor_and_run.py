"""`doctor` and `run` agree: what the one calls well, the other can use, and what not, it cannot."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from answers import answering
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
        if self.path.startswith("/moved"):
            self._refuse(302, f"/elsewhere/{self.headers['Authorization']}/x")
        elif self._is_welcome({"/v1/models", "/open/v1/models"}):
            super().do_GET()

    def do_POST(self) -> None:  # noqa: N802
        if self.path.startswith("/moved"):
            self._refuse(302, f"/elsewhere/{self.headers['Authorization']}/x")
        elif self._is_welcome({"/v1/chat/completions", "/open/v1/chat/completions"}):
            super().do_POST()

    def answer(self, value: Any, kind: str = "application/json") -> None:
        if value.get("model", "gpt-5-mini") == "gpt-5-mini":
            super().answer(value, kind)
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

    def _refuse(self, status: int, location: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if location:
            self.send_header("Location", location)
        self.end_headers()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with answering(Strict) as url:
        yield url


class Case(NamedTuple):
    """What doctor calls a thing, whether it works, a configuration, and steps that use it."""

    what: str
    works: bool
    config: str
    steps: dict[str, Any] = ASK
    environment: dict[str, str] = {}  # noqa: RUF012 - never changed


def at(path: str, key: str = "good") -> dict[str, str]:
    """The usual variables, with an address of the server."""
    return {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"URL{path}"}


OPENAI, OWN = "provider openai (default)", "provider mine (default)"
MINE = '[providers.mine]\nbase_url = "URL/v1"\nmodel = "gpt-5-mini"\n'
KEYED = f'{MINE}api_key = "env:MY_KEY"\n'
NO_MODEL = '[providers.openai]\nbase_url = "URL/v1"\napi_key = "env:OPENAI_API_KEY"\n'
SERVER, MAY = "MCP server here", "[allow]\ncommands = true\n"
PROGRAM = '[mcp.here]\ncommand = ["PYTHON", "TOOLS"]\n'
AGENT = '[agents.mine]\nprogram = "./agent"\nkind = "text"\n'
TASK = '[tasks]\ncount = "python:own_tasks:count"\n'
SEARCH = '[allow]\nprivate_network = true\n[keys.search]\nurl = "URL"\ntoken = "env:SEARCH_KEY"\n'
FOUND, OPEN = {"SEARCH_KEY": "good"}, MINE.replace("/v1", "/open/v1")
CASES = {
    "a key and an address of the environment": Case(OPENAI, True, "", ASK, at("/v1")),
    "a wrong path": Case(OPENAI, False, "", ASK, at("/v2")),
    "a wrong key": Case(OPENAI, False, "", ASK, at("/v1", "bad")),
    "no server": Case(OWN, False, MINE.replace("URL", "http://127.0.0.1:9")),
    "an address in the file, and no model": Case("model", False, NO_MODEL, ASK, at("/v1")),
    "a variable that is not set": Case(OWN, False, KEYED),
    "a server of one's own without a key": Case(OWN, True, OPEN),
    "an MCP server": Case(SERVER, True, MAY + PROGRAM, ADD),
    "an MCP server without permission": Case(SERVER, False, PROGRAM, ADD),
    "an MCP server without a tool": Case(SERVER, False, f'{MAY}{PROGRAM}tools = ["ad"]\n', ADD),
    "an agent": Case("agent mine", True, MAY + AGENT, WORK),
    "an agent without permission": Case("agent mine", False, AGENT, WORK),
    "a task": Case("task count", True, TASK, COUNT),
    "a task without its function": Case("task count", False, TASK.replace(":c", ":k"), COUNT),
    "a key for a service": Case("key search", True, SEARCH, GET, FOUND),
    "a key for a service that is not set": Case("key search", False, SEARCH, GET),
}  # fmt: skip


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

    told = {finding["what"]: finding for finding in whorl("project", "doctor", "--json").json}
    ran = whorl("run", "flow.yaml")

    assert case.what in told, told
    assert told[case.what]["ok"] is case.works, told[case.what]
    assert (ran.code == 0) is case.works, ran.err


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
    prepare(project, Case("", False, config, ASK, {"MY_KEY": SECRET}), address, monkeypatch)

    told = [whorl("project", "doctor"), whorl("project", "doctor", "--json")]

    for one in told:
        assert SECRET[:7] not in one.out + one.err
        assert "it said: bad token ***" in one.out
        assert "ValueError: ***" in one.out
        assert "/elsewhere/***/x" in one.out
