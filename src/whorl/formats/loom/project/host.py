"""Limits of a project's host: the settings of `host.json` that change what a run does."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.formats.loom.forms import find_mapping
from whorl.formats.loom.project.settings import open_beside
from whorl.source import Scalar

if TYPE_CHECKING:
    from whorl.formats.loom.action import Action
    from whorl.formats.loom.texts import LoomContext

_RUN_TIME = "runtime.backend.flowruntimeout"
_RUN_TIME_STATELESS = "runtime.backend.stateless.flowruntimeout"
_SPLIT_ITEMS = "runtime.backend.flowdefaultsplitonitemslimit"
_EACH_ITEMS = "runtime.backend.flowdefaultforeachitemslimit"
_EACH_AT_ONCE = "runtime.backend.foreachdefaultdegreeofparallelism"
_HTTP_TIME = "runtime.backend.httpoperation.requesttimeout"
_KNOWN = (_RUN_TIME, _RUN_TIME_STATELESS, _SPLIT_ITEMS, _EACH_ITEMS, _EACH_AT_ONCE, _HTTP_TIME)
_SPAN = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})")


def read_host(context: LoomContext) -> dict[str, float]:
    """The limits by name in lower case; times are in seconds."""
    document = open_beside(context, "host.json")
    if document is None:
        return {}
    limits: dict[str, float] = {}
    for entry in find_mapping(document.root, "extensions", "workflow", "settings") or ():
        name, number = entry.name.lower(), _number(entry.value)
        if name in _KNOWN and number is not None and number > 0:
            limits[name] = number
        elif name.startswith("runtime."):
            message = f"the setting {entry.name!r} of the host has no effect here"
            advice = "what bounds runs here is in [limits] of whorl.toml"
            context.warn("W023", message, entry.key.span, label="no effect", help=advice)
    return limits


def _number(value: object) -> float | None:
    if not isinstance(value, Scalar):
        return None
    if value.text.isdecimal():
        return float(value.text)
    span = _SPAN.fullmatch(value.text)
    if span is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in span.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def limited(action: Action, node: ir.Node) -> ir.Node:
    """The node of an action with the host's limits, where it has none of its own."""
    host = action.context.host
    if isinstance(node, ir.ForEach):
        is_own = action.configuration("concurrency", "repetitions") is not None
        if _EACH_AT_ONCE in host and node.concurrency > 1 and not is_own:
            node = replace(node, concurrency=int(host[_EACH_AT_ONCE]))
        return replace(node, items_max=int(host.get(_EACH_ITEMS, node.items_max)))
    if isinstance(node, ir.Task) and node.kind == "http" and node.timeout_s is None:
        return replace(node, timeout_s=host.get(_HTTP_TIME))
    return node


def limited_run(context: LoomContext, workflow: ir.Workflow, *, is_stateless: bool) -> ir.Workflow:
    """The workflow with the host's limits for whole runs, and for what a trigger splits on."""
    host = context.host
    time_s = host.get(_RUN_TIME_STATELESS if is_stateless else _RUN_TIME)
    if time_s is not None:
        workflow = replace(workflow, limits=replace(workflow.limits, time_s=time_s))
    trigger = workflow.trigger
    if trigger is not None and trigger.concurrency is None and _SPLIT_ITEMS in host:
        workflow = replace(workflow, trigger=replace(trigger, items_max=int(host[_SPLIT_ITEMS])))
    return workflow
