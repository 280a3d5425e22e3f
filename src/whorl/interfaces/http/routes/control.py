"""Taking the wheel: starting runs, and whatever may be asked of one. Each call is one command."""

import asyncio
import time
from pathlib import Path as FilePath

from fastapi import APIRouter, Depends, Response

from whorl.errors import UsageError, safe
from whorl.interfaces.history import workflow_of
from whorl.interfaces.http.access import AtDesk, TheRun, no_query
from whorl.interfaces.http.desk import Desk
from whorl.interfaces.http.faults import conflict
from whorl.interfaces.http.schemas.control import (
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
from whorl.interfaces.http.schemas.runs import RunItem
from whorl.interfaces.http.views.rows import run_item
from whorl.interfaces.inputs import check_given
from whorl.interfaces.preflight import (
    TOY,
    check_models,
    forecast,
    forecast_words,
    is_left_to_toy,
    refusal,
    scripted_by,
)
from whorl.interfaces.steering import (
    More,
    cancelled,
    check_fork,
    chosen,
    continued,
    decided,
    paused,
    resumed,
)
from whorl.interpreter.events import Event
from whorl.ir import Workflow
from whorl.runtimes import forking
from whorl.runtimes.folding import fold
from whorl.runtimes.journal import RunId
from whorl.runtimes.local import Start, new_run_id

router = APIRouter(prefix="/api/runs", tags=["control"], dependencies=[Depends(no_query)])


@router.post("", status_code=201, responses={200: {"model": Started}})
async def start_run(desk: AtDesk, new: NewRun, response: Response) -> Started:
    """Starts a run of a workflow file of the project; this server drives it.

    201: it was started. 200: a run with this key exists already, and this is its id.
    """
    workflow, start, told = await asyncio.to_thread(_prepared, desk, new)
    run, created = await desk.runtime.start(workflow, start)
    if created:
        desk.driving.drive(run)
    response.status_code = 201 if created else 200
    return Started(run=run, created=created, **told)


@router.post("/{run}/pause", status_code=202)
async def pause(desk: AtDesk, run: TheRun, request: Request) -> RunItem:
    """Lets what is under way end, and begins nothing new."""
    await desk.ask(run, lambda: paused(desk.store, run), request.seen)
    return run_item(desk, desk.store.run(run))


@router.post("/{run}/resume", status_code=202)
async def resume(desk: AtDesk, run: TheRun, request: Resume) -> RunItem:
    """Goes on after a pause or a crash; of a failed run, tries again what failed."""
    status = desk.store.run(run).status
    if status == "interrupted" and not _more(request).amounts():
        await desk.driving.go_on(run)
    else:
        await desk.ask(run, lambda: _resumed(desk, run, request), request.seen)
    return run_item(desk, desk.store.run(run))


@router.post("/{run}/cancel", status_code=202)
async def cancel(desk: AtDesk, run: TheRun, request: Cancel) -> RunItem:
    """Ends the run for good; what it has made so far stays."""
    await desk.ask(run, lambda: cancelled(request.feedback), request.seen)
    return run_item(desk, desk.store.run(run))


@router.post("/{run}/continue", status_code=202)
async def continue_run(desk: AtDesk, run: TheRun, request: Continue) -> RunItem:
    """Gives a loop more iterations; later steps run again as second attempts.

    A loop that is still going on is given more only with `seen`, so that a button that is pressed
    twice does not double it.
    """
    await desk.ask(run, lambda: _continued(desk, run, request), request.seen)
    return run_item(desk, desk.store.run(run))


@router.post("/{run}/accept", status_code=202)
async def accept(desk: AtDesk, run: TheRun, request: Accept) -> RunItem:
    """Ends a loop with the result of an iteration; later steps run (again) with it."""
    loop, number = request.loop or "", request.iteration
    await desk.ask(run, lambda: chosen(desk.store, run, loop, number), request.seen)
    return run_item(desk, desk.store.run(run))


@router.post("/{run}/approve", status_code=202)
async def approve(desk: AtDesk, run: TheRun, request: Decision) -> RunItem:
    """Says yes to a question of a run. 409: it is answered already, or not asked."""
    return await _decide(desk, run, request, approved=True)


@router.post("/{run}/reject", status_code=202)
async def reject(desk: AtDesk, run: TheRun, request: Decision) -> RunItem:
    """Says no to a question of a run. 409: it is answered already, or not asked."""
    return await _decide(desk, run, request, approved=False)


@router.post("/{run}/fork", status_code=201, responses={200: {"model": Forked}})
async def fork(desk: AtDesk, run: TheRun, request: Fork, response: Response) -> Forked:
    """Starts a new run that keeps the iterations before `at` and redoes that one.

    201: it was started. 200: a fork with this key exists already, and this is its id.
    """
    made = forking.Fork(
        at=request.at,
        values=request.set,
        limits={} if request.budget_usd is None else {"cost_usd": request.budget_usd},
        key=request.key or "",
    )
    await asyncio.to_thread(_check_fork, desk, run, made)
    now = time.time()
    found, created = await forking.fork_run(desk.store, run, made, run=new_run_id(now), now=now)
    if created:
        desk.driving.drive(found)
    response.status_code = 201 if created else 200
    return Forked(run=found, created=created)


async def _decide(desk: Desk, run: RunId, request: Decision, *, approved: bool) -> RunItem:
    def make() -> Event:
        at, words = request.address, request.feedback
        return decided(desk.store, run, at, approved=approved, feedback=words)

    await desk.ask(run, make, request.seen)
    return run_item(desk, desk.store.run(run))


def _resumed(desk: Desk, run: RunId, request: Resume) -> Event:
    status = desk.store.run(run).status
    if not _more(request).amounts() and status in ("running", "waiting"):
        words = "is running already" if status == "running" else "waits for a person"
        raise UsageError(f"run {run} {words}")
    return resumed(_more(request))


def _more(request: Resume) -> More:
    return More(request.budget_usd, request.tokens, request.calls)


def _continued(desk: Desk, run: RunId, request: Continue) -> Event:
    event = continued(
        desk.store,
        run,
        request.loop or "",
        iterations=request.iterations,
        more=More(request.budget_usd, request.tokens, request.calls),
    )
    if request.seen is None and request.iterations is not None:
        machine = fold(desk.store, run).machine
        for frame in machine.frames.values():
            if frame["kind"] != "loop" or frame["address"] != event.body["at"]:
                continue
            if "ended" not in frame and frame["phase"] != "limit":
                raise UsageError(
                    f"loop {frame['address']!r} is still going on",
                    help="give `seen`, the last seq that you know of, to raise its limit",
                )
    return event


def _check_fork(desk: Desk, run: RunId, fork: forking.Fork) -> None:
    workflow = workflow_of(desk.store, run)
    check_fork(desk.store, run, workflow, fork)
    refused = refusal(workflow, desk.providers.settings)
    if refused is not None:
        raise conflict(UsageError(str(refused["message"])))
    check_models(workflow, desk.providers)


def _prepared(desk: Desk, new: NewRun) -> tuple[Workflow, Start, dict[str, str]]:
    """The workflow as it is read now, how it starts, and what to tell about it."""
    path = desk.file(new.workflow)
    reading = desk.project.read(str(path))
    workflow, providers = reading.workflow, desk.providers
    check_given(workflow, new.inputs, advice="see `inputs` of the workflow")
    cost = new.budget_usd if new.budget_usd is not None else workflow.limits.cost_usd
    refused = refusal(workflow, providers.settings)
    told = {}
    if refused is None:
        check_models(workflow, providers)
        worst = forecast(workflow, providers, iterations=new.max_iterations, budget_usd=cost)
        told = {"forecast": forecast_words(worst), "note": _who_answers(desk, workflow)}
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


def _who_answers(desk: Desk, workflow: Workflow) -> str:
    if is_left_to_toy(workflow, desk.providers):
        return TOY
    script = scripted_by(workflow, desk.providers)
    return (
        f"no model is asked: the replies are scripted (provider {safe(script)!r})" if script else ""
    )
