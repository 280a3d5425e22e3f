"""Starting runs from Python: the project, inputs, keys, and what is refused before a run."""

from __future__ import annotations

import asyncio
import datetime
import logging
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from whorl.providers.models.local import is_installed

if TYPE_CHECKING:
    from pathlib import Path

SAY: dict[str, Any] = {"say": {"value": "{{ n }}"}}


def saying(kind: str = "any") -> whorl.Workflow:
    return whorl.build("say", SAY, inputs={"n": kind}, outputs={"n": "{{ say }}"})


async def _runs() -> int:
    async with whorl.Session() as session:
        return len(session.opened.store.runs())


@pytest.mark.usefixtures("place")
def test_what_json_cannot_hold_is_refused_with_its_place() -> None:
    endless: list[Any] = []
    endless.append(endless)
    for value, words in (
        (float("nan"), "inputs.n is nan"),
        ([1, float("inf")], r"inputs.n\[1\] is inf"),
        ({"a": {1}}, "inputs.n.a is of type 'set'"),
        (datetime.datetime(2026, 1, 1), "inputs.n is of type 'datetime'"),
        (b"x", "inputs.n is of type 'bytes'"),
        ({1: 2}, "inputs.n has the key 1"),
        (2**70, "inputs.n is an integer"),
        (endless, "levels deep"),
    ):
        with pytest.raises(whorl.UsageError, match=words):
            whorl.run_sync(saying(), {"n": value})
    with pytest.raises(whorl.UsageError, match="inputs must be a mapping"):
        whorl.run_sync(saying(), [("n", 1)])  # type: ignore[arg-type]

    assert asyncio.run(_runs()) == 0


@pytest.mark.usefixtures("place")
def test_amounts_and_counts_are_checked() -> None:
    for options in (
        {"budget": float("nan")},
        {"budget": 0},
        {"budget": -1},
        {"budget": "1"},
        {"budget": True},
        {"max_iterations": 0},
        {"max_iterations": 1.5},
        {"max_iterations": "3"},
        {"max_iterations": True},
        {"key": 5},
        {"tasks": {"a": len}},
    ):
        with pytest.raises(whorl.UsageError):
            whorl.run_sync(saying(), {"n": 1}, **options)  # type: ignore[arg-type]


@pytest.mark.usefixtures("place")
def test_a_key_belongs_to_one_workflow() -> None:
    whorl.run_sync(saying(), {"n": 1}, key="a")

    with pytest.raises(whorl.UsageError, match=r"the key 'a' belongs to run .* of workflow 'say'"):
        whorl.run_sync(whorl.build("other", {"a": {"value": 1}}), key="a")


@pytest.mark.programs
@pytest.mark.usefixtures("place")
@pytest.mark.skipif(not is_installed(), reason="the embedded model is not installed")
def test_the_toy_model_says_that_it_answers(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    step: dict[str, Any] = {"ask": "Say hello.", "max_tokens": 4}
    with caplog.at_level(logging.WARNING, "whorl"):
        result = whorl.run_sync(whorl.build("hello", {"a": step}))

    assert "toy model" in caplog.text
    told = [str(one["message"]) for one in result.warnings]
    assert ["toy model" in message for message in told if "was cut" not in message] == [True]


@pytest.mark.usefixtures("place")
def test_a_session_is_opened_and_closed_in_order() -> None:
    async def main() -> None:
        session = whorl.Session()
        with pytest.raises(whorl.UsageError, match="async with"):
            await session.start(saying(), {"n": 1})
        with pytest.raises(whorl.UsageError, match="async with"):
            session.run()
        async with session:
            with pytest.raises(whorl.UsageError, match="open already"):
                await session.__aenter__()
        async with session:
            run = await session.start(saying(), {"n": 1})
            assert (await run.result()).output == 1
        with pytest.raises(whorl.UsageError, match=r"await whorl\.run"):
            whorl.run_sync(saying(), {"n": 1})

    asyncio.run(main())


@pytest.mark.usefixtures("place")
async def test_a_session_that_is_closed_lets_calls_end() -> None:
    tasks, calls = whorl.Tasks(), []

    called = asyncio.Event()

    @tasks.task
    async def work() -> str:
        calls.append(1)
        called.set()
        await asyncio.sleep(0.2)
        return "done"

    flow = whorl.build("w", {"a": {"use": "work"}, "b": {"use": "work"}})
    async with whorl.Session(tasks=tasks) as session:
        run = await session.start(flow)
        await called.wait()
    assert len(calls) == 1
    async with whorl.Session(tasks=tasks) as session:
        result = await (await session.resume(run.id)).result()
    assert (result.status, len(calls)) == ("succeeded", 2)


_DIES = """
import asyncio, os, signal, whorl

async def work():
    async with whorl.Session() as session:
        workflow = whorl.build("say", {"say": {"value": 1}}, outputs={"n": "{{ say }}"})
        await session.start(workflow, key="order-17")
        os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(work())
"""


@pytest.mark.threat(row="T1")
async def test_a_run_that_was_made_and_not_yet_driven_continues_with_its_key(place: Path) -> None:
    died = subprocess.run([sys.executable, "-c", _DIES], cwd=place, check=False)
    assert died.returncode == -signal.SIGKILL

    async with whorl.Session() as session:
        assert session.run().status == "interrupted"
        workflow = whorl.build("say", {"say": {"value": 1}}, outputs={"n": "{{ say }}"})
        run = await session.start(workflow, key="order-17")
        assert (await run.result()).output == 1
