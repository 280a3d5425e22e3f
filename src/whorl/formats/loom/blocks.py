"""Blocks of actions: each action is read by its type, also calls, code and agents."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.errors import did_you_mean
from whorl.formats.loom import control, forms
from whorl.formats.loom.action import AZURE_RETRY, Action, Location, order_of, read_policy
from whorl.formats.loom.control import limits_of
from whorl.formats.loom.forms import IT, computed, fields, find, find_mapping, jinja, text_at
from whorl.formats.loom.references import CALL
from whorl.ir.checks.scopes import suggest
from whorl.lazily import dataclass
from whorl.source import Entry, Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from whorl.formats.loom.action import Order
    from whorl.formats.loom.forms import LoomContext
    from whorl.ir.nodes import Wanted
    from whorl.language import Json
    from whorl.source import Value


Entries = dict[str, ir.Value]

_HTTP_SHAPE = fields(
    statusCode=jinja("it.status"), headers=jinja("it.headers"), body=jinja("it.body")
)
_CALL_SHAPE = fields(statusCode=jinja("called_status(it)"), body=jinja("main_of(it)"))
_CONNECTION = re.compile(r"parameters\('\$connections'\)\??\['([^']+)'\]", re.IGNORECASE)
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
    """Returns the settings that exist, by the names of inputs."""
    written = ((name, action.setting(*settings.split())) for name, settings in names.items())
    return {name: action.context.value(v) for name, v in written if v is not None}


def task_of(action: Action, kind: str, entries: Entries, shape: ir.Value) -> ir.Task:
    """Returns a task; if the action's outputs are secure, the task is asked to hide the reply."""
    secure = forms.secured(action.fields)
    if "outputs" in secure and kind != "ask":
        entries |= {"hide_reply": ir.Constant(True)}
    inputs, is_secure = ir.Fields(tuple(entries.items())), "inputs" in secure
    return ir.Task(name=action.name, kind=kind, inputs=inputs, shape=shape, secure=is_secure)


def _outputs(action: Action) -> ir.Value:
    return computed("http_outputs", IT) if action.is_azure else _HTTP_SHAPE


def read_http(action: Action) -> ir.Task:
    """Calls a web service; an unsuccessful status is a failure whose outputs can be read."""
    entries = {"url": action.value("uri", "url")} | _settings(action, _REQUEST)
    headers, cookie = action.setting("headers"), action.setting("cookie")
    if cookie is not None:
        own = [(e.name, e.value) for e in headers] if isinstance(headers, Mapping) else []
        listed = [(n, action.context.value(v)) for n, v in (("Cookie", cookie), *own)]
        entries["headers"] = ir.Fields(tuple(listed))
    elif headers is not None:
        entries["headers"] = action.context.value(headers)
    # Accepted work is polled until it is done, and lists are read page by page.
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
    """Reads an action of a connector, which the operator's configuration implements."""
    kind, given = ir.Constant(text_at(action.fields, "type")), _unconnected(given_inputs(action))
    entries: Entries = {"action": ir.Constant(action.name), "type": kind}
    entries["input"] = action.context.value(given)
    if missing:
        entries["missing"] = ir.Constant(missing)
    task = task_of(action, "connector", entries, _outputs(action))
    return replace(task, retry=AZURE_RETRY if action.is_azure else None)


def given_inputs(action: Action) -> Value | None:
    """Returns the inputs of an action, without those that need the answer of another system."""
    inputs = action.inputs
    if action.type != "httpwebhook" or not isinstance(inputs, Mapping):
        return inputs
    return Mapping(tuple(e for e in inputs if e.name.lower() != "unsubscribe"), inputs.span)


def _unconnected(value: Value | None) -> Value | None:
    """Returns the inputs of a connector, with names of connections instead of Azure's values."""
    if isinstance(value, Scalar) and isinstance(value.value, str):
        connection = _CONNECTION.search(value.value)
        return value if connection is None else Scalar(connection[1], value.span)
    if isinstance(value, Mapping):
        entries = [Entry(e.key, _unconnected(e.value) or e.value) for e in value]
        return Mapping(tuple(entries), value.span)
    return value


