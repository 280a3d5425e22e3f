"""The tasks `use` (functions, plugins and URLs by name), `connector` and `tool` (of an MCP server).

The first of these answers for a connector: a task of the operator (`connector:<action>`), a
recorded reply, the one address for all connectors (`POST /<action>`), the call in the file. A reply
202 to a task that `awaits_call` means that the result comes later.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import traceback
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import quote

from whorl.errors import ProviderError, did_you_mean
from whorl.language.chunked_json import is_large
from whorl.language.schema import fit
from whorl.providers.functions import Raised, calling, how_to_give, import_function
from whorl.providers.http import Http, checked_value, detail_of, value_of
from whorl.providers.json_values import LARGE, NotJson, as_json, beside, json_bytes
from whorl.providers.models.conversation import without_nulls
from whorl.providers.outbound.client import OutboundCall
from whorl.providers.task import Context, Inputs, OwnTask, Reply, Usage, iteration_of, time_limit

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.providers.functions import Function, Threads
    from whorl.providers.task import Effect, Emit, Estimate, Request, TaskKind


URL_TIMEOUT_S = 60.0
CONNECTOR_TIMEOUT_S = 120.0
_ACCEPTED = 202
_TRACEBACK_MAX = 4_000
_ATTEMPT = re.compile(r"#[0-9]+$")


class Use(OwnTask):
    """Inputs: task (its name), with (its inputs), hide_reply (its result is not shown)."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._imported: dict[str, Function] = {}

    def effect_of(self, name: str) -> Effect:
        registered = self._context.functions.get(name)
        if registered is not None:
            return "none" if registered.pure else self.effect
        plugin = self._own_plugin(name)
        return self.effect if plugin is None else plugin.effect

    def estimate(self, request: Request) -> Estimate:
        plugin = self._own_plugin(str(request.inputs.get("task", "")))
        return super().estimate(request) if plugin is None else plugin.estimate(_inner(request))

    async def perform(self, request: Request, emit: Emit) -> Reply:
        reply = await self._perform(request, emit)
        if request.returns is not None:
            value, faults = fit(request.returns, without_nulls(request.returns, reply.value))
            if faults:
                what = f"task {request.inputs['task']!r} gave a value that does not fit `returns`"
                detail: dict[str, object] = {"errors": faults, "usage": reply.usage.as_json()}
                why = f"{what}: {'; '.join(faults[:3])}"
                raise ProviderError(why, code="P105", retryable=True, detail=detail)
            reply = replace(reply, value=value)
        if not Inputs("use", request.inputs).flag("hide_reply"):
            return reply
        return replace(reply, detail=reply.detail | {"secure": True})

    async def _perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("use", request.inputs)
        name = inputs.needed("task")
        place = self._settings.tasks.get(name, "")
        registered = self._context.functions.get(name)
        if registered is None and place.startswith(("https://", "http://")):
            call = _json_call(place, inputs.table("with"), request, URL_TIMEOUT_S)
            received = await self._context.outbound.request(call, check_status=True)
            detail: dict[str, Json] = {"task": name, "url": received.url}
            answer = await beside(partial(value_of, received), len(received.body))
            return Reply(answer["body"], Usage(calls=1), detail)
        own = _inner(request)
        plugin = self._own_plugin(name)
        if plugin is not None:
            return await plugin.perform(own, emit)
        if registered is None and name not in self._imported:
            if not place:
                names = [*self._context.functions.names(), *self._settings.tasks]
                near = f"; {near}" if (near := did_you_mean(name, names)) else ""
                why = f"task {name!r} is not known; {how_to_give(name)}{near}"
                raise ProviderError(why, code="P114")
            self._imported[name] = import_function(place, self._settings)
        function = self._imported[name] if registered is None else registered.function
        with calling(own, emit) as made:
            try:
                value = await _call(function, own, self._context.threads)
            except ProviderError as fault:
                if made.usage != Usage(calls=1):
                    # Model usage that it reported before it failed still costs money.
                    fault.detail["usage"] = made.usage.as_json()
                raise
        return Reply(value, made.usage, {"task": name})

    def _own_plugin(self, name: str) -> TaskKind | None:
        """Returns the plugin of that name, unless the program or operator has such a task."""
        if self._context.functions.get(name) is not None or name in self._settings.tasks:
            return None
        return self._context.plugin(name)


def _json_call(url: str, value: Json, request: Request, timeout_s: float) -> OutboundCall:
    key = (("idempotency-key", request.key),) if request.key else ()
    headers = (("content-type", "application/json"), *key)
    call = OutboundCall(
        method="POST", url=url, headers=headers, body=json_bytes(value), of_operator=True
    )
    return replace(call, timeout_s=request.timeout_s or timeout_s)


def _inner(request: Request) -> Request:
    """Returns the request for the performer: a copy, so that the run does not change."""
    inputs = Inputs("use", request.inputs)
    try:
        own = {name: as_json(value, name) for name, value in inputs.table("with").items()}
    except NotJson as cause:
        raise ProviderError(f"input 'with' of task 'use': {cause}", code="P113") from None
    return replace(request, kind=inputs.needed("task"), inputs=own)


