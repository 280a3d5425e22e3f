"""Compares what came of a case with its `outcome`; only what is written there is compared.

    status, output, outputs, error {code, message, path, iteration}, usage, waits_for
    exit_code  of the command line
    exit, stopped_by, iterations, mark, score, best, returned, failed: of the first loop
    loops      a list of the same, with `path`
    warnings   texts that warnings must contain; [] means that there are none
    calls      how many calls were made, or a number by node name
    prompts    patterns that the inputs of calls must match, by address
    sessions   the conversation that a call continues, by address
    keys       the idempotency key of a call, without the run's id, by address
    messages   patterns of what a model is told was said before, by address
    records    what became of steps, items and iterations, by address: fields of their records
               (an error may be given by its code); a list where there are several of an address
    verdicts   what the condition of an iteration came to, by its address; null: it says nothing

Numbers are compared to nine digits; `error.message` and `waits_for` are patterns.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.recording import differences
from whorl.interfaces.advice import advised
from whorl.interfaces.status_words import EXIT_CODES
from whorl.interpreter.events import unescape

if TYPE_CHECKING:
    from conformance.replies import Script
    from whorl.interpreter.events import Event

_LOOP = {
    "path": "path",
    "exit": "exit_reason",
    "stopped_by": "stopped_by",
    "iterations": "iterations",
    "score": "score",
    "best": "best_iteration",
    "returned": "returned_iteration",
    "failed": "failed_iterations",
    "usage": "usage",
    "mark": "mark",
}
_NAME = re.compile(r"([^/\[\]#]*)(?:\[[0-9]+\])?(?:#[0-9]+)?$")


@dataclass(slots=True)
class Result:
    """What came of a run: its document, what it waits for, and its journal."""

    document: dict[str, Any]
    waits_for: list[str] = field(default_factory=list)
    entries: list[Event] = field(default_factory=list)
    records: list[dict[str, Any]] | None = None
    contradictions: list[str] = field(default_factory=list)


def mistakes(expected: dict[str, Any], result: Result, script: Script) -> list[str]:
    """Where the result differs from what is expected."""
    found = [*script.problems, *result.contradictions]
    document = result.document
    for key, wanted in expected.items():
        if key == "error":
            found += _error(wanted, document["error"])
        elif key == "warnings":
            found += _warnings(wanted, document["warnings"])
        elif key == "loops":
            found += _loops(wanted, document["loops"])
        elif key in _LOOP and key != "usage":
            if document["loops"]:
                found += _differs(f"loop {key}", wanted, document["loops"][0].get(_LOOP[key]))
            else:
                found.append("there is no loop")
        elif key == "exit_code":
            found += _differs(key, wanted, EXIT_CODES.get(document["status"], 1))
        elif key == "calls":
            found += _calls(wanted, script)
        elif key in ("prompts", "sessions", "messages", "keys"):
            found += _patterns(key, wanted, script)
        elif key == "records":
            found += [] if result.records is None else differences(wanted, result.records)
        elif key == "verdicts":
            found += _verdicts(wanted, result.entries)
        elif key == "waits_for":
            found += _matches("question", wanted, "\n".join(result.waits_for))
        else:
            found += _differs(key, wanted, document[key])
    return found


def _verdicts(wanted: dict[str, Any], entries: list[Event]) -> list[str]:
    notes = {e.address: e.body for e in entries if e.kind == "iteration.finished"}
    found: list[str] = []
    for address, verdict in wanted.items():
        facts: Any = notes.get(address, {}).get("facts") or [{}]
        actual = {name: facts[0].get(name) for name in verdict}
        found += _differs(f"verdict of {address}", verdict, actual)
    return found


def _differs(name: str, wanted: Any, actual: Any) -> list[str]:
    if isinstance(wanted, dict) and isinstance(actual, dict) and name.endswith("usage"):
        actual = {key: value for key, value in actual.items() if key in wanted}
    if _plain(wanted) == _plain(actual):
        return []
    return [f"{name} is {json.dumps(actual)}, not {json.dumps(wanted)}"]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return round(value, 9)
    return value


def _error(wanted: Any, actual: Any) -> list[str]:
    if wanted is None or actual is None:
        return _differs("error", wanted, actual)
    found: list[str] = []
    for key, value in wanted.items():
        if key == "message":
            found += _matches("error message", value, advised(actual))
        elif key == "cause":
            found += _differs("error cause", value, (actual.get("cause") or {}).get("code"))
        else:
            found += _differs(f"error {key}", value, actual.get(key))
    return found


def _warnings(wanted: list[str], actual: list[dict[str, Any]]) -> list[str]:
    told = [f"{warning['code']} {advised(warning)}" for warning in actual]
    if not wanted and told:
        return [f"there are warnings: {told}"]
    return [
        f"no warning has {part!r}: {told}"
        for part in wanted
        if not any(part in text for text in told)
    ]


def _loops(wanted: list[dict[str, Any]], actual: list[dict[str, Any]]) -> list[str]:
    if len(wanted) != len(actual):
        return [f"there are {len(actual)} loops, not {len(wanted)}: {[r['path'] for r in actual]}"]
    return [
        mistake
        for expected, loop in zip(wanted, actual, strict=True)
        for key, value in expected.items()
        for mistake in _differs(f"loop {loop['path']} {key}", value, loop[_LOOP[key]])
    ]


def _calls(wanted: Any, script: Script) -> list[str]:
    if not isinstance(wanted, dict):
        return _differs("number of calls", wanted, sum(script.performed.values()))
    counted: dict[str, int] = {}
    for address, times in script.performed.items():
        last = address.rpartition("/")[2]
        found = _NAME.match(last)
        name = "judge" if last.startswith(":judge") else unescape(found[1] if found else last)
        counted[name] = counted.get(name, 0) + times
    return [
        m for name, n in wanted.items() for m in _differs(f"calls of {name}", n, counted.get(name))
    ]


def _patterns(key: str, wanted: dict[str, str], script: Script) -> list[str]:
    found: list[str] = []
    for address, pattern in wanted.items():
        if address not in script.inputs:
            found.append(f"nothing was called at {address!r}: {sorted(script.inputs)}")
            continue
        actual = (script.keys if key == "keys" else script.sessions)[address]
        if key == "prompts":
            inputs = script.inputs[address]
            prompt = inputs.get("prompt", inputs)
            actual = prompt if isinstance(prompt, str) else json.dumps(prompt)
        if key == "messages":
            said = script.inputs[address].get("messages") or []
            actual = ", ".join(f"{one['role']}: {one['content']}" for one in said)
        found += _matches(f"{key} of {address}", pattern, actual)
    return found


def _matches(name: str, pattern: str, text: str) -> list[str]:
    if re.search(pattern, text) or pattern == text:
        return []
    return [f"{name} is {text!r}, which does not match {pattern!r}"]
