"""Looking at runs: lists, one run, its loops, iterations, steps and values."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from whorl.interfaces.figures import written
from whorl.interfaces.http.run_schemas import (
    Cell,
    Comparison,
    IterationDetail,
    IterationList,
    LargeValue,
    LoopList,
    Matrix,
    MatrixRow,
    NodeChange,
    NodeDetail,
    Previous,
    RunDetail,
    RunList,
    RunStatus,
    Side,
)
from whorl.interfaces.http.run_views import (
    attempt_item,
    iteration_item,
    loop_item,
    run_detail,
    run_item,
    value_at,
    verdicts,
)
from whorl.interfaces.http.schemas import Closed
from whorl.interfaces.http.state import KnownRun, State, no_query
from whorl.interfaces.progress import usage_of
from whorl.interfaces.wording import target_of
from whorl.interpreter.judging import similarity
from whorl.language import Json
from whorl.runtimes.folding import fold
from whorl.runtimes.journal import RunId, RunRow
from whorl.runtimes.sqlite import SqliteStore
from whorl.services.inspection import Side as IterationSide
from whorl.services.inspection import (
    attempts_of,
    computed,
    iteration_row,
    loop_named,
    previous_address,
    results_of,
    sides,
    unknown_place,
)
from whorl.services.results import carried_into, loop_node, workflow_of

LOOPS_MAX = 500
_SCANNED_MAX = 5_000
_PAGE = 200
MATRIX_MAX = 200
SMALL = 0.9
# Comparing takes time with the product of the lengths.
_COMPARED_MAX = 4_000

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
def list_runs(state: State, query: Annotated[RunsQuery, Query()]) -> RunList:
    """The newest runs first; `search` looks at ids, names and files."""
    rows, before = _rows(state, query)
    return RunList(
        runs=[run_item(state, row) for row in rows], next=before, workflows=state.names()
    )


@router.get("/{run}", dependencies=[Depends(no_query)])
def show_run(state: State, run: KnownRun) -> RunDetail:
    """One run: its result so far, what it waits for, what may be asked of it."""
    return run_detail(state, run)


@router.get("/{run}/loops", dependencies=[Depends(no_query)])
def list_loops(state: State, run: KnownRun) -> LoopList:
    """The loops of a run; nested ones once for each outer iteration."""
    rows = state.store.loops(run)
    workflow = workflow_of(state.store, run)
    machine = fold(state.store, run).machine
    items = []
    for row in rows[-LOOPS_MAX:]:
        node = loop_node(workflow, row.path)
        target = target_of(node.until) if node is not None else None
        items.append(loop_item(row, node, target, machine))
    return LoopList(loops=items, more=len(rows) > LOOPS_MAX)


@router.get("/{run}/iterations")
def list_iterations(
    state: State, run: KnownRun, query: Annotated[IterationsQuery, Query()]
) -> IterationList:
    """The finished iterations of a loop, by number."""
    loop = loop_named(state.store, run, query.loop)
    rows = state.store.iterations(run, loop, after=query.after, limit=query.limit + 1)
    begun = [iteration_item(row) for row in rows[: query.limit] if row.status != "not_begun"]
    return IterationList(loop=loop, iterations=begun, more=len(rows) > query.limit)


@router.get("/{run}/iterations/{number}")
def show_iteration(
    state: State,
    run: KnownRun,
    number: Annotated[int, Path(ge=1, le=1_000_000_000)],
    query: Annotated[LoopQuery, Query()],
) -> IterationDetail:
    """What the steps of an iteration gave, and what it was given."""
    loop = loop_named(state.store, run, query.loop)
    row = iteration_row(state.store, run, loop, number)
    return IterationDetail(
        loop=loop,
        number=number,
        results=results_of(state.store, run, loop, (number,)).get(number, {}),
        carried=carried_into(state.store, run, loop, number),
        note=row.note,
    )


@router.get("/{run}/compare")
def compare(state: State, run: KnownRun, query: Annotated[CompareQuery, Query()]) -> Comparison:
    """Two iterations of a loop side by side."""
    loop = loop_named(state.store, run, query.loop)
    return comparison(state.store, run, loop, (query.one, query.other))


@router.get("/{run}/matrix")
def show_matrix(state: State, run: KnownRun, query: Annotated[MatrixQuery, Query()]) -> Matrix:
    """Which step gave something else in which iteration; of long loops, the newest."""
    return matrix(state.store, run, loop_named(state.store, run, query.loop), query.node)


@router.get("/{run}/node")
def show_node(state: State, run: KnownRun, query: Annotated[NodeQuery, Query()]) -> NodeDetail:
    """What happened at a step: each attempt with what it was given and what it gave."""
    store, address = state.store, query.address
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
    state: State,
    run: KnownRun,
    ref: Annotated[str, Path(pattern=r"^[0-9]{1,15}\.[A-Za-z0-9_-]{1,4000}$")],
) -> LargeValue:
    """A value that an event only refers to."""
    return LargeValue(value=value_at(state.store, run, ref))


def _rows(state: State, query: RunsQuery) -> tuple[list[RunRow], str | None]:
    """A page of rows, and where the next one begins."""
    rows: list[RunRow] = []
    before, scanned = query.before, 0
    words = (query.search or "").casefold()
    size = _PAGE if words else query.limit + 1
    while len(rows) <= query.limit and scanned < _SCANNED_MAX:
        page = state.store.runs(query.status, query.workflow, size, before)
        rows += [row for row in page if not words or _holds(row, words)]
        scanned += len(page)
        if len(page) < size:
            before = None
            break
        before = page[-1].id
    shown = rows[: query.limit]
    if len(rows) > query.limit:
        return shown, shown[-1].id
    return shown, before


def _holds(row: RunRow, words: str) -> bool:
    return any(words in text.casefold() for text in (row.id, row.name, row.file))


def comparison(store: SqliteStore, run: RunId, loop: str, numbers: tuple[int, int]) -> Comparison:
    """Two iterations with what their steps gave, and how much that differs."""
    one, other = sides(store, run, loop, numbers)
    names = list(dict.fromkeys([*one.results, *other.results]))
    return Comparison(
        loop=loop,
        one=_side(one),
        other=_side(other),
        nodes=[_change(name, one, other) for name in names],
        feedback=carried_into(store, run, loop, max(numbers)),
    )


def matrix(store: SqliteStore, run: RunId, loop: str, node: str | None) -> Matrix:
    """For each iteration and step: whether its result is new, nearly the same, or the same."""
    rows = store.newest_iterations(run, loop, MATRIX_MAX)
    numbers = sorted({row.number for row in rows if row.status == "succeeded"})
    given = results_of(store, run, loop, numbers)
    results = {number: given.get(number, {}) for number in numbers}
    names = list(dict.fromkeys(name for one in results.values() for name in one))
    shown = [name for name in names if node in (None, name)]
    changes, before = [], None
    for number in numbers:
        cells = {name: _cell(results[number], before, name) for name in shown}
        changes.append(MatrixRow(number=number, cells=cells))
        before = results[number]
    return Matrix(loop=loop, nodes=shown, iterations=changes)


def _side(side: IterationSide) -> Side:
    _, tokens, cost_usd = usage_of(side.row.note)
    note: dict[str, Any] = side.row.note
    return Side(
        number=side.row.number,
        score=side.row.score,
        cost_usd=cost_usd,
        tokens=tokens,
        seconds=float(note.get("seconds") or 0.0),
        results=side.results,
        verdicts=verdicts(note),
    )


def _change(name: str, one: IterationSide, other: IterationSide) -> NodeChange:
    first, second = one.results.get(name), other.results.get(name)
    same = first == second
    return NodeChange(name=name, similarity=1.0 if same else _alike(first, second), same=same)


def _alike(one: Json, other: Json) -> float:
    alike = similarity(written(one)[:_COMPARED_MAX], written(other)[:_COMPARED_MAX])
    # Beyond what was compared they differ, or they would be the same.
    return min(round(alike, 4), 0.9999)


def _cell(now: dict[str, Json], before: dict[str, Json] | None, name: str) -> Cell:
    if now.get(name) is None:
        return "none"
    if before is None or before.get(name) is None:
        return "new"
    if now[name] == before[name]:
        return "same"
    return "small" if _alike(now[name], before[name]) >= SMALL else "new"
