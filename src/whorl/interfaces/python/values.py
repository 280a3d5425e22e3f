"""What a Python program gives, checked where it enters, and what it gets: workflows and results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from whorl.errors import Cause, RunFailed, UsageError
from whorl.interfaces.advice import advised
from whorl.lazily import dataclass
from whorl.providers.json_values import DEPTH_MAX, NotJson, as_json
from whorl.services.inspecting.results import usage_document

if TYPE_CHECKING:
    import os

    from whorl import ir
    from whorl.errors import Diagnostic
    from whorl.language import Json
    from whorl.providers.functions import Tasks
    from whorl.services.project import Project


FilePath: TypeAlias = "str | os.PathLike[str]"
# A whorl.toml, or what would stand in one.
Config: TypeAlias = "FilePath | Mapping[str, object]"
Status: TypeAlias = Literal[
    "running", "succeeded", "failed", "waiting", "paused", "interrupted", "cancelled"
]
Mark: TypeAlias = Literal["limit", "budget", "warning"]
ExitReason: TypeAlias = (
    Literal["condition_met", "max_iterations", "timeout", "budget"]
    | Literal["failed", "cancelled", "accepted", "rejected"]
)
StoppedBy: TypeAlias = Literal[
    "expression", "score", "judge", "branch", "stable", "plateau", "break", "items", "person"
]
RecordStatus: TypeAlias = (
    Literal["running", "waiting", "succeeded", "failed"]
    | Literal["timed_out", "cancelled", "skipped"]
)
# What parameters take: also types whose items cannot be changed, such as tuples.
JsonLike: TypeAlias = (
    "bool | int | float | str | Sequence[JsonLike] | Mapping[str, JsonLike] | None"
)
_BYTES = (bytes, bytearray, memoryview)
_DOLLARS_MAX = 1e9


class TaskRaised(Exception):
    """What the function of a step raised, as its traceback in the journal; a cause of RunFailed."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@dataclass(frozen=True, slots=True)
class Event:
    """An entry of a run's journal: what happened, where, and when."""

    seq: int
    kind: str
    address: str
    at: float
    body: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """What was used; `unpriced_calls` had no known price and are not in `cost_usd`.

    `cost_usd` is None where no price is known. It contains `reserved_usd`: what was reserved for
    calls in doubt, of which nobody knows what they cost. Of the calls of a run, `model_calls` are
    those of models and agents.
    """

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    in_doubt: int = 0
    unpriced_calls: int = 0
    model_calls: int | None = None
    reserved_usd: float | None = None


@dataclass(frozen=True, slots=True)
class LoopResult:
    """How a loop ended."""

    path: str
    iterations: int
    exit_reason: ExitReason | None
    stopped_by: StoppedBy | None
    score: float | None
    best_iteration: int | None
    returned_iteration: int | None
    failed_iterations: tuple[int, ...]
    usage: Usage
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Iteration:
    """A finished iteration of a loop: what its steps gave, and how it was judged.

    `met`: a condition stopped the loop, `by` says which kind; `verdicts` has what each condition
    saw, with values, scores and the words of judges.
    """

    loop: str
    number: int
    status: str
    values: dict[str, Json]
    score: float | None
    met: bool
    by: str | None
    verdicts: tuple[dict[str, Any], ...]
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class Result:
    """The state of a run: the same facts as `whorl run --json` prints."""

    run: str
    status: Status
    output: Json
    outputs: dict[str, Json]
    loops: tuple[LoopResult, ...]
    usage: Usage
    warnings: tuple[dict[str, Json], ...]
    error: dict[str, Json] | None
    _past: Any = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def ok(self) -> bool:
        """Whether the run has succeeded."""
        return self.status == "succeeded"

    def iterations(self, at: str = "") -> tuple[Iteration, ...]:
        """The iterations of a loop, with what their steps gave and how they were judged.

        `at` says which loop, where there are several.
        """
        found: tuple[Iteration, ...] = self._past.iterations(at)
        return found

    def raise_for_status(self) -> Result:
        """Raises RunFailed if the run has failed; otherwise returns itself."""
        if self.status == "failed":
            error: dict[str, Any] = self.error or {}
            code, message = error.get("code", "R100"), advised(error) or "the run failed"
            detail = {"cause": error["cause"]} if error.get("cause") else {}
            place = (str(error.get("path", "")), error.get("iteration"))
            failed = RunFailed(self.run, Cause(str(code), str(message), *place, detail))
            lines = error.get("traceback")
            raise failed from None if lines is None else TaskRaised(str(lines))
        return self


