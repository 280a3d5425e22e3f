"""Starting runs, steering them, and answering what they ask: each call is one command."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Response
from pydantic import Field, model_validator
from pydantic import StringConstraints as Text

from whorl.errors import UsageError
from whorl.interfaces.http import models
from whorl.interfaces.http.auth import Identity
from whorl.interfaces.http.problems import Refusal, conflict
from whorl.interfaces.http.runs import RunItem, run_item
from whorl.interfaces.http.state import Asking, KnownRun, ServerState, State, check_query
from whorl.interfaces.http.workflows import foreseen_words
from whorl.interpreter.events import Event
from whorl.ir import Workflow
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.forking import Fork as ForkRequest
from whorl.runtimes.journal.journal import RunId
from whorl.runtimes.start_options import Start
from whorl.services import steering
from whorl.services.files.forecasting import raises_limits
from whorl.services.files.preflight import check_labels, check_size
from whorl.services.inspecting.results import loop_frame, workflow_of
from whorl.services.replay import forecast_of
from whorl.services.runs import check_key, is_running
from whorl.services.serving.triggers import CODE, Starts, checked_start, starts_of

router = APIRouter(prefix="/api/runs", tags=["control"], dependencies=[Depends(check_query)])


class NewRun(models.Closed):
    """A run to be started; `key` makes sure that at most one is ever started for it."""

    workflow: models.FileName
    named: models.WorkflowName = ""
    inputs: dict[str, models.JsonValue] = Field(default_factory=dict)
    budget_usd: models.Dollars | None = None
    max_iterations: models.Number | None = None
    key: models.Key | None = None
    labels: dict[str, str] = Field({}, description="names and values that lists find it by")


class Forked(models.Closed):
    """The new run."""

    run: str
    created: bool


class Started(Forked):
    """The run that was started, or the one that has the key already."""

    status: str = Field(default="running", description="of the run, as lists show it")
    forecast: str = Field(default="", description="what it may do and cost, in words")
    note: str = Field(default="", description="who answers, if it is not a real model")
    runs: list[str] = Field([], description="all runs, if a trigger starts several")


@router.post("", status_code=201, responses={200: {"model": Started}})
async def start_run(state: State, asking: Asking, new: NewRun, response: Response) -> Started:
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
    return Started(run=run, created=created, status=status, runs=runs, **details)


def _prepared(
    state: ServerState, asking: Identity, new: NewRun
) -> tuple[Workflow, Starts, dict[str, str]]:
    """Returns the prepared start, and the words about it."""
    path, budget, iterations = str(state.file(new.workflow)), new.budget_usd, new.max_iterations
    reading = state.project.read(path, new.named)
    workflow = reading.workflow
    if raises_limits(workflow, budget, iterations):
        asking.check("raise limits")
    check_size(new.inputs)
    start = Start(
        new.inputs,
        limits={} if budget is None else {"cost_usd": budget},
        iterations=iterations,
        key=new.key or "",
        file=path,
        labels=check_labels(new.labels),
    )
    start, note = checked_start(reading, state.providers, start)
    starts = limited(state, starts_of(workflow, start, time.time()))
    for each in starts.each:
        if each.key and (known := state.store.keyed(each.key)) is not None:
            check_key(state.store, known, each, workflow.name)
    if start.refused is not None:
        return workflow, starts, {}
    worst = forecast_of(
        state.store,
        workflow,
        state.providers,
        start,
        iterations=iterations,
        budget_usd=budget,
        included=reading.included,
    )
    return workflow, starts, {"forecast": foreseen_words(worst), "note": note}


def drive_first(state: ServerState, runs: list[RunId]) -> None:
    """Drives new runs; beyond the server's limit, those of a list wait for their turn."""
    for run in runs[: state.providers.settings.server.max_concurrent]:
        state.driving.drive(run)


def limited(state: ServerState, starts: Starts) -> Starts:
    """Limits how many runs of a list are driven at once to what the server allows."""
    most = state.providers.settings.server.max_concurrent
    if not starts.is_split or len(starts.each) <= most:
        return starts
    each = tuple(replace(start, at_once=start.at_once or most) for start in starts.each)
    return replace(starts, each=each)


