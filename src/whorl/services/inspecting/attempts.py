"""Attempts at a step: when each was made, with what, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whorl.interpreter.events import numbered, split_iteration
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.sealed_secrets import shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whorl.interpreter.events import Event
    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry

_ATTEMPT = regex(r"#([0-9]+)$")
_ENDS = {"task.finished": "succeeded", "task.failed": "failed", "node.skipped": "skipped"}


@dataclass(slots=True)
class StepAttempt:
    """One time that a step was carried out."""

    number: int
    address: str
    kind: str = ""
    status: str = "running"
    started_at: float | None = None
    ended_at: float | None = None
    model: str | None = None
    inputs: Json = None
    output: Json = None
    usage: Json = None
    error: Json = None
    in_doubt: bool = False


def attempts_of(entries: Iterable[Entry], address: str) -> list[StepAttempt]:
    attempts: dict[int, StepAttempt] = {}
    for entry in entries:
        at = entry.event.address
        match = _ATTEMPT.search(at)
        base, number = (at[: match.start()], int(match[1])) if match else (at, 1)
        if base == address:
            _take(attempts.setdefault(number, StepAttempt(number, at)), entry.event)
    return [attempts[number] for number in sorted(attempts)]


def previous_address(address: str) -> str:
    """The same step in the iteration before, of the innermost loop around it; empty: none."""
    for at in range(len(address), 0, -1):
        loop, number = split_iteration(address[:at])
        if number is not None and address[at:][:1] in ("/", "") and address[:at].endswith("]"):
            return numbered(loop, number - 1) + address[at:] if number > 1 else ""
    return ""


def _take(attempt: StepAttempt, event: Event) -> None:
    body = shown(event)
    inputs: Any = body.get("inputs")
    match event.kind:
        case "task.started":
            attempt.started_at, attempt.inputs = event.at, inputs
            attempt.kind, attempt.status = str(body.get("kind", "")), "running"
            model = inputs.get("model") if isinstance(inputs, dict) else None
            attempt.model = model if isinstance(model, str) else None
        case "task.finished" | "task.failed" | "node.skipped":
            attempt.ended_at, attempt.status = event.at, _ENDS[event.kind]
            attempt.output, attempt.error = body.get("value"), body.get("error")
            attempt.usage = body.get("usage")
            attempt.model = str(body["model"]) if body.get("model") else attempt.model
        case "task.in_doubt":
            attempt.in_doubt = True
        case "gate.waiting":
            attempt.kind, attempt.status = "gate", "waiting"
            attempt.started_at, attempt.inputs = event.at, body
        case "gate.decided":
            attempt.status, attempt.ended_at, attempt.output = "succeeded", event.at, body
        case "node.finished":
            attempt.ended_at, attempt.status = event.at, str(body.get("status") or "succeeded")
            attempt.output, attempt.error = body.get("branch"), body.get("error")
            attempt.usage = body.get("usage") or attempt.usage
            attempt.in_doubt = attempt.in_doubt or bool(body.get("usage"))
