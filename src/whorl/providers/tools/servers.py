"""The MCP servers of the operator, the task `tool`, and the tools that a model is offered."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from whorl.errors import ProviderError, did_you_mean
from whorl.providers.commands import Program, check_permission
from whorl.providers.json_values import NotJson, as_json, clean, table_of
from whorl.providers.models.conversation import ToolOffer
from whorl.providers.settings import revealed
from whorl.providers.task import Inputs, OwnTask, Reply, Usage, time_limit

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Callable, Mapping, Sequence

    from whorl.language import Json
    from whorl.providers.functions import Function
    from whorl.providers.models.conversation import ToolCall
    from whorl.providers.outbound.client import Outbound
    from whorl.providers.settings import Settings, ToolServer
    from whorl.providers.task import Context, Emit, Request
    from whorl.providers.tools.connection import Connection

RUNS_MAX = 1_000
DESCRIPTION_MAX = 10_000


@dataclass(frozen=True, slots=True)
class ListedTool(ToolOffer):
    """A tool as its server describes it; `pin` is the hash of all that a model is told about it."""

    pin: str


class Servers:
    """Sessions, each started when it is first used; `earlier_pins` are those of a run's journal."""

    def __init__(
        self,
        settings: Settings,
        outbound: Outbound,
        earlier_pins: Callable[[str], Mapping[str, str]],
    ) -> None:
        self._settings = settings
        self._outbound = outbound
        self._earlier_pins = earlier_pins
        self._connections: WeakKeyDictionary[AbstractEventLoop, dict[str, Connection]] = (
            WeakKeyDictionary()
        )
        self._pins: OrderedDict[str, dict[str, str]] = OrderedDict()

    async def tools(self, name: str, run: str) -> list[ListedTool]:
        """The allowed tools of a server; raises ProviderError P122 when one of them has changed."""
        server = self._server(name)
        tools = []
        for tool in await self._connection(server).list_tools():
            if server.tools is not None and tool.name not in server.tools:
                continue
            listed = _listed(tool.name, tool.description or "", tool.input_schema)
            self._pin(run, name, listed)
            tools.append(listed)
        return tools

    async def call(
        self, name: str, tool: str, arguments: dict[str, Json], *, run: str, pin: str = ""
    ) -> tuple[Json, str]:
        server = self._server(name)
        what = f"tool {tool!r} of MCP server {name!r}"
        if server.tools is not None and tool not in server.tools:
            why = f"is not allowed; add it to tools of [mcp.{name}] in whorl.toml"
            raise ProviderError(f"{what} {why}", code="P121")
        listed = {each.name: each for each in await self.tools(name, run)}
        if tool not in listed:
            near = f"; {near}" if (near := did_you_mean(tool, listed)) else ""
            raise ProviderError(f"MCP server {name!r} has no tool {tool!r}{near}", code="P121")
        if pin and listed[tool].pin != pin:
            raise changed(name, tool)
        return await self._connection(server).call(tool, arguments), listed[tool].pin

    async def close(self) -> None:
        kept = self._connections.pop(asyncio.get_running_loop(), {})
        await asyncio.gather(*(connection.close() for connection in kept.values()))

    def _pin(self, run: str, server: str, tool: ListedTool) -> None:
        if run not in self._pins:
            self._pins[run] = dict(self._earlier_pins(run))
        self._pins.move_to_end(run)
        if self._pins[run].setdefault(f"{server}/{tool.name}", tool.pin) != tool.pin:
            raise changed(server, tool.name)
        while len(self._pins) > RUNS_MAX:
            self._pins.popitem(last=False)

    def _server(self, name: str) -> ToolServer:
        server = self._settings.mcp.get(name)
        if server is None:
            near = f"; {near}" if (near := did_you_mean(name, self._settings.mcp)) else ""
            why = f"is not configured; add [mcp.{name}] to whorl.toml{near}"
            raise ProviderError(f"MCP server {name!r} {why}", code="P120")
        return server

    def _connection(self, server: ToolServer) -> Connection:
        from whorl.providers.tools.connection import Connection

        kept = self._connections.setdefault(asyncio.get_running_loop(), {})
        if server.name not in kept:
            program = None
            if server.command:
                check_permission(self._settings, server.command[0], f"MCP server {server.name!r}")
                folder = str(Path(self._settings.project_root).resolve())
                environment = {**self._settings.environment, **revealed(server.env)}
                program = Program(server.command, environment, folder, stdin=None)
            kept[server.name] = Connection(server, self._outbound, program)
        return kept[server.name]


def _listed(name: str, description: str, schema: object) -> ListedTool:
    try:
        form = table_of(as_json(schema))
    except NotJson:
        form = {}
    written = json.dumps([name, description, form], sort_keys=True)
    pin = sha256(written.encode("utf-8", "replace")).hexdigest()[:16]
    shown = clean(description)[:DESCRIPTION_MAX]
    return ListedTool(clean(name), shown, {"type": "object", **form}, pin)


def changed(server: str, tool: str) -> ProviderError:
    return ProviderError(
        f"the description of tool {tool!r} of MCP server {server!r} has changed since this run "
        "began; look at what it says now, and start a new run if that is fine",
        code="P122",
    )