class Request(models.Closed):
    """The fields that all requests to a run have.

    `seen` is the last seq that the caller knows: the request is refused if another client has
    steered the run since, so a button that is pressed twice has one effect.
    """

    seen: models.Seen = None


async def _ask(
    state: ServerState, run: RunId, request: Request, make: Callable[[], Event]
) -> RunItem:
    return await _shown(state, run, state.driving.ask(run, make, request.seen))


async def _shown(state: ServerState, run: RunId, asked: Awaitable[object]) -> RunItem:
    """Sends a request to a run and returns the run; one that does not fit it is a conflict."""
    try:
        await asked
    except UsageError as fault:
        raise conflict(fault, run) from fault
    return run_item(state, state.store.run(run))


@router.post("/{run}/pause", status_code=202)
async def pause(state: State, run: KnownRun, request: Request) -> RunItem:
    """Lets open calls finish, and starts no new ones."""
    return await _ask(state, run, request, lambda: steering.paused(state.store, run))


class Resume(Request):
    """Resumes a run after a pause or a crash; of a failed run, retries what failed."""

    budget_usd: models.Dollars | None = Field(default=None, description="added to the budget")
    tokens: models.Number | None = Field(default=None, description="added to the budget")
    calls: models.Number | None = Field(default=None, description="added to the budget")

    def more(self) -> steering.More:
        return steering.More(self.budget_usd, self.tokens, self.calls)


@router.post("/{run}/resume", status_code=202)
async def resume(state: State, run: KnownRun, request: Resume) -> RunItem:
    """Resumes a run after a pause or a crash; of a failed run, retries what failed."""
    more = request.more()
    if state.store.run(run).status == "interrupted" and not more.amounts():
        return await _shown(state, run, state.driving.go_on(run))

    def resumed() -> Event:
        status = state.store.run(run).status
        if status == "waiting" and not more.amounts():
            raise UsageError(f"run {run} waits for a person")
        if status == "running" and not more.amounts():
            raise is_running(run)
        return steering.resumed(more)

    return await _ask(state, run, request, resumed)


class Cancel(Request):
    """Ends the run for good."""

    feedback: models.Words = ""


@router.post("/{run}/cancel", status_code=202)
async def cancel(state: State, run: KnownRun, request: Cancel) -> RunItem:
    """Ends the run for good; what it has made so far stays."""
    return await _ask(state, run, request, lambda: steering.cancelled(request.feedback))


class Continue(Resume):
    """Reopens a loop for more iterations, or every loop that stopped for its budget.

    At least one of the amounts is needed.
    """

    at: models.At | None = None
    iterations: models.Number | None = None

    @model_validator(mode="after")
    def _asks_for_something(self) -> "Continue":
        if {self.iterations, self.budget_usd, self.tokens, self.calls} == {None}:
            raise ValueError("say how much more: iterations, budget_usd, tokens or calls")
        return self


@router.post("/{run}/continue", status_code=202)
async def continue_run(state: State, run: KnownRun, request: Continue) -> RunItem:
    """Gives a loop more iterations; later steps run again as second attempts.

    A loop that is still running is given more only with `seen`, so that a button that is pressed
    twice does not double it.
    """
    return await _ask(state, run, request, partial(_continued, state, run, request))


def _continued(state: ServerState, run: RunId, request: Continue) -> Event:
    at, iterations, more = request.at or "", request.iterations, request.more()
    event = steering.continued(state.store, run, at, iterations=iterations, more=more)
    if request.seen is None and iterations is not None:
        frame = loop_frame(fold(state.store, run).machine, str(event.body["at"]))
        if frame and "ended" not in frame and frame["phase"] != "limit":
            raise UsageError(
                f"loop {frame['address']!r} is still running",
                help="give `seen`, the last seq that you know of, to raise its limit",
            )
    return event


class Accept(Request):
    """Ends a loop with the result of an iteration."""

    at: models.At | None = None
    iteration: models.Number


