"""What goes in and out of the machine: events, commands, and the addresses that both are about.

*Fed* events come from outside and are all that the machine ever learns; *notes* are what it says
about itself on the way: people and projections read them, and they are never fed back.
An address is one string for everything that happens, the same in journal, URL and terminal.
`polish[3]/review#2` is the second attempt of node `review` in the third iteration of `polish`.
A part that begins with a colon belongs to the construct itself: `polish[3]/:judge`.
"""

from __future__ import annotations

import math
import re
from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from whorl.lazily import dataclass, regex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.language import Json


# What a person asks for may have a name, `request`: one of a name that came before is ignored.
# What came in the midst of work that takes long has the `step` of that work that it came at.
FedKind: TypeAlias = Literal[
    # run, seed, input, limits, iterations, explore, memory, refused, behaviour, callback
    "run.started",
    "task.started",  # the intent: kind, inputs, reserve {cost_usd, tokens, input_tokens, calls}
    "task.held",  # the limits of the provider hold the call back: nothing is sent yet
    "task.sent",  # a call that was held back is on its way
    "task.finished",  # the reply: value, usage, and what the provider tells about it
    "task.failed",  # error {code, message, retryable, retry_after_s, detail}, value, usage
    "task.in_doubt",  # an intent without a reply was found after a crash: reserve
    "timer.fired",  # at `:clock` it only tells the time, to a run that computes
    # given: the last answer that the code has; took: those since the step before, each with its
    # address, its time, and its value or the address of the reply; requests; lost: answers that
    # the code was given before, and is not given again
    "program.stepped",
    "gate.decided",  # approved, feedback, by, value: what a call sent, or a person edited
    "run.paused",  # by; backup: the time of the backup that it was restored from
    "run.resumed",  # cost_usd, tokens, calls: so much more
    "run.cancelled",  # feedback
    "run.exhausted",  # cpu_s: it has computed for so long, the most that it may
    "run.continued",  # at, iterations, cost_usd, tokens, calls: so much more; around
    "run.accepted",  # at, iteration, results, score, collected; without an iteration: stop after it
    # it stood where the iteration begins, at the time stood_at; workflow: the one until then
    "run.forked",  # at, run, seed, source, set, limits, stood_at, workflow
]

NoteKind: TypeAlias = Literal[
    "loop.started",  # path, limits
    "iteration.started",  # number, and what the loop tells of it
    "iteration.finished",  # number, status, seconds, usage, score, best, met, by, facts, ...
    "loop.continued",  # by a person, with these limits, run_limits
    "loop.finished",  # path, iterations, exit_reason, stopped_by, score, best_iteration, ...
    # of a branch: branch; of a failure that is tolerated: status, error; of a task whose time for
    # all attempts is over: status, error, usage; of a call that is cancelled on its way: status,
    # usage, which counts until a reply comes all the same
    "node.finished",
    "node.skipped",  # cause
    "task.retrying",  # due, error
    "gate.waiting",  # reason, message, show; at a limit: facts
    "budget.reached",  # limit, of, scope, pauses
    # not_begun: for a budget, the iterations whose first calls it refuses
    # due: when a time limit ends the wait; status, for and not_begun, where the run is paused
    "run.waiting",
    "run.answered",  # whoever called the workflow can be answered
    "run.finished",  # status, output, outputs, error, usage
    # what happened, and what advice is made from: whose limit, how much more it needs, ...
    "warning",  # code, message, facts
]

FED_KINDS: frozenset[str] = frozenset(get_args(FedKind))
NOTE_KINDS: frozenset[str] = frozenset(get_args(NoteKind))


@dataclass(slots=True)
class Event:
    """Something that happened at an address, at a time in seconds since the epoch.

    It must not be changed; it is not frozen because that makes it take twice as long to make.
    """

    kind: str
    address: str
    at: float
    body: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class Perform:
    """Do a task. Priced and side-effecting kinds are journaled as `task.started` first.

    The `key` lets the other side recognise a call that is sent again. It is the address of the
    first attempt whose outcome is unknown, or of this one.
    """

    address: str
    kind: str
    inputs: dict[str, Json] = field(default_factory=dict)
    attempt: int = 1
    timeout_s: float | None = None
    returns: Json = None
    session: str = ""
    repair: Json = None
    key: str = ""
    secure: bool = False
    secure_outputs: bool = False
    # Whether the name of its model is computed, so that it is one of its secure inputs.
    secure_model: bool = False


@dataclass(slots=True)
class Send:
    """The intent at this address is accounted for: the call may be sent.

    `cap` is the number of tokens that its answer may have, if a budget sets one.
    """

    address: str
    cap: int | None = None


@dataclass(slots=True)
class SetTimer:
    """Feed `timer.fired` at this time, in seconds since the epoch.

    It is a time of the run, independent of the system clock, or (`is_date`) a time of day.
    """

    address: str
    due: float
    is_date: bool = False


@dataclass(slots=True)
class Cancel:
    """The open call or timer at this address is no longer wanted."""

    address: str


@dataclass(slots=True)
class Give:
    """The code of a program receives an answer: its input, an iteration, how a request ended.

    Answers are numbered from 1. With a `source`, its value is that of the reply at that address.
    """

    number: int
    address: str
    body: dict[str, Json]
    at: float
    source: str = ""


def charged(reserve: Mapping[str, Json]) -> dict[str, float]:
    """Returns what counts for a call of unknown usage: the amount that was reserved."""
    tokens = amount_in(reserve.get("tokens"))
    read = min(amount_in(reserve.get("input_tokens")), tokens)
    usage = {"calls": amount_in(reserve.get("calls")), "input_tokens": read}
    usage |= {"output_tokens": tokens - read, "cost_usd": amount_in(reserve.get("cost_usd"))}
    return usage | {"in_doubt": 1}


def amount_in(value: object) -> float:
    """Returns a number; 0 if it is negative, not finite or not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return value if math.isfinite(value) and value > 0 else 0


Command: TypeAlias = Perform | Send | SetTimer | Cancel | Give

_SPECIAL = regex(r"[%/\[\]#:]")
_ITERATION = regex(r"(.*)\[([0-9]+)\](?:#[0-9]+)?")


@lru_cache(maxsize=4096)
def escape(name: str) -> str:
    return _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", name)


def unescape(part: str) -> str:
    return re.sub(r"%([0-9A-F]{2})", lambda match: chr(int(match[1], 16)), part)


def join(parent: str, name: str) -> str:
    """Returns the address of a node below another address (empty: the run itself)."""
    return f"{parent}/{escape(name)}" if parent else escape(name)


def inner(parent: str, word: str) -> str:
    """Returns the address of something that a construct does for itself, such as judging."""
    return f"{parent}/:{word}"


def numbered(address: str, number: int) -> str:
    return f"{address}[{number}]"


def attempted(address: str, attempt: int) -> str:
    """Returns the address of an attempt; the first one is the address itself."""
    return f"{address}#{attempt}" if attempt > 1 else address


# A fold of a journal splits the same address several times in a row.
@lru_cache(maxsize=64)
def split_iteration(address: str) -> tuple[str, int | None]:
    """Splits an address: `outer[1]/inner[3]` is iteration 3 of loop `outer[1]/inner`."""
    match = _ITERATION.fullmatch(address)
    if match is None:
        return address, None
    return match[1], int(match[2])
