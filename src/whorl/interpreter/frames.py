"""Frames, and all other parts of a run's state: one JSON value, whose fields are named here.

A frame is a running construct. Its `kind` tells which fields it has. An outcome is how something
ended: a status, and a value or an error with its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeAlias, TypedDict

from whorl.ir import Task
from whorl.ir.expressions import expressions_in, outer_values
from whorl.language import Json, LimitExceeded
from whorl.lazily import regex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from whorl.ir import Node
    from whorl.language import LanguageError


# How something ended: a status, and a value or an error; errors, with the place they belong to.

# Shown in place of hidden values.
HIDDEN = "***"
_FAILURES = frozenset({"failed", "timed_out", "cancelled"})
# Network, rate, provider, time, a broken answer, a server of tools: they say nothing about what was
# asked.
OUTSIDE = frozenset(["P101", "P102", "P103", "P104", "P108", "P111", "P120", "P127", "P128"])
# These do, unless a provider has refused the request with a status.
REFUSED = frozenset({"P106", "P119"})
# An answer was cut, and what its error says where a budget was the limit.
_CUT, _BY_BUDGET = "P118", "raise the budget"
_ITERATION = regex(r"\[([0-9]+)\][^\[\]]*$")


def succeeded(value: Json = None) -> Outcome:
    return {"status": "succeeded", "value": value}


def failed(error: Error, *, status: str = "failed", value: Json = None) -> Outcome:
    return {"status": status, "error": error, "value": value}


def is_failure(outcome: Outcome) -> bool:
    return outcome["status"] in _FAILURES


def error_at(address: str, code: str, message: str, **more: Json) -> Error:
    """Makes an error at an address, with the iteration that it happened in."""
    match = _ITERATION.search(address)
    iteration = int(match[1]) if match else None
    error: Error = {"code": code, "message": message, "path": address, "iteration": iteration}
    return error | {name: fact for name, fact in more.items() if fact}


def error_facts(error: Error) -> Values:
    """Returns the facts of an error, for a message of another code that passes it on."""
    return {"code": error["code"]} | error["facts"] if error.get("facts") else {}


def language_failure(fault: LanguageError, address: str, node: Node | None = None) -> Error:
    """Makes the error of an expression; for a secure `node` it hides the reason."""
    code, words = "R105" if isinstance(fault, LimitExceeded) else "R104", f"{fault}"
    if node is not None and (node.secure_outputs or (isinstance(node, Task) and node.secure)):
        sources = [e.source for value in outer_values(node) for e in expressions_in(value)]
        # A name that is written in the file is not a secret.
        if fault.name is None or not any(f"'{fault.name}'" in source for source in sources):
            words = "an expression failed; the reason is hidden, since it is secure"
    return error_at(address, code, words)


def out_of_time(frame: FrameFields) -> Error:
    return error_at(frame["address"], "R101", f"{frame['name']!r} took longer than its time limit")


def root_of(error: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the first cause of an error."""
    while isinstance(cause := error.get("cause"), dict) and cause.get("code"):
        error = cause
    return error


def is_cut(error: Mapping[str, Any]) -> bool:
    """Checks whether the error comes from an answer that a budget has cut."""
    error = root_of(error)
    return error.get("code") == _CUT and _BY_BUDGET in str(error.get("message"))


def is_outside(error: Mapping[str, Any]) -> bool:
    """Checks whether the error comes from a provider or another service."""
    root = root_of(error)
    return root.get("code") in OUTSIDE or (root.get("code") in REFUSED and "status" in root)


# Results by node name, inputs, outputs: what expressions see.
Values: TypeAlias = dict[str, Json]
# What was used or reserved, by name: calls, tokens, cost_usd, ...
Amounts: TypeAlias = dict[str, float]
# Code, message, path and iteration; the facts that advice is made from; its cause.
Error: TypeAlias = dict[str, Any]
# A status, and a value or an error.
Outcome: TypeAlias = dict[str, Any]
# How a node of a block ended: status; cause of a skip, tolerated or not, number of attempt, error.
End: TypeAlias = dict[str, Any]
Phase: TypeAlias = Literal["body", "judging", "asking", "delay", "limit"]


class Waiting(TypedDict):
    """What the run waits for at an address: a task, a timer, a gate, or an alarm (a time limit)."""

    frame: str
    what: str
    sent: NotRequired[bool]
    due: NotRequired[float]
    date: NotRequired[bool]
    name: NotRequired[str]
    index: NotRequired[int]


class Scope(TypedDict):
    """Names that frames see, and the scope in which names that are not here are looked up."""

    values: Values
    up: str | None
    hidden: NotRequired[list[str]]


