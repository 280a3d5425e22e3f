"""Looking at runs: lists, one run, its loops, iterations, steps and values."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from whorl.interfaces.formatting import written
from whorl.interfaces.http.schemas import queries, records
from whorl.interfaces.http.schemas import runs as schemas
from whorl.interfaces.http.state import Asking, KnownRun, State, no_query
from whorl.interfaces.http.views import runs as run_views
from whorl.interfaces.http.views.previews import value_at
from whorl.interfaces.operations import has_role
from whorl.interfaces.progress import usage_of
from whorl.interpreter.constructs.loops.rules import similarity
from whorl.language import Json
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.sqlite import RunFilter
from whorl.runtimes.sqlite.listing import EXPERIMENT, TRY
from whorl.services.inspecting import costs, results
from whorl.services.inspecting.iterations import (
    Side,
    attempts_of,
    carried_into,
    iteration_row,
    loop_named,
    previous_address,
    results_of,
    sides,
)
from whorl.services.inspecting.places import unknown_place

LOOPS_MAX = 500
MATRIX_MAX = 200
SMALL = 0.9
# Comparing takes time with the product of the lengths.
_COMPARED_MAX = 4_000

router = APIRouter(prefix="/api/runs", tags=["runs"])
costs_router = APIRouter(prefix="/api", tags=["runs"])


@router.get("")
def list_runs(state: State, query: Annotated[queries.RunsQuery, Query()]) -> schemas.RunList:
    """The newest runs first, or as `sort` says; `search` looks at ids, names, files and inputs."""
    label = None if query.label is None else query.label.partition("=")
    with_experiments = query.experiments or label is not None
    which = RunFilter(
        status=query.status,
        name=query.workflow,
        text=query.search or "",
        ended=query.exit,
        since=query.since,
        until=query.until,
        cost_min=query.cost_min,
        cost_max=query.cost_max,
        sort=query.sort,
        is_reversed=query.reverse,
        without_key=(() if query.tries else (TRY,)) + (() if with_experiments else (EXPERIMENT,)),
        labels=() if label is None else ((label[0], label[2]),),
    )
    rows = state.store.list_runs(which, query.limit + 1, query.before)
    made = partial(run_views.run_item, state)
    runs = [item for _, item in results.each_left(rows[: query.limit], made)]
    following = rows[query.limit - 1].id if len(rows) > query.limit else None
    total = state.store.count_runs(which)
    return schemas.RunList(runs=runs, next=following, total=total, workflows=state.names())


@costs_router.get("/costs")
def show_costs(state: State, query: Annotated[queries.CostsQuery, Query()]) -> schemas.CostList:
    """What runs cost, by workflow, model, day, loop or run; by step and iteration of the newest."""
    run = None if query.run is None else state.store.run(query.run).id
    found = costs.costs_of(
        state.store, query.by, run=run, since=query.since, with_tries=query.tries
    )
    return schemas.CostList(**found.document())


@router.get("/{run}", dependencies=[Depends(no_query)])
def show_run(state: State, asking: Asking, run: KnownRun) -> schemas.RunDetail:
    """One run: its result so far, what it waits for, and the requests that it accepts."""
    detail = run_views.run_detail(state, run)
    detail.can = [action for action in detail.can if has_role(asking.role, action)]
    return detail


@router.get("/{run}/loops", dependencies=[Depends(no_query)])
def list_loops(state: State, run: KnownRun) -> schemas.LoopList:
    """The loops of a run; nested ones once for each outer iteration."""
    rows, workflow = state.store.loops(run), results.workflow_of(state.store, run)
    machine, stopped = fold(state.store, run).machine, results.stopped_loops(state.store, run)
    items = [
        run_views.loop_item(
            row,
            results.loop_node(workflow, row.path),
            machine,
            is_stopped=row.address in stopped,
        )
        for row in rows[-LOOPS_MAX:]
    ]
    return schemas.LoopList(loops=items, more=len(rows) > LOOPS_MAX)


@router.get("/{run}/iterations")
def list_iterations(
    state: State, run: KnownRun, query: Annotated[queries.IterationsQuery, Query()]
) -> schemas.IterationList:
    """The finished iterations of a loop, by number."""
    loop = loop_named(state.store, run, query.loop)
    rows = state.store.iterations(run, loop, after=query.after, limit=query.limit + 1)
    begun = [
        run_views.iteration_item(row) for row in rows[: query.limit] if row.status != "not_begun"
    ]
    return schemas.IterationList(loop=loop, iterations=begun, more=len(rows) > query.limit)


@router.get("/{run}/iterations/{number}")
def show_iteration(
    state: State,
    run: KnownRun,
    number: Annotated[int, Path(ge=1, le=1_000_000_000)],
    query: Annotated[queries.LoopQuery, Query()],
) -> schemas.IterationDetail:
    """What the steps of an iteration gave, and what it was given."""
    loop = loop_named(state.store, run, query.loop)
    note = iteration_row(state.store, run, loop, number).note
    given = results_of(state.store, run, loop, (number,)).get(number, {})
    carried = carried_into(state.store, run, loop, number)
    return schemas.IterationDetail(
        loop=loop, number=number, results=given, carried=carried, note=note
    )


@router.get("/{run}/compare")
def compare(
    state: State, run: KnownRun, query: Annotated[queries.CompareQuery, Query()]
) -> schemas.Comparison:
    """Two iterations of a loop side by side, of one run or of two."""
    store, other = state.store, run if query.with_ is None else state.store.run(query.with_).id
    loop = loop_named(store, run, query.loop)
    left, right = sides(store, run, loop, (query.one, query.other), other)
    nodes = []
    for name in dict.fromkeys([*left.results, *right.results]):
        first, second = left.results.get(name), right.results.get(name)
        alike = 1.0 if first == second else _alike(first, second)
        nodes.append(schemas.NodeChange(name=name, similarity=alike, same=first == second))
    later = max(query.one, query.other) if other == run else query.other
    feedback = carried_into(store, other, loop, later)
    return schemas.Comparison(
        loop=loop, one=_side(left), other=_side(right), nodes=nodes, feedback=feedback
    )


@router.get("/{run}/matrix")
def show_matrix(
    state: State, run: KnownRun, query: Annotated[queries.MatrixQuery, Query()]
) -> schemas.Matrix:
    """Which step gave something else in which iteration; of long loops, the newest."""
    loop = loop_named(state.store, run, query.loop)
    rows = state.store.newest_iterations(run, loop, MATRIX_MAX)
    numbers = sorted({row.number for row in rows if row.status == "succeeded"})
    given = results_of(state.store, run, loop, numbers)
    steps = [given.get(number, {}) for number in numbers]
    names = dict.fromkeys(name for named in steps for name in named)
    shown = [name for name in names if query.node in (None, name)]
    iterations = [
        schemas.MatrixRow(number=number, cells={name: _cell(now, before, name) for name in shown})
        for number, now, before in zip(numbers, steps, [None, *steps], strict=False)
    ]
    return schemas.Matrix(loop=loop, nodes=shown, iterations=iterations)


@router.get("/{run}/node")
def show_node(
    state: State, run: KnownRun, query: Annotated[queries.NodeQuery, Query()]
) -> records.NodeDetail:
    """What happened at a step: each attempt with what it was given and what it gave."""
    store, address = state.store, query.address
    attempts = attempts_of(store.entries_at(run, address), address)
    record = _last_record(state, run, address)
    if not attempts and record is None:
        raise unknown_place(store, run, address)
    computed = record if not attempts else None
    before = previous_address(address)
    earlier = _last_record(state, run, before) if before else None
    previous = None
    if earlier is not None:
        previous = records.Previous(address=before, output=earlier.output)
    return records.NodeDetail(
        address=address,
        kind=next((call.kind for call in attempts if call.kind), record.kind if record else ""),
        record=record,
        attempts=[run_views.attempt_item(attempt) for attempt in attempts],
        value=computed.output if computed else None,
        previous=previous,
    )


@router.get("/{run}/records")
def list_records(
    state: State, run: KnownRun, query: Annotated[queries.RecordsQuery, Query()]
) -> records.RecordList:
    """The records of steps, items and iterations: status, inputs, output, error, times, cost."""
    found = state.records(run).of(
        query.address,
        depth=query.depth,
        after=query.after,
        limit=query.limit,
        only_repetitions=query.repetitions,
    )
    if query.address and not found.records and not query.after:
        raise unknown_place(state.store, run, query.address)
    return run_views.record_items(found)


@router.get("/{run}/history")
def show_history(
    state: State, run: KnownRun, query: Annotated[queries.HistoryQuery, Query()]
) -> records.History:
    """All records of a run, or of a place of it, in the shape of another system."""
    return records.History(history=state.records(run).history(query.shape, query.address))


def _last_record(state: State, run: KnownRun, address: str) -> records.RecordItem | None:
    found = run_views.record_items(state.records(run).of(address)).records
    return next((record for record in reversed(found) if record.address == address), None)


@router.get("/{run}/values/{ref}", dependencies=[Depends(no_query)])
def show_value(
    state: State,
    run: KnownRun,
    ref: Annotated[str, Path(pattern=r"^[0-9]{1,15}\.[A-Za-z0-9_-]{1,4000}$")],
) -> schemas.LargeValue:
    """A value that an event only refers to."""
    return schemas.LargeValue(value=value_at(state.records(run), ref))


def _side(side: Side) -> schemas.Side:
    _, tokens, _ = usage_of(side.row.note)
    seconds: Any = side.row.note.get("seconds")
    return schemas.Side(
        number=side.row.number,
        score=side.row.score,
        cost_usd=run_views.usage_item(side.row.note.get("usage")).cost_usd,
        tokens=tokens,
        seconds=float(seconds or 0.0),
        results=side.results,
        verdicts=run_views.verdicts(side.row.note),
    )


def _alike(value: Json, other: Json) -> float:
    alike = similarity(written(value)[:_COMPARED_MAX], written(other)[:_COMPARED_MAX]) or 0.0
    # Beyond what was compared they differ, or they would be the same.
    return min(round(alike, 4), 0.9999)


def _cell(now: dict[str, Json], before: dict[str, Json] | None, name: str) -> schemas.Cell:
    if now.get(name) is None:
        return "none"
    if before is None or before.get(name) is None:
        return "new"
    if now[name] == before[name]:
        return "same"
    return "small" if _alike(now[name], before[name]) >= SMALL else "new"
