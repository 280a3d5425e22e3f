"""Actions that reach web services: HTTP calls, connectors, and the results that stand for them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.dialects.loom.action import find, find_deep, text_at
from whorl.dialects.loom.durations import AZURE_RETRY
from whorl.dialects.loom.options import options_of
from whorl.dialects.loom.plain import IT
from whorl.dialects.loom.texts import LIBRARY, computed, has_expression, value_of
from whorl.source import Entry, Mapping, Scalar, Sequence

if TYPE_CHECKING:
    from whorl.dialects.loom.action import Action
    from whorl.source import Value

Entries = list[tuple[str | ir.Expression, ir.Value]]

_SHAPE = ir.Fields(
    (
        ("statusCode", ir.Expression("jinja", "it.status", LIBRARY)),
        ("headers", ir.Expression("jinja", "it.headers", LIBRARY)),
        ("body", ir.Expression("jinja", "it.body", LIBRARY)),
    )
)
_CONNECTION = re.compile(r"parameters\('\$connections'\)\??\['([^']+)'\]", re.IGNORECASE)
# The statuses that stand for others in the results that a definition writes down.
_STATUS_CODES = {"ok": 200, "created": 201, "accepted": 202, "nocontent": 204}


def read_http(action: Action) -> ir.Node:
    """Calls a web service; a status that is no success is a failure whose outputs can be read."""
    draft = action.draft
    url = action.setting("uri", "url")
    if url is None:
        draft.report(
            "W006",
            f"{action.name!r} has no address",
            action.span,
            label="no uri",
            help='write "inputs": {"method": "GET", "uri": "https://..."}',
        )
    entries: Entries = [("url", value_of(draft, url))]
    for name, given in (
        ("method", action.setting("method")),
        ("query", action.setting("queries", "query")),
        ("body", action.setting("body")),
        ("auth", action.setting("authentication")),
    ):
        if given is not None:
            entries.append((name, value_of(draft, given)))
    entries += _headers(action)
    entries += [] if draft.lenient else _azure_only(action)
    return ir.Task(
        name=action.name,
        kind="http",
        inputs=ir.Fields((*entries, *hidden_reply(action))),
        shape=_SHAPE if draft.lenient else computed("http_outputs", IT),
        retry=None if draft.lenient else AZURE_RETRY,
        secure=is_secure(action) or action.setting("authentication") is not None,
        secure_outputs=is_secure_after(action),
    )


def _headers(action: Action) -> Entries:
    headers, cookie = action.setting("headers"), action.setting("cookie")
    if cookie is None:
        return [] if headers is None else [("headers", value_of(action.draft, headers))]
    listed: Entries = [("Cookie", value_of(action.draft, cookie))]
    for entry in headers if isinstance(headers, Mapping) else ():
        listed.append((entry.name, value_of(action.draft, entry.value)))
    return [("headers", ir.Fields(tuple(listed)))]


def _azure_only(action: Action) -> Entries:
    """Work that is accepted is asked after until it is done, and lists are read page by page."""
    entries: Entries = []
    if "disableasyncpattern" not in options_of(action):
        entries.append(("poll", ir.Constant(True)))
    policy = find_deep(action.fields, "runtimeConfiguration", "paginationPolicy")
    wanted = find(policy, "minimumItemCount")
    if isinstance(wanted, Scalar) and not has_expression(wanted.text):
        entries.append(("pages", ir.Constant(int(wanted.text) if wanted.text.isdecimal() else 1)))
    return entries


def is_secure(action: Action) -> bool:
    """Whether what an action is given must be stored nowhere."""
    return "inputs" in _secured(action)


def is_secure_after(action: Action) -> bool:
    """Whether what an action gives must be shown to nobody."""
    return "outputs" in _secured(action)


def hidden_reply(action: Action) -> Entries:
    """Tells whoever carries an action out that nobody may see what it gives."""
    return [("hide_reply", ir.Constant(True))] if is_secure_after(action) else []


def _secured(action: Action) -> set[str]:
    data = find_deep(action.fields, "runtimeConfiguration", "secureData")
    listed = find(data, "properties")
    if data is None:
        return set()
    if not isinstance(listed, Sequence):
        return {"inputs", "outputs"}
    return {item.text.lower() for item in listed if isinstance(item, Scalar)}


def read_connector(action: Action) -> ir.Node:
    """An action of a connector: whoever the operator names answers for it."""
    entries: Entries = [
        ("action", ir.Constant(action.name)),
        ("type", ir.Constant(text_at(action.fields, "type"))),
        ("input", value_of(action.draft, _unconnected(action.inputs))),
    ]
    retry = None if action.draft.lenient else AZURE_RETRY
    return replace(_connector(action, entries), retry=retry)


def _unconnected(value: Value | None) -> Value | None:
    """The inputs of a connector with the names of connections in place of what only Azure knows."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        found = _CONNECTION.search(value.value)
        return value if found is None else Scalar(found[1], value.span)
    if isinstance(value, Mapping):
        entries = [Entry(e.key, _unconnected(e.value) or e.value) for e in value]
        return Mapping(tuple(entries), value.span)
    return value


def _connector(action: Action, entries: Entries) -> ir.Task:
    return ir.Task(
        name=action.name,
        kind="connector",
        inputs=ir.Fields((*entries, *hidden_reply(action))),
        shape=_SHAPE if action.draft.lenient else computed("http_outputs", IT),
        secure=is_secure(action),
        secure_outputs=is_secure_after(action),
    )


def read_static_result(action: Action) -> ir.Node | None:
    """What the definition says that an action gives, where its settings ask for that."""
    setting = find_deep(action.fields, "runtimeConfiguration", "staticResult")
    name = text_at(setting, "name")
    if not name or text_at(setting, "staticResultOptions").lower() == "disabled":
        return None
    result = find(action.draft.static_results, name)
    if result is None:
        action.draft.warn(
            "W005",
            f"{action.name!r} wants the static result {name!r}, which there is not",
            (setting or action.fields).span,
            label="not there",
            help=f'add it: "staticResults": {{"{name}": {{"status": "Succeeded"}}}}',
        )
        return None
    outputs = find(result, "outputs")
    status = text_at(result, "status").lower() or "succeeded"
    if status == "succeeded":
        return ir.Compute(name=action.name, value=value_of(action.draft, outputs))
    if status == "skipped":
        # A node that never runs is skipped.
        never = ir.Expression("jinja", "false", LIBRARY)
        return ir.Compute(name=action.name, value=ir.Constant(None), when=never)
    return _failing(action, result, status)


def _failing(action: Action, result: object, status: str) -> ir.Node:
    assert isinstance(result, Mapping)
    code = text_at(result, "outputs", "statusCode")
    number = int(code) if code.isdecimal() else _STATUS_CODES.get(code.lower(), 500)
    words = text_at(result, "error", "message") or text_at(result, "code") or status
    written: Entries = [
        ("failed", ir.Constant(words)),
        ("timed_out", ir.Constant(status == "timedout")),
        ("statusCode", ir.Constant(number)),
        ("headers", value_of(action.draft, find_deep(result, "outputs", "headers"))),
        ("body", value_of(action.draft, find_deep(result, "outputs", "body"))),
    ]
    entries: Entries = [
        ("action", ir.Constant(action.name)),
        ("result", ir.Fields(tuple(written))),
    ]
    return _connector(action, entries)
