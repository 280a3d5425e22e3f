"""The MCP servers of the operator, the session with each, and the tools that models are offered.

Each session has its own task, because it must be left in the task that entered it.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
from collections import OrderedDict
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from whorl.errors import ProviderError, did_you_mean
from whorl.lazily import dataclass
from whorl.providers.functions import import_function
from whorl.providers.json_values import NotJson, as_json, beside, clean, table_of
from whorl.providers.models.conversation import ToolCall, ToolOffer
from whorl.providers.processes import LINE_MAX, Program, ServerErrors, check_permission
from whorl.providers.redaction import Secret, redact
from whorl.providers.settings import Settings, ToolServer, revealed

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from mcp import Client

    from whorl.language import Json
    from whorl.providers.functions import Function
    from whorl.providers.outbound.client import Outbound
    from whorl.providers.task import Context
    from whorl.providers.tools.tool_cache import KnownTools

RUNS_MAX = 1_000
DESCRIPTION_MAX = 10_000
PAGES_MAX = 20
TOOLS_MAX = 500
CLOSE_S = 10.0
_FAILURES = (ProviderError, OSError, ValueError, RuntimeError, BaseExceptionGroup)
INSTALL = "pip install 'whorl[mcp]'"


@dataclass(frozen=True, slots=True)
class ListedTool(ToolOffer):
    """A tool as its server describes it; `pin` is the hash of all that models receive about it."""

    pin: str


class Servers:
    """The sessions with servers, each started at its first use.

    `earlier_pins` are those of a run's journal; `known` are the descriptions of earlier runs.
    """

    def __init__(
        self,
        settings: Settings,
        outbound: Outbound,
        earlier_pins: Callable[[str], Mapping[str, str]],
        known: Callable[[], KnownTools | None] = lambda: None,
    ) -> None:
        self._settings = settings
        self._known = known
        self._outbound = outbound
        self._earlier_pins = earlier_pins
        self._connections: WeakKeyDictionary[AbstractEventLoop, dict[str, Connection]] = (
            WeakKeyDictionary()
        )
        self._pins: OrderedDict[str, dict[str, str]] = OrderedDict()

    async def tools(self, name: str, run: str) -> list[ListedTool]:
        """Returns the allowed tools of a server. Raises ProviderError P122 if one has changed."""
        server, secrets = self._server(name), self._settings.secrets()
        tools = [
            _listed(tool.name, tool.description or "", tool.input_schema, secrets)
            for tool in await self._connection(server).list_tools()
            if server.tools is None or tool.name in server.tools
        ]
        self._pin(run, name, tools)
        known, are_named = self._known(), server.tools is not None
        waiting = known.changed(name, tools, are_named=are_named) if known is not None else {}
        for tool, why in waiting.items():
            advice = f"`whorl project tools accept {tool}` shows the difference and asks"
            words = f"tool {tool.partition('/')[2]!r} of MCP server {name!r} {why}; {advice}"
            raise ProviderError(words, code="P122")
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

    def _pin(self, run: str, server: str, tools: list[ListedTool]) -> None:
        """Checks that a run's tools stay the same, and that no tool joins the first list."""
        if run not in self._pins:
            self._pins[run] = dict(self._earlier_pins(run))
        self._pins.move_to_end(run)
        pins, listed = self._pins[run], f"{server}/"
        for tool in tools:
            name = f"{server}/{tool.name}"
            if listed in pins and name not in pins:
                raise changed(server, tool.name, is_new=True)
            if pins.setdefault(name, tool.pin) != tool.pin:
                raise changed(server, tool.name)
        pins[listed] = ""
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


def _listed(name: str, description: str, schema: object, secrets: tuple[Secret, ...]) -> ListedTool:
    try:
        form = table_of(as_json(schema))
    except NotJson:
        form = {}
    written = json.dumps([name, description, form], sort_keys=True)
    pin = sha256(written.encode("utf-8", "replace")).hexdigest()[:16]
    # A server may reveal its own key, which models must not receive.
    shown = redact(clean(description), secrets)
    if len(shown) > DESCRIPTION_MAX:
        words = f"tool {clean(name)!r} describes itself in {len(shown):,} characters, more than "
        words += f"{DESCRIPTION_MAX:,}; list the tools that are needed as `tools` of its server"
        raise ProviderError(words, code="P120")
    form = table_of(redact(form, secrets))
    return ListedTool(clean(name), shown, {"type": "object", **form}, pin)


