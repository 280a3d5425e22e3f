"""What a run came to, as one document: status, outputs, loops, usage, warnings, error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from whorl.interpreter.events import split_iteration
from whorl.runtimes.journal import LoopRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal import Entry, RunId

_USAGE = ("calls", "input_tokens", "output_tokens", "cost_usd", "in_doubt")
_WARNINGS_MAX = 1_000


class Readable(Protocol):
    """The reading side of a journal that a summary needs."""

    def read(self, run: RunId, after: int = 0) -> Iterator[Entry]:
        """The entries of a run."""

    def loops(self, run: RunId) -> list[LoopRow]:
        """The loops of a run."""


def loop_rows(entries: Iterable[Entry]) -> list[LoopRow]:
    """The loops that a journal tells of, in the order in which they began."""
    rows: dict[str, LoopRow] = {}
    for entry in entries:
        event = entry.event
        if event.kind == "loop.started":
            rows[event.address] = LoopRow(
                address=event.address,
                path=str(event.body.get("path")),
                state="running",
                iterations=0,
                limits=event.body.get("limits"),
                started_seq=entry.seq,
            )
        elif event.kind == "loop.continued" and event.address in rows:
            rows[event.address] = replace(
                rows[event.address],
                state="running",
                exit_reason="",
                stopped_by="",
                limits=event.body.get("limits"),
            )
        elif event.kind == "loop.finished" and event.address in rows:
            rows[event.address] = _finished(rows[event.address], entry)
        elif event.kind in ("iteration.started", "iteration.finished"):
            _advance(rows, event)
    return list(rows.values())


def _advance(rows: dict[str, LoopRow], event: Event) -> None:
    """A loop that runs has the numbers of its newest iteration."""
    loop, number = split_iteration(event.address)
    row = rows.get(loop)
    if row is None or number is None:
        return
    if event.body.get("status") == "not_begun":
        number -= 1
    rows[loop] = replace(
        row, state="running", iterations=number, exit_reason="", stopped_by="", mark=""
    )


def _finished(row: LoopRow, entry: Entry) -> LoopRow:
    body: dict[str, Any] = entry.event.body
    return LoopRow(
        address=row.address,
        path=row.path,
        state="finished",
        iterations=body["iterations"],
        exit_reason=body["exit_reason"] or "",
        stopped_by=body["stopped_by"] or "",
        score=body["score"],
        best_iteration=body["best_iteration"],
        returned_iteration=body["returned_iteration"],
        failed_iterations=tuple(body["failed_iterations"]),
        usage=body["usage"],
        limits=row.limits,
        started_seq=row.started_seq,
        finished_seq=entry.seq,
        mark=str(body.get("mark") or ""),
    )


def document(
    run: str,
    status: str,
    final: Event | None,
    journal: Readable,
    *,
    warnings: list[Json] | None = None,
) -> dict[str, Json]:
    """The result document of a run; `final` is its last `run.finished`, if it has one.

    Unless the caller knows the warnings, they are looked for in the journal.
    """
    body: dict[str, Any] = final.body if final is not None else {}
    usage = body.get("usage") or {}
    return {
        "run": run,
        "status": status,
        "output": body.get("output"),
        "outputs": body.get("outputs") or {},
        "loops": [loop_document(row) for row in journal.loops(run)],  # type: ignore[arg-type]
        "usage": usage_document(usage),
        "warnings": warnings_of(run, journal) if warnings is None else warnings,
        "error": body.get("error"),
    }


def warnings_of(run: str, journal: Readable) -> list[Json]:
    """Everything that a run has warned of, oldest first."""
    found: list[Json] = []
    for entry in journal.read(run):  # type: ignore[arg-type]
        if entry.event.kind == "warning" and len(found) < _WARNINGS_MAX:
            found.append(entry.event.body | {"path": entry.event.address})
    return found


def loop_document(row: LoopRow) -> dict[str, Json]:
    """One loop of the result document."""
    usage = row.usage if isinstance(row.usage, dict) else {}
    found: dict[str, Json] = {
        "path": row.address,
        "iterations": row.iterations,
        "exit_reason": row.exit_reason or None,
        "stopped_by": row.stopped_by or None,
        "score": row.score,
        "best_iteration": row.best_iteration,
        "returned_iteration": row.returned_iteration,
        "failed_iterations": list(row.failed_iterations),
        "usage": usage_document(usage),
    }
    if row.mark:
        found["mark"] = row.mark
    return found


def usage_document(usage: dict[str, Any]) -> dict[str, Json]:
    """Usage with all its fields, and how many calls had no known price."""
    told: dict[str, Json] = {name: usage.get(name, 0) for name in _USAGE}
    told["cost_usd"] = round(float(usage.get("cost_usd", 0.0)), 9)
    if usage.get("unpriced"):
        told["unpriced_calls"] = usage["unpriced"]
    return told
