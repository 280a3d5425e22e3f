"""The journal in a dialect's own words: event names and fields that its reader left as data.

docs/internals/decisions/0006-words-of-a-dialect.md has their form.

`checked` is what the condition of a loop was: for a loop that checks first, when it let the
iteration begin; for any other one, after it. Where that is known only when the next iteration
begins or the loop ends, an event that wants it waits for that.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from whorl.interfaces.progress import name_of
from whorl.interpreter.events import Event, split_iteration
from whorl.ir import Loop
from whorl.ir.walk import index_nodes
from whorl.runtimes.journal.journal import Entry
from whorl.runtimes.journal.sealed_secrets import shown

if TYPE_CHECKING:
    from whorl.ir import Workflow
    from whorl.language import Json

PREVIEW_MAX = 200

_MOMENTS = {
    "run.started": "run_started",
    "loop.started": "loop_started",
    "iteration.started": "iteration_started",
    "iteration.finished": "iteration_finished",
    "loop.finished": "loop_finished",
    "task.started": "node_started",
    "task.finished": "node_finished",
    "task.failed": "node_failed",
    "node.skipped": "node_skipped",
    "gate.waiting": "waiting",
}
_COPIED = ("iterations", "stopped_by", "score", "status", "message", "outputs", "usage", "met")


class Translator:
    """Turns the entries of one run into a dialect's events."""

    def __init__(self, run: str, workflow: Workflow) -> None:
        self._run = run
        self._workflow = workflow.name
        words: Any = workflow.words if isinstance(workflow.words, dict) else {}
        # The event names of the dialect, if it has its own.
        self.events: dict[str, Any] = words.get("events") or {}
        self._reasons: dict[str, str] = words.get("exit_reasons") or {}
        self._loop_words: dict[str, dict[str, Json]] = words.get("loops") or {}
        # When each loop checks its condition, by its path.
        self._checks = {
            path.rpartition(":")[2]: node.check
            for path, node in index_nodes(workflow).items()
            if isinstance(node, Loop)
        }
        self._started: dict[str, float] = {}
        self._limits: dict[str, Json] = {}
        self._paths: dict[str, str] = {}
        self._held: dict[str, dict[str, Json]] = {}

    def take(self, entry: Entry) -> list[dict[str, Json]]:
        event = entry.event
        released = self._release(event)
        facts = self._facts(event) | {"seq": entry.seq}
        if event.kind in ("loop.started", "iteration.started", "task.started"):
            self._started[event.address] = event.at
        if event.kind == "iteration.finished" and self._must_wait(event):
            self._held[split_iteration(event.address)[0]] = facts
            return released
        moment = _MOMENTS.get(event.kind, "")
        if event.kind == "run.finished":
            moment = "run_succeeded" if event.body["status"] == "succeeded" else "run_failed"
        return released + self._events_at(moment, facts)

    def started(self, at: float) -> list[dict[str, Json]]:
        """Returns the dialect's events for the beginning of the run, before it is watched."""
        return self.take(Entry(1, Event("run.started", "", at)))

    def streamed(self, address: str, text: str) -> list[dict[str, Json]]:
        facts: dict[str, Json] = {"node": name_of(address), "address": address, "text": text}
        return self._events_at("streaming", facts | {"run": self._run, "workflow": self._workflow})

    def _must_wait(self, event: Event) -> bool:
        """Returns whether an event needs a check whose result comes only after the iteration."""
        words = self.events.get("iteration_finished") or {}
        wants = isinstance(words, dict) and "checked" in words.get("fields", {}).values()
        path = self._paths.get(split_iteration(event.address)[0], "")
        return wants and self._checks.get(path) == "between"

    def _release(self, event: Event) -> list[dict[str, Json]]:
        """Returns the events that waited for the check whose result this event shows."""
        waiting = list(self._held) if event.kind == "run.finished" else []
        if event.kind in ("iteration.started", "loop.finished"):
            waiting = [loop for loop in self._held if loop == split_iteration(event.address)[0]]
        met = event.body.get("exit_reason") == "condition_met"
        checked: dict[str, Json] = {"checked": None if event.kind == "run.finished" else met}
        facts = [self._held.pop(loop) | checked for loop in waiting]
        return [made for each in facts for made in self._events_at("iteration_finished", each)]

    def _events_at(self, moment: str, facts: dict[str, Json]) -> list[dict[str, Json]]:
        words = self.events.get(moment) or []
        return [
            {"event": entry["event"]} | _filled(entry.get("fields", {}), facts)
            for entry in (words if isinstance(words, list) else [words])
        ]

    def _facts(self, event: Event) -> dict[str, Json]:
        body = shown(event)
        loop, number = split_iteration(event.address)
        if event.kind == "loop.started":
            limits: Any = body.get("limits") or {}
            self._limits[event.address] = limits.get("iterations")
            self._paths[event.address] = str(body.get("path", ""))
        path = self._paths.get(loop, "")
        began = self._started.get(event.address)
        value = body.get("value", body.get("output"))
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        error: Any = body.get("error")
        reason, by = body.get("exit_reason"), body.get("stopped_by")
        fine = f"{reason}.{by}" if by else str(reason)
        return {
            "run": self._run,
            "workflow": self._workflow,
            "address": event.address,
            "node": name_of(event.address),
            "time": event.at,
            "time_text": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds"),
            "number": number,
            "index": None if number is None else number - 1,
            "limit": self._limits.get(loop),
            "duration_ms": None if began is None else round((event.at - began) * 1000),
            "value": value,
            "preview": text[:PREVIEW_MAX],
            **{f"told.{name}": fact for name, fact in body.items()},
            **{f"loop.{name}": word for name, word in self._loop_words.get(path, {}).items()},
            "checked": False if self._checks.get(path) == "before" else body.get("met"),
            **{name: body.get(name) for name in _COPIED},
            "error": error.get("message") if isinstance(error, dict) else error,
            "exit_reason": self._reasons.get(fine) or self._reasons.get(str(reason)) or reason,
            "succeeded": body["status"] == "succeeded" if "status" in body else None,
        }


def _filled(fields: dict[str, Any], facts: dict[str, Json]) -> dict[str, Json]:
    return {
        name: _filled(source, facts) if isinstance(source, dict) else facts.get(str(source))
        for name, source in fields.items()
    }