def read_static_result(action: Action) -> ir.Node | None:
    """Returns the static result of an action if its settings ask for one."""
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
        statusCode=int(code) if code.isdecimal() else forms.STATUS_CODES.get(code.lower(), 500),
        headers=action.context.value(find(outputs, "headers")),
        body=action.context.value(find(outputs, "body")),
    )
    entries: Entries = {"action": ir.Constant(action.name), "result": written}
    return task_of(action, "connector", entries, _outputs(action))


def read_call(action: Action) -> ir.Node:
    """Calls a workflow whose file is found; any other workflow is called as a connector."""
    context, inputs = action.context, action.inputs
    place = find(inputs, "host", "workflow")
    name = (text_at(place, "id") or text_at(place, "name")).rstrip("/").rpartition("/")[2]
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
    """Asks a model; a JSON answer becomes a value."""
    context, background = action.context, action.setting("context")
    prompt = action.setting("prompt", "input", "message")
    if isinstance(background, Scalar) and isinstance(prompt, Scalar):
        parts = f"{forms.text_term(prompt.text)}, '\n\n', {forms.text_term(background.text)}"
        question: ir.Value = context.expression(prompt, f"@concat({parts})")
    else:
        question = context.value(prompt)
    entries = {"prompt": question} | _settings(action, _QUESTION)
    return task_of(action, "ask", entries, forms.fields(body=computed("parsed", IT)))


def read_operator_task(action: Action) -> ir.Node:
    """Calls a task of the operator's configuration: `actor:<type>` or `activity:<type>`."""
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
    return task_of(action, "use", entries, forms.fields(body=IT))


_WEBHOOKS = frozenset({"httpwebhook", "apiconnectionwebhook", "openapiconnectionwebhook"})


def connected(action: Action, task: ir.Task) -> ir.Task:
    """Returns the task of a connector; a webhook waits for a call, and may send a subscription."""
    if action.type not in _WEBHOOKS:
        return task
    if action.type == "httpwebhook":
        if call := _request(action, "unsubscribe"):
            # The request that removes the address which the action has registered.
            taken = fields(kind="http", inputs=ir.Fields(tuple(call.items())))
            task = replace(task, unsubscribe=taken)
        if call := _request(action, "subscribe"):
            entries = (*task.inputs.entries, ("call", ir.Fields(tuple(call.items()))))
            # Keys are in it.
            task = replace(task, inputs=ir.Fields(entries), secure=True)
    return replace(task, awaits_call=True, timeout_s=None, total_timeout_s=task.timeout_s)


def _request(action: Action, name: str) -> Entries:
    """Returns the request in the inputs of an action; empty if it has no address."""
    request = find_mapping(action.inputs, name)
    part = action if request is None else replace(action, fields=request)
    url = None if request is None else part.setting("uri", "url")
    return {} if url is None else {"url": action.context.value(url)} | _settings(part, _PARTS)


# How long code may run, and as much as Azure lets it.
TIME_S = 15.0
_READ = re.compile(
    r"""workflowContext\s*\??\.\s*(?:
        actions\s*(?:\??\.\s*([A-Za-z_$][\w$]*)|(?:\?\.)?\s*\[\s*(['"`])(.+?)\2\s*\])
        |(trigger|workflow)\b)""",
    re.VERBOSE,
)
# The parts of a map that are not supported here.
_NOT_RUN = re.compile(
    r"<(?:\w+:)?(?:stylesheet|transform)\b[^>]*?\sversion\s*=\s*['\"][23]"
    r"|<\w+:script\b[^>]*\slanguage\s*="
)
_MAPS = ("Artifacts/Maps/", "../Artifacts/Maps/")


def read_javascript(action: Action) -> ir.Node:
    """Runs code that can read the actions that it names, the trigger and the run."""
    written = action.setting("code")
    code = written if isinstance(written, Scalar) else Scalar("", action.span)
    entries: dict[str, ir.Value] = {
        "code": action.context.value(code),
        "inputs": ir.Fields((("workflowContext", _workflow_context(action, code)),)),
        "name": ir.Constant(action.name),
        "sealed": ir.Constant(True),
    }
    task = task_of(action, "javascript", entries, computed("returned", IT))
    return replace(task, timeout_s=TIME_S)


