"""Connections of a project: what an action of a connector calls where nobody stands in for it.

`connections.json` says where APIs and functions are reached, and with which keys. What runs inside
of Azure only (a service provider) has no address: somebody must stand in for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.errors import did_you_mean
from whorl.formats.loom.forms import find, find_mapping, text_at
from whorl.formats.loom.project.settings import open_beside, settings_in
from whorl.formats.loom.texts import fields, text_term
from whorl.source import Mapping, Scalar

if TYPE_CHECKING:
    from whorl.formats.loom.action import Action
    from whorl.formats.loom.texts import LoomContext
    from whorl.source import Value

Entries = dict[str, ir.Value]

_FILE = "connections.json"
_WEBHOOKS = frozenset({"httpwebhook", "apiconnectionwebhook", "openapiconnectionwebhook"})
# The section of the file for each type of action, and where the action names its connection.
_SECTIONS = {
    **dict.fromkeys(
        ("apiconnection", "apiconnectionwebhook", "apiconnectionnotification"),
        ("managedApiConnections", ("host", "connection", "referenceName")),
    ),
    "function": ("functionConnections", ("function", "connectionName")),
    "apimanagement": ("apiManagementConnections", ("apiManagement", "connection")),
    "serviceprovider": (
        "serviceProviderConnections",
        ("serviceProviderConfiguration", "connectionName"),
    ),
}
_REQUEST = {"method": "method", "query": "queries", "body": "body", "headers": "headers"}


def read_connections(context: LoomContext) -> Mapping | None:
    """The connections of the project, from the file beside the definition or one folder up."""
    document = open_beside(context, _FILE)
    return None if document is None else find_mapping(document.root)


def connected(action: Action, task: ir.Task) -> ir.Task:
    """The task of a connector with how it is called for real, as far as that is known."""
    call: Entries | None = None
    if action.type == "httpwebhook":
        call = request_of(action, find(action.inputs, "subscribe"))
        task = replace(task, unsubscribe=unsubscribe_of(action))
    elif (connection := _connection(action)) is not None:
        call = _call(action, connection)
    if call:
        entries = (*task.inputs.entries, ("call", ir.Fields(tuple(call.items()))))
        # Keys are in it.
        task = replace(task, inputs=ir.Fields(entries), secure=True)
    if action.type not in _WEBHOOKS:
        return task
    return replace(task, awaits_call=True, timeout_s=None, total_timeout_s=task.timeout_s)


def unsubscribe_of(action: Action) -> ir.Fields | None:
    """How the address is taken back that an action or a trigger has given away."""
    call = request_of(action, find(action.inputs, "unsubscribe"))
    return fields(kind="http", inputs=ir.Fields(tuple(call.items()))) if call else None


def request_of(action: Action, request: Value | None) -> Entries | None:
    """A request as it is written in an action, or in a part of one."""
    url = find(request, "uri") or find(request, "url")
    if url is None:
        return None
    return {"url": action.context.value(url)} | _parts(action, request)


def _parts(action: Action, request: Value | None) -> Entries:
    written = {name: find(request, field) for name, field in _REQUEST.items()}
    written["auth"] = find(request, "authentication")
    return {name: action.context.value(v) for name, v in written.items() if v is not None}


def _connection(action: Action) -> Mapping | None:
    """The connection that an action names, where the project has a file of them."""
    section, place = _SECTIONS.get(action.type, ("", ()))
    name, context = text_at(action.inputs, *place), action.context
    if context.connections is None or not name or "@" in name:
        return None
    known = find_mapping(context.connections, section)
    connection = find_mapping(known, name)
    if connection is None:
        names = [entry.name for entry in known or ()]
        message = f"{action.name!r} names the connection {name!r}, which {section} of {_FILE} "
        advice = did_you_mean(name, names) or f"there are: {', '.join(names) or 'none'}"
        context.warn("W005", f"{message}does not have", action.span, label="unknown", help=advice)
    return connection


def _call(action: Action, connection: Mapping) -> Entries | None:
    """The request that an action makes through a connection; None where there is no address."""
    names = ("connectionRuntimeUrl", "triggerUrl", "baseUrl")
    base = next((found for name in names if (found := find(connection, name)) is not None), None)
    if not isinstance(base, Scalar):
        return None
    context = action.context
    context.settings += [n for n in settings_in(connection) if n not in context.settings]
    url: ir.Value = context.value(base)
    path = find(action.inputs, "path") or find(action.inputs, "pathTemplate", "template")
    if isinstance(path, Scalar):
        terms = f"{text_term(base.text.rstrip('/'))}, {text_term(path.text)}"
        url = context.expression(path, f"@concat({terms})")
    entries: Entries = {"url": url, "method": ir.Constant("POST")} | _parts(action, action.inputs)
    return entries | _authenticated(action, find(connection, "authentication"), entries)


def _authenticated(action: Action, written: Value | None, entries: Entries) -> Entries:
    """The key of a connection, as a header or as a part of the query."""
    kind, context = text_at(written, "type").lower(), action.context
    if kind == "querystring":
        query = entries.get("query")
        pairs = query.entries if isinstance(query, ir.Fields) else ()
        key = (text_at(written, "name") or "code", context.value(find(written, "value")))
        return {"query": ir.Fields((*pairs, key))}
    parameter = find(written, "parameter")
    if kind == "raw" and isinstance(parameter, Scalar):
        terms = f"{text_term(text_at(written, 'scheme') + ' ')}, {text_term(parameter.text)}"
        header = context.expression(parameter, f"@concat({terms})")
        return {"auth": ir.Fields((("type", ir.Constant("Raw")), ("value", header)))}
    return {} if written is None else {"auth": context.value(written)}
