"""Runs as they are told: rows of the list, a whole run, its loops and iterations."""

from typing import Literal

from pydantic import Field

from whorl.interfaces.http.schemas.shared import Closed, JsonValue

RunStatus = Literal[
    "running", "waiting", "paused", "interrupted", "succeeded", "failed", "cancelled"
]
Mark = Literal["limit", "budget", "warning"]
Action = Literal[
    "pause", "resume", "cancel", "stop", "continue", "accept", "fork", "approve", "reject"
]


class RunItem(Closed):
    """A run as lists show it. Times are seconds since the epoch."""

    id: str
    name: str
    status: RunStatus
    dialect: str
    file: str = Field(description="relative to the project, if it is inside")
    created_at: float
    updated_at: float
    parent: str | None = Field(description="the run that this one is a fork of")
    origin: str | None = Field(
        description="who started it: server, detached (in the background), terminal, python"
    )
    due: float | None = Field(description="when a run that waits goes on by itself")
    held: str | None = Field(description="why no server drives a run that is to go on")
    project: str | None = Field(
        default=None, description="where it belongs, if not to this project and configuration"
    )
    position: int | None = Field(
        default=None, description="its place among the runs of its workflow that wait for a turn"
    )
    last_seq: int
    cost_usd: float | None = Field(description="null: no price is known")
    reserved_usd: float = Field(description="of the cost, what was reserved for calls in doubt")
    unpriced_calls: int = Field(description="so many calls are not in the cost")
    budget_usd: float | None
    calls: int
    tokens: int
    in_doubt: int
    loop: str | None = Field(description="address of the outermost loop that runs, or ran last")
    iteration: int
    iterations_max: int
    score: float | None
    scores: list[float | None] = Field(description="of the newest 20 iterations of that loop")
    target: float | None = Field(description="the score that the loop works towards")
    exit_reason: str | None
    stopped_by: str | None
    mark: Mark | None = Field(
        description="of a run that succeeded with a loop that ended at a limit or budget, or "
        "with a warning of a text that was cut, left out or not clear"
    )
    error: str | None
    given: str = Field(description="its inputs in a line")
    labels: dict[str, str] = Field(
        description="by name; runs of experiments have experiment, case, variant, repeat"
    )
    seconds: float = Field(
        description="how long it has worked, without pauses and waits for people; 0: not known"
    )


class RunList(Closed):
    """A page of the list."""

    runs: list[RunItem]
    next: str | None = Field(description="give it as `before` for the next page")
    total: int | None = Field(
        description="how many runs match; null if that is not known without reading each"
    )
    workflows: list[str] = Field(description="the names of all workflows that have runs")


class UsageItem(Closed):
    """What was used, counted once, at the call."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = Field(default=0.0, description="null: no price is known")
    in_doubt: int = 0
    unpriced_calls: int = 0
    reserved_usd: float | None = Field(
        default=None, description="of the cost of a run, what was reserved for calls in doubt"
    )
    model_calls: int | None = Field(
        default=None, description="of the calls of a run, those of models and agents"
    )


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


class GateItem(Closed):
    """A decision that a run waits for."""

    address: str
    reason: str = Field(description="what asks: gate, iteration, limit, ...")
    message: str
    show: JsonValue
    waiting_since: float


class RunDetail(RunItem):
    """Everything that the page of a run shows first."""

    result: Result
    gates: list[GateItem]
    can: list[Action] = Field(
        description="the requests that the run accepts now, of those that the token may make"
    )
    driver: Literal["here", "elsewhere", "nobody"] = Field(
        description="who drives it: this server, another process, nobody"
    )
    forks: list[str]
    inputs: dict[str, JsonValue]
    defaults: dict[str, JsonValue] = Field(description="the inputs that it was not given")
    limits: dict[str, JsonValue]
    started_at: float
    ended_at: float | None
    warnings: list[str]
    changed_file: str | None = Field(
        description="a file that has changed since the run began, which keeps what it began with"
    )


class JournalEvent(Closed):
    """An entry of the journal. A large value in `body` is `{"$ref", "size", "preview"}`."""

    run: str
    seq: int
    kind: str
    address: str
    at: float
    body: dict[str, JsonValue]


class EventPage(Closed):
    """A part of a journal; with `as=dialect`, in the words of the file's own dialect."""

    events: list[JournalEvent] | list[dict[str, JsonValue]]
    last_seq: int = Field(description="the last entry that this page covers; give it as `after`")
    more: bool


class LargeValue(Closed):
    """A value that an event only referred to."""

    value: JsonValue


class LoopItem(Closed):
    """A loop of a run."""

    address: str
    path: str
    state: Literal["running", "finished"]
    iterations: int
    iterations_max: int | None = Field(description="as it is now; it may have been raised")
    exit_reason: str | None
    stopped_by: str | None
    why: str = Field(description="why it ended, in words")
    score: float | None
    target: float | None
    until: str = Field(description="its condition in words")
    best_iteration: int | None
    returned_iteration: int | None
    failed_iterations: list[int]
    usage: UsageItem
    limits: dict[str, JsonValue]
    started_seq: int
    finished_seq: int | None
    mark: Literal["limit", "budget"] | None = Field(
        description="set if it ended at a limit or budget before its condition was met"
    )
    explored: int = Field(
        description="up to which iteration it went on after its end; 0: not at all"
    )


class LoopList(Closed):
    """The loops of a run, in the order in which they began; of very many, the newest."""

    loops: list[LoopItem]
    more: bool = Field(description="whether there are older ones that are not listed")


class Verdict(Closed):
    """The result of one condition at the end of an iteration."""

    by: str
    met: bool | None
    words: str
    reason: str = Field(description="why a judge decided so, in its own words; empty: unknown")
    evidence: str = Field(description="the words of the text that a judge quotes for that")
    facts: dict[str, JsonValue]


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


class IterationDetail(Closed):
    """What an iteration was given and what it gave."""

    loop: str
    number: int
    results: dict[str, JsonValue]
    carried: dict[str, JsonValue]
    note: dict[str, JsonValue]


class Side(Closed):
    """One of two iterations that are compared."""

    number: int
    score: float | None
    cost_usd: float | None = Field(description="null: no price is known")
    tokens: int
    seconds: float
    results: dict[str, JsonValue]
    verdicts: list[Verdict]


class NodeChange(Closed):
    """How much the result of a step differs between two iterations."""

    name: str
    similarity: float = Field(description="from 0 to 1")
    same: bool


class Comparison(Closed):
    """Two iterations of a loop side by side, of one run or of two."""

    loop: str
    one: Side
    other: Side
    nodes: list[NodeChange]
    feedback: dict[str, JsonValue] = Field(
        description="the carried values that the second of them was given"
    )


Cell = Literal["new", "small", "same", "none"]


class MatrixRow(Closed):
    """One iteration: for each step how its result differs from the one before."""

    number: int
    cells: dict[str, Cell]


class Matrix(Closed):
    """Which step changed in which iteration."""

    loop: str
    nodes: list[str]
    iterations: list[MatrixRow]