def _workflow_context(action: Action, code: Scalar) -> ir.Fields:
    """Returns the parts of the workflow's state that the code reads or that are declared for it."""
    found = _READ.findall(code.text)
    needed = find(action.inputs, "explicitDependencies")
    listed = find(needed, "actions")
    names = [dotted or quoted for dotted, _, quoted, _ in found if dotted or quoted]
    items = listed if isinstance(listed, Sequence) else ()
    names += [item.text for item in items if isinstance(item, Scalar)]
    records = {name: f"@actions({forms.quote(name)})" for name in names}
    parts = {part for *_, part in found if part}
    if text_at(needed, "includeTrigger").lower() == "true":
        parts.add("trigger")
    read = ((name, action.context.expression(code, source)) for name, source in records.items())
    others = ((part, action.context.expression(code, f"@{part}()")) for part in sorted(parts))
    return ir.Fields((("actions", ir.Fields(tuple(read))), *others))


def read_xslt(action: Action) -> ir.Node:
    """Transforms XML by a map of the project; any other map is called as a connector."""
    place = find(action.inputs, "map", "name")
    place = place or find(action.inputs, "integrationAccount", "map", "name")
    name = place.text if isinstance(place, Scalar) else ""
    is_plain = bool(name) and not forms.has_expression(name) and "/" not in name
    endings = ("", ".xslt", ".xsl") if is_plain else ()
    names = [f"{folder}{name}{ending}" for ending in endings for folder in _MAPS]
    reference = action.context.files.find(names) if names else None
    if place is None or reference is None or reference not in names:
        return read_connector(action, "its map is not in Artifacts/Maps of the project")
    file, text = action.context.files.text(reference, place.span)
    action.context.sources[file] = text
    if _NOT_RUN.search(text):
        why = "maps in XSLT 2.0 and 3.0, and maps with scripts, are not run here"
        return read_connector(action, why)
    content = action.setting("content")
    given = action.context.value(content)
    if isinstance(content, Scalar) and forms.has_expression(content.text):
        given = action.context.expression(content, f"@string({forms.text_term(content.text)})")
    entries = {"content": given, "map": ir.Constant(text), "name": ir.Constant(name)}
    return task_of(action, "xslt", entries, forms.fields(body=computed("transformed", IT)))


# Agents: a model that is called repeatedly, and whose tools are actions of the file.
#
# An agent is a loop. Each iteration calls the model, then runs the tools that the model asks for
# one after the other; the loop ends if it asks for none. Agents that others hand over to take part
# in the loop of the first one: the conversation continues with another model, prompt and tools.

