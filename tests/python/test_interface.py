"""The Python interface, on a real store with real functions."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import whorl

if TYPE_CHECKING:
    from pathlib import Path

COUNT = {
    "count": {
        "repeat": {
            "until": "iteration >= 3",
            "carry": {"sum": "{{ add }}"},
            "steps": {"add": {"use": "add", "with": {"a": "{{ sum | default(0) }}", "b": 2}}},
        }
    }
}


@pytest.fixture
def tasks() -> whorl.Tasks:
    registered = whorl.Tasks()

    @registered.task()
    def add(a: int, b: int) -> int:
        return a + b

    return registered


@pytest.fixture
def counting() -> whorl.Workflow:
    return whorl.build("count", COUNT, outputs={"sum": "{{ count.add }}"})


async def test_a_loop_continues_and_an_earlier_iteration_is_accepted(
    place: Path, counting: whorl.Workflow, tasks: whorl.Tasks
) -> None:
    async with whorl.Session(tasks=tasks) as session:
        run = await session.start(counting, max_iterations=2)
        seen = [(await run.result()).output]
        last = [event.seq async for event in run.events()][-1]
        await run.continue_(1)
        kinds = [event.kind async for event in run.events(after=last)]
        assert (kinds[0], kinds[-1]) == ("run.continued", "run.finished")
        seen.append((await run.result()).output)
        await run.accept(1)
        seen.append((await run.result()).output)
        forked = await run.fork("count[2]", {"sum": 40})
        seen.append((await forked.result()).output)
        assert seen == [4, 6, 2, 42]


async def test_every_step_of_a_run_has_a_record(place: Path) -> None:
    step = {"repeat": {"until": "iteration >= 2", "steps": {"say": {"value": "{{ iteration }}"}}}}
    workflow = whorl.build("count", {"count": step, "no": {"if": "false", "value": 1}})

    async with whorl.Session() as session:
        run = await session.start(workflow)
        await run.result()
        with pytest.raises(whorl.UsageError, match="nothing happened at 'nowhere'"):
            run.records("nowhere")
        outer, inner, some = (
            run.records(),
            run.records("count[2]"),
            run.records(depth=None, limit=3),
        )

    assert [(r.address, r.status, r.reason) for r in outer] == [
        ("count", "succeeded", ""),
        ("no", "skipped", "condition"),
    ]
    assert [(r.address, r.inputs, r.output) for r in inner] == [
        ("count[2]", None, {"say": 2}),
        ("count[2]/say", {"iteration": 2}, 2),
    ]
    assert [record.address for record in some] == ["count", "count[1]", "count[1]/say"]


def test_a_text_is_edited_by_operations() -> None:
    text = "whorl: 1\nsteps:\n  a: {ask: 'x'}  # first\n  b: {ask: \"{{ a }}\"}\n"

    edited = whorl.edit(text, "a.yaml", [{"operation": "rename", "at": "a", "name": "c"}])

    assert edited.text == text.replace("  a:", "  c:").replace("{{ a }}", "{{ c }}")
    with pytest.raises(whorl.EditRefused, match="there is no step"):
        whorl.edit(text, "a.yaml", [{"operation": "remove", "at": "d"}])


def test_the_public_names_are_these() -> None:
    names = """
        ApprovalGiven ApprovalRequested Call Cause CodeChanged CommandResult Decision Diagnostic
        EditRefused Event Experiment HttpReply InvalidWorkflow Iteration IterationFinished
        IterationStarted Json LimitReached Limits Loop LoopFinished LoopResult ProviderError
        Record RequestFailed Result Retry Run RunFailed RunFinished RunStarted RunWaiting
        Secret Session Span Step StepFailed StepFinished StepStarted StoreError StreamEvent Tasks
        Token Turn Usage UsageError Warned WhorlError Workflow WorkflowFunction __version__ agent
        approve ask build command current_call each edit http judge load loop now random resume
        run run_sync sleep step tool uuid value what_if workflow
    """

    assert whorl.__all__ == names.split()
    assert all(getattr(whorl, name) for name in whorl.__all__)


def test_importing_whorl_imports_nothing_heavy() -> None:
    heavy = {"asyncio", "apsw", "jinja2", "httpx2"}
    code = f"import sys, whorl; print(sorted(set(sys.modules) & {heavy}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
