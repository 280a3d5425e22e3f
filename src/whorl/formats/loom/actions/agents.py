"""Agents: a model that is asked again and again, and whose tools are actions of the file.

An agent is a loop. In each iteration a model is asked, and the tools that it wants are carried out
one after the other; the loop ends when it wants none. Agents that others hand over to take part in
the loop of the first one: the conversation goes on, with another model, other words and tools.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whorl import ir
from whorl.formats.loom.actions.control import limits_of
from whorl.formats.loom.external_actions import task_of
from whorl.formats.loom.forms import find, find_mapping, text_at
from whorl.formats.loom.order import order_of
from whorl.formats.loom.references import CALL
from whorl.formats.loom.texts import IT, bodied, computed, fields, has_expression, jinja
from whorl.lazily import dataclass
from whorl.source import Mapping, Scalar, Sequence, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whorl.formats.loom.action import Action
    from whorl.formats.loom.texts import LoomContext
    from whorl.ir.nodes import Wanted
    from whorl.language import Json
    from whorl.source import Entry, Value

COUNT = 100
HANDOFF = "agenthandoff"
# A tool that stands for all tools of a server, which [mcp] of whorl.toml names as it is called.
_SERVER = "mcpclienttool"
# What of the conversation is kept in the scope of an iteration, and who is speaking in it.
_TURNS, _AGENT = "$turns", "$agent"
_ENDED: tuple[Wanted, ...] = ("succeeded", "failed", "timed_out", "skipped", "cancelled")
_ANY: dict[str, Json] = {"type": "object", "properties": {}}
# An agent that is only told what it is begins with what the run was given.
_PROMPT = "@if(equals(string(triggerBody()), ''), 'Begin.', string(triggerBody()))"
_MODEL = ("deploymentId", "modelId")
_SETTINGS = {"max_tokens": "maxTokens", "temperature": "temperature", "top_p": "topP"}
# How much of what was said a model is told again.
_REDUCTIONS = {"tokens": "maximumTokenCount", "messages": "messageCountLimit"}
_WORDS: Json = {
    "limits": {
        "max_iterations": "the agent was asked {iterations} times, its limit.count",
        "timeout": "the agent took longer than {ms} ms, its limit.timeout",
    }
}


@dataclass(frozen=True, slots=True)
class _Tool:
    """A tool of an agent; `agent` is whom it hands over to, if it does."""

    owner: str
    name: str
    span_of: Entry
    agent: str

    @property
    def key(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def is_server(self) -> bool:
        return text_at(self.span_of.value, "type").lower() == _SERVER


def started_actions(context: LoomContext, actions: Mapping) -> Mapping:
    """The actions that begin by themselves: without the agents that others hand over to."""
    agents = {e.name.lower(): e for e in actions if text_at(e.value, "type").lower() == "agent"}
    targets = {tool.agent.lower() for agent in agents.values() for tool in _tools(agent)}
    # The first of agents that all hand over to each other is the one that begins.
    first = next(iter(agents), "")
    waiting = {
        name: entry
        for name, entry in agents.items()
        if name in targets and name != first and not find_mapping(entry.value, "runAfter")
    }
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
    """Tells the model who goes on; the loop of the agents sees to that."""
    name, known = text_at(action.inputs, "name"), action.context.agents
    if name.lower() in known:
        name = known[name.lower()].name
    else:
        message = f"{action.name!r} hands over to the agent {name!r}, which does not exist"
        advice = f"there is {', '.join(e.name for e in known.values()) or 'none'}"
        action.context.report("W005", message, action.span, label="no such agent", help=advice)
    return ir.Compute(name=action.name, value=bodied(ir.Constant(f"{name} goes on from here")))


def read_agent(action: Action) -> ir.Node:
    """The loop of an agent and of all that it hands over to."""
    context = action.context
    group = _group(context, action.name)
    tools = [tool for agent in group for tool in _tools(agent)]
    limits = limits_of(action, is_azure=True, usual=COUNT)
    turns = [_turn(replace(action, name=e.name, fields=_object(e)), limits) for e in group]
    asked: ir.Node = turns[0]
    if len(turns) > 1:
        ends: dict[str, Json] = {
            e.name: [[turn.name, True]] for e, turn in zip(group, turns, strict=True)
        }
        cases = (
            ir.Case(e.name, ir.Block((turn,)), equals=ir.Constant(e.name))
            for e, turn in zip(group, turns, strict=True)
        )
        asked = ir.Branch(
            name=f"{action.name}_agent",
            subject=computed("fact", _AGENT),
            cases=tuple(cases),
            shape=computed("taken_of", IT, ends),
        )
    used = _used_tools(action, asked.name, tools)
    given: list[Json] = [asked.name, used.name, f"{action.name}_result"]
    handovers: dict[str, Json] = {tool.key: _spelled(context, tool) for tool in tools if tool.agent}
    return ir.Loop(
        name=action.name,
        body=ir.Block((asked, replace(used, after=(ir.After(asked.name, ("succeeded",)),)))),
        until=ir.When(computed("agent_done", asked.name), "the agent wants no tool"),
        limits=limits,
        on_limit="fail",
        words=_WORDS,
        carry=(
            ir.Carry(_TURNS, ir.Constant([]), computed("agent_turns", _TURNS, given)),
            ir.Carry(
                _AGENT,
                ir.Constant(action.name),
                computed("agent_after", _AGENT, asked.name, handovers),
            ),
        ),
        shape=computed("agent_outputs", IT, asked.name),
    )


def _object(entry: Entry) -> Mapping:
    return entry.value if isinstance(entry.value, Mapping) else Mapping((), entry.value.span)


def _spelled(context: LoomContext, tool: _Tool) -> str:
    agent = context.agents.get(tool.agent.lower())
    return tool.agent if agent is None else agent.name


def _group(context: LoomContext, name: str) -> list[Entry]:
    """An agent and those that it hands over to, directly or through others."""
    group = [context.agents[name.lower()]]
    for agent in group:
        for tool in _tools(agent):
            other = context.agents.get(tool.agent.lower())
            if other is not None and other not in group:
                group.append(other)
    return group


def _turn(agent: Action, limits: ir.LoopLimits) -> ir.Task:
    """The question to the model of an agent, with all that was said before."""
    context, parameters = agent.context, find(agent.inputs, "parameters")
    messages = find(parameters, "messages")
    settings = find(parameters, "agentModelSettings", "agentChatCompletionSettings")
    model = next((v for name in _MODEL if (v := find(parameters, name)) is not None), None)
    tools = list(_tools(_entry(agent)))
    entries: dict[str, ir.Value] = {
        "messages": context.value(messages),
        "offers": ir.Constant([_offer(tool) for tool in tools if not tool.is_server]),
        "turns": computed("fact", _TURNS),
    }
    if servers := [tool.name for tool in tools if tool.is_server]:
        entries["tools"] = ir.Constant([*servers])
    if isinstance(limits.iterations, int):
        entries["max_turns"] = ir.Constant(limits.iterations)
    if kept := _kept(parameters):
        entries["turns"] = computed("agent_recent", _TURNS, kept)
        if isinstance(limits.iterations, int):
            entries["max_turns"] = computed("agent_left", _TURNS, kept, limits.iterations)
    if model is not None:
        entries["model"] = context.value(model)
    written = ((name, find(settings, key)) for name, key in _SETTINGS.items())
    entries |= {name: context.value(value) for name, value in written if value is not None}
    if isinstance(messages, Sequence) and not any(map(_is_users, messages)):
        entries["prompt"] = context.expression(Scalar("", agent.span), _PROMPT)
    named = replace(agent, name=f"{agent.name}_turn")
    return task_of(named, "ask", entries, IT)


def _kept(parameters: Value | None) -> dict[str, Json]:
    """How many tokens or messages an agent keeps of its history."""
    written = find(parameters, "agentModelSettings", "agentHistoryReductionSettings")
    texts = {name: text_at(written, field) for name, field in _REDUCTIONS.items()}
    return {name: int(text) for name, text in texts.items() if text.isdecimal() and int(text)}


def _entry(agent: Action) -> Entry:
    return agent.context.agents[agent.name.lower()]


def _is_users(message: Value) -> bool:
    role = text_at(message, "role").lower()
    return role == "user" or has_expression(role)


def _offer(tool: _Tool) -> Json:
    schema = find(tool.span_of.value, "agentParameterSchema")
    return {
        "name": tool.name,
        "description": text_at(tool.span_of.value, "description"),
        "schema": _ANY if schema is None else plain(schema),
    }


def _used_tools(action: Action, asked: str, tools: list[_Tool]) -> ir.ForEach:
    """What the model wants in an iteration, one after the other; a failure is told to it."""
    name = f"{action.name}_tool"
    cases: list[ir.Case] = []
    ends: dict[str, Json] = {}
    for tool in tools:
        is_known = any(case.name == tool.name for case in cases)
        case = tool.key if is_known else tool.name
        body, ends[case] = _read_tool(action, tool, f"{action.path}/{action.name}_tools/{name}")
        cases.append(ir.Case(case, body, equals=ir.Constant(tool.key)))
    choice = ir.Branch(
        name=name,
        subject=computed("agent_tool", _AGENT, CALL),
        cases=tuple(cases),
        default=ir.Case("none", ir.Block(())),
        shape=computed("taken_of", IT, ends),
    )
    result = ir.Compute(
        name=f"{action.name}_result",
        value=computed("agent_result", CALL, name),
        after=(ir.After(name, _ENDED),),
    )
    return ir.ForEach(
        name=f"{action.name}_tools",
        items=computed("agent_calls", asked),
        item_name=CALL,
        body=ir.Block((choice, result)),
    )


def _read_tool(action: Action, tool: _Tool, path: str) -> tuple[ir.Block, Json]:
    if tool.is_server:
        called = _server_call(action, tool)
        return ir.Block((called,)), [[called.name, True]]
    actions = find_mapping(tool.span_of.value, "actions")
    if actions is None:
        message = f"the tool {tool.name!r} of {tool.owner!r} has no actions, so it returns nothing"
        advice = "add actions to it; MCP servers are configured in [mcp] of whorl.toml"
        span = tool.span_of.key.span
        action.context.warn("W023", message, span, label="no actions", help=advice)
        actions = Mapping((), span)
    order = order_of(action.context, actions)
    action.context.scopes.setdefault(tool.name, []).extend(entry.name for entry in actions)
    location = replace(action.location, path=f"{path}@case.{tool.name}", is_parallel=False)
    return location.read_block(action.context, actions, order, location), [*order.ends]


def _server_call(action: Action, tool: _Tool) -> ir.Task:
    """A tool of a server, as the model wants it."""
    parts = {name: jinja(f'fact("{CALL}").{name}') for name in ("tool", "arguments", "pin")}
    inputs = fields(server=tool.name, **parts)
    return ir.Task(name=f"{action.name}_{tool.name}", kind="tool", inputs=inputs)