COUNT = 100
HANDOFF = "agenthandoff"
# A tool that represents all tools of a server, which [mcp] of whorl.toml names as it is called.
_SERVER = "mcpclienttool"
# The names of the conversation and of the current agent in the scope of an iteration.
_TURNS, _AGENT = "$turns", "$agent"
_ENDED: tuple[Wanted, ...] = ("succeeded", "failed", "timed_out", "skipped", "cancelled")
_ANY: dict[str, Json] = {"type": "object", "properties": {}}
# An agent that is only told what it is begins with what the run was given.
_PROMPT = "@if(equals(string(triggerBody()), ''), 'Begin.', string(triggerBody()))"
_SETTINGS = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP"}
_WORDS: Json = {
    "limits": {
        "max_iterations": "the agent was asked {iterations} times, its limit.count",
        "timeout": "the agent took longer than {ms} ms, its limit.timeout",
    }
}


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool of an agent; `agent` is the agent that it hands over to, if any."""

    owner: str
    name: str
    entry: Entry
    agent: str

    @property
    def key(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def is_server(self) -> bool:
        return text_at(self.entry.value, "type").lower() == _SERVER

    @property
    def offer(self) -> Json:
        schema = find(self.entry.value, "agentParameterSchema")
        description = text_at(self.entry.value, "description")
        written = _ANY if schema is None else plain(schema)
        return {"name": self.name, "description": description, "schema": written}


def started_actions(context: LoomContext, actions: Mapping) -> Mapping:
    """Returns the actions that start by themselves: all but agents that others hand over to."""
    agents = {e.name.lower(): e for e in actions if text_at(e.value, "type").lower() == "agent"}
    targets = {tool.agent.lower() for agent in agents.values() for tool in _tools(agent)}
    # The first of agents that all hand over to each other is the one that begins.
    first = next(iter(agents), "")
    named = ((name, entry) for name, entry in agents.items() if name in targets and name != first)
    waiting = {name: e for name, e in named if not find_mapping(e.value, "runAfter")}
    if len(waiting) == len(agents):
        waiting.pop(first, None)
    context.agents = agents
    return Mapping(tuple(e for e in actions if e.name.lower() not in waiting), actions.span)


def _tools(agent: Entry) -> Iterator[_Tool]:
    for entry in find_mapping(agent.value, "tools") or ():
        inside = (e.value for e in find_mapping(entry.value, "actions") or ())
        handed = (a for a in inside if text_at(a, "type").lower() == HANDOFF)
        target = next((text_at(a, "inputs", "name") for a in handed), "")
        yield _Tool(agent.name, entry.name, entry, target)


def read_handoff(action: Action) -> ir.Node:
    """Tells the model which agent continues; the loop of the agents makes the change."""
    name, known = text_at(action.inputs, "name"), action.context.agents
    if name.lower() not in known:
        message = f"{action.name!r} hands over to the agent {name!r}, which does not exist"
        advice = suggest(name, (entry.name for entry in known.values()))
        action.context.report("W005", message, action.span, label="no such agent", help=advice)
    words = f"{_spelled(action.context, name)} continues from here"
    return ir.Compute(name=action.name, value=forms.fields(body=ir.Constant(words)))


def read_agent(action: Action) -> ir.Node:
    """Reads the loop of an agent and of all agents that it hands over to."""
    context = action.context
    # The agent, and those that it hands over to, directly or through others.
    group = [context.agents[action.name.lower()]]
    for agent in group:
        others = (context.agents.get(tool.agent.lower()) for tool in _tools(agent))
        group += [other for other in dict.fromkeys(others) if other and other not in group]
    tools = [tool for agent in group for tool in _tools(agent)]
    limits = limits_of(action, is_azure=True, usual=COUNT)
    turns = {agent.name: _turn(action, agent, limits) for agent in group}
    asked: ir.Node = turns[group[0].name]
    if len(turns) > 1:
        ends: dict[str, Json] = {name: [[turn.name, True]] for name, turn in turns.items()}
        cases = tuple(
            ir.Case(name, ir.Block((turn,)), equals=ir.Constant(name))
            for name, turn in turns.items()
        )
        name, shape = f"{action.name}_agent", computed("taken_of", IT, ends)
        asked = ir.Branch(name=name, subject=computed("fact", _AGENT), cases=cases, shape=shape)
    used = _used_tools(action, asked.name, tools)
    given: list[Json] = [asked.name, used.name, f"{action.name}_result"]
    named = ((tool.key, _spelled(context, tool.agent)) for tool in tools if tool.agent)
    handovers: dict[str, Json] = dict(named)
    after = computed("agent_after", _AGENT, asked.name, handovers)
    return ir.Loop(
        name=action.name,
        body=ir.Block((asked, replace(used, after=(ir.After(asked.name, ("succeeded",)),)))),
        until=ir.When(computed("agent_done", asked.name), "the agent wants no tool"),
        limits=limits,
        on_limit="fail",
        words=_WORDS,
        carry=(
            ir.Carry(_TURNS, ir.Constant([]), computed("agent_turns", _TURNS, given)),
            ir.Carry(_AGENT, ir.Constant(action.name), after),
        ),
        shape=computed("agent_outputs", IT, asked.name),
    )


def _spelled(context: LoomContext, agent: str) -> str:
    known = context.agents.get(agent.lower())
    return agent if known is None else known.name


def _turn(action: Action, agent: Entry, limits: ir.LoopLimits) -> ir.Task:
    """Returns the task that asks an agent's model, with the whole conversation so far."""
    context, parameters = action.context, find(agent.value, "inputs", "parameters")
    messages, settings = find(parameters, "messages"), find(parameters, "agentModelSettings")
    tools = list(_tools(agent))
    offers = ir.Constant([tool.offer for tool in tools if not tool.is_server])
    entries: Entries = {"messages": context.value(messages), "offers": offers}
    entries["turns"] = computed("fact", _TURNS)
    if servers := [tool.name for tool in tools if tool.is_server]:
        entries["tools"] = ir.Constant([*servers])
    most = limits.iterations if isinstance(limits.iterations, int) else None
    if most is not None:
        entries["max_turns"] = ir.Constant(most)
    chat = find(settings, "agentChatCompletionSettings")
    written = [("model", find(parameters, "deploymentId") or find(parameters, "modelId"))]
    written += [(name, find(chat, key)) for name, key in _SETTINGS.items()]
    entries |= {name: context.value(value) for name, value in written if value is not None}
    listed = messages if isinstance(messages, Sequence) else None
    roles = [text_at(message, "role").lower() for message in listed or ()]
    if listed is not None and not any(
        role == "user" or forms.has_expression(role) for role in roles
    ):
        entries["prompt"] = context.expression(Scalar("", action.span), _PROMPT)
    own = find_mapping(agent.value) or Mapping((), agent.value.span)
    return task_of(replace(action, name=f"{agent.name}_turn", fields=own), "ask", entries, IT)


