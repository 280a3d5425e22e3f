"""The task `connector`: whoever stands in for a connector of another platform answers.

In this order: a task of the operator (`connector:<action>`), a recorded reply, the one address
that answers for all connectors (`POST /<action>`). Where there is none, it says how to map it.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

from whorl.errors import ProviderError
from whorl.providers.http import value_of
from whorl.providers.inputs import Inputs
from whorl.providers.outbound import Call
from whorl.providers.task import Estimate, Reply, Usage
from whorl.providers.use import Use

if TYPE_CHECKING:
    from whorl.language import Json
    from whorl.providers.context import Context
    from whorl.providers.task import Effect, Emit, Request

TIMEOUT_S = 120.0
_ITERATION = re.compile(r"\[([0-9]+)\]")
_ATTEMPT = re.compile(r"#[0-9]+$")


class Connector:
    """Inputs: action (its name), type, input, and result: what the file itself says it gives.

    The value is `{status, headers, body}`; a status that is no success is an error.
    """

    effect: Effect = "outside"

    def __init__(self, context: Context) -> None:
        self._settings = context.settings
        self._outbound = context.outbound
        self._use = Use(context)
        self._has = context.functions.get

    def estimate(self, request: Request) -> Estimate:
        """A call, without a price."""
        return Estimate(calls=1)

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Answers. Raises ProviderError."""
        inputs = Inputs("connector", request.inputs)
        name = inputs.needed("action")
        result = inputs.get("result")
        if isinstance(result, dict):
            return self._replied(name, result)
        task = f"connector:{name}"
        if task in self._settings.tasks or self._has(task) is not None:
            return await self._use_task(task, inputs, request, emit)
        replies = self._settings.connectors.replies
        for place in (request.address, _ATTEMPT.sub("", request.address), name):
            if place in replies:
                return self._replied(name, _in_turn(replies[place], request.address))
        if self._settings.connectors.url:
            return await self._call(name, inputs, request)
        raise ProviderError(
            f"nobody answers for the connector {name!r} ({inputs.text('type')}); to stand in for "
            'it, set [connectors] url = "http://..." in whorl.toml (it is sent POST /'
            f'{quote(name, safe="")}), or replies, or [tasks] "{task}" = "python:module:function"',
            code="P114",
        )

    async def _use_task(self, task: str, inputs: Inputs, request: Request, emit: Emit) -> Reply:
        given: dict[str, Json] = {
            "task": task,
            "with": {"input": inputs.get("input")},
            "hide_reply": inputs.get("hide_reply"),
        }
        reply = await self._use.perform(replace(request, kind="use", inputs=given), emit)
        outputs = _outputs(reply.value)
        return replace(reply, value=outputs)

    async def _call(self, name: str, inputs: Inputs, request: Request) -> Reply:
        headers = [("content-type", "application/json")]
        if request.key:
            headers.append(("idempotency-key", request.key))
        call = Call(
            method="POST",
            url=f"{self._settings.connectors.url}/{quote(name, safe='')}",
            headers=tuple(headers),
            body=json.dumps(inputs.get("input"), ensure_ascii=False).encode("utf-8", "replace"),
            timeout_s=request.timeout_s or TIMEOUT_S,
            of_operator=True,
        )
        received = await self._outbound.request(call)
        value = value_of(received)
        hidden: dict[str, Json] = {}
        if inputs.flag("hide_reply", default=False):
            hidden["secure"] = True
        if not 200 <= received.status < 300:
            fault = self._outbound.fault(received, b"" if hidden else received.body)
            fault.detail = {**fault.detail, **value, **hidden}
            raise fault
        told: dict[str, Json] = {"status": received.status, "url": received.url}
        return Reply(value, Usage(calls=1), told | hidden)

    def _replied(self, name: str, recorded: Json) -> Reply:
        """A reply that was written down: outputs, or how the action failed."""
        outputs = _outputs(recorded)
        failure = recorded.get("failed") if isinstance(recorded, dict) else None
        if not failure and 200 <= int(str(outputs["status"])) < 400:
            return Reply(outputs, Usage(calls=1), {"recorded": True})
        words = failure if isinstance(failure, str) else f"status {outputs['status']}"
        is_late = isinstance(recorded, dict) and recorded.get("timed_out") is True
        raise ProviderError(
            f"the reply written down for {name!r} is a failure: {words}",
            code="P108" if is_late else "P103",
            detail=dict(outputs),
        )


def _outputs(given: Json) -> dict[str, Json]:
    """What answered as status, headers and body; anything else is the body itself."""
    if isinstance(given, dict) and isinstance(given.get("value"), dict) and "kind" in given:
        given = given["value"]  # a call of a cassette
    if isinstance(given, dict) and {"status", "statusCode", "body"} & set(given):
        status = given.get("statusCode", given.get("status", 200))
        is_status = isinstance(status, int) and not isinstance(status, bool)
        if "body" in given or is_status:
            return {
                "status": status if is_status else 200,
                "headers": given.get("headers") or {},
                "body": given.get("body"),
            }
    return {"status": 200, "headers": {}, "body": given}


def _in_turn(replies: Json, address: str) -> Json:
    """The reply of an iteration, and the last one for all after it; by address, so that a run
    that is resumed gets the same.
    """
    if not isinstance(replies, list):
        return replies
    if not replies:
        return None
    numbers = _ITERATION.findall(address)
    index = int(numbers[-1]) - 1 if numbers else 0
    return replies[min(index, len(replies) - 1)]
