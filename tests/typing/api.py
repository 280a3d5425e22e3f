"""The public interface in use: checked by mypy, never run."""

from __future__ import annotations

from typing import Any, assert_type

import whorl
from whorl import testing

tasks = whorl.Tasks()


@tasks.task(pure=True)
def double(number: int) -> int:
    """A task that workflows may use by its name."""
    return number * 2


@tasks.task
def count(text: str) -> int:
    """A task under its own name."""
    return len(text)


@tasks.task("fetch")
async def fetch_page(url: str) -> dict[str, str]:
    """A task under another name."""
    return {"url": url}


def from_a_file() -> None:
    """The shortest program."""
    result = whorl.run_sync("polish.yaml", {"task": "a haiku"}, budget=0.5)
    assert_type(result, whorl.Result[Any])
    assert_type(result.ok, bool)
    assert_type(result.output, whorl.Json)
    if result.status == "waiting" or result.loops[0].exit_reason == "max_iterations":
        return
    assert_type(result.usage.cost_usd, float | None)
    result.raise_for_status()


def from_code() -> whorl.Workflow:
    """A loop without a file."""
    return whorl.build(
        "count",
        {"count": {"repeat": {"until": "iteration >= 3", "steps": {"say": {"value": "hi"}}}}},
        outputs={"said": "{{ count.say }}"},
    )


def from_parts() -> whorl.Result[Any]:
    """Values may be of any type that is read like a list or an object."""
    names: list[str] = ["a", "b"]
    counts: dict[str, int] = {"a": 1}
    step = {"use": "count", "with": {"text": "{{ text }}"}}
    workflow = whorl.build("parts", {"a": step, "b": {"value": counts}}, model=("one", "two"))
    config = {"allow": {"commands": True}}
    return whorl.run_sync(
        workflow, {"names": names, "counts": counts, "pair": (1, 2)}, config=config
    )


async def steering() -> None:
    """Starting, watching and steering."""
    async with whorl.Session(trust=True, store=".whorl", tasks=tasks) as session:
        run = await session.start(whorl.load("polish.yaml"), {"task": "a haiku"}, key="once")
        assert_type(run, whorl.Run[Any])
        assert_type((double(2), count("a")), tuple[int, int])
        async for event in run.events():
            assert_type(event, whorl.Event)
            assert_type(event.kind, str)
        assert_type(await run.result(), whorl.Result[Any])
        assert_type(run.records("polish[2]", depth=None), tuple[whorl.Record, ...])
        assert_type(run.records()[0].usage.cost_usd, float | None)
        await run.continue_(3, at="polish")
        await run.accept(2)
        await run.approve(feedback="good")
        assert_type(await run.fork("polish[2]", {"feedback": "shorter"}), whorl.Run[Any])
        await (await session.resume("last", budget=0.25)).cancel()


def errors(error: whorl.WhorlError) -> None:
    """Whose fault it is shows in the type."""
    if isinstance(error, whorl.InvalidWorkflow):
        assert_type(error.diagnostics, tuple[whorl.Diagnostic, ...])
        assert_type(error.diagnostics[0].span, whorl.Span | None)
    elif isinstance(error, whorl.RunFailed):
        assert_type(error.cause, whorl.Cause)


def misspelt() -> None:
    """A name that does not exist is found by the type checker."""
    whorl.Reslt  # type: ignore[attr-defined] # noqa: B018


def in_a_test(fixture: testing.Whorl) -> None:
    """Runs with mocks, from a program and from the fixture of pytest."""
    mocks = {"write": ["a", "b"], "review": {"outputs": 1}, "score": lambda inputs: inputs["text"]}
    outcome = testing.run("polish.yaml", {"task": "x"}, mocks=mocks, retries=True, budget=0.5)
    assert_type(outcome, testing.Outcome)
    assert_type(outcome.ok, bool)
    assert_type(outcome.loop("polish"), whorl.LoopResult)
    assert_type(outcome.step("polish[2]/review"), whorl.Record)
    assert_type(outcome.calls("review"), tuple[testing.StepCall, ...])
    assert_type(outcome.calls()[0].inputs, whorl.Json)
    assert_type(outcome.seconds, float)
    assert_type(outcome.why(), str)
    fixture.mock("review", error="it is down")
    fixture.mock("write", "a text")
    assert_type(
        fixture.run(from_code(), models=[{"match": "a", "replies": ["b"]}]), testing.Outcome
    )
