"""Looking at runs: lists, one run, its loops, iterations, steps and values."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from whorl.interfaces.http.access import AtDesk, TheRun, no_query
from whorl.interfaces.http.schemas.runs import (
    Comparison,
    IterationDetail,
    IterationList,
    LargeValue,
    LoopList,
    Matrix,
    NodeDetail,
    Previous,
    RunDetail,
    RunList,
    RunStatus,
)
from whorl.interfaces.http.schemas.shape import Closed
from whorl.interfaces.http.views.comparing import comparison, matrix
from whorl.interfaces.http.views.detail import run_detail
from whorl.interfaces.http.views.rows import attempt_item, iteration_item, loop_item, run_item
from whorl.interfaces.http.views.values import value_at
from whorl.interfaces.wording import target_of
from whorl.runtimes.folding import fold
from whorl.runtimes.journal import RunRow
from whorl.services.inspection import (
    attempts_of,
    computed,
    iteration_row,
    loop_named,
    previous_address,
    results_of,
    unknown_place,
)
from whorl.services.results import carried_into, loop_node, workflow_of

LOOPS_MAX = 500
_SCANNED_MAX = 5_000
_PAGE = 200

router = APIRouter(prefix="/api/runs", tags=["runs"])

AtLoop = Annotated[str, Field(max_length=4_000)]
IterationNumber = Annotated[int, Field(ge=1, le=1_000_000_000)]


class RunsQuery(Closed):
    """Which runs."""

    status: RunStatus | None = None
    workflow: str | None = Field(default=None, max_length=1_000)
    search: str | None = Field(default=None, max_length=200)
    limit: int = Field(default=50, ge=1, le=500)
    before: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_-]{1,128}$")


class LoopQuery(Closed):
    """Which loop; without one, the only outermost loop of the run."""

    loop: AtLoop = ""


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
def list_runs(desk: AtDesk, query: Annotated[RunsQuery, Query()]) -> RunList:
    """The newest runs first; `search` looks at ids, names and files."""
    rows, before = _rows(desk, query)
    return RunList(runs=[run_item(desk, row) for row in rows], next=before, workflows=desk.names())


@router.get("/{run}", dependencies=[Depends(no_query)])
def show_run(desk: AtDesk, run: TheRun) -> RunDetail:
    """One run: its result so far, what it waits for, what may be asked of it."""
    return run_detail(desk, run)


@router.get("/{run}/loops", dependencies=[Depends(no_query)])
def list_loops(desk: AtDesk, run: TheRun) -> LoopList:
    """The loops of a run; nested ones once for each outer iteration."""
    rows = desk.store.loops(run)
    workflow = workflow_of(desk.store, run)
    machine = fold(desk.store, run).machine
    items = []
    for row in rows[-LOOPS_MAX:]:
        node = loop_node(workflow, row.path)
        target = target_of(node.until) if node is not None else None
        items.append(loop_item(row, node, target, machine))
    return LoopList(loops=items, more=len(rows) > LOOPS_MAX)


@router.get("/{run}/iterations")
def list_iterations(
    desk: AtDesk, run: TheRun, query: Annotated[IterationsQuery, Query()]
) -> IterationList:
    """The finished iterations of a loop, by number."""
    loop = loop_named(desk.store, run, query.loop)
    rows = desk.store.iterations(run, loop, after=query.after, limit=query.limit + 1)
    begun = [iteration_item(row) for row in rows[: query.limit] if row.status != "not_begun"]
    return IterationList(loop=loop, iterations=begun, more=len(rows) > query.limit)


@router.get("/{run}/iterations/{number}")
def show_iteration(
    desk: AtDesk,
    run: TheRun,
    number: Annotated[int, Path(ge=1, le=1_000_000_000)],
    query: Annotated[LoopQuery, Query()],
) -> IterationDetail:
    """What the steps of an iteration gave, and what it was given."""
    loop = loop_named(desk.store, run, query.loop)
    row = iteration_row(desk.store, run, loop, number)
    return IterationDetail(
        loop=loop,
        number=number,
        results=results_of(desk.store, run, loop, (number,)).get(number, {}),
        carried=carried_into(desk.store, run, loop, number),
        note=row.note,
    )


@router.get("/{run}/compare")
def compare(desk: AtDesk, run: TheRun, query: Annotated[CompareQuery, Query()]) -> Comparison:
    """Two iterations of a loop side by side."""
    loop = loop_named(desk.store, run, query.loop)
    return comparison(desk.store, run, loop, (query.one, query.other))


@router.get("/{run}/matrix")
def show_matrix(desk: AtDesk, run: TheRun, query: Annotated[MatrixQuery, Query()]) -> Matrix:
    """Which step gave something else in which iteration; of long loops, the newest."""
    return matrix(desk.store, run, loop_named(desk.store, run, query.loop), query.node)


@router.get("/{run}/node")
def show_node(desk: AtDesk, run: TheRun, query: Annotated[NodeQuery, Query()]) -> NodeDetail:
    """What happened at a step: each attempt with what it was given and what it gave."""
    store, address = desk.store, query.address
    attempts = attempts_of(store.entries_at(run, address), address)
    value = computed(store, run, address) if not attempts else None
    if not attempts and value is None:
        raise unknown_place(store, run, address)
    previous = None
    before = previous_address(address)
    earlier = attempts_of(store.entries_at(run, before), before) if before else []
    if earlier:
        previous = Previous(address=before, output=earlier[-1].output)
    elif before and not attempts:
        previous = Previous(address=before, output=computed(store, run, before))
    kind = next((one.kind for one in attempts if one.kind), "" if attempts else "compute")
    return NodeDetail(
        address=address,
        kind=kind,
        attempts=[attempt_item(one) for one in attempts],
        value=value,
        previous=previous,
    )


@router.get("/{run}/values/{ref}", dependencies=[Depends(no_query)])
def show_value(
    desk: AtDesk,
    run: TheRun,
    ref: Annotated[str, Path(pattern=r"^[0-9]{1,15}\.[A-Za-z0-9_-]{1,4000}$")],
) -> LargeValue:
    """A value that an event only refers to."""
    return LargeValue(value=value_at(desk.store, run, ref))


def _rows(desk: AtDesk, query: RunsQuery) -> tuple[list[RunRow], str | None]:
    """A page of rows, and where the next one begins."""
    found: list[RunRow] = []
    before, scanned = query.before, 0
    words = (query.search or "").casefold()
    size = _PAGE if words else query.limit + 1
    while len(found) <= query.limit and scanned < _SCANNED_MAX:
        page = desk.store.runs(query.status, query.workflow, size, before)
        found += [row for row in page if not words or _holds(row, words)]
        scanned += len(page)
        if len(page) < size:
            before = None
            break
        before = page[-1].id
    shown = found[: query.limit]
    if len(found) > query.limit:
        return shown, shown[-1].id
    return shown, before


def _holds(row: RunRow, words: str) -> bool:
    return any(words in text.casefold() for text in (row.id, row.name, row.file))
