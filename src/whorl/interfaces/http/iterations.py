"""The loops of a run, their iterations, and how iterations differ."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from whorl.interfaces import status_words
from whorl.interfaces.formatting import written
from whorl.interfaces.http.models import Closed, JsonValue, OrNone, RunId, Shown, ShownOrNone
from whorl.interfaces.http.runs import UsageItem, usage_item
from whorl.interfaces.http.state import KnownRun, State, check_query
from whorl.interpreter.constructs.loops.judging import similarity
from whorl.language import Json
from whorl.runtimes.journal.folding import fold
from whorl.runtimes.journal.journal import IterationRow
from whorl.services.inspecting import places, results

LOOPS_MAX = 500
MATRIX_MAX = 200
SMALL = 0.9
# Comparing takes time with the product of the lengths.
_COMPARED_MAX = 4_000
Loop = Annotated[str, Query(max_length=4_000, description="default: the only outermost loop")]
Number = Annotated[int, Query(ge=1, le=1_000_000_000)]
_AGAINST = "the run of the second iteration, if it is another run"

router = APIRouter(prefix="/api/runs/{run}", tags=["runs"], dependencies=[Depends(check_query)])


class LoopItem(Closed):
    """A loop of a run."""

    address: str
    path: str
    state: Literal["running", "finished"]
    iterations: int
    iterations_max: int | None = Field(description="as it is now; it may have been raised")
    exit_reason: ShownOrNone
    stopped_by: ShownOrNone
    why: str = Field(description="why it ended, in words")
    score: float | None
    target: float | None
    until: str = Field(description="its condition in words")
    best_iteration: int | None
    returned_iteration: int | None
    failed_iterations: list[int]
    usage: UsageItem
    limits: dict[str, JsonValue]
    mark: Annotated[Literal["limit", "budget"] | None, OrNone]
    explored: int = Field(description="the last iteration past its end; 0: it was not explored")


class LoopList(Closed):
    """The loops of a run, in the order in which they began; of very many, the newest."""

    loops: list[LoopItem]
    more: bool = Field(description="whether there are older ones that are not listed")


@router.get("/loops")
def list_loops(state: State, run: KnownRun) -> LoopList:
    """The loops of a run; nested ones once for each outer iteration."""
    rows, workflow = state.store.loops(run), results.shown_workflow(state.store, run)
    machine, stopped = fold(state.store, run).machine, results.stopped_loops(state.store, run)
    items = []
    for row in rows[-LOOPS_MAX:]:
        node = results.loop_node(workflow, row.path)
        now = results.loop_frame(machine, row.address)
        # A person who has stopped it has chosen no iteration.
        why = (
            status_words.end_words(row, is_stopped=row.address in stopped)
            if row.exit_reason
            else ""
        )
        if row.exit_reason == "accepted" and row.returned_iteration is not None:
            why += f"; iteration {row.returned_iteration} is returned"
        item = LoopItem.from_row(
            row,
            iterations_max=results.limit_now(machine, row),
            why=why,
            target=None if node is None else status_words.target_of(node.until),
            until="" if node is None else status_words.condition_words(node.until),
            usage=usage_item(row.usage if row.exit_reason else now.get("usage")),
            limits=row.limits if isinstance(row.limits, dict) else {},
        )
        items.append(item)
    return LoopList(loops=items, more=len(rows) > LOOPS_MAX)


class Verdict(Closed):
    """The result of one condition at the end of an iteration."""

    by: str
    met: bool | None
    words: Shown
    reason: Shown = Field(description="why a judge decided so, in its own words; empty: unknown")
    evidence: Shown = Field(description="the words of the text that a judge quotes for that")
    facts: dict[str, JsonValue]


def verdicts(note: dict[str, Any]) -> list[Verdict]:
    return [
        Verdict(
            by=str(fact.get("by", "")),
            met=fact.get("met") if isinstance(fact.get("met"), bool) else None,
            words=status_words.fact_words(fact),
            reason=str(fact.get("reason") or ""),
            evidence=str(fact.get("evidence") or ""),
            facts={name: fact[name] for name in fact if name not in ("by", "met")},
        )
        for fact in status_words.facts_of(note)
    ]


class IterationItem(Closed):
    """A finished iteration."""

    number: int
    status: str
    score: float | None
    met: bool
    best: bool
    seconds: float
    usage: UsageItem
    words: str
    verdicts: list[Verdict]
    seq: int
    at: float


class IterationList(Closed):
    """Iterations of a loop, by number."""

    loop: str
    iterations: list[IterationItem]
    more: bool


@router.get("/iterations")
def list_iterations(
    state: State,
    run: KnownRun,
    at: Loop = "",
    after: Annotated[int, Query(ge=0, le=1_000_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=5_000)] = 500,
) -> IterationList:
    """The finished iterations of a loop, by number."""
    loop = places.loop_named(state.store, run, at)
    rows = state.store.iterations(run, loop, after=after, limit=limit + 1)
    begun = [_iteration(row) for row in rows[:limit] if row.status != "not_begun"]
    return IterationList(loop=loop, iterations=begun, more=len(rows) > limit)


def _iteration(row: IterationRow) -> IterationItem:
    note: dict[str, Any] = row.note
    return IterationItem.from_row(
        row,
        met=bool(note.get("met")),
        best=bool(note.get("best")),
        seconds=note.get("seconds") or 0.0,
        usage=usage_item(note.get("usage")),
        words=status_words.verdict_words(note, 200),
        verdicts=verdicts(note),
    )


class IterationDetail(Closed):
    """What an iteration was given and what it gave."""

    loop: str
    number: int
    results: dict[str, JsonValue]
    carried: dict[str, JsonValue]
    note: dict[str, JsonValue]


@router.get("/iterations/{number}")
def show_iteration(
    state: State, run: KnownRun, number: Annotated[int, Path(ge=1, le=1_000_000_000)], at: Loop = ""
) -> IterationDetail:
    """What the steps of an iteration gave, and what it was given."""
    store = state.store
    loop = places.loop_named(store, run, at)
    return IterationDetail(
        loop=loop,
        number=number,
        note=places.iteration_row(store, run, loop, number).note,
        results=places.results_of(store, run, loop, (number,)).get(number, {}),
        carried=places.carried_into(store, run, loop, number),
    )


class Side(Closed):
    """One of two iterations that are compared."""

    number: int
    score: float | None
    cost_usd: float | None = Field(description="null: no price is known")
    tokens: int
    seconds: float
    results: dict[str, JsonValue]
    verdicts: list[Verdict]


class StepDiff(Closed):
    """How much the result of a step differs between two iterations."""

    name: str
    similarity: float = Field(description="from 0 to 1")
    same: bool


class Diff(Closed):
    """Two iterations of a loop side by side, of one run or of two."""

    loop: str
    one: Side
    other: Side
    steps: list[StepDiff]
    feedback: dict[str, JsonValue] = Field(description="the values carried into the second")


@router.get("/diff")
def show_diff(
    state: State,
    run: KnownRun,
    *,
    one: Number,
    other: Number,
    at: Loop = "",
    against: Annotated[RunId | None, Query(alias="with", description=_AGAINST)] = None,
) -> Diff:
    """Two iterations of a loop side by side, of one run or of two."""
    store, second = state.store, run if against is None else state.store.run(against).id
    loop = places.loop_named(store, run, at)
    left = places.side(store, run, loop, one)
    right = places.side(store, second, loop, other)
    steps = []
    for name in dict.fromkeys([*left.results, *right.results]):
        before, now = left.results.get(name), right.results.get(name)
        alike = 1.0 if before == now else _alike(before, now)
        steps.append(StepDiff(name=name, similarity=alike, same=before == now))
    later = max(one, other) if second == run else other
    feedback = places.carried_into(store, second, loop, later)
    return Diff(loop=loop, one=_side(left), other=_side(right), steps=steps, feedback=feedback)


def _side(side: places.Side) -> Side:
    item = _iteration(side.row)
    usage = item.usage
    tokens = usage.input_tokens + usage.output_tokens
    return Side.from_row(item, cost_usd=usage.cost_usd, tokens=tokens, results=side.results)


Cell = Literal["new", "small", "same", "none"]


class MatrixRow(Closed):
    """One iteration: for each step how its result differs from the one before."""

    number: int
    cells: dict[str, Cell]


class Matrix(Closed):
    """Which step changed in which iteration."""

    loop: str
    steps: list[str]
    iterations: list[MatrixRow]


@router.get("/matrix")
def show_matrix(state: State, run: KnownRun, at: Loop = "") -> Matrix:
    """Which step gave something else in which iteration; of long loops, the newest."""
    loop = places.loop_named(state.store, run, at)
    newest = state.store.newest_iterations(run, loop, MATRIX_MAX)
    numbers = sorted({row.number for row in newest if row.status == "succeeded"})
    given = places.results_of(state.store, run, loop, numbers)
    steps = [given.get(number, {}) for number in numbers]
    names = list(dict.fromkeys(name for named in steps for name in named))
    rows = [
        MatrixRow(number=at, cells={name: _cell(now.get(name), before.get(name)) for name in names})
        for at, now, before in zip(numbers, steps, [{}, *steps], strict=False)
    ]
    return Matrix(loop=loop, steps=names, iterations=rows)


def _cell(now: Json, before: Json) -> Cell:
    if now is None:
        return "none"
    if now == before:
        return "same"
    return "small" if before is not None and _alike(now, before) >= SMALL else "new"


def _alike(value: Json, other: Json) -> float:
    alike = similarity(written(value)[:_COMPARED_MAX], written(other)[:_COMPARED_MAX])
    # Beyond what was compared they differ, or they would be the same.
    return min(round(alike, 4), 0.9999)
