"""Workflow functions on a real server do what they do on one machine."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from cluster.cluster import worker_in
from cluster.histories import record
from waiting import PATIENCE_S
from whorl.errors import StoreError
from whorl.providers.functions import Tasks
from whorl.providers.registry import Providers
from whorl.runtimes.journal.journal import RunId
from whorl.services.runs import ProviderWorkers
from whorl.wings.cluster import messages
from whorl.wings.cluster import worker as worker_module
from whorl.wings.cluster.connection import connect
from whorl.wings.cluster.worker import working

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from cluster.cluster import Server

CALLS: Counter[str] = Counter()
# What goes wrong, and the words of the code: a changed program is the same with other ones.
NOW: dict[str, Any] = {}
TURNS = 12
REPLIES = [{"match": "word", "replies": ["w"]}, {"match": ".", "replies": ["a draft"]}]
CONFIG: dict[str, Any] = {
    "defaults": {"provider": "fake"},
    "providers": {"fake": {"kind": "scripted", "model": "m", "replies": REPLIES}},
}
ADDRESS = "https://api.example.com/v1"
KEYED = {"kind": "openai", "model": "m", "base_url": ADDRESS, "api_key": "env:FAKE_KEY"}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_KEY", "opensesame-opensesame")
    monkeypatch.setenv("CLUSTER_KEY", "sesameopen-sesameopen")
    CALLS.clear()
    NOW.clear()


@dataclass
class Sum:
    total: int = 0


@whorl.step
async def say(text: str) -> str:
    CALLS[text] += 1
    if NOW.get("fails") == text:
        raise ValueError(f"no {text}")
    return text.upper()


@whorl.step(pure=True)
def length(text: str) -> int:
    return len(text)


@whorl.workflow
async def part(topic: str) -> str:
    return await say(f"part of {topic}") + "!"


@whorl.workflow
async def everything(topic: str) -> dict[str, object]:
    """All that code may do, in an order that nothing changes."""
    draft = await whorl.ask(f"{NOW.get('verb', 'Write')} about {topic}")
    polish = whorl.loop(int, at_most=5, keep="best", state=Sum())
    async for turn in polish:
        tries = whorl.loop(str, at_most=2)
        async for attempt in tries:
            attempt.value = await say(f"try {turn.number}.{attempt.number}")
        turn.state.total += await length(tries.result)
        turn.value = turn.state.total
        turn.score(0.1 * turn.number, at_least=0.9)
        if turn.number == 3:
            break
    await asyncio.sleep(0.1)
    try:
        async with asyncio.timeout(0.2):
            await asyncio.sleep(60)
    except TimeoutError:
        draft += ", cut"
    try:
        await say("bad")
    except whorl.RequestFailed as fault:
        draft += f", {fault.code}"
    decision = await whorl.approve("Is it good?", show=draft)
    both = await asyncio.gather(say("left"), part("right"))
    dice = [whorl.random().random(), str(whorl.uuid()), whorl.now() is not None]
    title = await say(f"title {polish.result} {decision.approved}")
    return {"draft": draft, "both": both, "title": title, "n": len(dice), "sum": polish.result}


@whorl.workflow
async def keyed(topic: str) -> int:
    return len(await say(f"{topic} {os.environ['FAKE_KEY']}"))


@whorl.workflow
async def listing(topic: str) -> str:
    return (await whorl.command(["ls", topic])).stdout


@whorl.workflow
async def flow(topic: str) -> dict[str, object]:
    polish = whorl.loop(str, at_most=3, keep="best")
    async for turn in polish:
        draft = await say(f"{NOW.get('verb', 'write')} {turn.number}")
        both = await asyncio.gather(say(f"a {turn.number}"), say(f"b {turn.number}"))
        turn.value = f"{draft} {len(both)}"
        turn.score(0.5 if turn.number == 2 else 0.1)
    return {"title": await say(f"title {polish.result}"), "why": polish.exit_reason}


@whorl.workflow
async def many(topic: str) -> int:
    count = 0
    async for turn in whorl.loop(int, at_most=TURNS):
        count += await length(topic * turn.number)
        turn.value = await length(await say(f"one {turn.number}"))
    return count


PROGRAMS = (everything, flow, keyed, listing, many, part)


@asynccontextmanager
async def _session(
    server: Server | None,
    place: Path,
    *,
    workers: int = 1,
    events_max: int = 8_000,
    programs: Sequence[Any] = PROGRAMS,
    encrypt_with: str = "",
) -> AsyncIterator[whorl.Session]:
    """A session on one machine, or on a server with workers that have the programs."""
    config: dict[str, Any] = CONFIG | {"providers": CONFIG["providers"] | {"keyed": KEYED}}
    config["allow"] = {"commands": True}
    place.mkdir(exist_ok=True)
    if server is not None:
        about = {"address": server.address, "queue": str(place.name), "heartbeat": PATIENCE_S}
        about |= {"encrypt_with": encrypt_with} if encrypt_with else {}
        config["runtime"] = {"kind": "temporal", "temporal": about}
    async with AsyncExitStack() as stack:
        # A store of one's own is a file; on a cluster, it is a mirror.
        session = whorl.Session(config=config, store=place / "store.db")
        await stack.enter_async_context(session)
        for _ in range(workers if server is not None else 0):
            await stack.enter_async_context(_worker(session, programs))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(messages, "EVENTS_MAX", events_max)
            yield session


@asynccontextmanager
async def _worker(session: whorl.Session, programs: Sequence[Any]) -> AsyncIterator[None]:
    settings, tasks = session.opened.providers.settings, Tasks()
    for program in programs:
        tasks.include(program.workflow.tasks)
    made = ProviderWorkers(Providers(settings, tasks))
    client = await connect(settings.runtime.temporal)
    async with working(client, settings.runtime.temporal, made):
        yield


def _entries(session: whorl.Session, run: str) -> list[Any]:
    return [entry.event for entry in session.opened.store.read(run)]


UNEQUAL = ("reserve", "usage", "cap", "seed", "run", "request", "took", "url", "seconds")


def _plain(value: Any) -> Any:
    """A value without times, ids and what calls are expected to use."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if name not in UNEQUAL}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _told(events: list[Any]) -> list[list[str]]:
    """The entries but for steps of the code, and all that these request; some come together."""
    stepped = [event for event in events if event.kind == "program.stepped"]
    requests = [str(_plain(each)) for event in stepped for each in event.body["requests"]]
    others = [e for e in events if e.kind != "program.stepped"]
    told = [f"{e.kind} {e.address} {_plain(e.body)}" for e in others]
    return [sorted(told), sorted(requests)]


