"""Rows of the store as the models that go out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.errors import safe
from whorl.interfaces.http.desk import Aim
from whorl.interfaces.http.schemas.runs import (
    Attempt,
    GateItem,
    IterationItem,
    JournalEvent,
    LoopItem,
    RunItem,
    UsageItem,
    Verdict,
)
from whorl.interfaces.http.views.values import abridged
from whorl.interfaces.wording import condition_words, fact_words, reason_words, verdict_words
from whorl.runtimes.summary import usage_document
from whorl.services.inspection import limit_now
from whorl.services.redaction import shown

if TYPE_CHECKING:
    from whorl.interfaces.http.desk import Desk
    from whorl.interpreter.machine import Machine
    from whorl.ir import Loop
    from whorl.language import Json
    from whorl.runtimes.journal import Entry, IterationRow, LoopRow, RunRow
    from whorl.services.inspection import StepAttempt
    from whorl.services.results import Gate

SCORES = 20


def run_fields(desk: Desk, row: RunRow) -> dict[str, Any]:
    """A run as lists show it."""
    newest = desk.store.newest_iterations(row.id, row.loop, SCORES) if row.loop else []
    aim = desk.aim(row.id, row.loop) if row.loop else Aim()
    return {
        "id": row.id,
        "name": safe(row.name),
        "status": row.status,
        "dialect": row.dialect,
        "file": safe(desk.shown_file(row.file)),
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "parent": row.parent or None,
        "last_seq": row.last_seq,
        "cost_usd": row.cost_usd,
        "budget_usd": row.budget_usd,
        "calls": row.calls,
        "tokens": row.tokens,
        "in_doubt": row.in_doubt,
        "loop": row.loop or None,
        "iteration": row.iteration,
        # Of loops side by side the row may show one whose beginning it passed over.
        "iterations_max": row.iterations_max,
        "score": row.score,
        "scores": [one.score for one in newest if one.status != "not_begun"],
        "target": aim.score,
        "exit_reason": row.exit_reason or None,
        "stopped_by": _stopped_by(row, newest, aim),
        "mark": row.mark or None,
        "error": safe(row.error) or None,
    }


def _stopped_by(row: RunRow, newest: list[IterationRow], aim: Aim) -> str | None:
    """What ended the loop; a person's word comes after all that its last iteration says."""
    if row.exit_reason == "accepted":
        return "person"
    if row.exit_reason != "condition_met" or not newest:
        return None
    by = newest[-1].note.get("by")
    if by:
        return str(by)
    return "person" if aim.ask == "each" else None


def run_item(desk: Desk, row: RunRow) -> RunItem:
    """A run as lists show it."""
    return RunItem(**run_fields(desk, row))


def journal_event(run: str, entry: Entry) -> JournalEvent:
    """An entry of the journal, with references in the place of large values."""
    event = entry.event
    return JournalEvent(
        run=run,
        seq=entry.seq,
        kind=event.kind,
        address=event.address,
        at=event.at,
        body=abridged(shown(event), entry.seq),
    )


def gate_item(gate: Gate) -> GateItem:
    """A decision that is waited for."""
    return GateItem(
        address=gate.address,
        reason=gate.reason,
        message=safe(gate.message),
        show=gate.show,
        waiting_since=gate.since,
    )


def loop_item(row: LoopRow, node: Loop | None, target: float | None, machine: Machine) -> LoopItem:
    """A loop, with its condition in words."""
    return LoopItem(
        address=row.address,
        path=row.path,
        state=row.state,
        iterations=row.iterations,
        iterations_max=limit_now(machine, row),
        exit_reason=row.exit_reason or None,
        stopped_by=row.stopped_by or None,
        why=reason_words(row.exit_reason, row.stopped_by) if row.exit_reason else "",
        score=row.score,
        target=target,
        until=condition_words(node.until) if node is not None else "",
        best_iteration=row.best_iteration,
        returned_iteration=row.returned_iteration,
        failed_iterations=list(row.failed_iterations),
        usage=usage_item(row.usage),
        limits=row.limits if isinstance(row.limits, dict) else {},
        started_seq=row.started_seq,
        finished_seq=row.finished_seq,
        mark=row.mark or None,  # type: ignore[arg-type]
    )


def iteration_item(row: IterationRow) -> IterationItem:
    """A finished iteration."""
    note: dict[str, Any] = row.note
    return IterationItem(
        number=row.number,
        status=row.status,
        score=row.score,
        met=bool(note.get("met")),
        best=bool(note.get("best")),
        seconds=float(note.get("seconds") or 0.0),
        usage=usage_item(note.get("usage")),
        words=verdict_words(note, 200),
        verdicts=verdicts(note),
        seq=row.seq,
        at=row.at,
    )


def verdicts(note: dict[str, Any]) -> list[Verdict]:
    """What each condition came to."""
    facts: Any = note.get("facts")
    told = [fact for fact in facts if isinstance(fact, dict)] if isinstance(facts, list) else []
    return [
        Verdict(
            by=str(fact.get("by", "")),
            met=fact.get("met") if isinstance(fact.get("met"), bool) else None,
            words=safe(fact_words(fact)),
            facts={name: fact[name] for name in fact if name not in ("by", "met")},
        )
        for fact in told
    ]


def attempt_item(attempt: StepAttempt) -> Attempt:
    """One time that a step was carried out."""
    began, ended = attempt.started_at, attempt.ended_at
    return Attempt(
        number=attempt.number,
        address=attempt.address,
        status=attempt.status,
        started_at=began,
        ended_at=ended,
        seconds=None if began is None or ended is None else max(0.0, round(ended - began, 6)),
        model=attempt.model,
        inputs=attempt.inputs,
        output=attempt.output,
        usage=usage_item(attempt.usage),
        error=attempt.error,
        in_doubt=attempt.in_doubt,
    )


def usage_item(usage: Json) -> UsageItem:
    """What was used."""
    return UsageItem(**usage_document(usage if isinstance(usage, dict) else {}))  # type: ignore[arg-type]
