"""Webhooks: signed calls of other systems, each of which starts one run of one workflow."""

import asyncio
import logging
import time
from collections import deque
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from starlette.datastructures import Headers

from whorl.errors import InvalidWorkflow, UsageError, safe
from whorl.interfaces.http.problems import Refusal
from whorl.interfaces.http.schemas import requests as schemas
from whorl.interfaces.http.state import ServerState, State, no_query
from whorl.ir import Workflow
from whorl.language import Json
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite.store import HookRow
from whorl.runtimes.start_options import Start
from whorl.services.files.preflight import check_given, permitted
from whorl.services.serving.triggers import only_start
from whorl.wings.automation.firing import Scheduler
from whorl.wings.automation.hook_routes import body_of
from whorl.wings.automation.webhooks import CODE, delivery_of, inputs_from, key_of

_MINUTE_S = 60.0
# Signing so much takes longer than others should wait.
_ASIDE_BYTES = 100_000
_NAMES_MAX = 10_000
_HEADERS = {
    "webhook-id": "the unique id of the call",
    "webhook-timestamp": "when it was sent, in seconds since 1970",
    "webhook-signature": "`v1,` and the signature; several are separated by spaces",
    "x-github-delivery": "GitHub's id of the call",
    "x-hub-signature-256": "GitHub's signature of the body",
}
_DESCRIBED: dict[str, Any] = {
    "parameters": [
        {"name": name, "in": "header", "description": words, "schema": {"type": "string"}}
        for name, words in _HEADERS.items()
    ],
    "requestBody": {"content": {"application/json": {"schema": {}}}},
}

log = logging.getLogger("whorl.http")
router = APIRouter(prefix="/hooks", tags=["hooks"], dependencies=[Depends(no_query)])


@router.post("/{name}", status_code=202, openapi_extra=_DESCRIBED)
async def take_webhook(
    state: State,
    request: Request,
    name: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")],
) -> schemas.Hooked:
    """Starts the workflow that a hook was made for (`whorl hook add`); signed by its own secret.

    The body has inputs by name, or is the main one. The same call is answered with the same run,
    however often it comes. 401: the signature is wrong or too old. 429: too many calls.
    """
    hook = state.store.hook(name)
    content = await request.body()
    delivery = await _verified(state, hook, request.headers, content)
    assert hook is not None
    _check_rate(state, name)
    key = key_of(hook, delivery)
    run = state.store.keyed(key)
    if run is not None:
        return schemas.Hooked(run=run)
    if hook.format == "github" and request.headers.get("x-github-event") == "ping":
        return schemas.Hooked(run=None)
    body = await body_of(request, is_text_only=True)
    workflow, start = await asyncio.to_thread(_prepared, state, hook, key, body)
    return schemas.Hooked(run=await _start(state, workflow, start))


async def _verified(
    state: ServerState, hook: HookRow | None, headers: Headers, content: bytes
) -> str:
    check = partial(delivery_of, hook, state.store.seals, headers, content, time.time())
    try:
        return check() if len(content) < _ASIDE_BYTES else await asyncio.to_thread(check)
    except UsageError as fault:
        raise Refusal(401, CODE, str(fault), fault.help) from fault


def _check_rate(state: ServerState, name: str) -> None:
    most, now = state.providers.settings.server.hooks_per_minute, time.monotonic()
    calls = state.job(Scheduler).webhook_calls
    if len(calls) >= _NAMES_MAX:
        calls.clear()
    times = calls.setdefault(name, deque())
    while times and times[0] < now - _MINUTE_S:
        times.popleft()
    if len(times) >= most:
        words = f"hook {name!r} takes {most:,} calls a minute"
        raise Refusal(429, CODE, words, "try again in a minute")
    times.append(now)


def _prepared(state: ServerState, hook: HookRow, key: str, body: Json) -> tuple[Workflow, Start]:
    try:
        path = str(state.file(hook.file))
        reading = state.project.read(path, hook.workflow)
    except (InvalidWorkflow, UsageError) as fault:
        log.warning("hook %s: %s cannot be read: %s", hook.name, safe(hook.file), safe(str(fault)))
        words = f"the workflow of hook {hook.name!r} cannot be read"
        raise Refusal(503, CODE, words, "try again when its file is corrected") from fault
    workflow, given = reading.workflow, inputs_from(reading.workflow, body)
    check_given(workflow, given, advice="the workflow says which inputs it takes")
    start = Start(given, key=key, file=path, sources=dict(reading.sources))
    start, _ = permitted(workflow, state.providers, start)
    return workflow, only_start(workflow, start, time.time())


async def _start(state: ServerState, workflow: Workflow, start: Start) -> RunId:
    run, created = await state.runtime.start(workflow, start)
    if created:
        state.driving.drive(run)
    return run
