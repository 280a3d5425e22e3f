"""The loop: a body that is repeated until it is right, with limits, memory and an exit reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from whorl.ir.fields import NodeFields
from whorl.ir.values import Fields

if TYPE_CHECKING:
    from whorl.ir.conditions import Condition
    from whorl.ir.nodes import Block
    from whorl.ir.values import Expression, Value

Take = Literal["first", "last", "all", "best"]

# The highest limit of iterations that a loop may have.
ITERATIONS_MAX = 100_000

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

    With `last_counts` a loop that went on has failed all the same where its last iteration did.
    """

    action: Literal["halt", "continue", "retry"] = "halt"
    times: int = 0
    wait_s: float = 0.0
    last_counts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop(NodeFields):
    """Repeats its body until a condition is met or a limit is reached.

    `check` says when the condition is weighed: before each iteration, after each, or between two.
    `tells` are values that the note about the beginning of an iteration holds beside its number,
    `tells_after` those of the note about the end of one that went well.
    `limit_fields` are the dialect's fields that raise a limit, by exit reason, by what a budget
    counts, (`run`) for the budget of the run, and (`score`) for the range of scores.
    `limit_words` are the dialect's words about a limit, by exit reason; in them stand
    `{iterations}` and `{ms}`.
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
    limit_fields: tuple[tuple[str, str], ...] = (
        ("max_iterations", "at_most.iterations"),
        ("timeout", "at_most.time"),
        ("cost", "at_most.cost"),
        ("tokens", "at_most.tokens"),
        ("calls", "at_most.calls"),
        ("run", "budget"),
        ("score", "`low` and `high` of the score"),
    )
    history_keep: int = 0
    limit_words: tuple[tuple[str, str], ...] = ()
