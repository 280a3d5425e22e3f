"""Addresses that are given away: triggers that start runs, and calls that runs wait for.

Each needs the token, or the signature that it was given away with, which `auth` has checked.
"""

import asyncio
import base64
import json
import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response

from whorl.errors import UsageError, plural
from whorl.interfaces.http.problems import Refusal, conflict
from whorl.interfaces.http.routes.control import drive_first, limited
from whorl.interfaces.http.state import KnownRun, ServerState, State
from whorl.ir import Trigger, Workflow
from whorl.language import Json
from whorl.providers.http import content_of
from whorl.providers.json_values import NotJson, parse_json
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.start_options import Start
from whorl.services.files.preflight import check_given, permitted
from whorl.services.serving.triggers import (
    CODE,
    NO_ANSWER,
    Call,
    Starts,
    answer_of,
    inputs_of,
    starts_of,
)
from whorl.services.steering import called

# How long a caller waits for its answer.
ANSWER_S = 120.0
_LOOK_S = 2.0
_ENDS = ("succeeded", "failed", "cancelled")
# What is for us, and not for the workflow.
_OWN_HEADERS = frozenset({"authorization", "cookie", "host", "connection", "content-length"})
# A workflow's answer has no part in our page, whatever it says that it is.
_POLICY = {"content-security-policy": "sandbox; default-src 'none'"}
# What only the server says about an answer.
_NOT_OF_ANSWERS = frozenset(
    (
        *("connection", "content-length", "transfer-encoding", "content-encoding", "set-cookie"),
        *("date", "server", "content-security-policy", "x-content-type-options"),
        *("x-frame-options", "referrer-policy"),
        *("cross-origin-resource-policy", "cross-origin-opener-policy"),
    )
)

_METHODS = ["DELETE", "GET", "PATCH", "POST", "PUT"]
# What a workflow answers with has any status and type.
_ANSWERS: dict[int | str, dict[str, Any]] = {
    "default": {"description": "the answer of the workflow", "content": {"*/*": {"schema": {}}}}
}
_BODY: dict[str, Any] = {"requestBody": {"content": {"application/json": {"schema": {}}}}}

router = APIRouter(prefix="/hooks", tags=["hooks"])


@router.api_route(
    "/workflows/{workflow}/{trigger}/{path:path}", methods=_METHODS, include_in_schema=False
)
async def call_trigger(state: State, request: Request, workflow: str, trigger: str) -> Response:
    """Starts the runs of a trigger for a call, and answers the caller with the run's answer."""
    call = Call(
        method=request.method,
        path=str(request.path_params.get("path", "")),
        queries={k: v for k, v in request.query_params.items() if k != "sig"},
        headers=_headers(request),
        body=await body_of(request),
    )
    wanted, starts = await asyncio.to_thread(_prepared, state, workflow, trigger, call)
    if not starts.each:
        return JSONResponse({"runs": [], "reason": starts.reason}, 202)
    runs = await _start(state, wanted, starts)
    if starts.is_split or wanted.answer is None or wanted.is_late:
        listed = {"runs": list(runs)} if starts.is_split else {"run": runs[0]}
        return JSONResponse(listed, 202, {"Location": state.answer_url(runs[0])})
    return await _answered(state, runs[0])


for _method in _METHODS:
    router.add_api_route(
        "/workflows/{workflow}/{trigger}",
        call_trigger,
        methods=[_method],
        response_class=Response,
        responses=_ANSWERS,
        openapi_extra=_BODY if _method != "GET" else None,
    )


@router.get("/runs/{run}", response_class=Response, responses=_ANSWERS)
async def fetch_answer(state: State, run: KnownRun) -> Response:
    """The answer of a run; 202 while there is none."""
    answer = await asyncio.to_thread(answer_of, state.store, run)
    if answer is not None:
        return _response(answer)
    status = state.store.run(run).status
    if status in _ENDS:
        return JSONResponse({"run": run, "status": status})
    return JSONResponse({"run": run, "status": status}, 202, {"Location": state.answer_url(run)})


@router.post("/runs/{run}/{address:path}", responses=_ANSWERS, openapi_extra=_BODY)
async def take_call(state: State, request: Request, run: KnownRun, address: str) -> Response:
    """Ends a task that waits for this call; what is sent is its result."""
    value: Json = {"status": 200, "headers": _headers(request), "body": await body_of(request)}
    try:
        await state.driving.ask(run, lambda: called(state.store, run, address, value))
    except UsageError as fault:
        raise conflict(fault, run) from fault
    return JSONResponse({"run": run})


def _prepared(state: ServerState, name: str, trigger: str, call: Call) -> tuple[Workflow, Starts]:
    listed = state.catalogue.named(name)
    path = str(state.file(listed.file))
    reading = state.project.read(path, listed.named)
    workflow, own = reading.workflow, reading.workflow.trigger
    if own is None or own.name.lower() != trigger.lower():
        raise UsageError(f"workflow {name[:80]!r} has no trigger {trigger[:80]!r}", code="W902")
    if call.method not in own.methods:
        raise Refusal(405, CODE, f"trigger {own.name!r} takes {', '.join(own.methods)} only")
    given = inputs_of(own, call)
    check_given(workflow, given, advice="see `inputs` of the workflow")
    start = Start(given, file=path, sources=dict(reading.sources))
    start, _ = permitted(workflow, state.providers, start)
    _check_room(state, workflow, own)
    return workflow, limited(state, starts_of(workflow, start, time.time()))


def _check_room(state: ServerState, workflow: Workflow, trigger: Trigger) -> None:
    if trigger.concurrency and state.store.queue_length(workflow.name) >= trigger.waiting_max:
        words = f"{workflow.name!r} has {plural(trigger.waiting_max, 'waiting run')} already"
        raise Refusal(429, CODE, words, "try again later")


async def _start(state: ServerState, workflow: Workflow, starts: Starts) -> list[RunId]:
    runs = [(await state.runtime.start(workflow, each))[0] for each in starts.each]
    drive_first(state, runs)
    return runs


async def _answered(state: ServerState, run: RunId) -> Response:
    """Waits until a run answers, or ends without; it goes on after its answer."""
    deadline = time.monotonic() + ANSWER_S
    seen = 0
    with state.watcher.listening(run) as listener:
        while not listener.is_over and time.monotonic() < deadline:
            is_over = state.store.run(run).status in _ENDS
            kinds = []
            for entry in state.store.read(run, after=seen):
                seen = entry.seq
                kinds.append(entry.event.kind)
            if is_over or "run.answered" in kinds:
                answer = await asyncio.to_thread(answer_of, state.store, run)
                if answer is not None:
                    return _response(answer)
            if is_over:
                words = f"run {run} ended without an answer"
                raise Refusal(502, NO_ANSWER, words, f"whorl show {run}")
            await listener.wait(_LOOK_S)
    answer_url = state.answer_url(run)
    late = f"run {run} has not answered within {ANSWER_S:g} s; it goes on"
    error = {"code": NO_ANSWER, "message": late, "help": "fetch its answer at Location"}
    return JSONResponse({"error": error}, 504, {"Location": answer_url})


def _headers(request: Request) -> dict[str, Json]:
    return {k: v for k, v in request.headers.items() if k.lower() not in _OWN_HEADERS}


async def body_of(request: Request, *, is_text_only: bool = False) -> Json:
    """What is sent: JSON as a value, text as text, nothing as null, others by type and content."""
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
    """A header; what is no text, or would begin another one, is made one line of JSON."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace("\r", " ").replace("\n", " ").encode("latin-1", "replace").decode("latin-1")
