"""Starting runs from Python: the project, inputs, keys, and what is refused before a run."""

from __future__ import annotations

import asyncio
import datetime
import enum
import logging
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import whorl
from whorl.providers.models.local import is_installed

UNTIL = """{"definition": {"actions": {
  "Init": {"type": "InitializeVariable",
           "inputs": {"variables": [{"name": "n", "type": "integer", "value": 0}]}},
  "Until": {"type": "Until", "expression": "@equals(variables('n'), 5)",
            "actions": {"Inc": {"type": "IncrementVariable", "inputs": {"name": "n", "value": 1}}},
            "runAfter": {"Init": ["Succeeded"]}}}}}"""
SAY: dict[str, Any] = {"say": {"value": "{{ n }}"}}


def saying(kind: str = "any") -> whorl.Workflow:
    return whorl.build("say", SAY, inputs={"n": kind}, outputs={"n": "{{ say }}"})


def test_a_run_shows_the_budget_of_its_file(place: Path) -> None:
    """Whoever starts it: lists take the budget from the first entry."""
    (place / "cheap.yaml").write_text(
        "whorl: 1\nname: cheap\nbudget: 0.5\nsteps: {a: {value: 1}}\n"
    )

    async def work(**options: Any) -> tuple[Any, float | None]:
        async with whorl.Session() as session:
            run = await session.start("cheap.yaml", **options)
            await run.result()
            store = session.opened.store
            first = next(iter(store.read(store.resolve(run.id), limit=1)))
            return first.event.body.get("limits"), store.run(run.id).budget_usd

    assert asyncio.run(work()) == ({"cost_usd": 0.5}, 0.5)
    assert asyncio.run(work(budget=0.2)) == ({"cost_usd": 0.2}, 0.2)


async def _runs() -> int:
    async with whorl.Session() as session:
        return len(session.opened.store.runs())


@pytest.fixture
def project(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in whose folder for workflows the program works."""
    (place / "whorl.toml").write_text("[limits]\niterations = 3\n")
    (place / "shared").mkdir()
    (place / "shared" / "child.yaml").write_text("whorl: 1\nname: child\nsteps: {a: {value: 4}}\n")
    (place / "flows").mkdir()
    monkeypatch.chdir(place / "flows")
    return place


def test_a_file_may_name_files_of_its_project(project: Path) -> None:
    (project / "flows" / "main.yaml").write_text(
        "whorl: 1\nname: main\nsteps: {c: {call: ../shared/child.yaml}}\noutputs: {x: '{{ c.a }}'}"
    )

    assert whorl.run_sync("main.yaml").output == 4
    assert whorl.run_sync(whorl.load("main.yaml")).output == 4


def test_the_limits_of_the_project_hold(project: Path) -> None:
    (project / "flows" / "until.json").write_text(UNTIL)

    result = whorl.run_sync("until.json")

    assert (result.loops[0].iterations, result.loops[0].exit_reason) == (3, "max_iterations")
    Path("other.toml").write_text("[limits]\niterations = 2\n")
    other = whorl.run_sync(whorl.load("until.json", config="other.toml"))
    assert other.loops[0].iterations == 2


class Color(enum.StrEnum):
    RED = "red"


@pytest.mark.usefixtures("place")
def test_inputs_are_any_json_like_value() -> None:
    given = MappingProxyType({"a": (1, 2), "b": MappingProxyType({"c": Color.RED})})

    result = whorl.run_sync(saying(), MappingProxyType({"n": given}))  # type: ignore[dict-item]

    assert result.output == {"a": [1, 2], "b": {"c": "red"}}


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
def test_inputs_that_do_not_fit_make_no_run_and_use_no_key() -> None:
    for given, words in (
        ({}, r"needs the input 'n' \(integer\)$"),
        ({"m": 1}, "has no input 'm'"),
        ({"n": "x"}, "must be a whole number"),
    ):
        with pytest.raises(whorl.UsageError, match=words):
            whorl.run_sync(saying("integer"), given, key="order-17")

    assert whorl.run_sync(saying("integer"), {"n": 1}, key="order-17").output == 1


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
        resumed = session.run(run.id)
        await resumed.resume()
        result = await resumed.result()
    assert (result.status, len(calls)) == ("succeeded", 2)


@pytest.mark.usefixtures("place")
def test_mistakes_in_what_is_built_are_named_by_their_place() -> None:
    steps: dict[str, Any] = {
        "a": {"value": 1},
        "l": {"repeat": {"until": ["true", {"scroe": 1}], "steps": {"x": {"valeu": 1}}}},
    }

    with pytest.raises(whorl.InvalidWorkflow) as caught:
        whorl.build("bad", steps)

    told = [one.message.partition(": ")[0] for one in caught.value.diagnostics]
    assert "steps.l.repeat.steps.x.valeu" in told
    assert any(one.startswith("steps.l.repeat.until[1]") for one in told)
    assert "bad" not in str(caught.value)


@pytest.mark.usefixtures("place")
def test_values_that_json_cannot_hold_cannot_be_built_of() -> None:
    for value in ({1}, float("nan"), object(), b"x"):
        with pytest.raises(whorl.UsageError, match=r"^steps\.a\.value\[0\] is"):
            whorl.build("w", {"a": {"value": [value]}})


@pytest.mark.usefixtures("place")
def test_a_built_workflow_has_all_that_a_file_has() -> None:
    workflow = whorl.build(
        "w", {"a": {"ask": "hello"}}, system="Be brief.", description="Says hello."
    )

    assert workflow.ir.description == "Says hello."
    assert "Be brief." in repr(workflow.ir.defaults)
    assert repr(workflow) == "Workflow(name='w', file='', warnings=())"
    assert {workflow: 1}[workflow] == 1


@pytest.mark.usefixtures("place")
def test_errors_can_be_sent_to_another_process() -> None:
    with pytest.raises(whorl.InvalidWorkflow) as invalid:
        whorl.build("bad", {"a": {"valeu": 1}})
    tasks = whorl.Tasks()
    tasks.add("fail", [].pop)
    failed = whorl.run_sync(whorl.build("w", {"a": {"use": "fail"}}), tasks=tasks)
    with pytest.raises(whorl.RunFailed) as caught:
        failed.raise_for_status()

    again = pickle.loads(pickle.dumps(caught.value))  # noqa: S301

    assert (again.run, again.cause) == (failed.run, caught.value.cause)
    assert "IndexError" in str(again.cause.detail["cause"])
    assert pickle.loads(pickle.dumps(invalid.value)).diagnostics == invalid.value.diagnostics  # noqa: S301


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
async def test_a_run_that_was_made_and_not_yet_driven_goes_on_with_its_key(place: Path) -> None:
    died = subprocess.run([sys.executable, "-c", _DIES], cwd=place, check=False)
    assert died.returncode == -signal.SIGKILL

    async with whorl.Session() as session:
        assert session.run().status == "interrupted"
        workflow = whorl.build("say", {"say": {"value": 1}}, outputs={"n": "{{ say }}"})
        run = await session.start(workflow, key="order-17")
        assert (await run.result()).output == 1