@dataclass(frozen=True, slots=True)
class Record:
    """The outcome of a step, an item or an iteration.

    `inputs` is what it was given, or the names that it reads; `reason` says why it was skipped
    (condition, order, halt, branch, around, end, budget), `because` has the facts of that.
    `repetitions` counts the items or iterations that have begun.
    """

    address: str
    path: str
    name: str
    kind: str
    status: RecordStatus
    started_at: float | None
    ended_at: float | None
    seconds: float | None
    inputs: Json
    output: Json
    error: dict[str, Json] | None
    usage: Usage
    reason: str = ""
    because: dict[str, Json] = field(default_factory=dict)
    branch: str | None = None
    number: int | None = None
    repetitions: int | None = None
    attempts: tuple[dict[str, Json], ...] = ()


def record_from(document: dict[str, Any]) -> Record:
    """The typed form of a record."""
    attempts = tuple(document.get("attempts", ()))
    return Record(**document | {"usage": Usage(**document["usage"]), "attempts": attempts})


def usage_from(given: Mapping[str, Any] | None) -> Usage:
    """The typed form of what a note says was used; what it leaves out is zero."""
    return Usage(**usage_document(given))  # type: ignore[arg-type]


def result_from(document: dict[str, Any]) -> Result:
    """The typed form of a result document."""
    names = ("run", "status", "output", "outputs", "error")
    return Result(
        **{name: document[name] for name in names},
        loops=tuple(
            LoopResult(
                **loop
                | {"failed_iterations": tuple(loop["failed_iterations"])}
                | {"usage": Usage(**loop["usage"])}
            )
            for loop in document["loops"]
        ),
        usage=Usage(**document["usage"]),
        warnings=tuple(document["warnings"]),
    )


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow that was checked; `warnings` lists what looks wrong."""

    name: str
    ir: ir.Workflow = field(repr=False, hash=False)
    file: str = ""
    sources: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    warnings: tuple[Diagnostic, ...] = ()
    # The functions that its steps call, where it was written in Python.
    tasks: Tasks | None = field(default=None, repr=False, hash=False, compare=False)


class Definition(Protocol):
    """A workflow that is written as a function, such as `@whorl.workflow` makes."""

    def build(self, project: Project) -> Workflow: ...


Runnable: TypeAlias = "Workflow | Definition | FilePath"


def plain_value(value: object, place: str) -> Json:
    """A copy of the value as plain JSON; raises UsageError with the place of what is none."""
    try:
        return _plain(value, place, 0)
    except NotJson as fault:
        raise UsageError(str(fault)) from None


def plain_table(value: object, place: str) -> dict[str, Json]:
    """The same for a value that must be a mapping; None stands for an empty one."""
    if _is_typed(value):
        from whorl.interfaces.python.typed import to_json

        value = to_json(value)
    if not isinstance(value, Mapping | None):
        raise UsageError(f"{place} must be a mapping of names to values, not {value!r:.80}")
    table = plain_value(dict(value or {}), place)
    assert isinstance(table, dict)
    return table


def dollars(value: float | None, name: str = "budget") -> float | None:
    """An amount of dollars, if one is given; raises UsageError where it is none."""
    if value is None:
        return None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < _DOLLARS_MAX:
        raise UsageError(f"{name} is {value!r:.80}, which is not an amount of dollars such as 0.50")
    return float(value)


def count(value: int | None, name: str, least: int = 1) -> int | None:
    """A whole number of at least so much, if one is given; raises UsageError where it is none."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(
            f"{name} is {value!r:.80}, which is not a whole number of at least {least}"
        )
    return int(value)


def text(value: str | None, name: str) -> str:
    """A text; None stands for an empty one. Raises UsageError for anything else."""
    if not isinstance(value, str | None):
        raise UsageError(f"{name} is {value!r:.80}, which is not a text")
    return value or ""


def _plain(value: object, place: str, depth: int) -> Json:
    if depth > DEPTH_MAX:
        raise NotJson(f"{place[:80]}... is more than {DEPTH_MAX} levels deep")
    if isinstance(value, Mapping):
        return {
            _key(key, place): _plain(item, f"{place}.{key}", depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, str):
        # A text that is a member of an enumeration would be shown as the name of the member.
        return as_json(str.__str__(value), place)
    if _is_typed(value):
        from whorl.interfaces.python.typed import to_json

        return _plain(to_json(value), place, depth)
    if isinstance(value, Sequence) and not isinstance(value, _BYTES):
        return [_plain(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
    return as_json(value, place)


def _is_typed(value: object) -> bool:
    """Whether it is an instance of a dataclass, an enumeration, or a model."""
    is_model = hasattr(type(value), "model_dump")
    has_fields = is_dataclass(value) and not isinstance(value, type)
    return has_fields or is_model or isinstance(value, Enum)


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise NotJson(f"{place} has the key {key!r:.80}, which is not a text")
    return str.__str__(key)
