"""Workflows that are written in Python, on the command line: `module:name`, where it is allowed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from command_line import Whorl

PROGRAM = """
from pathlib import Path

import whorl

Path("imported").touch()


@whorl.step
def double(number: int) -> int:
    return number * 2


@whorl.workflow
async def twice(number: int) -> int:
    sure = await whorl.approve("sure?")
    return await double(number) if sure.approved else number


not_one = double
"""


@pytest.fixture
def folder(project: Path) -> Iterator[Path]:
    """A project that may import the workflow."""
    (project / "twice_flow.py").write_text(PROGRAM)
    (project / "whorl.toml").write_text('[workflows]\npython = ["twice_flow:twice"]\n')
    before = list(sys.path)
    yield project
    sys.path[:] = before
    sys.modules.pop("twice_flow", None)


@pytest.mark.parametrize("is_named", [False, True])
def test_code_is_not_imported_without_permission(
    folder: Path, whorl: Whorl, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    """Neither where whorl.toml does not name it, nor where nobody has trusted that."""
    if is_named:
        monkeypatch.delenv("WHORL_TRUST")
    else:
        (folder / "whorl.toml").unlink()

    for command in ("file graph", "validate", "run", "serve"):
        whorl(f"{command} twice_flow:twice").ends(2, "W908")
    assert not (folder / "imported").exists()


def test_a_run_waits_for_its_functions(folder: Path, whorl: Whorl) -> None:
    whorl("run twice_flow:twice -i number:=4 --json")
    (folder / "whorl.toml").unlink()
    before = whorl("watch last --events").out

    refused = whorl("runs approve last").ends(2, "error[P114]").err

    assert whorl("watch last --events").out == before
    assert "functions of 'twice_flow:twice'" in refused


REVIEWED = """
from dataclasses import dataclass

import whorl


@dataclass
class Review:
    score: float


@whorl.step(pure=True)
async def review(number: int) -> Review:
    return Review((0.5, 0.7, 0.6)[number - 1])


@whorl.workflow
async def reviewed(topic: str) -> str:
    polish = whorl.loop(str, at_most=3, keep="best")
    async for turn in polish:
        found = await review(turn.number)
        turn.value = f"{topic} {turn.number}"
        turn.score(found.score, at_least=0.9)
    return polish.result
"""


def test_a_run_of_a_program_is_looked_at_without_it(project: Path, whorl: Whorl) -> None:
    """Drawn before and after a run, explained, compared, asked what other rules would have done."""
    (project / "reviewed_flow.py").write_text(REVIEWED)
    (project / "whorl.toml").write_text('[workflows]\npython = ["reviewed_flow:reviewed"]\n')
    before = list(sys.path)
    try:
        dry = whorl("validate reviewed_flow:reviewed").out
        planned = whorl("file graph reviewed_flow:reviewed").out
        whorl("run reviewed_flow:reviewed -i topic=rain")
    finally:
        sys.path[:] = before
        sys.modules.pop("reviewed_flow", None)
    (project / "reviewed_flow.py").unlink()

    assert "from a dry run" in dry
    assert "the number of calls depends on the inputs" in dry
    assert "until score ≥ 0.90, at most 3 iterations" in planned
    assert "found  use" in planned
    assert whorl("file graph last").out == planned
    assert "returned: iteration 2, the best one" in whorl("why last").out
    assert "+rain 2" in whorl("diff last 1 2").out
    assert "polish[2]/found" in whorl("show last/polish[2]").out
    asked = whorl("experiment what-if last --until found.score>=0.6").out
    assert "what if     2 iterations, returned 2, condition_met" in asked


STOPPED = """
import whorl


@whorl.workflow
async def stopped(how: str) -> str:
    polish = whorl.loop(str, at_most=2)
    async for turn in polish:
        turn.value = how
        await whorl.sleep(0)
        if how == "stop":
            turn.stop("approved")
        if how == "bare":
            turn.stop()
        if how == "break":
            break
        if how == "score":
            turn.score(0.1, at_least=0.9)
    return polish.result
"""


@pytest.mark.parametrize(
    ("how", "ended", "why"),
    [
        ("stop", "condition_met (stop: approved)", "1 of 2 iterations: stop: approved"),
        ("bare", "condition_met (stop)", "1 of 2 iterations: stop"),
        ("break", "condition_met (break)", "1 of 2 iterations: a `break` was reached"),
        ("score", "max_iterations", "2 of 2 iterations: it reached its limit of iterations"),
    ],
)
def test_it_is_said_how_code_left_a_loop(
    project: Path, whorl: Whorl, how: str, ended: str, why: str
) -> None:
    (project / "stopped_flow.py").write_text(STOPPED)
    (project / "whorl.toml").write_text('[workflows]\npython = ["stopped_flow:stopped"]\n')
    before = list(sys.path)
    try:
        ran = whorl(f"run stopped_flow:stopped {how}").err
    finally:
        sys.path[:] = before
        sys.modules.pop("stopped_flow", None)

    assert f"polish: {ended} after" in ran
    for command in ("show last", "ls", "why last", "experiment what-if last --at-most 1"):
        assert ended in whorl(command).out
    assert why in whorl("why last").out
    if how == "score":
        assert "raise `whorl.loop(at_most=...)` or give" in ran


FORECAST = """
import whorl


async def cut(page: str) -> str:
    short = await whorl.ask(f"Shorten {page}")
    return await whorl.ask(f"Shorten {short}")


