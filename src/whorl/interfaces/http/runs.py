"""Runs: lists of them, all about one, and what they cost."""

from functools import partial
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Depends, Query
from pydantic import Field

from whorl.interfaces.advice import advised, with_help
from whorl.interfaces.http.models import Closed, JsonValue, OrNone, RunId, Shown, ShownOrNone
from whorl.interfaces.http.state import Asking, KnownRun, ServerState, State, check_query
from whorl.interfaces.operations import has_role
from whorl.interfaces.status_words import ENDED
from whorl.interpreter.events import Event
from whorl.interpreter.machine import Machine
from whorl.interpreter.requests import objection
from whorl.language import Json
from whorl.runtimes.journal.journal import RunRow
from whorl.runtimes.sqlite.listing import EXPERIMENT, TRY, RunFilter, Sort
from whorl.services.inspecting import places, results
from whorl.services.runs import changed_file

SCORES = 20
# At most this many loops are checked for whether any can continue; a list may hold thousands.
_LOOPS_LOOKED_AT = 100

RunStatus = Literal[
    "running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled"
]
Mark = Literal["limit", "budget", "warning"]
Action = Literal[
    "pause", "resume", "cancel", "stop", "continue", "accept", "fork", "approve", "reject"
]
Bound = Annotated[float, Field(ge=0, le=1e12)]

router = APIRouter(prefix="/api", tags=["runs"], dependencies=[Depends(check_query)])


