"""The rules of a loop: what bounds it, what its iterations see, and what it keeps of them."""

from __future__ import annotations

from typing import Literal

from whorl.ir.values import Expression, Fields, Value
from whorl.lazily import dataclass

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

    With `last_counts` a loop that went on has failed all the same where its last iteration did.
    """

    action: Literal["halt", "continue", "retry"] = "halt"
    times: int = 0
    wait_s: float = 0.0
    last_counts: bool = False