@router.post("/{run}/accept", status_code=202)
async def accept(state: State, run: KnownRun, request: Accept) -> RunItem:
    """Ends a loop with the result of an iteration; later steps run (again) with it."""
    accepted = partial(steering.accepted, state.store, run, request.at or "", request.iteration)
    return await _ask(state, run, request, accepted)


class Stop(Request):
    """Lets no iteration of a loop begin after the running one."""

    at: models.At | None = None


@router.post("/{run}/stop", status_code=202)
async def stop(state: State, run: KnownRun, request: Stop) -> RunItem:
    """Ends a loop after the running iteration, with what it returns then."""
    loop = request.at or ""
    return await _ask(state, run, request, lambda: steering.stopped(state.store, run, loop))


class Decision(Request):
    """A person's answer to one question.

    It is refused when that question is answered already or is not open: an answer that comes late,
    or twice, never reaches another question.
    """

    at: Annotated[models.At, Text(min_length=1)] = Field(description="an `address` of `approvals`")
    feedback: models.Words = ""


class Approval(Decision):
    """A yes; `value` is what the person changed."""

    value: models.JsonValue = Field(
        default=None,
        description="replaces what `show` of the question has; for a loop, "
        "the changed results by their names. Without this field nothing is edited.",
    )


@router.post("/{run}/approve", status_code=202)
async def approve(state: State, run: KnownRun, request: Approval) -> RunItem:
    """Says yes to a question of a run. 409: it is answered already, or not asked."""
    is_edited = "value" in request.model_fields_set
    edits = steering.Edits(request.value) if is_edited else None
    decided = partial(_decided, state, run, request, approved=True, edits=edits)
    return await _ask(state, run, request, decided)


@router.post("/{run}/reject", status_code=202)
async def reject(state: State, run: KnownRun, request: Decision) -> RunItem:
    """Says no to a question of a run. 409: it is answered already, or not asked."""
    return await _ask(state, run, request, partial(_decided, state, run, request, approved=False))


def _decided(state: ServerState, run: RunId, request: Decision, **answer: Any) -> Event:
    words = request.feedback
    return steering.decided(state.store, run, request.at, feedback=words, **answer)


class StepChange(models.Closed):
    """The changes of a step that asks a model."""

    model: Annotated[str, Text(min_length=1, max_length=200)] | None = None
    prompt: Annotated[str, Text(max_length=200_000)] | None = None


class Fork(models.Closed):
    """A new run that keeps the iterations before `at` and redoes that one."""

    at: Annotated[models.At, Text(min_length=4)] = Field(description="such as polish[2]")
    set: dict[str, models.JsonValue] = Field(
        {}, description="other inputs, carried values or variables"
    )
    steps: dict[str, StepChange] = Field({}, description="changes by the path or name of a step")
    budget_usd: models.Dollars | None = None
    key: models.Key | None = Field(default=None, description="at most one fork is ever made for it")


@router.post("/{run}/fork", status_code=201, responses={200: {"model": Forked}})
async def fork(state: State, run: KnownRun, request: Fork, response: Response) -> Forked:
    """Starts a new run that keeps the iterations before `at` and redoes that one.

    201: it was started. 200: a fork with this key exists already, and this is its id.
    """
    steps = {name: step.model_dump(exclude_none=True) for name, step in request.steps.items()}
    try:
        changed = steering.with_steps(workflow_of(state.store, run), steps) if steps else None
    except UsageError as fault:
        raise conflict(fault) from fault
    made = ForkRequest(
        at=request.at,
        workflow=changed,
        values=request.set,
        limits={} if request.budget_usd is None else {"cost_usd": request.budget_usd},
        key=request.key or "",
        origin=state.runtime.origin,
        steps=steps,
    )
    try:
        forked, created = await steering.new_fork(state.runtime, state.providers, run, made)
    except UsageError as fault:
        if fault.code in ("R110", "P125", "P109"):
            raise conflict(fault) from fault
        raise
    if created:
        state.driving.drive(forked)
    response.status_code = 201 if created else 200
    return Forked(run=forked, created=created)
