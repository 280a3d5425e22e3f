"""Taking the wheel: starting runs, and whatever may be asked of one. Each call is one command."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path as FilePath

from fastapi import APIRouter, Depends, Response

from whorl.errors import UsageError, safe
from whorl.interfaces.http.faults import conflict
from whorl.interfaces.http.run_schemas import RunItem
from whorl.interfaces.http.run_views import run_item
from whorl.interfaces.http.schemas import (
    Accept,
    Cancel,
    Continue,
    Decision,
    Fork,
    Forked,
    NewRun,
    Request,
    Resume,
    Started,
)
from whorl.interfaces.http.state import KnownRun, ServerState, State, no_query
from whorl.interfaces.wording import forecast_words
from whorl.interpreter.events import Event
from whorl.ir import Workflow
from whorl.runtimes import folding
from whorl.runtimes.journal import RunId
from whorl.runtimes.local import Start, new_run_id
from whorl.services.preflight import (
    TOY,
    check_given,
    check_models,
    forecast,
    is_left_to_toy,
    refusal,
    scripted_by,
)
from whorl.services.results import workflow_of
from whorl.services.steering import (
    More,
    cancelled,
    check_fork,
    chosen,
    continued,
    decided,
    paused,
    resumed,
)

router = APIRouter(prefix="/api/runs", tags=["control"], dependencies=[Depends(no_query)])


@router.post("", status_code=201, responses={200: {"model": Started}})
async def start_run(state: State, new: NewRun, response: Response) -> Started:
    """Starts a run of a workflow file of the project; this server drives it.

    201: it was started. 200: a run with this key exists already, and this is its id.
    """
    workflow, start, told = await asyncio.to_thread(_prepared, state, new)
    run, created = await state.runtime.start(workflow, start)
    if created:
        state.driving.drive(run)
    response.status_code = 201 if created else 200
    return Started(run=run, created=created, **told)


@router.post("/{run}/pause", status_code=202)
async def pause(state: State, run: KnownRun, request: Request) -> RunItem:
    """Lets what is under way end, and begins nothing new."""
    return await _ask(state, run, lambda: paused(state.store, run), request.seen)


@router.post("/{run}/resume", status_code=202)
async def resume(state: State, run: KnownRun, request: Resume) -> RunItem:
    """Goes on after a pause or a crash; of a failed run, tries again what failed."""
    status = state.store.run(run).status
    if status == "interrupted" and not _more(request).amounts():
        await state.driving.go_on(run)
        return run_item(state, state.store.run(run))
    return await _ask(state, run, lambda: _resumed(state, run, request), request.seen)


@router.post("/{run}/cancel", status_code=202)
async def cancel(state: State, run: KnownRun, request: Cancel) -> RunItem:
    """Ends the run for good; what it has made so far stays."""
    return await _ask(state, run, lambda: cancelled(request.feedback), request.seen)


@router.post("/{run}/continue", status_code=202)
async def continue_run(state: State, run: KnownRun, request: Continue) -> RunItem:
    """Gives a loop more iterations; later steps run again as second attempts.

    A loop that is still going on is given more only with `seen`, so that a button that is pressed
    twice does not double it.
    """
    return await _ask(state, run, lambda: _continued(state, run, request), request.seen)


@router.post("/{run}/accept", status_code=202)
async def accept(state: State, run: KnownRun, request: Accept) -> RunItem:
    """Ends a loop with the result of an iteration; later steps run (again) with it."""
    loop, number = request.loop or "", request.iteration
    return await _ask(state, run, lambda: chosen(state.store, run, loop, number), request.seen)


@router.post("/{run}/approve", status_code=202)
async def approve(state: State, run: KnownRun, request: Decision) -> RunItem:
    """Says yes to a question of a run. 409: it is answered already, or not asked."""
    return await _decide(state, run, request, approved=True)


@router.post("/{run}/reject", status_code=202)
async def reject(state: State, run: KnownRun, request: Decision) -> RunItem:
    """Says no to a question of a run. 409: it is answered already, or not asked."""
    return await _decide(state, run, request, approved=False)


@router.post("/{run}/fork", status_code=201, responses={200: {"model": Forked}})
async def fork(state: State, run: KnownRun, request: Fork, response: Response) -> Forked:
    """Starts a new run that keeps the iterations before `at` and redoes that one.

    201: it was started. 200: a fork with this key exists already, and this is its id.
    """
    made = folding.Fork(
        at=request.at,
        values=request.set,
        limits={} if request.budget_usd is None else {"cost_usd": request.budget_usd},
        key=request.key or "",
    )
    await asyncio.to_thread(_check_fork, state, run, made)
    now = time.time()
    found, created = await folding.fork_run(state.store, run, made, run=new_run_id(now), now=now)
    if created:
        state.driving.drive(found)
    response.status_code = 201 if created else 200
    return Forked(run=found, created=created)


async def _ask(
    state: ServerState, run: RunId, make: Callable[[], Event], seen: int | None
) -> RunItem:
    """Carries a request out; what the run has against it is a conflict."""
    try:
        await state.driving.ask(run, make, seen)
    except UsageError as fault:
        raise conflict(fault, run) from fault
    return run_item(state, state.store.run(run))


async def _decide(state: ServerState, run: RunId, request: Decision, *, approved: bool) -> RunItem:
    def make() -> Event:
        at, words = request.address, request.feedback
        return decided(state.store, run, at, approved=approved, feedback=words)

    return await _ask(state, run, make, request.seen)


def _resumed(state: ServerState, run: RunId, request: Resume) -> Event:
    status = state.store.run(run).status
    if not _more(request).amounts() and status in ("running", "waiting"):
        words = "is running already" if status == "running" else "waits for a person"
        raise UsageError(f"run {run} {words}")
    return resumed(_more(request))


def _more(request: Resume) -> More:
    return More(request.budget_usd, request.tokens, request.calls)


def _continued(state: ServerState, run: RunId, request: Continue) -> Event:
    event = continued(
        state.store,
        run,
        request.loop or "",
        iterations=request.iterations,
        more=More(request.budget_usd, request.tokens, request.calls),
    )
    if request.seen is None and request.iterations is not None:
        machine = folding.fold(state.store, run).machine
        for frame in machine.frames.values():
            if frame["kind"] != "loop" or frame["address"] != event.body["at"]:
                continue
            if "ended" not in frame and frame["phase"] != "limit":
                raise UsageError(
                    f"loop {frame['address']!r} is still going on",
                    help="give `seen`, the last seq that you know of, to raise its limit",
                )
    return event


def _check_fork(state: ServerState, run: RunId, fork: folding.Fork) -> None:
    workflow = workflow_of(state.store, run)
    check_fork(state.store, run, workflow, fork)
    refused = refusal(workflow, state.providers.settings)
    if refused is not None:
        raise conflict(UsageError(str(refused["message"])))
    check_models(workflow, state.providers)


def _prepared(state: ServerState, new: NewRun) -> tuple[Workflow, Start, dict[str, str]]:
    """The workflow as it is read now, how it starts, and what to tell about it."""
    path = state.file(new.workflow)
    reading = state.project.read(str(path))
    workflow, providers = reading.workflow, state.providers
    check_given(workflow, new.inputs, advice="see `inputs` of the workflow")
    cost = new.budget_usd if new.budget_usd is not None else workflow.limits.cost_usd
    refused = refusal(workflow, providers.settings)
    told = {}
    if refused is None:
        check_models(workflow, providers)
        worst = forecast(workflow, providers, iterations=new.max_iterations, budget_usd=cost)
        told = {"forecast": forecast_words(worst), "note": _who_answers(state, workflow)}
    start = Start(
        input=new.inputs,
        limits={} if cost is None else {"cost_usd": cost},
        iterations=new.max_iterations,
        key=new.key or "",
        file=str(FilePath(path)),
        sources=dict(reading.sources),
        refused=refused,
    )
    return workflow, start, told


def _who_answers(state: ServerState, workflow: Workflow) -> str:
    if is_left_to_toy(workflow, state.providers):
        return TOY
    script = scripted_by(workflow, state.providers)
    return (
        f"no model is asked: the replies are scripted (provider {safe(script)!r})" if script else ""
    )
