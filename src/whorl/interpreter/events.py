"""The events of a run, as they stand in its journal.

*Fed* events come from outside and are all that the machine ever learns; *notes* are what it says
about itself on the way: people and projections read them, and they are never fed back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from whorl.language import Json

# What a person asks for may have a name, `request`: one of a name that came before is ignored.
FedKind: TypeAlias = Literal[
    "run.started",  # run, seed, input, limits, iterations, memory, refused
    "task.started",  # the intent: kind, inputs, reserve {cost_usd, tokens, calls}
    "task.finished",  # the reply: value, usage, and what the provider tells about it
    "task.failed",  # error {code, message, retryable, retry_after_s, detail}, value, usage
    "task.in_doubt",  # an intent without a reply was found after a crash: reserve
    "timer.fired",
    "gate.decided",  # approved, feedback, by
    "run.paused",  # by
    "run.resumed",  # cost_usd, tokens, calls: so much more
    "run.cancelled",  # feedback
    "run.continued",  # at, iterations, cost_usd, tokens, calls: so much more
    "run.accepted",  # at, iteration, results, score, collected
    # exact: it stood where the iteration begins, at the time stood_at; workflow: the one until then
    "run.forked",  # at, run, seed, source, set, limits, exact, stood_at, workflow
]

NoteKind: TypeAlias = Literal[
    "loop.started",  # path, limits
    "iteration.started",  # number, and what the loop tells of it
    "iteration.finished",  # number, status, seconds, usage, score, best, met, by, facts, ...
    "loop.continued",  # by a person, with these limits, run_limits
    "loop.finished",  # path, iterations, exit_reason, stopped_by, score, best_iteration, ...
    # of a branch: branch; of a failure that is tolerated: status, error; of a task whose time for
    # all attempts is over: status, error, usage
    "node.finished",
    "node.skipped",  # cause
    "task.retrying",  # due, error
    "gate.waiting",  # reason, message, show
    "budget.reached",  # limit, of, scope, pauses
    # not_begun: for a budget, the iterations whose first calls it refuses
    "run.waiting",  # status, for and not_begun, where the run is paused
    "run.finished",  # status, output, outputs, error, usage
    "warning",  # code, message
]

FED_KINDS: frozenset[str] = frozenset(get_args(FedKind))
NOTE_KINDS: frozenset[str] = frozenset(get_args(NoteKind))


@dataclass(slots=True)
class Event:
    """Something that happened at an address, at a time in seconds since the epoch.

    Nobody changes one; it is not frozen because that makes it take twice as long to make.
    """

    kind: str
    address: str
    at: float
    body: dict[str, Json] = field(default_factory=dict)
