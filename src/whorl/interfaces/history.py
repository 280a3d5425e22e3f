"""What iterations of a run gave, found by replaying its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter.address import attempted, numbered, split_iteration
from whorl.interpreter.machine import Machine
from whorl.interpreter.plan import Plan
from whorl.ir import Loop, from_json
from whorl.ir.walk import index_nodes
from whorl.runtimes.folding import Folded, look_into, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.ir import Workflow
    from whorl.language import Json
    from whorl.runtimes.journal import RunId
    from whorl.runtimes.sqlite import SqliteStore


def workflow_of(store: SqliteStore, run: RunId) -> Workflow:
    """The workflow that a run pins."""
    return from_json(store.workflow(run))


def loop_node(workflow: Workflow, path: str) -> Loop | None:
    """The loop at a path, in the workflow itself or in one that it calls."""
    for known, node in index_nodes(workflow).items():
        if known.rpartition(":")[2] == path and isinstance(node, Loop):
            return node
    return None


def iteration_results(
    store: SqliteStore, run: RunId, loop: str, numbers: Sequence[int]
) -> dict[int, dict[str, Json]]:
    """The results and scores of finished iterations of a loop, by number."""
    path = next((row.path for row in store.loops(run) if row.address == loop), "")
    node = loop_node(workflow_of(store, run), path)
    tries = node.on_iteration_failure.times + 1 if node is not None else 1
    wanted = frozenset(
        attempted(numbered(loop, number), attempt)
        for number in numbers
        for attempt in range(1, tries + 1)
    )
    found = look_into(store, run, wanted)
    return {split_iteration(address)[1] or 0: result for address, result in found.items()}


def carried_into(store: SqliteStore, run: RunId, loop: str, number: int) -> dict[str, Json]:
    """The carried values that an iteration was given, as they were when it began."""
    folded = Folded(Machine(Plan(workflow_of(store, run))), 0)
    address = numbered(loop, number)
    for entry in store.read(run):
        take(folded, entry)
        began = any(note.address == address for note in folded.unsaid)
        folded.unsaid.clear()
        if began:
            break
    for frame in folded.machine.frames.values():
        if frame["kind"] == "loop" and frame["address"] == loop:
            return dict(frame["carry"])
    return {}
