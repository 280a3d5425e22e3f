"""Histories that earlier versions wrote are replayed: by Temporal's own check, and by readers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from cluster.histories import CONVERTER, FOLDER, beginning_of, entries_of, read
from journals.recorded import wordless
from whorl.interpreter import BEHAVIOUR
from whorl.wings.cluster.worker import DRIVEN
from whorl.wings.cluster.workflow import Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from temporalio.client import WorkflowHistory

    from whorl.wings.cluster.messages import Beginning

FILES = sorted(FOLDER.glob("*/*.json.gz"))


def _failures(histories: list[WorkflowHistory]) -> dict[str, Exception]:
    """What Temporal has against the commands that this version gives, by execution."""
    replayer = Replayer(
        workflows=[Run], workflow_runner=UnsandboxedWorkflowRunner(), data_converter=CONVERTER
    )

    async def given() -> AsyncIterator[WorkflowHistory]:
        for history in histories:
            yield history

    async def replay() -> dict[str, Exception]:
        results = await replayer.replay_workflows(given(), raise_on_replay_failure=False)
        return dict(results.replay_failures)

    return asyncio.run(replay())


def test_every_history_is_replayed_with_the_same_commands() -> None:
    """Among them are runs that went on, were reopened and forked."""
    recorded = [read(file) for file in FILES]
    histories = [history for each in recorded for history in each.histories()]
    kinds = {entry["kind"] for each in recorded for entry in each.entries}

    async def begun() -> list[Beginning]:
        return [await beginning_of(history) for history in histories]

    beginnings = asyncio.run(begun())

    assert _failures(histories) == {}
    assert {file.parent.name for file in FILES} >= {str(BEHAVIOUR)}
    assert {int(file.parent.name) for file in FILES} <= set(DRIVEN)
    assert {"run.continued", "run.resumed", "gate.decided", "timer.fired"} <= kinds
    assert any(beginning.past for beginning in beginnings)
    assert any(beginning.before for beginning in beginnings)
    assert max(len(each.executions) for each in recorded) > 2


@pytest.mark.sample(3)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name.partition(".")[0])
def test_a_history_gives_the_entries_that_it_gave(file: Path) -> None:
    recorded = read(file)

    assert wordless(asyncio.run(entries_of(recorded))) == wordless(recorded.entries)


def test_another_address_is_found() -> None:
    [file, *_] = [file for file in FILES if file.name == "carry.json.gz"]
    [history, *_] = read(file).histories()
    scheduled = [
        e for e in history.events if e.activity_task_scheduled_event_attributes.activity_id
    ]
    scheduled[0].activity_task_scheduled_event_attributes.activity_id = "elsewhere"

    assert len(_failures([history])) == 1