def changed(server: str, tool: str, *, is_new: bool = False) -> ProviderError:
    what = f"tool {tool!r} of MCP server {server!r}"
    what = f"{what} was added" if is_new else f"the description of {what} has changed"
    advice = "check its new description, then start a new run"
    return ProviderError(f"{what} since this run began; {advice}", code="P122")


class Connection:
    """Starts its server at its first use, and again after the server has ended."""

    def __init__(self, server: ToolServer, outbound: Outbound, program: Program | None) -> None:
        self._server = server
        self._outbound = outbound
        self._program = program
        self._errors = ServerErrors()
        self._ready: asyncio.Future[Client] | None = None
        self._keeper: asyncio.Task[None] | None = None
        self._over = asyncio.Event()

    async def list_tools(self) -> list[Any]:
        client = await self._client()
        tools: list[Any] = []
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._server.timeout_s), self._own_errors():
                for _ in range(PAGES_MAX):
                    page = await client.list_tools(cursor=cursor)
                    tools += page.tools
                    cursor = page.next_cursor
                    if cursor is None or len(tools) > TOOLS_MAX:
                        break
        except TimeoutError:
            why = "did not list its tools in time"
            raise self._fault(why, code="P108", retryable=True) from None
        return tools[:TOOLS_MAX]

    async def call(self, tool: str, arguments: dict[str, Json]) -> Json:
        client = await self._client()
        async with self._own_errors():
            result = await client.call_tool(tool, dict(arguments))
        value = await beside(partial(_value, result))
        if result.is_error:
            what = f"tool {tool!r} of MCP server {self._server.name!r}"
            raise ProviderError(f"{what} failed: {str(value)[:1_000]}", code="P123")
        return value

    async def close(self) -> None:
        keeper, ready = self._keeper, self._ready
        self._keeper = self._ready = None
        if keeper is None or ready is None:
            return
        self._over.set()
        if ready.done():
            await asyncio.wait([keeper], timeout=CLOSE_S)
        # A session that is still connecting reacts only to a cancel.
        keeper.cancel()
        await asyncio.wait([keeper], timeout=CLOSE_S)
        with suppress(asyncio.CancelledError):
            keeper.exception()

    async def _client(self) -> Client:
        if self._keeper is not None and self._keeper.done():
            await self.close()
        if self._ready is None:
            self._over = asyncio.Event()
            self._errors = ServerErrors()
            self._ready = asyncio.get_running_loop().create_future()
            # The callers that wait for it may have been cancelled by then.
            self._ready.add_done_callback(lambda done: done.exception())
            self._keeper = asyncio.create_task(self._keep(self._ready, self._over))
        ready = self._ready
        try:
            async with asyncio.timeout(self._server.timeout_s):
                return await asyncio.shield(ready)
        except TimeoutError:
            await self.close()
            raise self._fault("did not answer in time", code="P108", retryable=True) from None

    async def _keep(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        try:
            # The import takes a second; the event loop keeps running.
            await asyncio.to_thread(import_module, "mcp.client.client")
        except ImportError:
            ready.set_exception(self._fault(f"needs the package mcp: {INSTALL}"))
            return
        # Its messages are in Whorl's errors; it must not write to the terminal.
        if not (logger := logging.getLogger("mcp")).handlers:
            logger.addHandler(logging.NullHandler())
        from mcp import Client, Implementation
        from mcp.shared.exceptions import MCPError

        from whorl.providers.tools.transports import program_streams, web_streams

        info = Implementation(name="whorl", version="1")
        try:
            if self._program is None:
                streams: Any = web_streams(self._server, self._outbound, self._errors)
            else:
                streams = program_streams(self._program, self._errors)
            async with Client(streams, cache=None, client_info=info) as client:
                ready.set_result(client)
                await over.wait()
        except (MCPError, *_FAILURES) as cause:
            self._report(ready, cause)
        finally:
            if not ready.done():
                ready.set_exception(self._fault("was closed"))

    def _report(self, ready: asyncio.Future[Client], cause: BaseException) -> None:
        """Reports why a session did not open; callers have noticed the loss of an open one."""
        if ready.done():
            return
        group = cause.subgroup(ProviderError) if isinstance(cause, BaseExceptionGroup) else cause
        below = innermost(group) if group else None
        if not isinstance(below, ProviderError):
            below = next(iter(self._errors.faults), None)
        if below is not None:
            code = below.code if below.code in ("P107", "P113", "R110") else "P120"
            fault = self._fault(f"cannot be reached: {below}", code=code, retryable=below.retryable)
        else:
            refusal = self._errors.refusal
            retryable = refusal is not None and refusal.retryable
            fault = self._fault(f"cannot be used: {first_line(cause)}", retryable=retryable)
        ready.set_exception(fault)

    @asynccontextmanager
    async def _own_errors(self) -> AsyncIterator[None]:
        from mcp.shared.exceptions import MCPError

        try:
            yield
        except (ProviderError, TimeoutError):
            raise
        except (MCPError, *_FAILURES) as cause:
            code = cause.code if isinstance(cause, MCPError) else None
            raise await self._lost(cause, code) from cause

    def _fault(
        self, why: str, *, code: str = "P120", retryable: bool = False, answered: bool | None = None
    ) -> ProviderError:
        message = f"MCP server {self._server.name!r} {why}{self._errors.summary()}"
        return ProviderError(message, code=code, retryable=retryable, answered=answered)

    async def _lost(self, cause: BaseException, number: int | None) -> ProviderError:
        """Returns the error of a call that failed; closes a session that ended."""
        from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT

        below = self._errors.faults.pop() if self._errors.faults else None
        if number == REQUEST_TIMEOUT:
            return self._fault("did not answer in time", code="P108", retryable=True)
        why, code, answered = "ended in the middle of a call", "P101", False
        if below is not None:
            why, code, answered = f"cannot be reached: {below}", below.code, below.answered
        elif not (self._keeper is None or self._keeper.done() or number == CONNECTION_CLOSED):
            return self._fault(f"refused the call: {first_line(cause)}", code="P123")
        await self.close()
        if code == "P106":
            # The call took effect, and a repeat would reply with as many bytes.
            return self._fault(f"failed: {below}", code=code)
        return self._fault(why, code=code, retryable=True, answered=answered)


def _value(result: Any) -> Json:
    """Returns structured content if it has more than the text, else the text."""
    dumped = {"mode": "json", "by_alias": True, "exclude_none": True}
    parts = [part.model_dump(**dumped) for part in result.content]
    texts = [part.get("text", "") for part in parts if part.get("type") == "text"]
    text = clean("\n".join(texts))
    try:
        structured = as_json(result.structured_content)
        if structured is None:
            return text if len(texts) == len(parts) else as_json({"content": parts})
    except NotJson:
        return text
    if isinstance(structured, dict) and set(structured) == {"result"}:
        # Servers wrap a result that is no object; the text then says the same without the wrap.
        inner = structured["result"]
        if text in (inner, json.dumps(inner), json.dumps(inner, ensure_ascii=False)):
            return inner
    return structured


def innermost(cause: BaseException) -> BaseException:
    while isinstance(cause, BaseExceptionGroup):
        cause = cause.exceptions[0]
    return cause


def first_line(cause: BaseException) -> str:
    lines = str(innermost(cause)).strip().splitlines()
    return clean(lines[0])[:LINE_MAX] if lines else type(innermost(cause)).__name__


# The tools that a model is offered, and the target of each name.

OFFERS_MAX = 128
NAME_MAX = 64
_UNUSUAL = re.compile(r"[^a-zA-Z0-9_-]")
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}


