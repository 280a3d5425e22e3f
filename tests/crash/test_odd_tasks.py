"""Tasks that misbehave, and requests to runs that nobody drives: no run hangs, nothing is lost."""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import pytest

from crash.priced import Priced, replied
from waiting import PATIENCE_S
from whorl.dialects import read_workflow
from whorl.errors import ProviderError
from whorl.interpreter.events import Event
from whorl.providers.redaction import Secret, redact
from whorl.providers.task import Estimate, Reply, Usage
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.local import POLL_S, LocalRuntime
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.start_options import Start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from whorl.language import Json
    from whorl.providers.task import Emit, Request
    from whorl.runtimes.journal.journal import Entry, RunId


_SECRET = "sk-very-secret-1234"
_ONE = "whorl: 1\nsteps: {a: {use: thing}}\n"
_TWO = "whorl: 1\nsteps: {one: {ask: 'One.'}, two: {ask: '{{ one }}'}}\n"


class _Workers(Priced):
    """Two calls in doubt fit into a dollar."""

    def redacted(self, value: Json) -> Json:
        return redact(value, (Secret(_SECRET),))

    def estimate(self, request: Request) -> Estimate:
        return Estimate(cost_usd=0.4, tokens=100, calls=1)


async def _ok(request: Request, emit: Emit) -> Reply:
    emit("said")
    return await replied(request, emit)


def _giving(value: Any) -> Callable[..., Any]:
    async def perform(request: Request, emit: Emit) -> Any:
        return value

    return perform


def _repeating(text: str, times: int, parts: int = 1) -> Callable[..., Any]:
    async def perform(request: Request, emit: Emit) -> Any:
        return Reply([text * times for _ in range(parts)])

    return perform


def _raising(fault: BaseException) -> Callable[..., Any]:
    async def perform(request: Request, emit: Emit) -> Any:
        raise fault

    return perform


def _not_async(request: Request, emit: Emit) -> None:
    raise TypeError("perform() is missing something")


async def _started(
    store: SqliteStore, workers: _Workers, text: str, **options: Any
) -> tuple[LocalRuntime, RunId]:
    runtime = LocalRuntime(store, workers, **options)
    run, _ = await runtime.start(read_workflow(text, "case.yaml").workflow, Start())
    return runtime, run


def _driven(
    path: Path, workers: _Workers, text: str, watcher: Any = None
) -> tuple[str, list[Event]]:
    async def main() -> tuple[str, list[Event]]:
        async with SqliteStore(path / "runs.db") as store:
            runtime, run = await _started(store, workers, text, watcher=watcher)
            status = await asyncio.wait_for(runtime.drive(run), PATIENCE_S)
            return status, [entry.event for entry in store.read(run)]

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("perform", "code"),
    [
        pytest.param(_not_async, "I900", id="raises before it is awaited"),
        pytest.param(_giving(None), "P105", id="no reply"),
        pytest.param(_giving({"answer": 1}), "P105", id="a plain value"),
        pytest.param(_giving(Reply({1, 2})), "P105", id="a set"),  # type: ignore[arg-type]
        pytest.param(_giving(Reply(float("nan"))), "P105", id="not a number"),
        pytest.param(_repeating("x", 50_000_000), "P106", id="too long"),
        pytest.param(_repeating("\n", 25_000_000), "P106", id="too long as JSON"),
        pytest.param(_repeating("\0", 9_000, 1_000), "P106", id="long in many parts"),
        pytest.param(_repeating("\ud800", 50_000_000), "P106", id="too long and broken"),
        pytest.param(_raising(KeyError("x")), "I900", id="an error"),
        pytest.param(_raising(asyncio.CancelledError()), "I900", id="cancelled by itself"),
        pytest.param(_raising(CancelledError()), "I900", id="cancelled in a thread"),
        pytest.param(_raising(SystemExit(3)), "I900", id="exits"),
        pytest.param(_raising(BaseException("x")), "I900", id="anything"),
    ],
)
def test_a_task_that_misbehaves_fails_and_the_run_ends(
    tmp_path: Path, perform: Callable[..., Any], code: str
) -> None:
    status, events = _driven(tmp_path, _Workers(perform), _ONE)

    assert status == "failed"
    (failed,) = (event for event in events if event.kind == "task.failed")
    assert failed.body["error"]["code"] == code  # type: ignore[call-overload, index]


def test_texts_that_no_store_can_hold_are_mended_before_they_are_used(tmp_path: Path) -> None:
    """The machine and its journal see the same, so that a resumed run is the same run."""
    text = _ONE + 'outputs: {same: "{{ a == other }}", a: "{{ a }}"}\n'
    text = text.replace("thing}", "thing}, other: {value: '\ufffd!'}")
    status, events = _driven(tmp_path, _Workers(_giving(Reply("\ud800!"))), text)

    assert status == "succeeded"
    assert events[-1].body["outputs"] == {"same": True, "a": "\ufffd!"}


def test_no_secret_is_stored_with_what_a_failed_task_gave(tmp_path: Path) -> None:
    detail = {"value": {"text": f"key {_SECRET}"}, "name": _SECRET}
    fault = ProviderError(f"no: {_SECRET}", code="P100", detail=detail)
    text = _ONE.replace("thing", "thing, on_failure: continue") + 'outputs: {a: "{{ a }}"}\n'
    _, events = _driven(tmp_path, _Workers(_raising(fault)), text)

    told = json.dumps([event.body for event in events])
    assert _SECRET not in told
    assert "key " in told


def test_who_cannot_be_shown_text_makes_no_paid_task_fail(tmp_path: Path) -> None:
    class Gone:
        def entries(self, run: RunId, entries: list[Entry]) -> None:
            """These still come through."""

        def text(self, run: RunId, address: str, text: str) -> None:
            raise BrokenPipeError

    status, _ = _driven(tmp_path, _Workers(_ok), _ONE, Gone())

    assert status == "succeeded"