async def _call(function: Function, request: Request, threads: Threads) -> Json:
    name, limit_s = request.kind, request.timeout_s

    def begin() -> None:
        """Starts the time limit: waiting for a thread does not count."""
        if limit_s is not None:
            deadline.reschedule(asyncio.get_running_loop().time() + limit_s)

    try:
        async with asyncio.timeout(None) as deadline:
            result = await _result(function, request.inputs, threads, begin)
    # A function of others may raise anything; the run must learn what it was.
    except BaseException as raised:  # noqa: BLE001 - all but what is for us becomes its failure
        if deadline.expired() and isinstance(raised, TimeoutError):
            why = f"task {name!r} took longer than {limit_s:g} s; raise timeout of the step"
            raise ProviderError(why, code="P108", retryable=True) from None
        cause = raised.fault if isinstance(raised, Raised) else raised
        task = asyncio.current_task()
        is_ours = isinstance(cause, asyncio.CancelledError) and task and task.cancelling() > 0
        if is_ours or isinstance(cause, ProviderError | KeyboardInterrupt):
            raise cause from None
        # Nobody knows whether the fault passes, so a step's `retry` tries again.
        kind, why = type(cause).__name__, f"task {name!r} raised {type(cause).__name__}: {cause}"
        own = cause.__traceback__
        # Whorl's own frames are left out.
        while own is not None and str(own.tb_frame.f_globals.get("__name__")).startswith("whorl."):
            own = own.tb_next
        lines = traceback.format_exception(type(cause), cause, own or cause.__traceback__)
        detail = {"type": kind, "traceback": "".join(lines)[-_TRACEBACK_MAX:]}
        raise ProviderError(why, code="P100", retryable=True, detail={**detail}) from cause
    try:
        return await beside(partial(as_json, result), LARGE if is_large(result) else 0)
    except NotJson as cause:
        why = f"task {name!r} gave a value that is not JSON: {cause}"
        raise ProviderError(why, code="P105") from None


async def _result(
    function: Function, given: dict[str, Json], threads: Threads, begin: Callable[[], None]
) -> object:
    if inspect.iscoroutinefunction(function):
        begin()
        return await function(**given)
    result = await threads.call(partial(function, **given), begin)
    return await result if inspect.isawaitable(result) else result


class Connector(OwnTask):
    """Inputs: action (its name), type, input, result, call (a request of the task `http`), missing
    (why we do not answer ourselves).

    The value is `{status, headers, body}`.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._use = Use(context)
        self._http = Http(context)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        reply = await self._perform(request, emit)
        value = reply.value
        if not (isinstance(value, dict) and value.get("status") == _ACCEPTED):
            return reply
        return replace(reply, detail=reply.detail | {"awaits_call": True})

    async def _perform(self, request: Request, emit: Emit) -> Reply:
        inputs = Inputs("connector", request.inputs)
        name, result, given = inputs.needed("action"), inputs.get("result"), inputs.get("input")
        if isinstance(result, dict):
            return self._replied(name, result)
        task = f"connector:{name}"
        if task in self._settings.tasks or self._context.functions.get(task) is not None:
            used: dict[str, Json] = {"task": task, "with": {"input": given}}
            used["hide_reply"] = inputs.get("hide_reply")
            reply = await self._use.perform(replace(request, kind="use", inputs=used), emit)
            return replace(reply, value=_outputs(reply.value))
        replies = self._settings.connectors.replies
        for place in (request.address, _ATTEMPT.sub("", request.address), name):
            if place in replies:
                recorded = replies[place]
                if isinstance(recorded, list):
                    # The last one is for all iterations after it; by address, so that a run that
                    # is resumed gets the same.
                    number = min(iteration_of(request.address), len(recorded))
                    recorded = recorded[number - 1] if recorded else None
                return self._replied(name, recorded)
        if url := self._settings.connectors.url:
            url = f"{url}/{quote(name, safe='')}"
            call = _json_call(url, given, request, CONNECTOR_TIMEOUT_S)
            received = await self._context.outbound.request(call)
            value = await checked_value(self._context.outbound, received, inputs)
            return Reply(value, Usage(calls=1), detail_of(received, inputs))
        if own := inputs.table("call"):
            reply = await self._http.perform(replace(request, kind="http", inputs=own), emit)
            # A stand-in for a service receives no call that withdraws the address.
            return replace(reply, detail=reply.detail | {"awaits_call": True, "subscribed": True})
        why, missing = f"the connector {name!r} is not configured", inputs.text("missing")
        why += f" ({inputs.text('type')}{f': {missing}' if missing else ''})"
        raise ProviderError(
            f'{why}; write `url = "http://..."` below [connectors] in whorl.toml '
            f"(it receives POST /{quote(name, safe='')}), or replies there, or "
            f'`"{task}" = "python:module:function"` below [tasks]',
            code="P114",
        )

    def _replied(self, name: str, recorded: Json) -> Reply:
        outputs = _outputs(recorded)
        failure = recorded.get("failed") if isinstance(recorded, dict) else None
        if not failure and 200 <= int(str(outputs["status"])) < 400:
            return Reply(outputs, Usage(calls=1), {"recorded": True})
        words = failure if isinstance(failure, str) else f"status {outputs['status']}"
        is_late = isinstance(recorded, dict) and recorded.get("timed_out") is True
        why = f"the configured reply for {name!r} is a failure: {words}"
        raise ProviderError(why, code="P108" if is_late else "P103", detail=dict(outputs))


def _outputs(given: Json) -> dict[str, Json]:
    if isinstance(given, dict) and isinstance(given.get("value"), dict) and "kind" in given:
        given = given["value"]  # a call of a recording
    if isinstance(given, dict) and {"status", "statusCode", "body"} & set(given):
        status = given.get("statusCode", given.get("status", 200))
        is_status = isinstance(status, int) and not isinstance(status, bool)
        if "body" in given or is_status:
            headers, body = given.get("headers") or {}, given.get("body")
            return {"status": status if is_status else 200, "headers": headers, "body": body}
    return {"status": 200, "headers": {}, "body": given}


class Tool(OwnTask):
    """Inputs: server, tool, arguments, pin (the hash of its description). Returns its result."""

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
