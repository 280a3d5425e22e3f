"""Python functions as tasks: what they may do to what they are given, and what they may raise."""

from __future__ import annotations

import asyncio
import functools
import json
from typing import TYPE_CHECKING, Any

import pytest

import whorl
from waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("place")


class _Odd(BaseException):
    """An exception that hardly anybody expects."""


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize(
    "fault",
    [
        StopIteration("x"),
        StopAsyncIteration("x"),
        SystemExit(3),
        GeneratorExit("x"),
        asyncio.CancelledError("x"),
        TimeoutError("x"),
        _Odd("x"),
        BaseExceptionGroup("x", [_Odd("y")]),
        whorl.UsageError("x"),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_anything_that_a_task_raises_is_its_failure(fault: BaseException, pure: bool) -> None:
    tasks = whorl.Tasks()

    def plain() -> None:
        raise fault

    async def later() -> None:
        await asyncio.sleep(0)
        raise fault

    tasks.add("plain", plain, pure=pure)
    tasks.add("later", later, pure=pure)
    for name in ("plain", "later"):
        step: dict[str, Any] = {"use": name, "timeout": f"{PATIENCE_S:g}s"}
        error = whorl.run_sync(whorl.build("w", {"a": step}), tasks=tasks).error

        assert error is not None
        kind = type(fault).__name__
        if name == "later" and kind == "StopIteration":
            kind = "RuntimeError"  # Python's own word for what a coroutine may not raise.
        assert f"raised {kind}" in str(error["message"]), error
        assert json.dumps(error["cause"])


def test_an_interrupt_in_a_task_interrupts_the_program() -> None:
    tasks = whorl.Tasks()

    @tasks.task()
    async def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        whorl.run_sync(whorl.build("w", {"a": {"use": "interrupted"}}), tasks=tasks)


def _count(text: str) -> int:
    return len(text)


def test_what_is_no_function_or_has_no_name_is_refused() -> None:
    tasks = whorl.Tasks()
    count = functools.partial(_count, "abc")

    with pytest.raises(whorl.UsageError, match="not a function"):
        tasks.add("x", 5)  # type: ignore[arg-type]
    with pytest.raises(whorl.UsageError, match="not a function"):
        tasks.task(5)  # type: ignore[call-overload]
    with pytest.raises(whorl.UsageError, match="needs a name"):
        tasks.task()(count)
    with pytest.raises(whorl.UsageError, match="needs a name"):
        tasks.add("", count)
    tasks.task("count")(count)
    assert tasks.task(_count) is _count

    result = whorl.run_sync(whorl.build("w", {"a": {"use": "count"}}), tasks=tasks)

    assert (tasks.names(), result.output) == (("count", "_count"), 3)
    assert whorl.Tasks.__name__ == "Tasks"


def test_a_task_that_raises_keeps_its_traceback_without_secrets(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the result, as the cause of what is raised, in the journal and on the command line."""
    from whorl.interfaces.cli import COMMANDS
    from whorl.interfaces.cli.group import build_group, run_safely

    @whorl.step
    def look_up(number: int) -> int:
        raise KeyError(f"number {number} of sk-very-secret")

    @whorl.workflow
    async def looking() -> int:
        async for turn in whorl.loop("turns", at_most=2):
            await look_up(turn.number)
        return 0

    table = {"providers": {"openai": {"kind": "openai", "api_key": "sk-very-secret"}}}
    result = whorl.run_sync(looking, config=table)
    with pytest.raises(whorl.RunFailed) as caught:
        result.raise_for_status()
    code = run_safely(build_group(COMMANDS), ("show", "last/turns[1]/look_up"))
    printed = capsys.readouterr().out

    assert result.error is not None
    lines = str(result.error["traceback"])
    assert "in look_up\n    raise KeyError(" in lines
    assert "whorl/providers" not in lines
    assert "in look_up" in str(caught.value.__cause__)
    assert code == 0
    assert "in look_up" in printed
    stored = b"".join(path.read_bytes() for path in (place / ".whorl").glob("whorl.db*"))
    assert "sk-very-secret" not in lines + printed + stored.decode("latin-1")
