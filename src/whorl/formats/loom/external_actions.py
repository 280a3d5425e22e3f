"""Actions that others carry out."""

from __future__ import annotations

import re
from dataclasses import replace
from http import HTTPStatus
from typing import TYPE_CHECKING

from whorl import ir
from whorl.formats.loom import forms
from whorl.formats.loom.action import AZURE_RETRY
from whorl.formats.loom.forms import IT, computed, fields, find, find_mapping, jinja, text_at
from whorl.source import Entry, Mapping, Scalar

if TYPE_CHECKING:
    from whorl.formats.loom.action import Action
    from whorl.source import Value

Entries = dict[str, ir.Value]

_HTTP_SHAPE = fields(
    statusCode=jinja("it.status"), headers=jinja("it.headers"), body=jinja("it.body")
)
_CALL_SHAPE = fields(statusCode=jinja("called_status(it)"), body=jinja("main_of(it)"))
_CONNECTION = re.compile(r"parameters\('\$connections'\)\??\['([^']+)'\]", re.IGNORECASE)
# The names of status codes in the results that a definition writes down.
STATUS_CODES = {n.replace("_", "").lower(): int(s) for n, s in HTTPStatus.__members__.items()}
# The inputs of a request and of a question, with the settings that give them.
_REQUEST = {"method": "method", "query": "queries query", "body": "body", "auth": "authentication"}
_PARTS = _REQUEST | {"headers": "headers"}
_QUESTION = {
    "model": "model deploymentId",
    "system": "systemPrompt system",
    "temperature": "temperature",
    "max_tokens": "maxTokens max_tokens",
}
_KIND_NAMES = {"actor": "actorType actor", "activity": "activityType activityName activity"}


def _settings(action: Action, names: dict[str, str]) -> Entries:
    """The settings that there are, by the names of inputs."""
    written = ((name, action.setting(*settings.split())) for name, settings in names.items())
    return {name: action.context.value(v) for name, v in written if v is not None}


def task_of(action: Action, kind: str, entries: Entries, shape: ir.Value) -> ir.Task:
    """A task; whoever carries it out is told if nobody may see what it gives."""
    secure = forms.secured(action.fields)
    if "outputs" in secure and kind != "ask":
        entries |= {"hide_reply": ir.Constant(True)}
    return ir.Task(
        name=action.name,
        kind=kind,
        inputs=ir.Fields(tuple(entries.items())),
        shape=shape,
        secure="inputs" in secure,
    )


def _outputs(action: Action) -> ir.Value:
    return computed("http_outputs", IT) if action.is_azure else _HTTP_SHAPE


def read_http(action: Action) -> ir.Task:
    """Calls a web service; a status that is no success is a failure whose outputs can be read."""
    entries = {"url": action.value("uri", "url")} | _settings(action, _REQUEST)
    headers, cookie = action.setting("headers"), action.setting("cookie")
    if cookie is not None:
        own = [(e.name, e.value) for e in headers] if isinstance(headers, Mapping) else []
        listed = [(n, action.context.value(v)) for n, v in (("Cookie", cookie), *own)]
        entries["headers"] = ir.Fields(tuple(listed))
    elif headers is not None:
        entries["headers"] = action.context.value(headers)
    # Work that is accepted is asked after until it is done, and lists are read page by page.
    if action.is_azure and "disableasyncpattern" not in action.options:
        entries["poll"] = ir.Constant(True)
    wanted = action.configuration("paginationPolicy", "minimumItemCount")
    if action.is_azure and isinstance(wanted, Scalar) and not forms.has_expression(wanted.text):
        entries["pages"] = ir.Constant(int(wanted.text) if wanted.text.isdecimal() else 1)
    has_auth = action.setting("authentication") is not None
    if has_auth and "inputs" not in forms.secured(action.fields):
        entries["secure_auth"] = ir.Constant(True)
    task = task_of(action, "http", entries, _outputs(action))
    is_secure = task.secure or has_auth
    return replace(task, secure=is_secure, retry=AZURE_RETRY if action.is_azure else None)


def read_connector(action: Action, missing: str = "") -> ir.Task:
    """An action of a connector: whoever the operator names answers for it."""
    entries: Entries = {
        "action": ir.Constant(action.name),
        "type": ir.Constant(text_at(action.fields, "type")),
        "input": action.context.value(_unconnected(given_inputs(action))),
    }
    if missing:
        entries["missing"] = ir.Constant(missing)
    task = task_of(action, "connector", entries, _outputs(action))
    return replace(task, retry=AZURE_RETRY if action.is_azure else None)


def given_inputs(action: Action) -> Value | None:
    """The inputs of an action, without what is computed only when another system has answered."""
    inputs = action.inputs
    if action.type != "httpwebhook" or not isinstance(inputs, Mapping):
        return inputs
    return Mapping(tuple(e for e in inputs if e.name.lower() != "unsubscribe"), inputs.span)


