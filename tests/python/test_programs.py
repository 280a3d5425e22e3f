"""The programs of examples/python do what they say."""

from __future__ import annotations

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from answers import Answering, answering

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PROGRAMS = ("essay", "until_green", "research", "gate", "many", "service")
TOOLS = ROOT / "tests" / "providers" / "tool_server.py"


def _rule(match: str, *replies: object) -> dict[str, object]:
    """Replies by the iteration of the loop around the step."""
    return {"match": match, "by": "iteration", "replies": list(replies)}


def _review(score: float) -> dict[str, object]:
    return {"json": {"score": score, "feedback": f"more than {score}"}}


REPLIES = [
    _rule("Write about", "one", "two", "three"),
    _rule("Review this", _review(0.4), _review(0.8), _review(0.6)),
    _rule("Write solution.py", "def double(n): return n", "def double(n): return 2 * n"),
    _rule(
        "Is this enough",
        {"json": {"enough": False, "query": "tides", "answer": ""}},
        {"json": {"enough": True, "query": "", "answer": "the moon"}},
    ),
    _rule("Write a letter", "long", "short"),
    {"match": "Summarise", "replies": ["a sentence"]},
]


def write_project(place: Path) -> None:
    """Makes a project whose model has these replies."""
    tools = place / "tools.py"
    text = TOOLS.read_text().replace("shout", "find").replace('given["text"]', 'given["query"]')
    tools.write_text(text)
    model = {"kind": "scripted", "replies": REPLIES}
    table = {
        "defaults": {"provider": "demo", "model": "scripted"},
        "providers": {"demo": model},
        "prices": {"scripted": {"input": 0.5, "output": 2.0}},
        "allow": {"commands": True, "private_network": True},
        "mcp": {"notes": {"command": [sys.executable, str(tools)]}},
    }
    lines = [f"[{name}]\n{_toml(part)}" for name, part in table.items()]
    (place / "whorl.toml").write_text("\n".join(lines))


@pytest.fixture
def examples(place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a project with replies; the programs can be imported."""
    write_project(place)
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "python"))
    yield place
    for name in PROGRAMS:
        sys.modules.pop(name, None)


def _toml(table: dict[str, Any]) -> str:
    return "\n".join(f"{name} = {_inline(value)}" for name, value in table.items())


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_inline(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    return json.dumps(value)


@pytest.mark.usefixtures("examples")
def test_the_best_of_three_essays_is_given() -> None:
    result = whorl.run_sync(import_module("essay").essay, {"topic": "rain"})

    assert vars(result.value) == {"text": "two", "score": 0.8, "why": "max_iterations"}
    assert [turn.score for turn in result.iterations()] == [0.4, 0.8, 0.6]


@pytest.mark.usefixtures("examples")
def test_code_is_written_until_its_tests_pass() -> None:
    given = {"task": "double(n)", "tests": "from solution import double\nassert double(2) == 4"}
    result = whorl.run_sync(import_module("until_green").until_green, given)

    assert result.value.passed is True
    assert (result.loops[0].iterations, result.value.why) == (2, "condition_met")
    first = result.iterations()[0].values["report"]
    assert isinstance(first, dict)
    assert "AssertionError" in str(first["output"])


class _Search(Answering):
    def do_GET(self) -> None:  # noqa: N802 - its own name
        self.answer(f"found by {self.path}".encode(), "text/plain")


@pytest.mark.usefixtures("examples")
def test_research_asks_the_web_and_a_server_of_tools() -> None:
    with answering(_Search) as url:
        given = {"question": "why", "search_url": f"{url}/"}
        result = whorl.run_sync(import_module("research").research, given)

    assert (result.error, vars(result.value)) == (None, {"text": "the moon", "searches": 2})
    values = result.iterations()[1].values
    assert "found by /?q=tides" in str(values["page"])
    assert "TIDES" in str(values["find"])


@pytest.mark.usefixtures("examples")
def test_a_person_decides_inside_of_a_loop() -> None:
    main = import_module("gate").main
    result = asyncio.run(main("rain", [(False, "Shorter."), (True, "")]))

    assert vars(result.value) == {"text": "short", "approved": True}


async def post(app: Any, path: str, query: str) -> tuple[int, list[str]]:
    """What an ASGI application answers, in the pieces that it sends."""
    status, pieces = 0, []
    asked = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if not asked.is_set():
            asked.set()
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)
        if message.get("body"):
            pieces.append(message["body"].decode())

    scope = {"type": "http", "method": "POST", "path": path, "query_string": query.encode()}
    scope |= {"headers": [], "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http"}
    await app(scope, receive, send)
    return status, pieces
