"""Histories of runs as a server keeps them, in files; `tools/record_histories.py` writes them."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from temporalio.client import WorkflowHistory

from whorl.wings.cluster.connection import execution_of
from whorl.wings.cluster.decoder import Decoder
from whorl.wings.cluster.messages import event_to_json
from whorl.wings.cluster.values import converter

if TYPE_CHECKING:
    from whorl.runtimes.journal.journal import RunId
    from whorl.wings.cluster.messages import Beginning
    from whorl.wings.cluster.runtime import TemporalRuntime

CONVERTER = converter()
FOLDER = Path(__file__).parents[2] / "histories"


@dataclass(slots=True)
class Recorded:
    """A run: the histories of its executions, one after the other, and the entries they give."""

    case: str
    run: str
    executions: list[dict[str, Any]]
    entries: list[dict[str, Any]]

    def histories(self) -> list[WorkflowHistory]:
        return [WorkflowHistory.from_json(self.run, each) for each in self.executions]

    def write(self, file: Path) -> None:
        fields = ("case", "run", "executions", "entries")
        text = json.dumps({name: getattr(self, name) for name in fields}, ensure_ascii=False)
        file.write_bytes(gzip.compress(text.encode(), mtime=0))


def read(file: Path) -> Recorded:
    return Recorded(**json.loads(gzip.decompress(file.read_bytes())))


async def record(case: str, run: RunId, runtime: TemporalRuntime) -> Recorded:
    """Fetches all that the server has of a run."""
    recorded, newest = Recorded(case, run, [], []), await execution_of(runtime.client, run)
    execution = newest.execution if newest else ""
    while execution:
        history = await runtime.client.get_workflow_handle(run, run_id=execution).fetch_history()
        recorded.executions.insert(0, history.to_json_dict())
        attributes = history.events[0].workflow_execution_started_event_attributes
        before = (await beginning_of(history)).before
        execution = attributes.continued_execution_run_id or before
    recorded.entries = await entries_of(recorded)
    return recorded


async def beginning_of(history: WorkflowHistory) -> Beginning:
    decoder = Decoder(CONVERTER, "", "")
    await decoder.take(history.events[0])
    return decoder.beginning


async def entries_of(recorded: Recorded) -> list[dict[str, Any]]:
    """The journal that follows from histories."""
    entries = []
    for history in recorded.histories():
        decoder = Decoder(CONVERTER, "", "")
        for event in history.events:
            await decoder.take(event)
        entries += [event_to_json(event) for event in decoder.pilot.take_entries()]
    return entries