def _used_tools(action: Action, asked: str, tools: list[_Tool]) -> ir.ForEach:
    """Runs the tool calls of an iteration one after the other; the model receives failures."""
    name = f"{action.name}_tool"
    cases: list[ir.Case] = []
    ends: dict[str, Json] = {}
    for tool in tools:
        case = tool.key if any(case.name == tool.name for case in cases) else tool.name
        body, ends[case] = _read_tool(action, tool, f"{action.path}/{action.name}_tools/{name}")
        cases.append(ir.Case(case, body, equals=ir.Constant(tool.key)))
    shape, none = computed("taken_of", IT, ends), ir.Case("none", ir.Block(()))
    subject, listed = computed("agent_tool", _AGENT, CALL), tuple(cases)
    choice = ir.Branch(name=name, subject=subject, cases=listed, default=none, shape=shape)
    value, after = computed("agent_result", CALL, name), (ir.After(name, _ENDED),)
    result = ir.Compute(name=f"{action.name}_result", value=value, after=after)
    calls, body = computed("agent_calls", asked), ir.Block((choice, result))
    return ir.ForEach(name=f"{action.name}_tools", items=calls, item_name=CALL, body=body)


def _read_tool(action: Action, tool: _Tool, path: str) -> tuple[ir.Block, Json]:
    if tool.is_server:
        # A tool of a server, as the model wants it.
        names = ("tool", "arguments", "pin")
        parts = {part: forms.jinja(f'fact("{CALL}").{part}') for part in names}
        name, inputs = f"{action.name}_{tool.name}", forms.fields(server=tool.name, **parts)
        return ir.Block((ir.Task(name=name, kind="tool", inputs=inputs),)), [[name, True]]
    actions = find_mapping(tool.entry.value, "actions") or Mapping((), tool.entry.key.span)
    order = order_of(action.context, actions)
    action.context.scopes.setdefault(tool.name, []).extend(entry.name for entry in actions)
    location = replace(action.location, path=f"{path}@case.{tool.name}", is_parallel=False)
    return location.read_block(action.context, actions, order, location), [*order.ends]


_READERS: dict[str, Callable[[Action], ir.Node]] = {
    "compose": lambda action: ir.Compute(
        name=action.name, value=action.context.value(action.inputs)
    ),
    **dict.fromkeys(("wait", "delay"), control.read_wait),
    "terminate": control.read_terminate,
    "response": control.read_response,
    **dict.fromkeys(("parsejson", "query", "select", "join", "table"), control.read_operation),
    "expression": control.read_time,
    "initializevariable": control.read_initialize,
    **dict.fromkeys(forms.SETTING, control.read_set),
    "http": read_http,
    "ai": read_ask,
    **dict.fromkeys(("actor", "activity"), read_operator_task),
    "workflow": read_call,
    **dict.fromkeys(forms.CONNECTORS, read_connector),
    "javascriptcode": read_javascript,
    "xslt": read_xslt,
    "agent": read_agent,
    HANDOFF: read_handoff,
    **dict.fromkeys(("if", "condition"), control.read_if),
    "switch": control.read_switch,
    "foreach": control.read_foreach,
    **dict.fromkeys(("scope", "parallel"), control.read_scope),
    **dict.fromkeys(forms.LOOPS, control.read_loop),
}


