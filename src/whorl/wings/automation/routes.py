"""Schedules, addresses that are given away, and webhooks over HTTP: each call is one command."""

import asyncio
import base64
import json
import logging
import time
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import Field
from pydantic import StringConstraints as Text
from starlette.datastructures import Headers

from whorl.errors import InvalidWorkflow, UsageError, plural, safe
from whorl.interfaces.http.control import drive_first, limited
from whorl.interfaces.http.models import Closed, Dollars, FileName, JsonValue, Nothing, WorkflowName
from whorl.interfaces.http.problems import Refusal, conflict
from whorl.interfaces.http.state import KnownRun, ServerState, State, check_query
from whorl.interfaces.status_words import ENDED
from whorl.ir import Workflow
from whorl.language import Json
from whorl.providers.http import content_of
from whorl.providers.json_values import NotJson, parse_json
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.sqlite.store import HookRow
from whorl.runtimes.start_options import Start
from whorl.services.serving import triggers
from whorl.services.serving.triggers import CODE, Starts, TriggerCall, checked_start, inputs_of
from whorl.services.steering import called
from whorl.wings.automation.firing import Scheduler
from whorl.wings.automation.registry import Listed, NewSchedule
from whorl.wings.automation.table import NameTaken
from whorl.wings.automation.webhooks import CODE as WEBHOOK_CODE
from whorl.wings.automation.webhooks import delivery_of, inputs_from, key_of

# Webhooks: signed calls of other systems, each of which starts one run of one workflow.

_BODY: dict[str, Any] = {"requestBody": {"content": {"application/json": {"schema": {}}}}}
log = logging.getLogger("whorl.http")
webhooks_router = APIRouter(prefix="/hooks", tags=["hooks"], dependencies=[Depends(check_query)])


class Hooked(Closed):
    """What a webhook has started."""

    run: str | None = Field(description="null if the call starts nothing, such as a ping")


@webhooks_router.post("/{name}", status_code=202, openapi_extra=_BODY)
async def take_webhook(
    state: State,
    request: Request,
    name: Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")],
) -> Hooked:
    """Starts the workflow that a hook was made for (`whorl server hook add`); has its own secret.

    The body has inputs by name, or is the main one. The same call is answered with the same run,
    however often it comes. 401: the signature is wrong or too old. 429: too many calls.
    """
    hook = state.store.hook(name)
    delivery = await _verified(state, hook, request.headers, await request.body())
    assert hook is not None
    if not state.hook_calls.allows(name):
        most = state.providers.settings.server.hooks_per_minute
        words = f"hook {name!r} takes {most:,} calls a minute"
        raise Refusal(429, WEBHOOK_CODE, words, "try again in a minute")
    key = key_of(hook, delivery)
    run = state.store.keyed(key)
    if run is not None:
        return Hooked(run=run)
    if hook.format == "github" and request.headers.get("x-github-event") == "ping":
        return Hooked(run=None)
    body = await body_of(request, is_text_only=True)
    workflow, start = await asyncio.to_thread(_prepared_hook, state, hook, key, body)
    run, is_new = await state.runtime.start(workflow, start)
    if is_new:
        state.driving.drive(run)
    return Hooked(run=run)


async def _verified(
    state: ServerState, hook: HookRow | None, headers: Headers, content: bytes
) -> str:
    check = partial(delivery_of, hook, state.store.seals, headers, content, time.time())
    try:
        return await asyncio.to_thread(check)
    except UsageError as fault:
        raise Refusal(401, WEBHOOK_CODE, str(fault), fault.help) from fault


def _prepared_hook(
    state: ServerState, hook: HookRow, key: str, body: Json
) -> tuple[Workflow, Start]:
    try:
        path = str(state.file(hook.file))
        reading = state.project.read(path, hook.workflow)
    except (InvalidWorkflow, UsageError) as fault:
        log.warning("hook %s: %s cannot be read: %s", hook.name, safe(hook.file), safe(str(fault)))
        words = f"the workflow of hook {hook.name!r} cannot be read"
        raise Refusal(503, WEBHOOK_CODE, words, "try again when its file is corrected") from fault
    given = inputs_from(reading.workflow, body)
    start, _ = checked_start(reading, state.providers, Start(given, key=key, file=path))
    return reading.workflow, triggers.only_start(reading.workflow, start, time.time())


