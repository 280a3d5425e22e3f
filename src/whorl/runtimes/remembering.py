"""What the loops of a workflow remember of earlier runs, and what they leave to later ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.ir import Loop
from whorl.ir.walk import index_nodes
from whorl.runtimes.journal import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from whorl.interpreter.events import Event
    from whorl.ir import Workflow
    from whorl.language import Json


def remembered(workflow: Workflow, records: Callable[[str], list[Json]]) -> dict[str, Json]:
    """The records by key that a new run begins with; `records` gives those of one key."""
    loops = [node for node in index_nodes(workflow).values() if isinstance(node, Loop)]
    memories = [loop.memory for loop in loops if loop.memory is not None]
    found = {memory.key: records(memory.key) for memory in memories if memory.across_runs}
    return {key: list(kept) for key, kept in found.items() if kept}


def records_in(events: Iterable[Event]) -> list[Record]:
    """The records that iterations leave to later runs."""
    found: list[Record] = []
    for event in events:
        kept = event.body.get("remember") if event.kind == "iteration.finished" else None
        if isinstance(kept, dict):
            found.append(Record(str(kept["key"]), kept["record"], int(str(kept["keep"]))))
    return found
