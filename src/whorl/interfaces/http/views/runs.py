"""Runs as they go out: rows of the store as models."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Literal, get_args

from whorl.interfaces.http.schemas.records import Attempt, RecordItem, RecordList
from whorl.interfaces.http.views.previews import shortened

from whorl.errors import safe
from whorl.interfaces import status_words
from whorl.interfaces.advice import advised, with_help
from whorl.interfaces.http.schemas import runs as schemas
from whorl.interfaces.status_words import end_words, fact_words, verdict_words
from whorl.interpreter.events import Event
from whorl.interpreter.requests import objection
from whorl.services.files.versions import changed_file
from whorl.services.inspecting.results import (
    limit_now,
    loop_frame,
    open_gates,
    result_of,
    row_and_machine,
    usage_document,
)
from whorl.services.records import document

if TYPE_CHECKING:
    from whorl.interfaces.http.state import ServerState
    from whorl.interpreter.machine import Machine
    from whorl.ir import Loop, Workflow
    from whorl.language import Json
    from whorl.runtimes.journal.journal import IterationRow, LoopRow, RunId, RunRow
    from whorl.services.inspecting.iterations import StepAttempt
    from whorl.services.inspecting.results import Gate
    from whorl.services.records import Record, Records

SCORES = 20
# What is an empty text where it is not known.
_NULLABLE = frozenset({"parent", "loop", "exit_reason", "stopped_by", "mark", "origin"})
ENDED = frozenset({"succeeded", "failed", "cancelled"})
_KINDS = {"pause": "run.paused", "resume": "run.resumed", "cancel": "run.cancelled"}
_OF_LOOPS: tuple[tuple[schemas.Action, str, dict[str, Json]], ...] = (
    ("continue", "run.continued", {}),
    ("accept", "run.accepted", {"iteration": 1}),
    ("stop", "run.accepted", {}),
)
# Whether any loop can go on is asked of so many; a list may hold thousands.
_LOOPS_LOOKED_AT = 100


def run_fields(state: ServerState, row: RunRow) -> dict[str, Any]:
    newest = state.store.newest_iterations(row.id, row.loop, SCORES) if row.loop else []
    values = _fields(row, "key", "config")
    if row.exit_reason == "accepted":
        values["stopped_by"] = "person"
    return values | {
        "cost_usd": row.known_usd,
        "name": safe(row.name),
        "file": safe(state.shown_file(row.file)),
        "scores": [iteration.score for iteration in newest if iteration.status != "not_begun"],
        "given": state.given(row.id),
        "target": state.target(row.id, row.loop) if row.loop else None,
        "error": safe(row.error) or None,
        "held": safe(row.held) or None,
        "project": safe(row.belongs_to) or None,
        "labels": {safe(name): safe(value) for name, value in row.labels.items()},
    }


def run_item(state: ServerState, row: RunRow) -> schemas.RunItem:
    return schemas.RunItem(**run_fields(state, row))


def loop_item(
    row: LoopRow, node: Loop | None, machine: Machine, *, is_stopped: bool
) -> schemas.LoopItem:
    """A loop; one that `is_stopped` was ended by a person who chose no iteration."""
    why = end_words(row, is_stopped=is_stopped) if row.exit_reason else ""
    if row.exit_reason == "accepted" and row.returned_iteration is not None:
        why += f"; iteration {row.returned_iteration} is returned"
    now = loop_frame(machine, row.address)
    values = _fields(row) | {
        "iterations_max": limit_now(machine, row),
        "why": why,
        "target": status_words.target_of(node.until) if node is not None else None,
        "until": status_words.condition_words(node.until) if node is not None else "",
        "usage": usage_item(row.usage if row.exit_reason else now.get("usage")),
        "limits": row.limits if isinstance(row.limits, dict) else {},
    }
    return schemas.LoopItem(**values)


def iteration_item(row: IterationRow) -> schemas.IterationItem:
    note: dict[str, Any] = row.note
    return schemas.IterationItem(
        **_fields(row, "loop", "note"),
        met=bool(note.get("met")),
        best=bool(note.get("best")),
        seconds=float(note.get("seconds") or 0.0),
        usage=usage_item(note.get("usage")),
        words=verdict_words(note, 200),
        verdicts=verdicts(note),
    )


def verdicts(note: dict[str, Any]) -> list[schemas.Verdict]:
    facts = note.get("facts")
    return [
        schemas.Verdict(
            by=str(fact.get("by", "")),
            met=fact.get("met") if isinstance(fact.get("met"), bool) else None,
            words=safe(fact_words(fact)),
            reason=safe(str(fact.get("reason") or "")),
            evidence=safe(str(fact.get("evidence") or "")),
            facts={name: fact[name] for name in fact if name not in ("by", "met")},
        )
        for fact in (facts if isinstance(facts, list) else [])
        if isinstance(fact, dict)
    ]


def attempt_item(attempt: StepAttempt) -> Attempt:
    values = _fields(attempt, "kind") | {"usage": usage_item(attempt.usage)}
    values["seconds"] = None
    if attempt.started_at is not None and attempt.ended_at is not None:
        values["seconds"] = max(0.0, round(attempt.ended_at - attempt.started_at, 6))
    return Attempt(**values)


def record_item(record: Record, occurrence: int = 0) -> RecordItem:
    """A record; `occurrence` says which one it is where several have its address."""
    values: dict[str, Any] = dict.fromkeys(("reason", "branch", "number", "repetitions"))
    values |= {"because": {}, "attempts": []} | document(record)
    for name in ("inputs", "output"):
        values[name] = shortened(values[name], 0, (record.address, occurrence, name))
    values["usage"] = usage_item(values["usage"])
    is_skipped = record.status == "skipped"
    values["why"] = (
        safe(status_words.skip_words(record.reason, record.because)) if is_skipped else ""
    )
    return RecordItem(**values)


def record_items(found: Records) -> RecordList:
    seen: Counter[str] = Counter()
    items = []
    for record in found.records:
        items.append(record_item(record, seen[record.address]))
        seen[record.address] += 1
    return RecordList(records=items, more=found.more)


def _fields(row: Any, *without: str) -> dict[str, Any]:
    values = {
        k: getattr(row, k) for k in (column.name for column in fields(row)) if k not in without
    }
    return {k: value or None if k in _NULLABLE else value for k, value in values.items()}


def _gate(gate: Gate) -> schemas.GateItem:
    shown = {"message": safe(gate.message), "waiting_since": gate.since}
    return schemas.GateItem(**_fields(gate, "since") | shown)


def usage_item(usage: Json) -> schemas.UsageItem:
    return schemas.UsageItem(**usage_document(usage))  # type: ignore[arg-type]


def run_detail(state: ServerState, run: RunId) -> schemas.RunDetail:
    store = state.store
    row, machine = row_machine = row_and_machine(store, run)
    gates = open_gates(store, run, machine)
    result = with_help(result_of(store, run, row_machine))
    first = next(iter(store.read(run, limit=1))).event
    given: Any = first.body.get("input")
    driver: Literal["here", "elsewhere", "nobody"] = "nobody"
    if state.driving.is_driven(row.id):
        driver = "here"
    elif row.status == "running" and row.position is None:
        driver = "elsewhere"
    return schemas.RunDetail(
        **run_fields(state, row) | {"status": result["status"]},
        result=schemas.Result(**result),
        gates=[_gate(gate) for gate in gates],
        can=_possible(machine, row, gates),
        driver=driver,
        forks=list(store.forks(run)),
        inputs=given if isinstance(given, dict) else {},
        defaults=_defaults(machine.plan.workflow, given),
        limits=dict(machine.state.get("limits") or {}),
        started_at=first.at,
        ended_at=row.updated_at if row.status in ENDED else None,
        warnings=[safe(advised(warning)) for warning in result["warnings"]],
        changed_file=safe(state.shown_file(changed_file(store, run))) or None,
    )


def _defaults(workflow: Workflow, given: Json) -> dict[str, Json]:
    names = given if isinstance(given, dict) else {}
    return {
        port.name: port.default
        for port in workflow.inputs
        if not port.required and not port.secret and not {port.name, *port.aliases} & set(names)
    }


def _possible(machine: Machine, row: RunRow, gates: list[Gate]) -> list[schemas.Action]:
    kinds = ((action, Event(kind, "", machine.now)) for action, kind in _KINDS.items())
    actions = {action for action, event in kinds if objection(machine, event) is None}
    if row.status in ("running", "waiting"):
        actions.discard("resume")
    if row.status in ("paused", "interrupted"):
        actions.discard("pause")
    loops = [frame["address"] for frame in machine.frames.values() if frame["kind"] == "loop"]
    del loops[_LOOPS_LOOKED_AT:]
    for action, kind, body in _OF_LOOPS:
        events = (Event(kind, "", machine.now, {"at": loop, **body}) for loop in loops)
        if row.status != "cancelled" and any(objection(machine, event) is None for event in events):
            actions.add(action)
    if row.loop:
        actions.add("fork")
    if gates:
        actions |= {"approve", "reject"}
    return [action for action in get_args(schemas.Action) if action in actions]