class Tool(OwnTask):
    """Inputs: server, tool, arguments, pin (the hash of its description). Gives its result."""

    async def perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("tool", request.inputs)
        name, tool = inputs.needed("server"), inputs.needed("tool")
        server = self._settings.mcp.get(name)
        timeout_s = request.timeout_s or (server.timeout_s if server else 60.0)
        late = (
            f"tool {tool!r} of MCP server {name!r} took longer than {timeout_s:g} s; raise "
            f"timeout of the step, or timeout_s of [mcp.{name}]"
        )
        arguments, pin = inputs.table("arguments"), inputs.text("pin")
        call = self._context.servers.call(name, tool, arguments, run=request.run, pin=pin)
        async with time_limit(timeout_s, late):
            value, pin = await call
        return Reply(value, Usage(calls=1), {"tool": f"{name}/{tool}", "pin": pin})


OFFERS_MAX = 128
NAME_MAX = 64

_UNUSUAL = re.compile(r"[^a-zA-Z0-9_-]")
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}


@dataclass(frozen=True, slots=True)
class ToolOffers:
    """What a model is offered, and what stands behind each name that it is told."""

    offers: list[ToolOffer] = field(default_factory=list)
    targets: dict[str, dict[str, Json]] = field(default_factory=dict)
    pins: dict[str, Json] = field(default_factory=dict)

    def add(
        self, wish: str, description: str, schema: dict[str, Json], target: dict[str, Json]
    ) -> None:
        plain = _UNUSUAL.sub("_", wish)[:NAME_MAX]
        name, number = plain, 1
        while name in self.targets:
            number += 1
            name = f"{plain[: NAME_MAX - 4]}_{number}"
        self.targets[name] = target
        self.offers.append(ToolOffer(name, description, schema))

    def wanted(self, call: ToolCall, call_id: str) -> dict[str, Json]:
        target = self.targets.get(call.name)
        if target is None:
            near = did_you_mean(call.name, self.targets) or f"known: {', '.join(self.targets)}"
            return {"id": call_id, "error": f"there is no tool {call.name!r}; {near}"}
        if call.fault:
            return {"id": call_id, "error": call.fault}
        inputs = dict(target)
        kind = str(inputs.pop("kind"))
        inputs["arguments" if kind == "tool" else "with"] = call.arguments
        return {"id": call_id, "name": call.name, "kind": kind, "inputs": inputs}


async def offered_tools(
    context: Context, names: Sequence[Json], run: str, earlier: Mapping[str, str]
) -> ToolOffers:
    """The tools behind names; P122 where one is no longer what `earlier` has the hash of."""
    offers, settings = ToolOffers(), context.settings
    for name in names:
        if not isinstance(name, str):
            raise _unfit(f"holds {name!r:.80}; each is the name of an MCP server or a task")
        server, _, tool = name.partition("/")
        if context.functions.get(name) is not None or name in settings.tasks:
            _add_task(context, name, offers)
        elif server in settings.mcp:
            _add_server(server, tool, await context.servers.tools(server, run), offers)
        else:
            near = did_you_mean(name, [*settings.mcp, *settings.tasks, *context.functions.names()])
            raise _unfit(
                f"names {name!r}, which is neither an MCP server nor a task; add [mcp.{name}] or "
                f"[tasks] {name} to whorl.toml{'; ' + near if near else ''}"
            )
    count = len(offers.offers)
    if count > OFFERS_MAX:
        raise _unfit(f"stands for {count} tools, and at most {OFFERS_MAX} can be offered")
    for name, pin in earlier.items():
        if offers.pins.get(name, pin) != pin:
            raise changed(*name.split("/", 1))
    return offers


def _add_server(server: str, only: str, listed: list[ListedTool], offers: ToolOffers) -> None:
    chosen = [tool for tool in listed if only in ("", tool.name)]
    if only and not chosen:
        near = did_you_mean(only, [tool.name for tool in listed])
        raise _unfit(f"names {server}/{only}, which that server does not have; {near}")
    for tool in chosen:
        target: dict[str, Json] = {"kind": "tool", "server": server, "tool": tool.name}
        offers.pins[f"{server}/{tool.name}"] = tool.pin
        name = f"{server}__{tool.name}"
        offers.add(name, tool.description, tool.schema, target | {"pin": tool.pin})


def _add_task(context: Context, task: str, offers: ToolOffers) -> None:
    registered = context.functions.get(task)
    place = context.settings.tasks.get(task, "")
    function = None if registered is None else registered.function
    if function is None and place.startswith("python:"):
        from whorl.providers.use import import_function

        function = import_function(place, context.settings)
    described, schema = f"The task {task!r}.", dict[str, "Json"](type="object")
    if function is not None:
        described, schema = inspect.getdoc(function) or "", schema_of(function)
    offers.add(task, described, schema, {"kind": "use", "task": task})


def schema_of(function: Function) -> dict[str, Json]:
    properties: dict[str, Json] = {}
    required: list[Json] = []
    is_open = False
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            is_open = True
            continue
        annotation = parameter.annotation
        written = annotation.__name__ if isinstance(annotation, type) else annotation
        kind = _TYPES.get(written.partition("[")[0]) if isinstance(written, str) else None
        properties[name] = {"type": kind} if kind else {}
        if parameter.default is parameter.empty:
            required.append(name)
    schema: dict[str, Json] = {"type": "object", "properties": properties, "required": required}
    return schema | {"additionalProperties": is_open}


def _unfit(why: str) -> ProviderError:
    return ProviderError(f"input 'tools' of task 'ask' {why}", code="P113")
