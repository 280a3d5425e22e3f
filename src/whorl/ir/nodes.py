"""What a workflow is made of: control is a closed union of nodes, work is any kind of `Task`.

A loop has rules: what bounds it, what its iterations see, and what it keeps of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from whorl.ir.values import Condition, Constant, Expression, Fields, Port, Retry, Value
from whorl.lazily import dataclass

if TYPE_CHECKING:
    from whorl.language import Json


# The rules of a loop: what bounds it, what its iterations see, and what it keeps of them.

Take = Literal["first", "last", "all", "best"]

# The highest limit of iterations that a loop may have.
ITERATIONS_MAX = 100_000

# What the result of a loop tells about the loop itself.
LOOP_FACTS = (
    "iterations",
    "exit_reason",
    "stopped_by",
    "score",
    "best_iteration",
    "returned_iteration",
)
# What the engine can tell an iteration about its loop; a reader gives each fact the name that its
# dialect has for it.
Fact = Literal[
    "number",  # of this iteration, from 1
    "index",  # of this iteration, from 0
    "latest",  # the index of the iteration that began last; a check sees that of the one before it
    "limit",  # of iterations
    "previous",  # results of the last finished iteration, by node name
    "history",  # results of the finished iterations, oldest first, cut at `history_keep`
    "best",  # results of the best iteration so far
    "score",  # of the previous iteration
    "past",  # records of `memory`, oldest first
    "person",  # what a person decided after the previous iteration
    "started_at",  # when the loop began, as seconds since the epoch
]


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """What bounds a loop; reaching one of them is an exit reason of its own.

    A time limit interrupts the iteration that runs, or else only forbids the next one.
    """

    iterations: int | Expression = 10
    time_s: float | Expression | None = None
    iteration_time_s: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    interrupts: bool = True


@dataclass(frozen=True, slots=True)
class Carry:
    """A name that iterations see: `first` in the first one, `later` over the one before."""

    name: str
    first: Value | None = None
    later: Value | None = None


@dataclass(frozen=True, slots=True)
class Collect:
    """A named result of the loop beside its main one."""

    name: str
    take: Take
    value: Value


@dataclass(frozen=True, slots=True)
class Memory:
    """A record made after each iteration, visible to later ones and, if asked, to later runs.

    `bind` are names that the record's fields may use.
    """

    record: Fields = Fields()
    keep: int = 20
    across_runs: bool = False
    key: str = ""
    bind: tuple[tuple[str, Value], ...] = ()


@dataclass(frozen=True, slots=True)
class IterationFailure:
    """What happens when an iteration fails.

    With `last_counts`, a loop that continued still fails if its last iteration did.
    """

    action: Literal["halt", "continue", "retry"] = "halt"
    times: int = 0
    wait_s: float = 0.0
    last_counts: bool = False


# How a node can have ended. `passed` in an `After` means: succeeded, skipped by its own
# condition, or failed if its `on_failure` says continue.
Status = Literal["succeeded", "failed", "skipped", "timed_out", "cancelled"]
Wanted = Literal["passed", "succeeded", "failed", "skipped", "timed_out", "cancelled"]


@dataclass(frozen=True, slots=True)
class After:
    """A dependency: the node runs only after another one that ended in one of these ways."""

    node: str
    statuses: tuple[Wanted, ...] = ("passed",)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFields:
    """What all nodes share: a name, their place in the order, and when they run at all.

    `echo` has the inputs in the node's record, if a workflow has records. With `secure_outputs`,
    the result of the node is hidden from all viewers.
    """

    name: str
    after: tuple[After, ...] = ()
    when: Expression | None = None
    on_failure: Literal["halt", "continue"] = "halt"
    retry: Retry | None = None
    timeout_s: float | None = None
    shape: Value | None = None
    place: str = ""
    echo: Value | None = None
    secure_outputs: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """A graph of nodes, ordered by `after`; nodes that do not wait for each other run in parallel.

    An open block puts its results into the scope around it, a closed one keeps them. At most
    `concurrency` nodes run at once; None means as many as are ready. When a node has failed, nodes
    that do not wait for it keep running; with `halt` no new node begins, and with `cancel` the
    running ones are also cancelled.
    """

    nodes: tuple[Node, ...]
    open: bool = False
    concurrency: int | None = None
    on_failure: Literal["go_on", "halt", "cancel"] = "go_on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task(NodeFields):
    """Work that a provider does: ask a model, call HTTP, run a command, call a function.

    `returns` is a JSON Schema that the result must fit; `example` is one that it usually fits, for
    callers that invent a result. `defaults` on the workflow fill inputs that are absent. The inputs
    of a secure task are not stored. `timeout_s` is for one attempt, `total_timeout_s` for all
    attempts together, with the waits between them. `warns` is computed from the result as `shape`
    is: a text is a warning of the run, null means none. The result of a task that `awaits_call`
    may come later, as a call of the address `$callback_url`. `unsubscribe` removes that address
    when the call is no longer wanted: an object of its kind and inputs, as that of a trigger,
    computed with the task's result as `$action`.
    """

    kind: str
    inputs: Fields = Fields()
    returns: Json = None
    example: Json = None
    repairs: int = 1
    session: str = ""
    delivery: Literal["at_least_once", "at_most_once", "ask"] = "at_least_once"
    secure: bool = False
    total_timeout_s: float | None = None
    warns: Value | None = None
    awaits_call: bool = False
    unsubscribe: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ForEach(NodeFields):
    """Runs its body for each item; its result is the list of the bodies' results, in order.

    It succeeds when at least this part of the items did; a failed item's result is null. With
    `on_item_failure` halt, no further item begins after a failure. `words` are the terms of its
    dialect, as those of a loop are.
    """

    items: Value
    body: Block
    item_name: str = "item"
    index_name: str = ""
    concurrency: int = 1
    items_max: int = 100_000
    item_timeout_s: float | None = None
    min_success_rate: float = 1.0
    on_item_failure: Literal["continue", "halt"] = "continue"
    words: Json = None


@dataclass(frozen=True, slots=True)
class Case:
    """One branch: taken when `when` is true or the subject equals `equals`."""

    name: str
    body: Block
    when: Expression | None = None
    equals: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch(NodeFields):
    """Takes the first case that fits, or the default."""

    cases: tuple[Case, ...]
    subject: Value | None = None
    default: Case | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(NodeFields):
    """A block as a node."""

    body: Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(NodeFields):
    """Runs another workflow, which sees nothing but these inputs.

    A call that is `unnamed`, alone in its block, lends its nodes the address of the block:
    `outer[1]/inner` and not `outer[1]/call/inner`.
    """

    workflow: str
    inputs: Fields = Fields()
    unnamed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compute(NodeFields):
    """Computes a value; with `over`, one for each item of a list for which `keep` is true.

    Each item is visible as `$item` while its value is computed. `warns` is as that of a task. When
    a node that `answers` has succeeded, the workflow's `answer` is available.
    """

    value: Value
    over: Value | None = None
    keep: Expression | None = None
    warns: Value | None = None
    answers: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assign(NodeFields):
    """Sets variables of the workflow, in order; or appends to them (lists, texts), or adds."""

    sets: tuple[tuple[str, Value], ...]
    operation: Literal["set", "append", "join", "add"] = "set"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait(NodeFields):
    """Waits durably: for a duration (seconds or text such as 5s, PT5S), or until a time."""

    duration: Value | None = None
    until: Value | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate(NodeFields):
    """Waits for a person's decision."""

    message: Value
    show: Value = Constant(None)
    on_timeout: Literal["approve", "reject", "fail"] = "fail"
    on_reject: Literal["result", "fail"] = "result"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop(NodeFields):
    """Ends the run, or only the called workflow around it; `code` is the author's own."""

    status: Literal["succeeded", "failed", "cancelled"] = "succeeded"
    message: Value = Constant(None)
    code: Value = Constant(None)
    output: Value | None = None
    ends: Literal["run", "workflow"] = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Break(NodeFields):
    """Ends the named loop; the iteration counts."""

    loop: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue(NodeFields):
    """Ends this iteration of the named loop; the next one begins unless a limit is reached."""

    loop: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(NodeFields):
    """Repeats its body until a condition is met or a limit is reached.

    `check` says when the condition is checked: before each iteration, after each, or between two.
    `tells` are values in the note about the beginning of an iteration, beside its number;
    `tells_after` are those in the note about a successful end. `words` are the terms of its
    dialect, which the interpreter only copies. Their `limits` are the dialect's messages by exit
    reason, with `{iterations}` and `{ms}` in them. Their `fields` are those that raise a limit, by
    exit reason, by what a budget counts, (`run`) for the budget of the run, and (`score`) for the
    range of scores. Their `ports` are the names of its `inputs` and `outputs` on a canvas.
    """

    body: Block
    until: Condition | None = None
    check: Literal["before", "after", "between"] = "after"
    limits: LoopLimits = LoopLimits()
    on_limit: Literal["finish", "fail", "time_out", "pause"] = "finish"
    carry: tuple[Carry, ...] = ()
    returns: Take = "last"
    collect: tuple[Collect, ...] = ()
    delay: Value | None = None
    on_iteration_failure: IterationFailure = IterationFailure()
    session: Literal["fresh", "continue"] = "fresh"
    memory: Memory | None = None
    ask: Literal["never", "each", "at_limit"] = "never"
    facts: tuple[tuple[str, Fact], ...] = ()
    bind: tuple[tuple[str, Value], ...] = ()
    tells: tuple[tuple[str, Value], ...] = ()
    tells_after: tuple[tuple[str, Value], ...] = ()
    history_keep: int = 0
    words: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program(NodeFields):
    """Code outside of the engine, which requests nodes while it runs; alone in its block.

    `function` is its place, as `module:name`, and `code` a hash of it. If it `keeps` its log, the
    state of the run holds what the code was given and has requested, so that a run whose loops
    declare their state resumes in constant time. Without a journal beside it, the run ends when
    its log has more than `log_max` characters. Programs without a function are the iterations,
    items and parts of one that has.
    """

    function: str = ""
    code: str = ""
    keeps: bool = False
    log_max: int = 0


