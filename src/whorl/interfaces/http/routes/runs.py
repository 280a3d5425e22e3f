"""Looking at runs: lists, one run, its loops, iterations, steps and values."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from whorl.interfaces.figures import written
from whorl.interfaces.http import run_schemas as schemas
from whorl.interfaces.http import run_views
from whorl.interfaces.http.schemas import Closed
from whorl.interfaces.http.state import KnownRun, State, no_query
from whorl.interfaces.progress import usage_of
from whorl.interpreter.constructs.judging import similarity
from whorl.language import Json
from whorl.runtimes.folding import fold
from whorl.runtimes.journal import RunRow
from whorl.services import results

LOOPS_MAX = 500
_SCANNED_MAX = 5_000
_PAGE = 200
MATRIX_MAX = 200
SMALL = 0.9
# Comparing takes time with the product of the lengths.
_COMPARED_MAX = 4_000

router = APIRouter(prefix="/api/runs", tags=["runs"])

IterationNumber = Annotated[int, Field(ge=1, le=1_000_000_000)]


class RunsQuery(Closed):
    """Which runs."""

    status: schemas.RunStatus | None = None
    workflow: str | None = Field(default=None, max_length=1_000)
    search: str | None = Field(default=None, max_length=200)
    limit: int = Field(default=50, ge=1, le=500)
    before: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,128}$")


class LoopQuery(Closed):
    """Which loop; without one, the only outermost loop of the run."""

    loop: str = Field(default="", max_length=4_000)


class IterationsQuery(LoopQuery):
    """Which iterations."""

    after: int = Field(default=0, ge=0, le=1_000_000_000)
    limit: int = Field(default=500, ge=1, le=5_000)


class CompareQuery(LoopQuery):
    """Which two iterations."""

    one: IterationNumber
    other: IterationNumber


class MatrixQuery(LoopQuery):
    """Which steps; without `node`, all of them."""

    node: str | None = Field(default=None, max_length=1_000)


class NodeQuery(Closed):
    """Which step."""

    address: Annotated[str, Field(min_length=1, max_length=4_000)]


@router.get("")
def list_runs(state: State, query: Annotated[RunsQuery, Query()]) -> schemas.RunList:
    """The newest runs first; `search` looks at ids, names and files."""
    rows, before = _rows(state, query)
    runs = [run_views.run_item(state, row) for row in rows]
    return schemas.RunList(runs=runs, next=before, workflows=state.names())


@router.get("/{run}", dependencies=[Depends(no_query)])
def show_run(state: State, run: KnownRun) -> schemas.RunDetail:
    """One run: its result so far, what it waits for, what may be asked of it."""
    return run_views.run_detail(state, run)


@router.get("/{run}/loops", dependencies=[Depends(no_query)])
def list_loops(state: State, run: KnownRun) -> schemas.LoopList:
    """The loops of a run; nested ones once for each outer iteration."""
    rows, workflow = state.store.loops(run), results.workflow_of(state.store, run)
    machine = fold(state.store, run).machine
    items = [
        run_views.loop_item(row, results.loop_node(workflow, row.path), machine)
        for row in rows[-LOOPS_MAX:]
    ]
    return schemas.LoopList(loops=items, more=len(rows) > LOOPS_MAX)


@router.get("/{run}/iterations")
def list_iterations(
    state: State, run: KnownRun, query: Annotated[IterationsQuery, Query()]
) -> schemas.IterationList:
    """The finished iterations of a loop, by number."""
    loop = results.loop_named(state.store, run, query.loop)
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
    query: Annotated[LoopQuery, Query()],
) -> schemas.IterationDetail:
    """What the steps of an iteration gave, and what it was given."""
    loop = results.loop_named(state.store, run, query.loop)
    note = results.iteration_row(state.store, run, loop, number).note
    given = results.results_of(state.store, run, loop, (number,)).get(number, {})
    carried = results.carried_into(state.store, run, loop, number)
    return schemas.IterationDetail(
        loop=loop, number=number, results=given, carried=carried, note=note
    )


@router.get("/{run}/compare")
def compare(
    state: State, run: KnownRun, query: Annotated[CompareQuery, Query()]
) -> schemas.Comparison:
    """Two iterations of a loop side by side."""
    loop, numbers = results.loop_named(state.store, run, query.loop), (query.one, query.other)
    left, right = results.sides(state.store, run, loop, numbers)
    nodes = []
    for name in dict.fromkeys([*left.results, *right.results]):
        first, second = left.results.get(name), right.results.get(name)
        alike = 1.0 if first == second else _alike(first, second)
        nodes.append(schemas.NodeChange(name=name, similarity=alike, same=first == second))
    feedback = results.carried_into(state.store, run, loop, max(numbers))
    return schemas.Comparison(
        loop=loop, one=_side(left), other=_side(right), nodes=nodes, feedback=feedback
    )


@router.get("/{run}/matrix")
def show_matrix(
    state: State, run: KnownRun, query: Annotated[MatrixQuery, Query()]
) -> schemas.Matrix:
    """Which step gave something else in which iteration; of long loops, the newest."""
    loop = results.loop_named(state.store, run, query.loop)
    rows = state.store.newest_iterations(run, loop, MATRIX_MAX)
    numbers = sorted({row.number for row in rows if row.status == "succeeded"})
    given = results.results_of(state.store, run, loop, numbers)
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
    state: State, run: KnownRun, query: Annotated[NodeQuery, Query()]
) -> schemas.NodeDetail:
    """What happened at a step: each attempt with what it was given and what it gave."""
    store, address = state.store, query.address
    attempts = results.attempts_of(store.entries_at(run, address), address)
    value = results.computed(store, run, address) if not attempts else None
    if not attempts and value is None:
        raise results.unknown_place(store, run, address)
    previous = None
    before = results.previous_address(address)
    earlier = results.attempts_of(store.entries_at(run, before), before) if before else []
    if earlier:
        previous = schemas.Previous(address=before, output=earlier[-1].output)
    elif before and not attempts:
        previous = schemas.Previous(address=before, output=results.computed(store, run, before))
    return schemas.NodeDetail(
        address=address,
        kind=next((call.kind for call in attempts if call.kind), "" if attempts else "compute"),
        attempts=[run_views.attempt_item(attempt) for attempt in attempts],
        value=value,
        previous=previous,
    )


@router.get("/{run}/values/{ref}", dependencies=[Depends(no_query)])
def show_value(
    state: State,
    run: KnownRun,
    ref: Annotated[str, Path(pattern=r"^[0-9]{1,15}\.[A-Za-z0-9_-]{1,4000}$")],
) -> schemas.LargeValue:
    """A value that an event only refers to."""
    return schemas.LargeValue(value=run_views.value_at(state.store, run, ref))


def _rows(state: State, query: RunsQuery) -> tuple[list[RunRow], str | None]:
    rows: list[RunRow] = []
    before, scanned = query.before, 0
    words = (query.search or "").casefold()
    size = _PAGE if words else query.limit + 1
    while len(rows) <= query.limit and scanned < _SCANNED_MAX:
        page = state.store.runs(query.status, query.workflow, size, before)
        texts = [(row, (row.id, row.name, row.file)) for row in page]
        rows += [row for row, named in texts if any(words in text.casefold() for text in named)]
        scanned += len(page)
        if len(page) < size:
            before = None
            break
        before = page[-1].id
    shown = rows[: query.limit]
    return shown, shown[-1].id if len(rows) > query.limit else before


def _side(side: results.Side) -> schemas.Side:
    _, tokens, cost_usd = usage_of(side.row.note)
    seconds: Any = side.row.note.get("seconds")
    return schemas.Side(
        number=side.row.number,
        score=side.row.score,
        cost_usd=cost_usd,
        tokens=tokens,
        seconds=float(seconds or 0.0),
        results=side.results,
        verdicts=run_views.verdicts(side.row.note),
    )


def _alike(value: Json, other: Json) -> float:
    alike = similarity(written(value)[:_COMPARED_MAX], written(other)[:_COMPARED_MAX])
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