async def test_entries_are_those_of_one_machine(server: Server, tmp_path: Path) -> None:
    NOW["fails"] = "bad"
    found = []
    for place in (None, server):
        async with _session(place, tmp_path / ("local" if place is None else "same")) as session:
            run = await session.start(everything, {"topic": "rain"})
            assert (await run.result()).status == "waiting"
            await run.approve()
            result = await run.result()
            assert result.error is None
            found.append([result.value, [s.score for s in result.iterations()]])
            found[-1] += _told(_entries(session, run.id))
            assert CALLS["title 21 True"] == len(found), CALLS
    assert found[0] == found[1]


async def test_a_failed_run_is_resumed_continued_and_forked(server: Server, tmp_path: Path) -> None:
    NOW["fails"] = "b 2"
    async with _session(server, tmp_path / "resumed", workers=2) as session:
        run = await session.start(flow, {"topic": "rain"})
        assert (await run.result()).status == "failed"
        assert (CALLS["a 1"], CALLS["b 2"]) == (1, 1)

        NOW["verb"] = "compose"
        NOW.pop("fails")
        await run.resume()
        result = await run.result()
        assert result.status == "paused"
        said = [e.body["warning"] for e in _entries(session, run.id) if "warning" in e.body]
        assert "write 1" in str(said), said

        await run.resume(new_code=True)
        result = await run.result()
        assert (result.status, result.value["title"]) == ("succeeded", "TITLE WRITE 2 2")
        assert {text for text, times in CALLS.items() if times > 1} <= {"a 2", "b 2"}

        await run.continue_(1)
        result = await run.result()
        assert (result.loops[0].iterations, CALLS["compose 4"], CALLS["write 1"]) == (4, 1, 1)
        await run.accept(1)
        assert (await run.result()).value["title"] == "TITLE WRITE 1 2"

        fork = await run.fork("polish[3]")
        assert (await fork.result()).value["why"] == "max_iterations"
        assert (CALLS["compose 3"], CALLS["write 1"], CALLS["write 2"]) == (2, 1, 1)


