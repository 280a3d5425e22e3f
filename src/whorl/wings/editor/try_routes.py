"""Tries and pins: one step or iteration of a draft is run, with results that stand for steps."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from whorl.interfaces.http.routes.workflows import FileQuery
from whorl.interfaces.http.state import ServerState, State, no_query
from whorl.ir import Workflow
from whorl.runtimes.start_options import Start
from whorl.services.files.preflight import permitted
from whorl.wings.editor import routes, single_step

router = APIRouter(prefix="/api", tags=["editing"])


@router.post("/tries", status_code=201, dependencies=[Depends(no_query)])
async def start_try(state: State, request: routes.Try) -> routes.StepTrial:
    """Runs a step, or one iteration of a loop, from a draft; 409: it would do something outside."""
    workflow, start, stale = await asyncio.to_thread(_prepared, state, request)
    run, _ = await state.runtime.start(workflow, start)
    state.driving.drive(run)
    return routes.StepTrial(run=run, stale=stale)


def _prepared(state: ServerState, request: routes.Try) -> tuple[Workflow, Start, list[str]]:
    path, given = str(state.file(request.name)), request.source
    run = given and state.store.run(given.run).id
    unsaved = request.name, request.text, request.others
    pins = single_step.pins_of(state.project, *unsaved) if request.pins else {}
    wanted = single_step.Wanted(
        request.text,
        path,
        request.at,
        request.inputs,
        request.values,
        {at: pin.value for at, pin in pins.items() if not pin.is_stale},
        single_step.Source(run, given.loop, given.iteration) if given and run else None,
        single_step.BUDGET_USD if request.budget_usd is None else request.budget_usd,
        request.others,
    )
    workflow, start = single_step.prepare(state.project, state.store, wanted)
    if not request.effects:
        single_step.check_effects(workflow, state.providers.settings)
    start, _ = permitted(workflow, state.providers, start)
    return workflow, start, [at for at, pin in pins.items() if pin.is_stale]


@router.get("/pins")
def list_pins(state: State, query: Annotated[FileQuery, Query()]) -> routes.PinList:
    """The results that tries use instead of steps of a file."""
    state.file(query.file)
    pins = single_step.pins_of(state.project, query.file)
    shown = {at: routes.Pin(value=pin.value, stale=pin.is_stale) for at, pin in pins.items()}
    return routes.PinList(file=query.file, pins=shown)


@router.put("/pins", dependencies=[Depends(no_query)])
def save_pins(state: State, request: routes.Pinned) -> routes.PinList:
    """Keeps results for steps of a file, instead of those kept before; none: deletes them."""
    state.file(request.file)
    values = {at: pin.value for at, pin in request.pins.items()}
    single_step.save_pins(state.project, request.file, values, request.text, request.others)
    shown = {at: routes.Pin(value=value) for at, value in values.items()}
    return routes.PinList(file=request.file, pins=shown)
