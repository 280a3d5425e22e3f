"""Why a loop ended, and why it returned the iteration that it did, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interfaces.status_words import reason_words
from whorl.interfaces.verdicts import score_cell
from whorl.services.inspecting import results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whorl.runtimes.journal.journal import IterationRow, LoopRow, RunId
    from whorl.runtimes.sqlite import SqliteStore

_TAKEN = {"first": "the first one", "last": "the last one that finished"}


def end_words(row: LoopRow, *, is_stopped: bool) -> str:
    """Why a loop ended, as a clause; one that `is_stopped` was ended by a person who chose none."""
    if is_stopped and row.exit_reason == "accepted":
        return "a person stopped it"
    return reason_words(row.exit_reason, row.stopped_by)


def why_document(store: SqliteStore, run: RunId, rows: Sequence[LoopRow]) -> dict[str, Any]:
    """Why loops ended, with the reasons in words."""
    document: dict[str, Any] = results.why_document(store, run, rows)
    workflow, stopped = results.workflow_of(store, run), results.stopped_loops(store, run)
    for loop, row in zip(document["loops"], rows, strict=True):
        node, is_stopped = results.loop_node(workflow, row.path), row.address in stopped
        iterations = results.begun_iterations(store, run, row)
        takes = node.returns if node else ""
        loop["why"] = end_words(row, is_stopped=is_stopped) if row.exit_reason else None
        loop["returned_iteration"] = row.returned_iteration
        loop["returned_because"] = None
        if row.returned_iteration is not None:
            why = returned_words(takes, row, iterations, is_stopped=is_stopped)
            loop["returned_because"] = why or None
    return document


def returned_words(
    takes: str, row: LoopRow, iterations: Sequence[IterationRow], *, is_stopped: bool
) -> str:
    """Why a loop returned the iteration that it did, where that can be told."""
    if row.exit_reason == "accepted" and not is_stopped:
        return "which a person accepted"
    own = next((one for one in iterations if one.number == row.returned_iteration), None)
    if takes != "best" or own is None or row.best_iteration != own.number:
        return _TAKEN.get(takes, "")
    score = score_cell(own.note, own.score)
    others = [one for one in iterations if one.number != own.number]
    if not own.note.get("approved"):
        return f"the best one: no score is better than {score}"
    if any(one.note.get("approved") for one in others):
        return f"the best one that was approved: none of those has a better score than {score}"
    scores = {one.number: one.score for one in others if one.score is not None}
    higher = max(scores, key=lambda number: scores[number], default=0)
    words = "the only one that was approved"
    if own.score is None or scores.get(higher, own.score) <= own.score:
        return words
    return f"{words}; approved counts more than the better score of iteration {higher}"