schedules_router = APIRouter(
    prefix="/api/schedules", tags=["schedules"], dependencies=[Depends(check_query)]
)

Name = Annotated[str, Text(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
Rule = Annotated[str, Text(max_length=200)]
KnownName = Annotated[str, Path(max_length=200)]


class NewScheduleItem(Closed):
    """A schedule to be made: by `cron` in the time zone `zone`, or by the interval `every`."""

    workflow: FileName
    named: WorkflowName = ""
    name: Name | None = None
    cron: Rule | None = None
    every: Rule | None = None
    zone: Rule | None = None
    overlap: Literal["skip", "queue", "parallel"] = "skip"
    backfill: bool = False
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    budget_usd: Dollars | None = Field(default=None, description="of each run")


class FiringItem(Closed):
    """A time at which a schedule was due, and what happened then."""

    due: float
    state: Literal["asked", "waiting", "started", "skipped", "failed"]
    run: str
    reason: str


class ScheduleItem(Closed):
    """A schedule; `trouble` says why it cannot start anything."""

    name: str
    file: str
    named: str
    when: str
    next: float | None
    overlap: str
    backfill: bool
    inputs: dict[str, JsonValue]
    budget_usd: float | None
    paused: bool
    trouble: str
    firings: list[FiringItem] = Field(description="the newest first")


class ScheduleList(Closed):
    """All schedules of the store."""

    schedules: list[ScheduleItem]


@schedules_router.get("")
def list_schedules(state: State) -> ScheduleList:
    """The schedules, when each is due, and what happened the last times."""
    listed = state.job(Scheduler).schedules.listed()
    return ScheduleList(schedules=[_item(state, each) for each in listed])


@schedules_router.post("", status_code=201)
async def add_schedule(state: State, new: NewScheduleItem) -> ScheduleItem:
    """Lets the clock start a workflow file of the project. 409: there is one of that name."""
    path = str(await asyncio.to_thread(state.file, new.workflow))
    asked = NewSchedule(file=path, **new.model_dump(exclude={"workflow"}, exclude_none=True))
    try:
        made = await state.job(Scheduler).schedules.add(asked)
    except NameTaken as fault:
        raise Refusal(409, fault.code, str(fault), fault.help) from fault
    return await _changed(state, made.name)


@schedules_router.post("/{schedule}/pause")
async def pause_schedule(state: State, schedule: KnownName, _: Nothing) -> ScheduleItem:
    """Pauses it: it starts nothing until it is resumed."""
    await state.job(Scheduler).schedules.table.pause(schedule, paused=True)
    return await _changed(state, schedule)


@schedules_router.post("/{schedule}/resume")
async def resume_schedule(state: State, schedule: KnownName, _: Nothing) -> ScheduleItem:
    """Resumes it from now on; what was due in the pause is left out."""
    await state.job(Scheduler).schedules.resume(schedule)
    return await _changed(state, schedule)


@schedules_router.post("/{schedule}/run", status_code=202)
async def run_schedule(state: State, schedule: KnownName, _: Nothing) -> ScheduleItem:
    """Starts its workflow now, also if it is paused; its `overlap` counts."""
    await state.job(Scheduler).schedules.table.ask(schedule)
    return await _changed(state, schedule)


@schedules_router.delete("/{schedule}")
async def remove_schedule(state: State, schedule: KnownName) -> Nothing:
    """Deletes it; its runs stay."""
    await state.job(Scheduler).schedules.table.remove(schedule)
    return Nothing()


async def _changed(state: ServerState, name: str) -> ScheduleItem:
    state.job(Scheduler).awake.set()
    schedules = state.job(Scheduler).schedules
    shown = await asyncio.to_thread(lambda: schedules.show(schedules.table.named(name)))
    return _item(state, shown)


def _item(state: ServerState, each: Listed) -> ScheduleItem:
    known = each.schedule
    return ScheduleItem.from_row(
        known,
        file=state.shown_file(known.file),
        when=each.words,
        next=each.next,
        budget_usd=known.limits.get("cost_usd"),
        trouble=each.trouble,
        firings=[FiringItem.from_row(firing) for firing in each.firings],
    )


# Addresses that are given away: triggers that start runs, and calls that runs wait for.
#
# Each needs the token, or the signature that it was given away with, which `auth` has checked.

# How long a caller waits for its answer.
ANSWER_S = 120.0
# The headers for Whorl, which the workflow does not receive.
_OWN_HEADERS = frozenset({"authorization", "cookie", "host", "connection", "content-length"})
# A workflow's answer gets no access to Whorl's page, for any content type.
_POLICY = {"content-security-policy": "sandbox; default-src 'none'"}
# The headers of an answer that only the server sets.
_NOT_OF_ANSWERS = frozenset(
    (
        *("connection", "content-length", "transfer-encoding", "content-encoding", "set-cookie"),
        *("date", "server", "content-security-policy", "x-content-type-options"),
        *("x-frame-options", "referrer-policy"),
        *("cross-origin-resource-policy", "cross-origin-opener-policy"),
    )
)

_METHODS = ["DELETE", "GET", "PATCH", "POST", "PUT"]
# The answer of a workflow may have any status and type.
_ANSWERS: dict[int | str, dict[str, Any]] = {
    "default": {"description": "the answer of the workflow", "content": {"*/*": {"schema": {}}}}
}

hooks_router = APIRouter(prefix="/hooks", tags=["hooks"])


@hooks_router.api_route(
    "/workflows/{workflow}/{trigger}/{path:path}", methods=_METHODS, include_in_schema=False
)
async def call_trigger(state: State, request: Request, workflow: str, trigger: str) -> Response:
    """Starts the runs of a trigger for a call, and answers the caller with the run's answer."""
    call = TriggerCall(
        method=request.method,
        path=str(request.path_params.get("path", "")),
        queries={k: v for k, v in request.query_params.items() if k != "sig"},
        headers=_headers(request),
        body=await body_of(request),
    )
    wanted, starts = await asyncio.to_thread(_prepared, state, workflow, trigger, call)
    if not starts.each:
        return JSONResponse({"runs": [], "reason": starts.reason}, 202)
    runs = [(await state.runtime.start(wanted, each))[0] for each in starts.each]
    drive_first(state, runs)
    if starts.is_split or wanted.answer is None or wanted.is_late:
        listed = {"runs": runs} if starts.is_split else {"run": runs[0]}
        return JSONResponse(listed, 202, {"Location": state.answer_url(runs[0])})
    return await _answered(state, runs[0])


for _method in _METHODS:
    _parts: dict[str, Any] = {"methods": [_method], "response_class": Response}
    _parts |= {"responses": _ANSWERS, "openapi_extra": _BODY if _method != "GET" else None}
    hooks_router.add_api_route("/workflows/{workflow}/{trigger}", call_trigger, **_parts)


@hooks_router.get("/runs/{run}", response_class=Response, responses=_ANSWERS)
async def fetch_answer(state: State, run: KnownRun) -> Response:
    """The answer of a run; 202 until it exists."""
    answer = await asyncio.to_thread(triggers.answer_of, state.store, run)
    if answer is not None:
        return _response(answer)
    status = state.store.run(run).status
    if status in ENDED:
        return JSONResponse({"run": run, "status": status})
    return JSONResponse({"run": run, "status": status}, 202, {"Location": state.answer_url(run)})


@hooks_router.post("/runs/{run}/{at:path}", responses=_ANSWERS, openapi_extra=_BODY)
async def take_call(state: State, request: Request, run: KnownRun, at: str) -> Response:
    """Ends a task that waits for this call; what is sent is its result."""
    value: Json = {"status": 200, "headers": _headers(request), "body": await body_of(request)}
    try:
        await state.driving.ask(run, lambda: called(state.store, run, at, value))
    except UsageError as fault:
        raise conflict(fault, run) from fault
    return JSONResponse({"run": run})


def _prepared(
    state: ServerState, name: str, trigger: str, call: TriggerCall
) -> tuple[Workflow, Starts]:
    listed = state.catalogue.named(name)
    path = str(state.file(listed.file))
    reading = state.project.read(path, listed.named)
    workflow, own = reading.workflow, reading.workflow.trigger
    if own is None or own.name.lower() != trigger.lower():
        raise UsageError(f"workflow {name[:80]!r} has no trigger {trigger[:80]!r}", code="W902")
    if call.method not in own.methods:
        raise Refusal(405, CODE, f"trigger {own.name!r} takes {', '.join(own.methods)} only")
    start, _ = checked_start(reading, state.providers, Start(inputs_of(own, call), file=path))
    if own.concurrency and state.store.queue_length(workflow.name) >= own.waiting_max:
        words = f"{workflow.name!r} has {plural(own.waiting_max, 'waiting run')} already"
        raise Refusal(429, CODE, words, "try again later")
    return workflow, limited(state, triggers.starts_of(workflow, start, time.time()))


async def _answered(state: ServerState, run: RunId) -> Response:
    """Waits until a run answers or ends without an answer; the run continues after its answer."""
    deadline = time.monotonic() + ANSWER_S
    seen = 0
    with state.watcher.listening(run) as listener:
        while not listener.is_over and time.monotonic() < deadline:
            is_over = state.store.run(run).status in ENDED
            kinds = []
            for entry in state.store.read(run, after=seen):
                seen = entry.seq
                kinds.append(entry.event.kind)
            if is_over or "run.answered" in kinds:
                answer = await asyncio.to_thread(triggers.answer_of, state.store, run)
                if answer is not None:
                    return _response(answer)
            if is_over:
                words = f"run {run} ended without an answer"
                raise Refusal(502, triggers.NO_ANSWER, words, f"whorl show {run}")
            await listener.wait(2.0)
    answer_url = state.answer_url(run)
    late = f"run {run} has not answered within {ANSWER_S:g} s; it keeps running"
    error = {"code": triggers.NO_ANSWER, "message": late, "help": "fetch its answer at Location"}
    return JSONResponse({"error": error}, 504, {"Location": answer_url})


def _headers(request: Request) -> dict[str, Json]:
    return {k: v for k, v in request.headers.items() if k.lower() not in _OWN_HEADERS}


async def body_of(request: Request, *, is_text_only: bool = False) -> Json:
    """Returns the body: JSON, text, null if empty, or another type with its content in base64."""
    content = await request.body()
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if not content:
        return None
    is_json = kind in ("", "application/json") or kind.endswith("+json")
    if not is_json and not kind.startswith("text/") and not kind.endswith(("/xml", "+xml")):
        if is_text_only:
            words = f"a body of the type {kind[:80]!r} is not accepted; send JSON or text"
            raise Refusal(415, CODE, words)
        coded = base64.b64encode(content).decode("ascii")
        return {"$content-type": request.headers["content-type"], "$content": coded}
    try:
        text = content.decode("utf-8")
        return parse_json(text) if is_json else text
    except (UnicodeDecodeError, NotJson) as fault:
        raise Refusal(400, CODE, f"the body is not valid JSON: {fault}") from None


def _response(answer: dict[str, Json]) -> Response:
    status, given, body = (answer.get(name) for name in ("status", "headers", "body"))
    code = int(str(status)) if str(status).isdecimal() else 200
    code = code if 200 <= code <= 599 else 200
    headers: dict[str, Any] = given if isinstance(given, dict) else {}
    kept = {k: _line(v) for k, v in headers.items() if k.lower() not in _NOT_OF_ANSWERS}
    kinds = [value for name, value in kept.items() if name.lower() == "content-type"]
    kept = {name: value for name, value in kept.items() if name.lower() != "content-type"} | _POLICY
    if (stands_for := content_of(body)) is not None:
        content, own = stands_for
        return Response(content, code, kept | {"content-type": kinds[0] if kinds else own})
    if isinstance(body, str):
        kind = kinds[0] if kinds else "text/plain; charset=utf-8"
        return Response(body.encode(), code, kept | {"content-type": kind})
    content = b"" if body is None else json.dumps(body, ensure_ascii=False).encode()
    named = kinds or (["application/json"] if content else [])
    return Response(content, code, kept | ({"content-type": named[0]} if named else {}))


def _line(value: object) -> str:
    """Returns the text of a header on one line; other values are written as JSON."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace").decode("latin-1")
