"""Taking the wheel: starting runs, and whatever may be asked of one. Each call is one command."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from fastapi import APIRouter, Depends, Response

from whorl.errors import UsageError
from whorl.interfaces.http.problems import Refusal, conflict
from whorl.interfaces.http.roles import Identity
from whorl.interfaces.http.schemas import requests as schemas
from whorl.interfaces.http.schemas.runs import RunItem
from whorl.interfaces.http.state import Asking, KnownRun, ServerState, State, no_query
from whorl.interfaces.http.views.runs import run_item
from whorl.interfaces.status_words import effects_words, forecast_words
from whorl.interpreter.events import Event
from whorl.ir import Workflow
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.forking import Fork
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.start_options import Start
from whorl.services import steering
from whorl.services.files.forecasting import forecast, raises_limits
from whorl.services.files.preflight import check_given, check_labels, check_size, permitted
from whorl.services.forking import new_fork, with_steps
from whorl.services.inspecting.results import loop_frame, workflow_of
from whorl.services.runs import check_key, is_running
from whorl.services.serving.triggers import CODE, Starts, starts_of

router = APIRouter(prefix="/api/runs", tags=["control"], dependencies=[Depends(no_query)])


@router.post("", status_code=201, responses={200: {"model": schemas.Started}})
async def start_run(
    state: State, asking: Asking, new: schemas.NewRun, response: Response
) -> schemas.Started:
    """Starts a run of a workflow file of the project; this server drives it.

    403: the role `run` cannot give it more budget or iterations than the file does.
    201: it was started. 200: a run with this key exists already, and this is its id; if no
    process drives it any more, it is resumed. 409: the run with this key was started with other
    inputs, or is one of another workflow.
    """
    workflow, starts, details = await asyncio.to_thread(_prepared, state, asking, new)
    if not starts.each:
        raise Refusal(409, CODE, f"no run was started: {starts.reason}")
    made = [await state.runtime.start(workflow, each) for each in starts.each]
    drive_first(state, [run for run, created in made if created])
    for each, (run, created) in zip(starts.each, made, strict=True):
        if not created:
            # Another request with this key may have come in between.
            check_key(state.store, run, each, workflow.name)
            await state.driving.take_up(run)
    run, created = made[0]
    response.status_code = 201 if created else 200
    status = state.store.run(run).status
    runs = [str(run) for run, _ in made] if starts.is_split else []
    return schemas.Started(run=run, created=created, status=status, runs=runs, **details)


def drive_first(state: ServerState, runs: list[RunId]) -> None:
    """Drives runs that were just made; beyond so many, those of a list wait for their turn."""
    for run in runs[: state.providers.settings.server.max_concurrent]:
        state.driving.drive(run)


@router.post("/{run}/pause", status_code=202)
async def pause(state: State, run: KnownRun, request: schemas.Request) -> RunItem:
    """Lets what is under way end, and begins nothing new."""
    return await _ask(state, run, lambda: steering.paused(state.store, run), request.seen)


@router.post("/{run}/resume", status_code=202)
async def resume(state: State, run: KnownRun, request: schemas.Resume) -> RunItem:
    """Goes on after a pause or a crash; of a failed run, tries again what failed."""
    if state.store.run(run).status == "interrupted" and not _more(request).amounts():
        try:
            await state.driving.go_on(run)
        except UsageError as fault:
            raise conflict(fault, run) from fault
        return run_item(state, state.store.run(run))
    return await _ask(state, run, lambda: _resumed(state, run, request), request.seen)


@router.post("/{run}/cancel", status_code=202)
async def cancel(state: State, run: KnownRun, request: schemas.Cancel) -> RunItem:
    """Ends the run for good; what it has made so far stays."""
    return await _ask(state, run, lambda: steering.cancelled(request.feedback), request.seen)


@router.post("/{run}/continue", status_code=202)
async def continue_run(state: State, run: KnownRun, request: schemas.Continue) -> RunItem:
    """Gives a loop more iterations; later steps run again as second attempts.

    A loop that is still going on is given more only with `seen`, so that a button that is pressed
    twice does not double it.
    """
    return await _ask(state, run, lambda: _continued(state, run, request), request.seen)


@router.post("/{run}/accept", status_code=202)
async def accept(state: State, run: KnownRun, request: schemas.Accept) -> RunItem:
    """Ends a loop with the result of an iteration; later steps run (again) with it."""
    loop, number = request.loop or "", request.iteration
    return await _ask(
        state, run, lambda: steering.chosen(state.store, run, loop, number), request.seen
    )


@router.post("/{run}/stop", status_code=202)
async def stop(state: State, run: KnownRun, request: schemas.Stop) -> RunItem:
    """Ends a loop after the iteration that is under way, with what it returns then."""
    loop = request.loop or ""
    return await _ask(state, run, lambda: steering.stopped(state.store, run, loop), request.seen)


@router.post("/{run}/approve", status_code=202)
async def approve(state: State, run: KnownRun, request: schemas.Approval) -> RunItem:
    """Says yes to a question of a run. 409: it is answered already, or not asked."""
    return await _decide(state, run, request, approved=True)


@router.post("/{run}/reject", status_code=202)
async def reject(state: State, run: KnownRun, request: schemas.Decision) -> RunItem:
    """Says no to a question of a run. 409: it is answered already, or not asked."""
    return await _decide(state, run, request, approved=False)


@router.post("/{run}/fork", status_code=201, responses={200: {"model": schemas.Forked}})
async def fork(
    state: State, run: KnownRun, request: schemas.Fork, response: Response
) -> schemas.Forked:
    """Starts a new run that keeps the iterations before `at` and redoes that one.

    201: it was started. 200: a fork with this key exists already, and this is its id.
    """
    steps = {name: step.model_dump(exclude_none=True) for name, step in request.steps.items()}
    try:
        changed = with_steps(workflow_of(state.store, run), steps) if steps else None
    except UsageError as fault:
        raise conflict(fault) from fault
    made = Fork(
        at=request.at,
        workflow=changed,
        values=request.set,
        limits={} if request.budget_usd is None else {"cost_usd": request.budget_usd},
        key=request.key or "",
        origin=state.runtime.origin,
    )
    try:
        forked, created = await new_fork(state.runtime, state.providers, run, made)
    except UsageError as fault:
        if fault.code in ("R110", "R114", "P109"):
            raise conflict(fault) from fault
        raise
    if created:
        state.driving.drive(forked)
    response.status_code = 201 if created else 200
    return schemas.Forked(run=forked, created=created)


async def _ask(
    state: ServerState, run: RunId, make: Callable[[], Event], seen: int | None
) -> RunItem:
    try:
        await state.driving.ask(run, make, seen)
    except UsageError as fault:
        raise conflict(fault, run) from fault
    return run_item(state, state.store.run(run))


async def _decide(
    state: ServerState, run: RunId, request: schemas.Decision, *, approved: bool
) -> RunItem:
    at, words, edits = request.address, request.feedback, None
    if isinstance(request, schemas.Approval) and "value" in request.model_fields_set:
        edits = steering.Edits(request.value)
    make = partial(
        steering.decided, state.store, run, at, approved=approved, feedback=words, edits=edits
    )
    return await _ask(state, run, make, request.seen)


def limited(state: ServerState, starts: Starts) -> Starts:
    """Of a list, no more runs are driven at once than a server takes up."""
    most = state.providers.settings.server.max_concurrent
    if not starts.is_split or len(starts.each) <= most:
        return starts
    each = tuple(replace(start, at_once=start.at_once or most) for start in starts.each)
    return replace(starts, each=each)


def _resumed(state: ServerState, run: RunId, request: schemas.Resume) -> Event:
    status = state.store.run(run).status
    if not _more(request).amounts() and status in ("running", "waiting"):
        waits = UsageError(f"run {run} waits for a person")
        raise waits if status == "waiting" else is_running(run)
    return steering.resumed(_more(request))


def _more(request: schemas.More) -> steering.More:
    return steering.More(request.budget_usd, request.tokens, request.calls)


def _continued(state: ServerState, run: RunId, request: schemas.Continue) -> Event:
    more, iterations = _more(request), request.iterations
    event = steering.continued(
        state.store, run, request.loop or "", iterations=iterations, more=more
    )
    if request.seen is None and iterations is not None:
        frame = loop_frame(fold(state.store, run).machine, str(event.body["at"]))
        if frame and "ended" not in frame and frame["phase"] != "limit":
            raise UsageError(
                f"loop {frame['address']!r} is still going on",
                help="give `seen`, the last seq that you know of, to raise its limit",
            )
    return event


def _prepared(
    state: ServerState, asking: Identity, new: schemas.NewRun
) -> tuple[Workflow, Starts, dict[str, str]]:
    path, budget = str(state.file(new.workflow)), new.budget_usd
    reading = state.project.read(path, new.named)
    workflow, providers, iterations = reading.workflow, state.providers, new.max_iterations
    if raises_limits(workflow, budget, iterations):
        asking.check("raise limits")
    check_size(new.inputs)
    check_given(workflow, new.inputs, advice="see `inputs` of the workflow")
    start = Start(
        input=new.inputs,
        limits={} if budget is None else {"cost_usd": budget},
        iterations=iterations,
        key=new.key or "",
        file=path,
        sources=dict(reading.sources),
        labels=check_labels(new.labels),
    )
    start, note = permitted(workflow, providers, start)
    starts = limited(state, starts_of(workflow, start, time.time()))
    for each in starts.each:
        if each.key and (known := state.store.keyed(each.key)) is not None:
            check_key(state.store, known, each, workflow.name)
    if start.refused is not None:
        return workflow, starts, {}
    worst = forecast(
        workflow, providers, iterations=iterations, budget_usd=budget, included=reading.included
    )
    words = "; ".join(filter(None, (forecast_words(worst), effects_words(worst.effects))))
    return workflow, starts, {"forecast": words, "note": note}
