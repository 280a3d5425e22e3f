"""What is asked of a run from Python: written before the call returns, or refused by it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

import whorl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whorl.interpreter.events import Event
    from whorl.runtimes.journal.journal import RunId

pytestmark = pytest.mark.usefixtures("place")

ASK: dict[str, Any] = {"gate": {"approve": {"message": "publish?"}}, "after": {"value": 1}}
COUNT: dict[str, Any] = {
    "count": {
        "repeat": {
            "until": "iteration >= 6",
            "steps": {"turn": {"use": "turn", "with": {"number": "{{ iteration }}"}}},
        }
    }
}


class Turns:
    """A task that lets a loop go on for so many turns, and then waits to be let on."""

    def __init__(self, free: int) -> None:
        self.tasks = whorl.Tasks()
        self.tasks.add("turn", self.turn)
        self.reached = asyncio.Event()
        self.may_go_on = asyncio.Event()
        self.calls = 0
        self._free = free

    async def turn(self, number: int) -> int:
        self.calls += 1
        if self.calls > self._free:
            self.reached.set()
            await self.may_go_on.wait()
        return number


def counting() -> whorl.Workflow:
    return whorl.build("count", COUNT, outputs={"number": "{{ count.turn }}"})


async def _asking() -> str:
    async with whorl.Session() as session:
        run = await session.start(whorl.build("ask", ASK))
        await run.result()
        return run.id


@pytest.mark.parametrize(
    ("ask", "kind", "status"),
    [
        (lambda run: run.approve(feedback="go"), "gate.decided", ("succeeded", "interrupted")),
        (lambda run: run.cancel(), "run.cancelled", ("cancelled",)),
        (lambda run: run.pause(), "run.paused", ("paused",)),
    ],
    ids=["approve", "cancel", "pause"],
)
async def test_a_request_is_written_before_its_session_closes(
    ask: Callable[[whorl.Run], Awaitable[None]], kind: str, status: tuple[str, ...]
) -> None:
    found = await _asking()
    async with whorl.Session() as session:
        await ask(session.run(found))
    async with whorl.Session() as session:
        run = session.run(found)
        found, kinds = run.status, [event.kind async for event in run.events()]

    assert kind in kinds
    assert found in status


async def test_a_request_to_a_run_that_is_being_left_is_carried_out_once() -> None:
    """Its inbox has it then, and whoever drives next finds it there."""
    tasks = whorl.Tasks()

    @tasks.task
    def fail() -> None:
        raise ValueError

    async with whorl.Session(tasks=tasks) as session:
        run = await session.start(whorl.build("failing", {"a": {"use": "fail"}}))
        await run.result()
        runtime, store = session.opened.runtime, session.opened.store

        async def too_late(run: RunId, event: Event) -> bool:
            await store.post(run, event)
            return True

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(runtime, "request", too_late)
            await run.resume()
        await run.result()
        assert [event.kind async for event in run.events()].count("run.resumed") == 1


async def test_a_loop_is_stopped_after_the_running_iteration() -> None:
    turns = Turns(free=1)
    async with whorl.Session(tasks=turns.tasks) as session:
        run = await session.start(counting())
        await turns.reached.wait()
        await run.stop()
        turns.may_go_on.set()
        result = await run.result()
        assert (result.output, turns.calls, result.loops[0].exit_reason) == (2, 2, "accepted")


async def test_a_run_is_paused_and_continues() -> None:
    turns = Turns(2)
    async with whorl.Session(tasks=turns.tasks) as session:
        run = await session.start(counting())
        await turns.reached.wait()
        await run.pause()
        with pytest.raises(whorl.UsageError, match="is paused"):
            await run.pause()
        turns.may_go_on.set()
        paused = (await run.result()).status
        turns.may_go_on.clear()
        await run.resume()
        await run.resume()
        turns.may_go_on.set()
        result = await run.result()
        assert [paused, result.output, turns.calls] == ["paused", 6, 6]


async def test_what_is_refused_is_raised_where_it_was_asked_and_nowhere_else() -> None:
    turns = Turns(100)
    async with whorl.Session(tasks=turns.tasks) as session:
        run = await session.start(counting())
        await run.result()
        for ask in (
            run.pause(),
            run.resume(),
            run.cancel(),
            run.approve(),
            run.accept(9),
            run.accept(1, at="nope"),
            run.continue_(1, at="nope"),
            run.continue_(),
            run.continue_(0),
            run.continue_("two"),  # type: ignore[arg-type]
            run.continue_(1, budget=float("nan")),
            run.continue_(1, budget=-1),
            run.fork("count[9]"),
            run.fork("count"),
            run.fork("count[2]", {"zzz": 1}),
            run.fork("count[2]", {"zzz": {1}}),  # type: ignore[dict-item]
        ):
            with pytest.raises(whorl.UsageError) as caught:
                await ask
            assert "--" not in str(caught.value)
        assert (await run.result()).status == "succeeded"


async def test_the_result_of_a_run_that_another_session_resumes() -> None:
    steps: dict[str, Any] = {**ASK, "turn": {"use": "turn", "with": {"number": 1}}}

    turns = Turns(0)
    async with (
        whorl.Session(tasks=turns.tasks) as first,
        whorl.Session(tasks=turns.tasks) as second,
    ):
        run = await first.start(whorl.build("ask", steps))
        await run.result()
        await second.run(run.id).approve()
        await turns.reached.wait()
        waiting = asyncio.create_task(run.result())
        done, _ = await asyncio.wait({waiting}, timeout=0.05)
        turns.may_go_on.set()
        assert [str(len(done)), (await waiting).status] == ["0", "succeeded"]
