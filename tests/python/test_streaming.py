"""What a program sees of a run while it goes on, and of its past."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass

import pytest

import whorl

pytestmark = pytest.mark.usefixtures("place")


@dataclass
class Text:
    words: str = ""


@whorl.step
async def write(text: Text) -> str:
    call = whorl.current_call()
    for letter in "ab":
        call.emit(letter)
        await asyncio.sleep(0)
    call.used(3, 2, 0.01)
    return text.words + "ab"


@whorl.workflow
async def growing() -> str:
    text = Text()
    grow = whorl.loop(str, at_most=5, keep="best")
    async for turn in grow:
        text.words = turn.value = await write(text)
        turn.score(turn.number / 4, at_least=0.5)
    return grow.result


@whorl.workflow
async def gated() -> bool:
    yes = await whorl.approve("go on?", show={"text": "x"})
    return yes.approved


async def _all_of(run: whorl.Run[object]) -> list[whorl.StreamEvent]:
    return [event async for event in run.stream()]


async def test_a_stream_is_narrowed_by_kind_and_place() -> None:
    async with whorl.Session() as session:
        run = await session.start(growing)
        numbers = [turn.number async for turn in run.stream(whorl.IterationFinished)]
        second = [event.address async for event in run.stream(at="grow[2]")]

    assert numbers == [1, 2]
    assert set(second) == {"grow[2]", "grow[2]/words"}


async def test_a_slow_reader_gets_all_text_and_delays_no_other() -> None:
    """It looks at an event only once the run has ended."""
    async with whorl.Session() as session:
        run = await session.start(growing)
        events = run.stream()
        first = await anext(events)
        result = await run.result()
        later = [first] + [event async for event in events]
        words = "".join(each.text for each in later if isinstance(each, whorl.Token))
        assert (words, str(result.output)) == ("abab", "abab")


async def test_a_stream_ends_at_a_question_and_resumes_after_it() -> None:
    async with whorl.Session() as session:
        run = await session.start(gated)
        before = await _all_of(run)
        gate = next(event for event in before if isinstance(event, whorl.ApprovalRequested))
        await run.approve(feedback="fine")
        after = [event async for event in run.stream(after=gate.seq)]
    decided = [event for event in after if isinstance(event, whorl.ApprovalGiven)]

    assert (gate.address, gate.message, gate.show) == ("yes", "go on?", {"text": "x"})
    assert [(each.approved, each.feedback) for each in decided] == [(True, "fine")]
    assert isinstance(after[-1], whorl.RunFinished)


def test_the_past_of_a_run_is_in_its_result_and_in_the_session() -> None:
    result = whorl.run_sync(growing)
    first, second = result.iterations()

    assert (first.values["words"], second.values["words"]) == ("ab", "abab")
    assert (first.score, second.score, second.met, second.by) == (0.25, 0.5, True, "score")

    async def main() -> None:
        async with whorl.Session() as session:
            run = session.run("last")
            assert [row.id for row in session.runs(status="succeeded")] == [run.id]
            assert session.runs(name="other") == ()
            assert run.iterations("grow")[1].values == second.values
            why = run.why()["loops"][0]
            assert why["exit_reason"] == "condition_met"
            assert why["iterations"][1]["facts"][0]["score"] == 0.5
            assert "+abab" in run.diff(1, 2)["words"]
            by_step = run.cost("step")
            assert [(line.name, line.calls) for line in by_step.lines] == [("grow/words", 2)]
            assert session.cost("run").total.cost_usd == pytest.approx(0.02)
            assert json.loads(json.dumps(run.cost("iteration").document()))["total"]["calls"] == 2

    asyncio.run(main())