def _unconnected(value: Value | None) -> Value | None:
    """The inputs of a connector with the names of connections in place of what only Azure knows."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        connection = _CONNECTION.search(value.value)
        return value if connection is None else Scalar(connection[1], value.span)
    if isinstance(value, Mapping):
        entries = [Entry(e.key, _unconnected(e.value) or e.value) for e in value]
        return Mapping(tuple(entries), value.span)
    return value


def read_static_result(action: Action) -> ir.Node | None:
    """What the definition says that an action gives, where its settings ask for that."""
    setting = action.configuration("staticResult")
    name = text_at(setting, "name")
    if not name or text_at(setting, "staticResultOptions").lower() == "disabled":
        return None
    result = find(action.context.static_results, name)
    if result is None:
        message = f"{action.name!r} needs the static result {name!r}, which does not exist"
        advice = f'add it: "staticResults": {{"{name}": {{"status": "Succeeded"}}}}'
        span = (setting or action.fields).span
        action.context.warn("W005", message, span, label="not there", help=advice)
        return None
    status = text_at(result, "status").lower() or "succeeded"
    outputs = find(result, "outputs")
    if status == "succeeded":
        return ir.Compute(name=action.name, value=action.context.value(outputs))
    if status == "skipped":
        # A node that never runs is skipped.
        return ir.Compute(name=action.name, value=ir.Constant(None), when=jinja("false"))
    code = text_at(outputs, "statusCode")
    written = fields(
        failed=text_at(result, "error", "message") or text_at(result, "code") or status,
        timed_out=status == "timedout",
        statusCode=int(code) if code.isdecimal() else STATUS_CODES.get(code.lower(), 500),
        headers=action.context.value(find(outputs, "headers")),
        body=action.context.value(find(outputs, "body")),
    )
    entries: Entries = {"action": ir.Constant(action.name), "result": written}
    return task_of(action, "connector", entries, _outputs(action))


def read_call(action: Action) -> ir.Node:
    """Calls a workflow whose file is found; any other one is asked for as a connector is."""
    context, inputs = action.context, action.inputs
    place = find(inputs, "host", "workflow")
    identity = (text_at(place, "id") or text_at(place, "name")).rstrip("/")
    name = identity.rpartition("/")[2]
    names = [f"{name}.json", f"{name}/workflow.json", f"../{name}/workflow.json"]
    is_plain = bool(name) and not any(mark in name for mark in "@[]'()\\")
    reference = context.files.find(names) if is_plain else None
    called = context.call(reference, place.span) if reference and place is not None else None
    if called is None:
        return read_connector(action)
    ports = {port.name for port in called.reading.workflow.inputs}
    written = ((port, find(inputs, port)) for port in ("body", "headers", "queries"))
    entries = [(p, context.value(v)) for p, v in written if p in ports and v is not None]
    # A setting that the project does not have is given to the run, and handed on.
    needed = [port.name for port in called.reading.workflow.inputs if port.required]
    context.settings += [name for name in needed if name not in context.settings]
    inputs_given = ir.Fields((*entries, *((name, computed("fact", name)) for name in needed)))
    return ir.Call(name=action.name, workflow=called.key, inputs=inputs_given, shape=_CALL_SHAPE)


def read_ask(action: Action) -> ir.Node:
    """Asks a model; an answer that is JSON is a value."""
    context, background = action.context, action.setting("context")
    prompt = action.setting("prompt", "input", "message")
    if isinstance(background, Scalar) and isinstance(prompt, Scalar):
        parts = f"{forms.text_term(prompt.text)}, '\n\n', {forms.text_term(background.text)}"
        question: ir.Value = context.expression(prompt, f"@concat({parts})")
    else:
        question = context.value(prompt)
    entries = {"prompt": question} | _settings(action, _QUESTION)
    return task_of(action, "ask", entries, forms.bodied(computed("parsed", IT)))


def read_operator_task(action: Action) -> ir.Node:
    """Calls what the operator's configuration names: `actor:<type>` or `activity:<type>`."""
    names, prefix = _KIND_NAMES[action.type].split(), f"{action.type}:"
    kind = action.setting(*names)
    written = kind.text if isinstance(kind, Scalar) else ""
    # The one argument: `input` where there is one, otherwise the remaining inputs.
    argument, inputs = action.setting("input"), action.inputs
    if argument is None and isinstance(inputs, Mapping):
        others = {name.lower() for name in names}
        rest = tuple(entry for entry in inputs if entry.name.lower() not in others)
        argument = Mapping(rest, inputs.span)
    given = ir.Fields(()) if argument is None else action.context.value(argument)
    task: ir.Value = ir.Constant(prefix + written)
    if isinstance(kind, Scalar) and "@" in written:
        task = action.context.expression(kind, f"@concat('{prefix}', {forms.text_term(written)})")
    entries = {"task": task, "with": fields(input=given)}
    return task_of(action, "use", entries, forms.bodied(IT))


_WEBHOOKS = frozenset({"httpwebhook", "apiconnectionwebhook", "openapiconnectionwebhook"})


def connected(action: Action, task: ir.Task) -> ir.Task:
    """The task of a connector; a webhook waits for a call, and says how it is asked for."""
    if action.type not in _WEBHOOKS:
        return task
    if action.type == "httpwebhook":
        task = replace(task, unsubscribe=_unsubscribe(action))
        if call := _request(action, "subscribe"):
            entries = (*task.inputs.entries, ("call", ir.Fields(tuple(call.items()))))
            # Keys are in it.
            task = replace(task, inputs=ir.Fields(entries), secure=True)
    return replace(task, awaits_call=True, timeout_s=None, total_timeout_s=task.timeout_s)


def _unsubscribe(action: Action) -> ir.Fields | None:
    """How the address is taken back that an action has given away."""
    call = _request(action, "unsubscribe")
    return fields(kind="http", inputs=ir.Fields(tuple(call.items()))) if call else None


def _request(action: Action, name: str) -> Entries:
    """A request in the inputs of an action; nothing where it has no address."""
    request = find_mapping(action.inputs, name)
    part = action if request is None else replace(action, fields=request)
    url = None if request is None else part.setting("uri", "url")
    return {} if url is None else {"url": action.context.value(url)} | _settings(part, _PARTS)