def test_a_call_that_gave_no_answer_in_time_is_charged_as_reserved(tmp_path: Path) -> None:
    async def never(request: Request, emit: Emit) -> Reply:
        await asyncio.sleep(60)
        raise AssertionError

    workers = _Workers(never)
    retry = "retry: {times: 9, wait: 1ms}"
    text = f"whorl: 1\nbudget: 1.0\nsteps: {{a: {{ask: 'Go.', timeout: 0.05s, {retry}}}}}\n"
    status, events = _driven(tmp_path, workers, text)

    assert status == "paused"  # the third call would not fit
    assert len(workers.sent) == 2
    used: Any = [event.body["usage"] for event in events if event.kind == "task.failed"]
    charged = {"calls": 1, "input_tokens": 0, "output_tokens": 100, "cost_usd": 0.4, "in_doubt": 1}
    assert used == [charged] * 2


async def _cut_before_two(path: Path) -> RunId:
    """A run whose first call is answered, and whose process died before it asked for the second."""
    store = SqliteStore(path / "runs.db")
    append = store.append

    async def cut(run: RunId, owner: int, events: Any, **options: Any) -> int:
        kept = [event for event in events if event.address != "two"]
        last = await append(run, owner, kept, **options)
        if len(kept) < len(events):
            raise _Killed
        return last

    store.append = cut  # type: ignore[method-assign]
    runtime, run = await _started(store, _Workers(_ok), _TWO)
    with pytest.raises(_Killed):
        await runtime.drive(run)
    store.close()
    return run


class _Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("is_posted", [False, True])
@pytest.mark.parametrize(
    ("kind", "status"), [("run.cancelled", "cancelled"), ("run.paused", "paused")]
)
def test_an_interrupted_run_that_is_stopped_makes_no_further_call(
    tmp_path: Path, kind: str, status: str, is_posted: bool
) -> None:
    """Nor does a pause that its owner died with undo the resume that comes after it."""

    async def main() -> None:
        run = await _cut_before_two(tmp_path)
        later = time.monotonic() + 60
        async with SqliteStore(tmp_path / "runs.db", monotonic=lambda: later) as store:
            workers = _Workers(_ok)
            runtime = LocalRuntime(store, workers)
            resumed = [Event("run.resumed", "", time.time())] if status == "paused" else []
            stop = Event(kind, "", time.time())
            if is_posted:
                await store.post(run, stop)
            else:
                assert await runtime.drive(run, [stop]) == status
                assert workers.sent.total() == 0
            then = await runtime.drive(run, resumed)
            usage = fold(store, run).machine.state["usage"]
            assert then == ("succeeded" if resumed else "cancelled")
            assert usage["calls"] == (2 if resumed else 1)
            assert "in_doubt" not in usage

    asyncio.run(main())


def test_many_sleeping_runs_cost_nothing(tmp_path: Path) -> None:
    """One look for letters serves them all; each is awoken by its own letter."""
    text = "whorl: 1\nsteps: {p: {wait: 1h}}\n"

    async def main() -> tuple[float, set[str]]:
        async with SqliteStore(tmp_path / "runs.db") as store:
            runtime = LocalRuntime(store, _Workers(_ok), patience_s=0.0)
            workflow = read_workflow(text, "sleep.yaml").workflow
            runs = [(await runtime.start(workflow, Start()))[0] for _ in range(20)]
            driving = [asyncio.create_task(runtime.drive(run)) for run in runs]
            while len(runtime._sleepers) < len(runs):
                await asyncio.sleep(0.01)
            looks = 0
            take, mail = store.take, store.mail

            def counted(*arguments: Any) -> Any:
                nonlocal looks
                looks += 1
                return take(*arguments) if arguments else mail()

            store.take = store.mail = counted  # type: ignore[method-assign, assignment]
            began = time.monotonic()
            while looks < 4:
                await asyncio.sleep(0.01)
            # A look comes after each pause, however long the machine makes of it.
            share = looks / ((time.monotonic() - began) / POLL_S + 1)
            for run in runs[:10]:
                await runtime.request(run, Event("run.cancelled", "", time.time()))
            first = set(await asyncio.wait_for(asyncio.gather(*driving[:10]), PATIENCE_S))
            runtime.stop()
            return share, first | set(await asyncio.gather(*driving))

    looks_per_pause, statuses = asyncio.run(main())

    assert looks_per_pause < 1.1
    assert statuses == {"cancelled", "stopped"}


def test_a_paused_run_with_an_open_call_can_be_steered(tmp_path: Path) -> None:
    began, may_reply = asyncio.Event(), asyncio.Event()

    async def slow(request: Request, emit: Emit) -> Reply:
        began.set()
        await may_reply.wait()
        return Reply("ok", Usage(calls=1))

    async def main() -> tuple[bool, str]:
        path = tmp_path / "runs.db"
        async with SqliteStore(path) as store, SqliteStore(path) as other:
            runtime, run = await _started(store, _Workers(slow), _TWO)
            elsewhere = LocalRuntime(other, _Workers(slow))
            driving = asyncio.create_task(runtime.drive(run))
            await began.wait()
            await runtime.request(run, Event("run.paused", "", time.time()))
            while other.run(run).status != "paused":
                await asyncio.sleep(0.01)
            taken = await elsewhere.request(run, Event("run.resumed", "", time.time()))
            while other.run(run).status == "paused":
                await asyncio.sleep(0.01)
            may_reply.set()
            return taken, await driving

    assert asyncio.run(main()) == (True, "succeeded")
