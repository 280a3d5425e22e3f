"""The six programs and their versions for LangGraph: the same model, and the same results."""

from __future__ import annotations

import ast
import asyncio
import json
import sys
import threading
from dataclasses import is_dataclass
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from test_programs import PROGRAMS, ROOT, TOOLS, post

import whorl
from answers import Answering, answering
from documents.blocks import blocks_of
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

# What these packages warn of is not ours to mend.
pytestmark = pytest.mark.filterwarnings("ignore")

REASON = "the packages of peers are not installed"
FOLDERS = {"ours": ROOT / "examples" / "python", "theirs": ROOT / "bench" / "peers"}
LANGGRAPH = ROOT / "docs" / "formats" / "langgraph.md"
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


class Served(Answering):
    """A model that speaks OpenAI's format, and a search engine."""

    def do_GET(self) -> None:  # noqa: N802 - its own name
        self.answer(f"found by {self.path}".encode(), "text/plain")

    # Prompts that fail once; how many are answered now, and how many were at most.
    failing: ClassVar[set[str]] = set()
    now = most = 0
    counting = threading.Lock()
    together: ClassVar[threading.Event]

    def do_POST(self) -> None:  # noqa: N802 - its own name
        body = self.asked()
        prompt = body["messages"][-1]["content"]
        with self.counting:
            Served.now += 1
            Served.most = max(Served.most, Served.now)
            fails = prompt in self.failing
            self.failing.discard(prompt)
            if Served.now > 1:
                self.together.set()
        if prompt.startswith("Summarise"):  # the first one waits for company
            self.together.wait(PATIENCE_S)
        self._complete(body, prompt, fails=fails)
        with self.counting:
            Served.now -= 1

    def _complete(self, body: dict[str, Any], prompt: str, *, fails: bool) -> None:
        if fails:
            self.send_error(503)
            return
        text = reply_to(prompt)
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        about = {"id": "c1", "created": 1, "model": body["model"]}
        ended: dict[str, Any] = {"index": 0, "finish_reason": "stop"}
        if not body.get("stream"):
            choice = ended | {"message": {"role": "assistant", "content": text}}
            answer = about | {"object": "chat.completion", "choices": [choice], "usage": usage}
            self.answer(answer)
            return
        deltas = [{"role": "assistant", "content": text[:2]}, {"content": text[2:]}]
        choices = [[{"index": 0, "delta": each}] for each in deltas] + [[ended | {"delta": {}}]]
        chunks: list[dict[str, Any]] = [{"choices": each} for each in choices]
        chunks.append({"choices": [], "usage": usage})
        events = [json.dumps(about | {"object": "chat.completion.chunk"} | one) for one in chunks]
        text = "".join(f"data: {event}\n\n" for event in (*events, "[DONE]"))
        self.answer(text.encode(), "text/event-stream")


@pytest.fixture
def url() -> Iterator[str]:
    Served.failing, Served.now, Served.most, Served.together = set(), 0, 0, threading.Event()
    with answering(Served) as url:
        yield url


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
    """The result of a program, as JSON."""
    function = getattr(program, name)
    if side == "theirs":
        return asyncio.run(function(*given, "thread"))
    value = function.run_sync(*given)
    return vars(value) if is_dataclass(value) else value


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

    answer = "answer" if side == "theirs" else "text"
    assert given == {answer: "the moon", "searches": 2}


def test_both_ask_a_person_inside_of_a_loop(side: str) -> None:
    main: Any = import_module("gate").main
    answers = [(False, "Shorter."), (True, "")]
    given: Any = asyncio.run(main("rain", answers, *(["thread"] if side == "theirs" else [])))

    letter = given if side == "theirs" else vars(given.value)
    assert letter == {"text": "short", "approved": True}


def test_both_summarise_fifty_pages_ten_at_once_with_retries(side: str) -> None:
    Served.failing = {"Summarise in one sentence: Page 7"}
    program = import_module("many")
    given = results(side, program, "summaries", [f"Page {number}" for number in range(50)])

    sentences = given["sentences"] if side == "theirs" else given
    assert sentences == [f"about {number}" for number in range(50)]
    assert Served.failing == set()
    assert 1 < Served.most <= 10


def test_both_print_the_text_of_the_models_as_it_comes(
    side: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks of the page, below the programs that they belong to."""
    names = dict(vars(import_module("essay")), whorl=whorl)
    names["first"] = {"topic": "rain", "text": "", "feedback": "", "iteration": 0, "score": 0.0}
    names["first"] |= {"best": -1.0, "best_text": "", "stale": 0, "cost": 0.0, "why": ""}
    language = {"ours": "py", "theirs": "langgraph"}[side]
    blocks = [block.text for block in blocks_of(LANGGRAPH) if block.language == language]
    code = compile(blocks[-1], LANGGRAPH.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    asyncio.run(FunctionType(code, names)())

    shown = capsys.readouterr().out
    assert [word for word in ("one", "two", "three") if word in shown] == ["one", "two", "three"]


def test_streaming_takes_no_more_lines_than_there() -> None:
    theirs, ours = (
        [block.text for block in blocks_of(LANGGRAPH) if block.language == language][-1]
        for language in ("langgraph", "py")
    )
    assert len(ours.splitlines()) <= len(theirs.splitlines())


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