@pytest.mark.parametrize("cached", [0, 500])
async def test_executions_continue_with_the_log(
    cached: int, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also on workers that keep no run in memory: each task begins the code again."""
    monkeypatch.setattr(worker_module, "CACHED_MAX", cached)
    monkeypatch.setattr(messages, "INTENTS_MAX", 5)
    async with _session(server, tmp_path / f"long-{cached}", events_max=120) as session:
        run = await session.start(many, {"topic": "rain"})
        result = await run.result()
        assert (result.error, result.value) == (None, sum(4 * n for n in range(1, TURNS + 1)))
        assert set(CALLS.values()) == {1}
        made = await record("", RunId(run.id), session.opened.runtime)
        assert len(made.executions) > 1


async def test_a_run_waits_for_a_worker_that_has_its_code(server: Server, tmp_path: Path) -> None:
    async with _session(server, tmp_path / "lacking", programs=(flow,)) as session:
        runtime: Any = session.opened.runtime
        runtime.patience_s = 2.0
        with pytest.raises(
            StoreError, match=r"none polls the queue 'lacking-\d+-.*:part'"
        ) as caught:
            await session.start(part, {"topic": "rain"}, key="one")
        assert "[workflows] python" in caught.value.help
        runtime.patience_s = PATIENCE_S * 3
        async with _worker(session, (part,)):
            run = await session.start(part, {"topic": "rain"}, key="one")
            assert (await run.result()).value == "PART OF RAIN!"


async def test_a_command_needs_a_queue(server: Server, tmp_path: Path) -> None:
    async with _session(server, tmp_path / "folders") as session:
        run = await session.start(listing, {"topic": "."})
        result = await run.result()
        assert "works in a folder (run), which workers do not share" in str(result.error)
        [failed] = [e for e in _entries(session, run.id) if e.kind == "task.failed"]
        assert failed.body["error"]["code"] == "W920"


async def test_the_operator_s_secrets_are_sent_encrypted(server: Server, tmp_path: Path) -> None:
    for key in ("", "env:CLUSTER_KEY"):
        place = tmp_path / f"secret-{bool(key)}"
        async with _session(server, place, encrypt_with=key) as session:
            run = await session.start(keyed, {"topic": "key"})
            result = await run.result()
            if key:
                assert (result.error, CALLS) == (None, {"key opensesame-opensesame": 1})
                assert "opensesame" not in str(_entries(session, run.id))
            else:
                assert "which Temporal would keep readable" in str(result.error)


PROJECT = """
[workflows]
python = ["dying_flow:dying"]
[runtime]
kind = "temporal"
[runtime.temporal]
address = "{address}"
queue = "dying"
heartbeat = "3s"
"""
DYING = """
import asyncio
import os
import signal
from pathlib import Path

import whorl

HERE = Path(__file__).parent


def die(at):
    if not (HERE / at).exists():
        (HERE / at).touch()
        os.kill(os.getpid(), signal.SIGKILL)


@whorl.step
async def say(text: str) -> str:
    if text in ("try 2.1", "left"):
        die(f"died at {text}")
    with (HERE / "said").open("a") as file:
        file.write(f"{text}\\n")
    return text.upper()


@whorl.workflow
async def dying(topic: str) -> list[str]:
    outer = whorl.loop(str, at_most=2)
    async for turn in outer:
        async for attempt in whorl.loop(str, "tries", at_most=2):
            attempt.value = await say(f"try {turn.number}.{attempt.number}")
        turn.value = f"turn {turn.number}"
    await asyncio.sleep(0.1)
    both = await asyncio.gather(say("left"), say("right"))
    die("died in the code")
    return [*both, outer.result, await say(f"last {topic}")]
"""


async def test_workers_die_in_steps_and_in_the_code(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "whorl.toml").write_text(PROJECT.format(address=server.address))
    (tmp_path / "dying_flow.py").write_text(DYING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    # How long the server waits for a worker that died in the code.
    monkeypatch.setattr("whorl.wings.cluster.workflow.TASK_S", 8.0)
    dying = import_module("dying_flow").dying
    deaths = 0

    async def keep_alive() -> None:
        nonlocal deaths
        while True:
            process = await asyncio.to_thread(worker_in, tmp_path)
            try:
                await asyncio.to_thread(process.wait)
                deaths += 1
            finally:
                process.kill()
                process.communicate()

    keeping = asyncio.create_task(keep_alive())
    try:
        async with whorl.Session(trust=True) as session, asyncio.timeout(PATIENCE_S * 6):
            runtime: Any = session.opened.runtime
            runtime.patience_s = PATIENCE_S * 3
            run = await session.start(dying, {"topic": "rain"})
            result = await run.result()
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        sys.modules.pop("dying_flow", None)

    assert (result.error, deaths) == (None, 3)
    assert result.value == ["LEFT", "RIGHT", "turn 2", "LAST rain".upper()]
    said = Counter((tmp_path / "said").read_text().split("\n")[:-1])
    assert {text for text, times in said.items() if times > 1} == set()
