"""What happens in a run, typed: the events of `run.stream()`, and which entries become them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from whorl.interfaces.python.values import Usage, usage_from
from whorl.lazily import dataclass
from whorl.runtimes.journal.sealed_secrets import shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from whorl.language import Json
    from whorl.runtimes.journal.journal import Entry


@dataclass(frozen=True, slots=True)
class Token:
    """Text that a step streams, since the last one: of a model, an agent, or `Call.emit`."""

    address: str
    text: str


@dataclass(frozen=True, slots=True)
class Happened:
    """What all entries of the journal have: their number, what they are about, and when."""

    seq: int
    address: str
    at: float


@dataclass(frozen=True, slots=True)
class RunStarted(Happened):
    """A run has begun, with these inputs."""

    inputs: Json


@dataclass(frozen=True, slots=True)
class StepStarted(Happened):
    """A step makes a call; steps without an effect are not announced."""

    kind: str
    inputs: Json


@dataclass(frozen=True, slots=True)
class StepFinished(Happened):
    """A step has its result."""

    value: Json
    usage: Usage
    model: str | None = None


@dataclass(frozen=True, slots=True)
class StepFailed(Happened):
    """An attempt at a step has failed; `error` has its code and message."""

    error: dict[str, Any]
    usage: Usage


@dataclass(frozen=True, slots=True)
class IterationStarted(Happened):
    """An iteration of a loop begins."""

    number: int


@dataclass(frozen=True, slots=True)
class IterationFinished(Happened):
    """An iteration has ended and was judged.

    `met`: a condition stops the loop, `by` says which kind; `verdicts` has what each condition saw.
    `best`: it has the highest score so far.
    """

    number: int
    status: str
    score: float | None
    met: bool
    by: str | None
    best: bool
    verdicts: tuple[dict[str, Any], ...]
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class LoopFinished(Happened):
    """A loop has ended."""

    iterations: int
    exit_reason: str
    stopped_by: str | None
    score: float | None
    returned_iteration: int | None
    usage: Usage


@dataclass(frozen=True, slots=True)
class GateOpened(Happened):
    """The run asks a person; `run.decide(...)` answers."""

    message: str
    reason: str
    show: Json


@dataclass(frozen=True, slots=True)
class GateDecided(Happened):
    """A person has answered."""

    approved: bool
    feedback: str


@dataclass(frozen=True, slots=True)
class Warned(Happened):
    """Something is not as it should be, and the run goes on."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class RunWaiting(Happened):
    """Nothing is under way: the run waits for a person, or is paused."""


@dataclass(frozen=True, slots=True)
class RunFinished(Happened):
    """The run has ended."""

    status: str
    output: Json
    error: dict[str, Any] | None
    usage: Usage


StreamEvent: TypeAlias = (
    Token
    | RunStarted
    | StepStarted
    | StepFinished
    | StepFailed
    | IterationStarted
    | IterationFinished
    | LoopFinished
    | GateOpened
    | GateDecided
    | Warned
    | RunWaiting
    | RunFinished
)
E = TypeVar("E", bound=StreamEvent)


def _usage(body: dict[str, Any]) -> Usage:
    return usage_from(body.get("usage"))


def _iteration(known: tuple[int, str, float], body: dict[str, Any]) -> IterationFinished:
    facts = tuple(body.get("facts") or ())
    return IterationFinished(
        *known,
        number=int(body["number"]),
        status=str(body["status"]),
        score=body.get("score"),
        met=bool(body.get("met")),
        by=body.get("by"),
        best=bool(body.get("best")),
        verdicts=facts,
        usage=_usage(body),
        seconds=float(body.get("seconds") or 0.0),
    )


def _loop(known: tuple[int, str, float], body: dict[str, Any]) -> LoopFinished:
    names = ("iterations", "exit_reason", "stopped_by", "score", "returned_iteration")
    fields: dict[str, Any] = {name: body.get(name) for name in names}
    seq, address, at = known
    return LoopFinished(seq=seq, address=address, at=at, usage=_usage(body), **fields)


_Make: TypeAlias = "Callable[[tuple[int, str, float], dict[str, Any]], StreamEvent]"
# What an entry of each kind is made into; those of other kinds are for `run.events()`.
KINDS: dict[str, _Make] = {
    "run.started": lambda known, body: RunStarted(*known, body.get("input")),
    "task.started": lambda known, body: StepStarted(*known, str(body["kind"]), body.get("inputs")),
    "task.finished": lambda known, body: StepFinished(
        *known, body.get("value"), _usage(body), body.get("model")
    ),
    "task.failed": lambda known, body: StepFailed(*known, body.get("error") or {}, _usage(body)),
    "iteration.started": lambda known, body: IterationStarted(*known, int(body["number"])),
    "iteration.finished": _iteration,
    "loop.finished": _loop,
    "gate.waiting": lambda known, body: GateOpened(
        *known, str(body.get("message", "")), str(body.get("reason", "gate")), body.get("show")
    ),
    "gate.decided": lambda known, body: GateDecided(
        *known, bool(body.get("approved")), str(body.get("feedback") or "")
    ),
    "warning": lambda known, body: Warned(
        *known, str(body.get("code", "")), str(body.get("message", ""))
    ),
    "run.waiting": lambda known, body: RunWaiting(*known),
    "run.finished": lambda known, body: RunFinished(
        *known, str(body["status"]), body.get("output"), body.get("error"), _usage(body)
    ),
}


def typed(entry: Entry) -> StreamEvent | None:
    """The entry as an event with fields; None for one that says nothing to programs."""
    event = entry.event
    make = KINDS.get(event.kind)
    return None if make is None else make((entry.seq, event.address, event.at), shown(event))