@dataclass(frozen=True, slots=True)
class ToolOffers:
    """The tools that a model is offered, and the target of each name."""

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

    def wanted(self, call: ToolCall, call_id: str, *, is_own: bool) -> dict[str, Json]:
        """Returns a call for the machine, or with `is_own` for the workflow."""
        target, fault = self.targets.get(call.name), call.fault
        if target is None:
            near = did_you_mean(call.name, self.targets) or f"known: {', '.join(self.targets)}"
            fault = f"there is no tool {call.name!r}; {near}"
        made: dict[str, Json] = {"id": call_id}
        if is_own:
            made |= {"arguments": call.arguments, **(target or {"name": call.name})}
            made.setdefault("name", made.get("server") or made.get("task"))
        elif target and not fault:
            inputs = dict(target)
            kind = str(inputs.pop("kind"))
            inputs["arguments" if kind == "tool" else "with"] = call.arguments
            made |= {"name": call.name, "kind": kind, "inputs": inputs}
        return made | ({"error": fault} if fault else {})


async def offered_tools(
    context: Context,
    names: Sequence[Json],
    run: str,
    earlier: Mapping[str, str],
    own: ToolOffers | None = None,
) -> ToolOffers:
    """Returns the tools of these names, added to the workflow's own ones.

    Raises P122 if the hash of a tool differs from the one in `earlier`.
    """
    offers, settings = own or ToolOffers(), context.settings
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
        raise _unfit(f"means {count} tools, but at most {OFFERS_MAX} can be offered")
    for name, pin in offers.pins.items() if earlier else ():
        if earlier.get(name) != pin:
            raise changed(*name.split("/", 1), is_new=name not in earlier)
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
