"""The fields that actions have: others are a warning with the nearest one, as they do nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whorl.dialects.loom.action import find
from whorl.errors import did_you_mean
from whorl.source import Mapping

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action

_COMMON = (
    "type",
    "kind",
    "name",
    "inputs",
    "runAfter",
    "runtimeConfiguration",
    "operationOptions",
    "trackedProperties",
    "correlation",
    "conditions",
    "limit",
    "description",
    "metadata",
    "retry",
    "retryPolicy",
    "timeout",
    "circuitBreaker",
    "rateLimit",
)
_LOOP = ("condition", "expression", "actions", "delay")
_SET = ("name", "variableName", "value", "variables")
_OWN: dict[str, tuple[str, ...]] = {
    "until": _LOOP,
    "while": _LOOP,
    "dountil": _LOOP,
    "retry": ("action",),
    "if": ("condition", "expression", "actions", "then", "else"),
    "condition": ("condition", "expression", "actions", "then", "else"),
    "switch": ("on", "expression", "cases", "default"),
    "foreach": ("foreach", "items", "actions"),
    "scope": ("actions",),
    "parallel": ("actions", "branches"),
    "http": ("method", "uri", "url", "headers", "queries", "query", "body", "cookie"),
    "ai": ("model", "prompt", "system", "systemPrompt", "temperature", "maxTokens", "context"),
    "actor": ("actorType", "actorVersion", "actorId", "actor", "method", "args", "input"),
    "activity": ("activityType", "activityName", "activity", "input"),
    "wait": ("interval", "until"),
    "agent": ("tools", "modelConfigurations", "parameters"),
    "initializevariable": _SET,
    "setvariable": _SET,
    "incrementvariable": _SET,
    "decrementvariable": _SET,
    "appendtoarrayvariable": _SET,
    "appendtostringvariable": _SET,
}
_LIMIT = ("count", "timeout")
_DELAY = ("interval",)
_RETRY = (
    "type",
    "count",
    "interval",
    "maxInterval",
    "maximumInterval",
    "minimumInterval",
    "on",
    "httpStatusCodes",
    "maxAttempts",
    "initialDelay",
    "maxDelay",
    "backoffMultiplier",
    "retryableErrors",
)
_PARTS = (("limit", _LIMIT), ("delay", _DELAY), ("retry", _RETRY), ("retryPolicy", _RETRY))


def check_fields(action: Action) -> None:
    """Warns about fields that do nothing where they stand."""
    _check(action, action.fields, (*_COMMON, *_OWN.get(action.type, ())), repr(action.name))
    for name, known in _PARTS:
        for holder in (action.fields, action.inputs):
            part = find(holder, name)
            if isinstance(part, Mapping) and not (name == "delay" and "count" in part):
                _check(action, part, known, f"{name} of {action.name!r}")


def _check(action: Action, holder: Mapping, known: tuple[str, ...], where: str) -> None:
    lowered = {name.lower() for name in known}
    for entry in holder:
        if entry.name.lower() in lowered or entry.name[:1] in "$@":
            continue
        action.draft.warn(
            "W004",
            f"{where} has the field {entry.name!r}, which does nothing there",
            entry.key.span,
            label="unknown field",
            help=did_you_mean(entry.name, known) or f"known: {', '.join(known[:12])}",
        )
