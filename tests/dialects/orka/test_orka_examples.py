"""The examples of the dialect, run as they are with their canned replies on a real store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from orka_runs import PROJECT

from trusted import TRUSTED
from whorl.dialects import read_workflow
from whorl.providers.registry import Providers
from whorl.runtimes.sqlite import SqliteStore
from whorl.runtimes.starting import Start
from whorl.services.inspecting.documents import document
from whorl.services.project import Project
from whorl.services.runs import open_runtime

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES = PROJECT / "examples" / "orka"


class Ran:
    """What came of an example: its document, and the prompts by address."""

    def __init__(self, told: dict[str, Any], prompts: dict[str, str]) -> None:
        self.outputs: dict[str, Any] = told["outputs"]
        self.output = told["output"]
        self.status = told["status"]
        self.loops: list[dict[str, Any]] = told["loops"]
        self.prompts = prompts


def run(name: str, given: str, place: Path, **options: Any) -> Ran:
    return asyncio.run(_run((EXAMPLES / name).read_text(), given, place, options))


async def _run(text: str, given: str, place: Path, options: dict[str, Any]) -> Ran:
    project = Project(EXAMPLES, EXAMPLES / "demo.toml", place / "whorl.db", TRUSTED)
    workflow = read_workflow(text, "example.yml").workflow
    providers = Providers(project.settings())
    async with open_runtime(project, providers) as runtime:
        started, _ = await runtime.start(workflow, Start(input={"input": given}, **options))
        status = await runtime.drive(started)
        events = [entry.event for entry in runtime.store.read(started)]
        final = next((event for event in events if event.kind == "run.finished"), None)
        told = document(started, status, final, runtime.store)
    prompts = {
        event.address: str(event.body["inputs"]["prompt"])  # type: ignore[index,call-overload]
        for event in events
        if event.kind == "task.started" and event.body["kind"] == "ask"
    }
    return Ran(told, prompts)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yml")), ids=lambda path: path.stem)
def test_examples_have_no_warnings(path: Path) -> None:
    assert read_workflow(path.read_text(), path.name).warnings == ()


def test_quality_loop(tmp_path: Path) -> None:
    ran = run("quality_loop.yml", "it rains", tmp_path)

    assert (ran.status, ran.output) == ("succeeded", "a second version")
    assert ran.outputs["polish"]["loops_completed"] == 2
    assert ran.outputs["polish"]["final_score"] == 0.9
    assert "1 attempts before" in ran.prompts["polish[2]/improver"]


def test_learning_loop_learns(tmp_path: Path) -> None:
    ran = run("learning_loop.yml", "umbrellas", tmp_path)

    taught = ran.prompts["study[2]/analyst"]
    for lesson in ("a clear line of thought", "figures about prices", "in the sources", "0.5"):
        assert lesson in taught
        assert lesson not in ran.prompts["study[1]/analyst"]
    assert "2 iterations" in ran.prompts["summary"]
    assert "at 12 euros" in ran.prompts["summary"]
    assert ran.output == "Rain sells umbrellas."


def test_society_agrees(tmp_path: Path) -> None:
    ran = run("society.yml", "a fence", tmp_path)

    assert ran.loops[0]["exit_reason"] == "condition_met"
    assert ran.outputs["debate"]["past_loops"][0]["proposals"] == (
        "weigh the costs | listen to the neighbours"
    )
    assert "listen to the neighbours" in ran.prompts["debate[2]/voices/logic"]


def test_code_loop_ends_below_its_threshold(tmp_path: Path) -> None:
    ran = run("code_loop.yml", "def f(): pass", tmp_path)

    assert (ran.status, ran.loops[0]["exit_reason"]) == ("succeeded", "max_iterations")
    assert ran.outputs["refactor"]["threshold_met"] is False
    assert ran.outputs["refactor"]["response"] == "mended code with tests"


def test_validator_loop(tmp_path: Path) -> None:
    ran = run("validator_loop.yml", "a house", tmp_path)

    assert [loop["score"] for loop in ran.loops] == [0.92]
    assert ran.outputs["improve"]["response"] == "plan B"


def test_remembering_remembers_between_runs(tmp_path: Path) -> None:
    first = run("remembering.yml", "what are umbrellas for?", tmp_path)
    second = run("remembering.yml", "umbrellas", tmp_path)

    assert first.output == "Umbrellas keep the rain off"
    assert "Earlier answers: NONE" in first.prompts["answer"]
    assert "Earlier answers: what are umbrellas for?: Umbrellas keep" in second.prompts["answer"]
    with_store = SqliteStore(tmp_path / "whorl.db")
    try:
        assert [row.key for row in with_store.memories()] == ["memory/questions"]
    finally:
        with_store.close()


def test_cold_run_ignores_what_was_kept_between_runs(tmp_path: Path) -> None:
    kept = (EXAMPLES / "quality_loop.yml").read_text()
    text = kept.replace("max_loops: 5", "max_loops: 5\n    persist_across_runs: true")
    told = [
        asyncio.run(_run(text, "rain", tmp_path, options)).prompts["polish[1]/improver"]
        for options in ({}, {}, {"cold": True})
    ]

    assert ["attempts before" in prompt for prompt in told] == [False, True, False]