def read_block(
    context: LoomContext, actions: Mapping, order: Order, location: Location
) -> ir.Block:
    """Returns the block of some actions, each after all actions that it waits for."""
    nodes: list[ir.Node] = []
    for entry in actions:
        node = _read_entry(context, entry, location)
        if node is not None:
            place = f"{entry.key.span.line}:{entry.key.span.column}"
            nodes.append(replace(node, after=order.after[entry.name], place=place))
    return ir.Block(tuple(nodes))


def _read_entry(context: LoomContext, entry: Entry, location: Location) -> ir.Node | None:
    written, span = entry.value, entry.key.span
    context.count_step(span)
    if not isinstance(written, Mapping):
        message = f"action {entry.name!r} must be an object"
        advice = 'write {"type": "compose", "inputs": ...}'
        context.report("W007", message, written.span, label="not an object", help=advice)
        return None
    kind = text_at(written, "type").lower()
    action = Action(context, entry.name, kind, written, span, location)
    context.places.remember_node(action.path, span)
    context.places.remember_field(action.path, "at_most", (find(written, "limit") or written).span)
    # Actions are known by their names everywhere in a definition, wherever they stand.
    first = context.named.setdefault(action.name.lower(), span)
    if first is not span:
        message = f"there are two actions {action.name!r}; expressions see the one that ran last"
        advice = f"the other one is at line {first.line}; Azure refuses this: give one another name"
        tell = context.warn if context.lenient else context.report
        tell("W012", message, span, label="used twice", help=advice)
    action.check()
    return _read_retry(action) if kind == "retry" else _read_action(action)


def _read_action(action: Action) -> ir.Node:
    """Returns the node of an action, without its place in the order."""
    node = read_static_result(action) or _READERS.get(action.type, _read_unknown)(action)
    if action.type == "response" and isinstance(node, ir.Compute):
        action.context.answers_later |= "asynchronous" in action.options
        node = replace(node, answers=True)
    retry, timeout_s = action.retry(), action.timeout_s()
    if retry is not None:
        node = replace(node, retry=retry)
    if timeout_s is not None:
        node = replace(node, timeout_s=timeout_s)
    if isinstance(node, ir.Task) and node.kind == "connector":
        node = connected(action, node)
    secure = forms.secured(action.fields)
    if secure and isinstance(node, ir.Stop):
        node = replace(node, message=ir.Constant("the reason is secure and is not shown"))
    elif secure:
        # Computed results are always secure.
        is_hidden = "outputs" in secure or isinstance(node, ir.Compute | ir.Assign)
        node = replace(node, secure_outputs=is_hidden)
    return replace(node, echo=_echo(action)) if action.context.reads_inputs else node


def _read_unknown(action: Action) -> ir.Node:
    context, kind = action.context, find(action.fields, "type")
    if kind is None:
        message = f"action {action.name!r} has no type"
        context.report("W006", message, action.span, label="no type")
    else:
        written = text_at(action.fields, "type")
        message = f"action {action.name!r} has the unknown type {written!r}"
        near = did_you_mean(action.type, sorted(forms.TYPES))
        advice = near or "a type such as compose, http, ai, until, foreach"
        context.report("W009", message, kind.span, label="unknown type", help=advice)
    return action.nothing()


def _echo(action: Action) -> ir.Value | None:
    """Returns the inputs of an action that others may read."""
    inputs = given_inputs(action)
    if inputs is None or "inputs" in forms.secured(action.fields) or action.type in forms.HOLDING:
        return None
    if isinstance(inputs, Mapping):
        shown = tuple(e for e in inputs if e.name.lower() not in ("authentication", "retrypolicy"))
        inputs = Mapping(shown, inputs.span)
    return action.context.value(inputs)


def _read_retry(action: Action) -> ir.Node:
    """Reads an action with retries: the node is the inner action under the outer name."""
    inner = action.setting("action")
    if not isinstance(inner, Mapping):
        return action.nothing()
    held = replace(action, type=text_at(inner, "type").lower(), fields=inner)
    held.check()
    node = _read_action(held)
    retry = action.retry() or read_policy(action.context, Mapping((), action.span))
    return replace(node, retry=retry)