class UsageItem(Closed):
    """What was used, counted once, at the call."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = Field(default=0.0, description="null: no price is known")
    in_doubt: int = 0
    unpriced_calls: int = 0
    reserved_usd: float | None = Field(None, description="reserved for calls in doubt")
    model_calls: int | None = Field(None, description="calls of models and agents")


def usage_item(usage: Json) -> UsageItem:
    return UsageItem.model_validate(results.usage_document(usage))


class WaitingFor(Closed):
    """What a run waits behind, such as its turn or a permission."""

    reason: Shown


class RunItem(Closed):
    """A run as lists show it. Times are seconds since the epoch."""

    id: str
    name: Shown
    status: RunStatus
    dialect: str
    file: Shown = Field(description="relative to the project, if it is inside")
    created_at: float
    updated_at: float
    parent: ShownOrNone = Field(description="the run that this one is a fork of")
    origin: ShownOrNone = Field(description="server, detached, terminal or python")
    due: float | None = Field(description="when a waiting run resumes by itself")
    waiting_for: WaitingFor | None = Field(description="set if no server drives the run yet")
    project: ShownOrNone = Field(None, description="set if it belongs to another project")
    position: int | None = Field(None, description="its place in the queue of its workflow")
    last_seq: int
    cost_usd: float | None = Field(description="null: no price is known")
    reserved_usd: float = Field(description="of the cost, what was reserved for calls in doubt")
    unpriced_calls: int = Field(description="so many calls are not in the cost")
    budget_usd: float | None
    calls: int
    tokens: int
    in_doubt: int
    loop: ShownOrNone = Field(description="address of the outermost loop that runs, or ran last")
    iteration: int
    iterations_max: int
    score: float | None
    scores: list[float | None] = Field(description="of the newest 20 iterations of that loop")
    target: float | None = Field(description="the score that the loop works towards")
    exit_reason: ShownOrNone
    stopped_by: ShownOrNone
    mark: Annotated[Mark | None, OrNone] = Field(description="what fell short in a success")
    error: ShownOrNone
    given: str = Field(description="its inputs in a line")
    labels: dict[Shown, Shown]
    seconds: float = Field(description="how long it has worked, without pauses; 0: unknown")


class RunList(Closed):
    """A page of the list."""

    runs: list[RunItem]
    next: str | None = Field(description="give it as `before` for the next page")
    total: int | None = Field(description="how many runs match; null: too many to count")
    workflows: list[str] = Field(description="the names of all workflows that have runs")


class RunsQuery(Closed):
    """Which runs."""

    status: RunStatus | None = None
    workflow: str | None = Field(default=None, max_length=1_000)
    search: str | None = Field(default=None, max_length=200)
    since: Bound | None = Field(default=None, description="it began then or later")
    until: Bound | None = Field(default=None, description="it began before then")
    cost_min: Bound | None = None
    sort: Sort = Field(default="started", description="newest or largest first")
    reverse: bool = False
    tries: bool = Field(default=False, description="whether tries are listed, too")
    label: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9_.-]{1,60}=.{1,200}$",
        description="NAME=VALUE; runs of experiments are listed, too",
    )
    limit: int = Field(default=50, ge=1, le=500)
    before: RunId | None = None


@router.get("/runs")
def list_runs(state: State, query: Annotated[RunsQuery, Query()]) -> RunList:
    """The newest runs first, or as `sort` says; `search` looks at ids, names, files and inputs."""
    name, _, value = (query.label or "").partition("=")
    which = RunFilter(
        **query.model_dump(include={"status", "since", "until", "cost_min", "sort"}),
        name=query.workflow,
        text=query.search or "",
        is_reversed=query.reverse,
        without_key=(() if query.tries else (TRY,)) + (() if name else (EXPERIMENT,)),
        labels=((name, value),) if name else (),
    )
    rows = state.store.list_runs(which, query.limit + 1, query.before)
    shown = results.each_left(rows[: query.limit], partial(run_item, state))
    return RunList(
        runs=[item for _, item in shown],
        next=rows[query.limit - 1].id if len(rows) > query.limit else None,
        total=state.store.count_runs(which),
        workflows=state.names(),
    )


def run_item(state: ServerState, row: RunRow) -> RunItem:
    return RunItem.from_row(row, **_computed(state, row))


def _computed(state: ServerState, row: RunRow) -> dict[str, Any]:
    newest = state.store.newest_iterations(row.id, row.loop, SCORES) if row.loop else []
    return {
        "cost_usd": row.known_usd,
        "file": state.shown_file(row.file),
        "scores": [iteration.score for iteration in newest if iteration.status != "not_begun"],
        "given": state.given(row.id),
        "target": state.target(row.id, row.loop) if row.loop else None,
        "project": row.belongs_to,
        "stopped_by": "person" if row.exit_reason == "accepted" else row.stopped_by,
    }


class CostLine(UsageItem):
    """What was used under one heading."""

    name: str


class CostList(Closed):
    """What runs used, under headings, the most expensive first; days in their order."""

    by: str
    runs: int = Field(description="how many runs were charged with anything")
    lines: list[CostLine]
    total: CostLine
    more: bool = Field(description="whether older runs were not looked into")


@router.get("/costs")
def show_costs(
    state: State,
    by: places.By = "workflow",
    since: Annotated[
        float, Query(ge=0, le=1e12, description="only calls since the start of its hour")
    ] = 0.0,
) -> CostList:
    """What runs cost, by workflow, model, day, loop or run; by step and iteration of the newest."""
    found = places.costs_of(state.store, by, since=since)
    return CostList.model_validate(found.document())


class ResultLoop(Closed):
    """A loop of the result document."""

    path: str
    iterations: int
    exit_reason: str | None
    stopped_by: str | None
    score: float | None
    best_iteration: int | None
    returned_iteration: int | None
    failed_iterations: list[int]
    usage: UsageItem
    mark: Mark | None = None


class Result(Closed):
    """The result document, as `whorl run --json` prints it."""

    run: str
    status: RunStatus
    output: JsonValue
    outputs: dict[str, JsonValue]
    loops: list[ResultLoop]
    usage: UsageItem
    warnings: list[JsonValue]
    error: JsonValue


class ApprovalItem(Closed):
    """What a run asks a person."""

    address: str
    reason: str = Field(description="what asks: gate, iteration, limit, ...")
    message: Shown
    show: JsonValue
    waiting_since: float


class RunDetail(RunItem):
    """Everything that the page of a run shows first."""

    result: Result
    approvals: list[ApprovalItem]
    can: list[Action] = Field(description="the requests that it accepts from this token now")
    driver: Literal["here", "elsewhere", "nobody"] = Field(description="which process drives it")
    forks: list[str]
    inputs: dict[str, JsonValue]
    defaults: dict[str, JsonValue] = Field(description="the inputs that it was not given")
    limits: dict[str, JsonValue]
    started_at: float
    ended_at: float | None
    warnings: list[Shown]
    changed_file: ShownOrNone = Field(description="a file that changed since the run began")


@router.get("/runs/{run}")
def show_run(state: State, asking: Asking, run: KnownRun) -> RunDetail:
    """One run: its result so far, what it waits for, and the requests that it accepts."""
    store = state.store
    row, machine = row_machine = results.row_and_machine(store, run)
    gates = results.open_gates(store, run, machine)
    result: dict[str, Any] = with_help(results.result_of(store, run, row_machine))
    first = next(iter(store.read(run, limit=1))).event
    given = first.body.get("input")
    inputs = given if isinstance(given, dict) else {}
    is_elsewhere = row.status == "running" and row.position is None
    unseen = "elsewhere" if is_elsewhere else "nobody"
    return RunDetail.from_row(
        row,
        **_computed(state, row),
        status=result["status"],
        result=result,
        approvals=[ApprovalItem.from_row(gate, waiting_since=gate.since) for gate in gates],
        can=[a for a in _possible(machine, row, bool(gates)) if has_role(asking.role, a)],
        driver="here" if state.driving.is_driven(run) else unseen,
        forks=list(store.forks(run)),
        inputs=inputs,
        defaults={
            port.name: port.default
            for port in machine.plan.workflow.inputs
            if not (port.required or port.secret or {port.name, *port.aliases} & set(inputs))
        },
        limits=machine.state.get("limits") or {},
        started_at=first.at,
        ended_at=row.updated_at if row.status in ENDED else None,
        warnings=[advised(warning) for warning in result["warnings"]],
        changed_file=state.shown_file(changed_file(store, run)),
    )


_KINDS = {"pause": "run.paused", "resume": "run.resumed", "cancel": "run.cancelled"}
_KINDS_OF_LOOPS: dict[str, tuple[str, dict[str, Json]]] = {
    "continue": ("run.continued", {}),
    "accept": ("run.accepted", {"iteration": 1}),
    "stop": ("run.accepted", {}),
}


def _possible(machine: Machine, row: RunRow, has_gates: bool) -> list[Action]:
    """The requests that a run accepts, in their usual order."""

    def is_open(kind: str, body: dict[str, Json]) -> bool:
        return objection(machine, Event(kind, "", machine.now, body)) is None

    actions = {action for action, kind in _KINDS.items() if is_open(kind, {})}
    if row.status in ("running", "waiting"):
        actions.discard("resume")
    if row.status in ("paused", "interrupted"):
        actions.discard("pause")
    loops = [frame["address"] for frame in machine.frames.values() if frame["kind"] == "loop"]
    for action, (kind, body) in _KINDS_OF_LOOPS.items():
        asked = ({"at": loop, **body} for loop in loops[:_LOOPS_LOOKED_AT])
        if row.status != "cancelled" and any(is_open(kind, each) for each in asked):
            actions.add(action)
    if row.loop:
        actions.add("fork")
    if has_gates:
        actions |= {"approve", "reject"}
    return [action for action in get_args(Action) if action in actions]