class FrameFields(TypedDict):
    """What all frames share; those of nodes have a node, a name and attempts."""

    parent: str | None
    scope: str
    loop: str | None
    address: str
    node: NotRequired[str]
    name: NotRequired[str]
    base: NotRequired[str]
    attempt: NotRequired[int]
    at: NotRequired[float]
    echo: NotRequired[Json]
    alarm: NotRequired[str]
    waits: NotRequired[dict[str, int]]
    children: NotRequired[dict[str, str]]
    body: NotRequired[str | None]
    own_scope: NotRequired[str]
    inner: NotRequired[str]
    ended: NotRequired[str]
    out_of_time: NotRequired[bool]


class PlainFrame(FrameFields):
    """A frame of few fields: the run's input, the case that a branch took, the end of a wait."""

    kind: Literal["run", "call", "group", "branch", "wait", "gate", "signal"]
    input: NotRequired[Values]
    branch: NotRequired[str]
    due: NotRequired[float]
    # Addresses that are being taken back; the run ends after that.
    unsubscribing: NotRequired[dict[str, int]]


class ProgramFrame(FrameFields):
    """Code that requests nodes: how they ended, with the number of the answer, the newest values.

    The outermost one has a queue of requests that are not carried out yet.
    """

    kind: Literal["program"]
    ends: dict[str, End]
    fault: NotRequired[Error]
    values: NotRequired[Values]
    attempts: NotRequired[dict[str, int]]
    queue: NotRequired[list[dict[str, Any]]]


class BlockFrame(FrameFields):
    """A block; `index` is set if it is the body of an item."""

    kind: Literal["block"]
    block: str
    ends: dict[str, End]
    left: int
    index: NotRequired[int]
    attempts: NotRequired[dict[str, int]]
    retries: NotRequired[dict[str, int]]
    idle: NotRequired[dict[str, int]]
    queue: NotRequired[list[str]]
    running: NotRequired[int]
    lost: NotRequired[bool]
    halted: NotRequired[bool]


class ForEachFrame(FrameFields):
    """A for-each; failures and tries are kept by the index of the item."""

    kind: Literal["foreach"]
    items: NotRequired[list[Json]]
    next: NotRequired[int]
    left: NotRequired[int]
    results: NotRequired[list[Json]]
    failures: NotRequired[dict[str, Error]]
    lost: NotRequired[list[str]]
    tries: NotRequired[dict[str, int]]
    kept: NotRequired[dict[str, dict[str, Any]]]


class TaskFrame(FrameFields):
    """A task, at its present attempt and turn."""

    kind: Literal["task"]
    inputs: NotRequired[Values]
    extra: NotRequired[Values]
    secure: NotRequired[bool]
    # Attempts.
    key: NotRequired[str]
    retries: NotRequired[int]
    repairs: NotRequired[int]
    repair: NotRequired[Json]
    doubts: NotRequired[int]
    attempts_before: NotRequired[int]
    # An answer that comes later.
    since: NotRequired[float]
    later: NotRequired[Values]
    asked_later: NotRequired[int]
    # How the address is taken back that was given away for a call.
    unsubscribe: NotRequired[Values]
    # The budget: what a call that is to be sent needs of it (reserve, cap, at_worst), what is held.
    intent: NotRequired[dict[str, Any]]
    reserve: NotRequired[Amounts]
    held: NotRequired[Amounts]
    cap: NotRequired[int]
    unsent: NotRequired[bool]
    # Tools: how far it has come (root, number, tools).
    turns: NotRequired[dict[str, Any]]
    turn: NotRequired[Json]
    results: NotRequired[list[Values]]


class Budgeted(TypedDict, total=False):
    """A scope with limits and usage: the run, or a loop that is set up."""

    limits: dict[str, Any]
    usage: Amounts
    reserved: Amounts
    begun: bool
    open: int


