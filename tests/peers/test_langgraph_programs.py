"""The six programs and their versions for LangGraph: the same model, and the same results."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from test_programs import PROGRAMS, ROOT, TOOLS, post

import whorl

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

# What these packages warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")

REASON = "the packages of peers are not installed"
FOLDERS = {"ours": ROOT / "examples" / "python", "theirs": ROOT / "bench" / "peers"}
CONFIG = """
[defaults]
provider = "served"
model = "gpt-5-mini"

[providers.served]
kind = "openai"
base_url = "{url}/v1"

[allow]
commands = true
private_network = true

[mcp.notes]
command = {command}
"""
TESTS = "from solution import double\nassert double(2) == 4"


def reply_to(prompt: str) -> str:
    """What the model says; it knows nothing but the prompt."""
    lines = prompt.splitlines()
    match prompt.split(maxsplit=1)[0]:
        case "Write" if prompt.startswith("Write about"):
            return {"": "one", "one": "two", "two": "three"}[lines[1]]
        case "Write" if prompt.startswith("Write solution"):
            return f"def double(n): return {'2 * n' if 'AssertionError' in prompt else 'n'}"
        case "Write":
            return "short" if "Shorter." in prompt else "long"
        case "Review":
            score = {"one": 0.4, "two": 0.8, "three": 0.6}[prompt.split(": ")[1].strip()]
            return json.dumps({"score": score, "feedback": f"more than {score}"})
        case "Summarise":
            return f"about {prompt.rsplit(maxsplit=1)[-1]}"
    found = "q=tides" in prompt
    return json.dumps({"enough": found, "query": "tides", "answer": "the moon" if found else ""})


class Served(BaseHTTPRequestHandler):
    """A model that speaks OpenAI's format, and a search engine."""

    def do_GET(self) -> None:
        self._send("text/plain", f"found by {self.path}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = reply_to(body["messages"][-1]["content"])
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        about = {"id": "c1", "created": 1, "model": body["model"]}
        ended: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        if not body.get("stream"):
            choice = ended | {"message": {"role": "assistant", "content": text}}
            answer = about | {"object": "chat.completion", "choices": [choice], "usage": usage}
            self._send("application/json", json.dumps(answer))
            return
        deltas = [{"role": "assistant", "content": text[:2]}, {"content": text[2:]}]
        choices = [[{"index": 0, "delta": each}] for each in deltas] + [[ended | {"delta": {}}]]
        chunks: list[dict[str, Any]] = [{"choices": each} for each in choices]
        chunks.append({"choices": [], "usage": usage})
        events = [json.dumps(about | {"object": "chat.completion.chunk"} | one) for one in chunks]
        self._send("text/event-stream", "".join(f"data: {e}\n\n" for e in (*events, "[DONE]")))

    def _send(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its own name
        pass


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Served)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(params=FOLDERS)
def side(
    request: pytest.FixtureRequest, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Whose programs can be imported, in a folder where both find the model and the tools."""
    pytest.importorskip("langgraph.checkpoint.sqlite", reason=REASON)
    tools = tmp_path / "tools.py"
    text = TOOLS.read_text().replace("shout", "find").replace('given["text"]', 'given["query"]')
    tools.write_text(text.replace('{"text": {"type"', '{"query": {"type"'))
    command = json.dumps([sys.executable, str(tools)])
    (tmp_path / "whorl.toml").write_text(CONFIG.format(url=url, command=command))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("WHORL_HOME", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
    monkeypatch.syspath_prepend(str(FOLDERS[request.param]))
    yield request.param
    for name in PROGRAMS:
        sys.modules.pop(name, None)


def results(side: str, program: ModuleType, name: str, *given: Any) -> Any:
    """The outputs of a program; ours is given its inputs by name."""
    if side == "theirs":
        return asyncio.run(getattr(program, name)(*given, "thread"))
    workflow = getattr(program, name)
    names = [port.name for port in workflow.workflow.ir.inputs]
    result = whorl.run_sync(workflow, dict(zip(names, given, strict=True)))
    assert result.error is None
    return result.outputs


def test_both_give_the_best_of_three_essays(side: str) -> None:
    given = results(side, import_module("essay"), "essay", "rain")

    assert given == {"text": "two", "score": 0.8, "why": "max_iterations"}


def test_both_write_until_the_tests_pass(side: str) -> None:
    given = results(side, import_module("until_green"), "until_green", "double(n)", TESTS)

    code = "def double(n): return 2 * n"
    assert given == {"code": code, "passed": True, "why": "condition_met"}


def test_both_search_until_there_is_enough(side: str, url: str) -> None:
    program: Any = import_module("research")
    if side == "theirs":
        program.NOTES.command, program.NOTES.args = sys.executable, ["tools.py"]
    given = results(side, program, "research", "why do tides differ", f"{url}/search")

    assert given == {"answer": "the moon", "searches": 2}


def test_both_ask_a_person_inside_of_a_loop(side: str) -> None:
    main: Any = import_module("gate").main
    answers = [(False, "Shorter."), (True, "")]
    given: Any = asyncio.run(main("rain", answers, *(["thread"] if side == "theirs" else [])))

    outputs = given if side == "theirs" else given.outputs
    assert outputs == {"text": "short", "approved": True}


def test_both_summarise_fifty_pages(side: str) -> None:
    program = import_module("many")
    given = results(side, program, "summaries", [f"Page {number}" for number in range(50)])

    assert given["sentences"] == [f"about {number}" for number in range(50)]


@pytest.mark.slow
def test_both_stream_twenty_requests_at_once(side: str) -> None:
    app: Any = import_module("service").app

    async def main() -> list[tuple[int, list[str]]]:
        async with app.router.lifespan_context(app):
            return await asyncio.gather(*(post(app, "/essays", f"topic=r{n}") for n in range(20)))

    answers = asyncio.run(main())

    for status, pieces in answers:
        turns = [piece for piece in pieces if piece.startswith("event: iteration")]
        words = [turn.split("data: ")[1].strip() for turn in turns]
        assert (status, words) == (200, ["1 0.4", "2 0.8", "3 0.6"])
        assert any(piece.startswith("data: ") for piece in pieces)
        assert pieces[-1] == "event: end\ndata: succeeded\n\n"