_Holder: TypeAlias = Loop | ForEach | Branch | Group | Call
_Jump: TypeAlias = Stop | Break | Continue
Node: TypeAlias = _Holder | Task | Compute | Assign | Wait | Gate | _Jump | Program


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What bounds a whole run."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    time_s: float | None = None


# The parts of a call that starts a run; `tracking` is the caller's own name for what it is about.
Part = Literal["body", "headers", "queries", "path", "tracking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """The trigger of a workflow, and its rules.

    A `request` is a call of the service, a `recurrence` is the clock's, a `poll` asks another
    system by the clock. A `callback` is an event that another system sends, and an `other` one is a
    trigger that Whorl does not run. `gives` names the input for each part of a call, `fields` the
    inputs that the main one may be made of; `path` has names in braces, and a `schema` is for the
    body. Each item of the list `split_on` is the main input of a run of its own, which `tracking`
    names. A call starts a run only if all `conditions` are true. At most `concurrency` of them run
    at once, and so many others wait. `recurrence` says when the clock starts it: an object with
    `frequency`, `interval` and the other fields of a server's rule of that name. `poll` is the
    request that is then sent, an object with the `kind` and the `inputs` of a task. Its reply is
    the input of a run, unless its status is 202.
    """

    name: str
    kind: Literal["request", "recurrence", "poll", "callback", "other"] = "request"
    methods: tuple[str, ...] = ("POST",)
    path: str = ""
    schema: Json = None
    gives: tuple[tuple[Part, str], ...] = ()
    fields: tuple[str, ...] = ()
    conditions: tuple[Expression, ...] = ()
    split_on: Value | None = None
    items_max: int = 100_000
    tracking: Value | None = None
    concurrency: int | None = None
    waiting_max: int = 100
    recurrence: Json = None
    poll: Value | None = None

    @property
    def has_rules(self) -> bool:
        """Checks whether a call may start no run, or several."""
        return bool(self.conditions) or self.split_on is not None or self.schema is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A workflow as every runtime runs it.

    The first output is the main one. `defaults` fill the inputs of tasks by task kind. `workflows`
    holds every workflow that is called from here, by the key that `Call.workflow` names. `recorder`
    names the library that keeps records of the nodes that have ended, for expressions. Outputs that
    are `hidden` come implicitly from a secure task: the caller of the workflow receives them,
    viewers of the run do not. Outputs that are `early` are available before the end, so that a
    failed run also has them. `words` are the dialect's own for events and reasons, in the shape of
    decision 0006: the interpreter never reads them. `trigger` can also start it; its caller
    receives the `answer`, an object with `status`, `headers` and `body`. If an answer `is_late`,
    the caller fetches it.
    """

    name: str
    body: Block
    inputs: tuple[Port, ...] = ()
    main_input: str = ""
    outputs: tuple[tuple[str, Value], ...] = ()
    variables: tuple[tuple[str, Value], ...] = ()
    limits: RunLimits = RunLimits()
    defaults: tuple[tuple[str, Fields], ...] = ()
    workflows: tuple[tuple[str, Workflow], ...] = ()
    dialect: str = "native"
    description: str = ""
    words: Json = None
    open_inputs: bool = False
    recorder: str = ""
    hidden_outputs: tuple[str, ...] = ()
    early_outputs: tuple[str, ...] = ()
    trigger: Trigger | None = None
    answer: Value | None = None
    is_late: bool = False
    format: int = 1
