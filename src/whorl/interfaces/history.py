"""What iterations of a run gave, found by replaying its journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.interpreter.events import numbered, split_iteration
from whorl.ir import Loop, from_json
from whorl.ir.walk import index_nodes
from whorl.runtimes.folding import look_into, moment

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
    found = look_into(store, run, frozenset(numbered(loop, number) for number in numbers))
    return {split_iteration(address)[1] or 0: result for address, result in found.items()}


def carried_into(store: SqliteStore, run: RunId, loop: str, number: int) -> dict[str, Json]:
    """The carried values that an iteration was given, as they were when it began."""
    machine = moment(store, run, numbered(loop, number))
    if machine is None:
        return {}
    for frame in machine.frames.values():
        if frame["kind"] == "loop" and frame["address"] == loop:
            return dict(frame["carry"])
    return {}