@whorl.workflow(budget=0.50)
async def pages(pages: list[str]) -> list[str]:
    turns = whorl.loop(list, at_most=4)
    async for turn in turns:
        turn.value = await whorl.each(cut, pages)
    return turns.result


@whorl.workflow
async def endless(topic: str) -> str:
    while (answer := await whorl.ask("Done?")) != "yes":
        pass
    return answer
"""


def test_a_forecast_of_code_says_where_it_comes_from(project: Path, whorl: Whorl) -> None:
    """From a dry run with the inputs, or from runs; code that asks for ever has none."""
    (project / "forecast_flow.py").write_text(FORECAST)
    model = '[defaults]\nprovider = "demo"\nmodel = "m1"\n[providers.demo]\nkind = "scripted"\n'
    model += 'replies = [{match = "", replies = ["yes"]}]\n[prices.m1]\ninput = 1.0\noutput = 2.0\n'
    names = '["forecast_flow:pages", "forecast_flow:endless"]'
    (project / "whorl.toml").write_text(f"{model}[workflows]\npython = {names}\n")
    before = list(sys.path)
    try:
        first = whorl("run forecast_flow:pages -i pages:=[1,2,3]").err
        second = whorl("run forecast_flow:pages -i pages:=[1]").err
        third = whorl("run forecast_flow:pages -i pages:=[1]").err
        endless = whorl("run forecast_flow:endless -i topic=x").err
    finally:
        sys.path[:] = before
        sys.modules.pop("forecast_flow", None)

    assert ": about 24 calls (from a dry run), about $0.0" in first
    assert ": about 24 calls (from 1 run), about $0.0" in second
    assert ": about 16 calls (from 2 runs), about $0.0" in third
    assert "at most $0.50, the budget" in third
    assert "the number of calls depends on the inputs" in endless


STATEFUL = """
import whorl


@whorl.step(pure=True)
def add(total: int, number: int) -> int:
    return total + number


@whorl.workflow
async def number(most: int, step: int = 1) -> int:
    sums = whorl.loop(int, at_most=most, state=0)
    async for turn in sums:
        turn.state = turn.value = await add(turn.state, step)
    return sums.result


@whorl.workflow
async def plain(most: int, step: int = 1) -> int:
    total, sums = 0, whorl.loop(int, at_most=most)
    async for turn in sums:
        total = turn.value = await add(total, step)
    return sums.result


@whorl.workflow
async def fields(most: int, step: int = 1) -> int:
    sums = whorl.loop(int, at_most=most, state={"sum": 0})
    async for turn in sums:
        turn.state["sum"] = turn.value = await add(turn.state["sum"], step)
    return sums.result
"""


@pytest.mark.parametrize(
    ("name", "setting", "result"),
    [
        ("number", "state:=100", "102"),
        ("fields", "sum:=100", "102"),
        ("fields", 'state:={"sum":50}', "52"),
        ("number", "step:=10", "21"),
        ("number", "most:=9", "3"),
        ("plain", "most:=9", "3"),
    ],
)
def test_a_fork_of_code_sets_inputs_and_the_state(
    project: Path, whorl: Whorl, name: str, setting: str, result: str
) -> None:
    """The loop that is forked keeps its own limits."""
    (project / "state_flow.py").write_text(STATEFUL)
    (project / "whorl.toml").write_text(f'[workflows]\npython = ["state_flow:{name}"]\n')
    before = list(sys.path)
    try:
        whorl(f"run state_flow:{name} -i most:=3")
        forked = whorl("fork", "last", "--at", "sums[2]", "--set", setting)
        whorl("fork", "last", "--at", "sums[2]", "--set", "other=1").ends(2, "known: most, step")
    finally:
        sys.path[:] = before
        sys.modules.pop("state_flow", None)

    assert forked.out.strip() == result


SECRET = """
import whorl


@whorl.step
async def use(token: str) -> str:
    return f"used {token}"


@whorl.step
async def refuse(token: str) -> str:
    raise ValueError(f"refused {token}")


@whorl.workflow
async def hidden(token: whorl.Secret[str] = "none") -> str:
    turns = whorl.loop(str, at_most=2, state="")
    async for turn in turns:
        turn.value = turn.state = await use(token)
        try:
            await refuse(token)
        except whorl.RequestFailed as fault:
            turn.stop(str(fault))
    decision = await whorl.approve(f"Is {token} right?", show=token)
    return f"{decision.approved} {turns.result} {len(token)}"
"""


def test_a_secret_input_of_code_is_in_no_journal_and_in_no_words(
    project: Path, whorl: Whorl
) -> None:
    (project / "secret_flow.py").write_text(SECRET)
    (project / "whorl.toml").write_text('[workflows]\npython = ["secret_flow:hidden"]\n')
    (project / "token.txt").write_text("hush-4711-hush")
    before = list(sys.path)
    texts = []
    try:
        for command in (
            "run secret_flow:hidden -i token=@token.txt --verbose",
            "show last",
            "runs approve last",
            "show last --json",
            "why last",
            "watch last --events",
            "show last/turns[1]/use",
        ):
            done = whorl(command)
            texts += [done.out, done.err]
    finally:
        sys.path[:] = before
        sys.modules.pop("secret_flow", None)
    stored = b"".join(path.read_bytes() for path in (project / ".whorl").rglob("*.db*"))

    assert "succeeded" in texts[4] + texts[5]
    assert [text[text.index("4711") - 99 :][:150] for text in texts if "4711" in text] == []
    assert b"4711" not in stored