class LoopFrame(FrameFields, Budgeted):
    """A loop; one that could not be set up has none of its own fields."""

    kind: Literal["loop"]
    phase: Phase
    count: int
    started: float
    carry: Values
    past: list[Json]
    # The iteration that it is in: address, at, the usage before it, remembered.
    iteration: NotRequired[dict[str, Any]]
    checked: NotRequired[bool]
    fresh: NotRequired[bool]
    reason: NotRequired[str]
    # What it keeps of its iterations; what it may return has number, results, score, approved.
    last: NotRequired[int]
    previous: NotRequired[Values]
    first: NotRequired[dict[str, Any]]
    best: NotRequired[dict[str, Any]]
    all: NotRequired[dict[str, list[Json]]]
    history: NotRequired[list[Json]]
    history_cuts: NotRequired[int]
    collected: NotRequired[dict[str, Any]]
    person: NotRequired[Values]
    # Failures.
    retries: NotRequired[int]
    failed: NotRequired[list[int]]
    failures: NotRequired[int]
    fault: NotRequired[Error]
    failure: NotRequired[dict[str, Any]]
    # Measures of an iteration, by the id of the condition that wants them.
    score: NotRequired[float | None]
    outside: NotRequired[Values]
    scores: NotRequired[dict[str, float | None]]
    texts: NotRequired[dict[str, str | None]]
    texts_before: NotRequired[dict[str, str | None]]
    marks: NotRequired[dict[str, float]]
    stale: NotRequired[dict[str, int]]
    # Judges, by the same ids: votes, and once they decide, the verdict `met`; the last answer and
    # its words (reason, evidence); reask. `before` where an iteration is not made yet.
    before: NotRequired[bool]
    judged: NotRequired[dict[str, dict[str, Any]]]
    asking: NotRequired[str]
    asks: NotRequired[dict[str, int]]
    judge: NotRequired[str | None]
    # What judges are asked that decides nothing any more, and what had been used before that.
    rest: NotRequired[dict[str, dict[str, Any]]]
    rest_from: NotRequired[Amounts]
    # It runs up to `most` iterations; `extra` is what judges used beside its own rule, `own` how
    # that would have ended it, and what it had then: reason, by, fields, variables.
    explore: NotRequired[dict[str, Any]]
    explored: NotRequired[int]
    aside: NotRequired[dict[str, Any]]
    # Limits.
    stop_at: NotRequired[int]
    time_from: NotRequired[float]
    limit_reason: NotRequired[str]
    short_of_run: NotRequired[bool]
    needs: NotRequired[Amounts]
    out_of_budget: NotRequired[dict[str, Any]]
    # An iteration that a budget stopped: in which phase, when, and what it waited for.
    suspended: NotRequired[dict[str, Any]]
    # What a person accepted.
    accepted: NotRequired[Values]
    accepted_number: NotRequired[int]
    accepted_collected: NotRequired[Values]
    accepted_score: NotRequired[float | None]
    # Of a loop of a program: what its iterations said of the rule, and the state that they declare.
    rule: NotRequired[Values]
    state: NotRequired[Json]
    # It ends after this iteration; its result was edited.
    stops: NotRequired[bool]
    edited: NotRequired[bool]


class Answer(TypedDict):
    """An answer that the code of a program has not taken yet; the value of a reply stays there."""

    number: int
    address: str
    at: float
    body: Values
    source: NotRequired[str]


class ProgramState(TypedDict):
    """Code: the numbers of the last answer and of the last one taken, answers, requested nodes.

    `restart` says that the code begins again, without the answers in it. A `log` has the answers
    and requests of a program that keeps them, and so many characters as `size` says.
    """

    given: int
    taken: int
    answers: list[Answer]
    grown: dict[str, dict[str, list[Json]]]
    restart: NotRequired[list[int]]
    log: NotRequired[list[dict[str, Any]] | None]
    size: NotRequired[int]


Frame: TypeAlias = PlainFrame | ProgramFrame | BlockFrame | ForEachFrame | LoopFrame | TaskFrame


class RunState(Budgeted):
    format: int
    status: str
    run: str
    at: float
    seed: str
    next: int
    notes: int
    frames: dict[str, Frame]
    scopes: dict[str, Scope]
    pending: dict[str, Waiting]
    root: str
    warned: list[str]
    sessions: dict[str, Any]
    abandoned: dict[str, dict[str, Any]]
    iterations: int | None
    memory: dict[str, list[Json]]
    unanswered: dict[str, list[Any]]
    result: dict[str, Any] | None
    # How the run ends, once all addresses that it gave away are taken back.
    ending: NotRequired[Outcome]
    conversations: NotRequired[dict[str, list[dict[str, Any]]]]
    requests: NotRequired[list[str]]
    paused_by: NotRequired[str]
    paused_at: NotRequired[float]
    short_loop: NotRequired[str]
    queue: NotRequired[list[str]]
    out_of_budget: NotRequired[list[str]]
    over: NotRequired[dict[str, bool]]
    # The values of secret inputs, which are hidden from all viewers.
    secrets: NotRequired[list[Json]]
    # Iterations of explored loops by name, regardless of their rules.
    explore: NotRequired[dict[str, int]]
    # Whether the cost budget pauses the run instead of ending a loop, so that it can be raised.
    pauses: NotRequired[bool]
    # The address under which tasks that wait for calls are called, and what signs it.
    callback: NotRequired[dict[str, str]]
    # What is known of the code of a program.
    program: NotRequired[ProgramState]
    # The version of the machine that began the run.
    behaviour: NotRequired[int]
    # Only in a snapshot that was taken in the midst of work: the agenda, and how far it has come.
    work: NotRequired[dict[str, Any]]


def discard(fields: FrameFields | Budgeted, *names: str) -> None:
    for name in names:
        fields.pop(name, None)  # type: ignore[misc]


def children_of(frame: FrameFields | Frame) -> list[str]:
    keys = [*frame["children"].values()] if "children" in frame else []
    return [*keys, body] if (body := frame.get("body")) else keys
