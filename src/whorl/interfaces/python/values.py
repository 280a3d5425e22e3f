"""What a Python program gives, checked where it enters, and what a run came to, as typed values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.errors import Cause, RunFailed, UsageError
from whorl.providers.json_values import DEPTH_MAX, NotJson, as_json

if TYPE_CHECKING:
    from whorl.language import Json


Status: TypeAlias = Literal[
    "running", "succeeded", "failed", "waiting", "paused", "interrupted", "cancelled"
]
Mark: TypeAlias = Literal["limit", "budget"]
ExitReason: TypeAlias = (
    Literal["condition_met", "max_iterations", "timeout", "budget"]
    | Literal["failed", "cancelled", "accepted", "rejected"]
)
StoppedBy: TypeAlias = Literal[
    "expression", "score", "judge", "branch", "stable", "plateau", "break", "items", "person"
]


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
    """What was used; `unpriced_calls` had no known price and are not in `cost_usd`."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    in_doubt: int = 0
    unpriced_calls: int = 0


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
class Result:
    """How a run stands: the same facts as `whorl run --json` prints."""

    run: str
    status: Status
    output: Json
    outputs: dict[str, Json]
    loops: tuple[LoopResult, ...]
    usage: Usage
    warnings: tuple[dict[str, Json], ...]
    error: dict[str, Json] | None

    @property
    def ok(self) -> bool:
        """Whether the run has succeeded."""
        return self.status == "succeeded"

    def raise_for_status(self) -> Result:
        """Raises RunFailed if the run has failed; gives itself otherwise."""
        if self.status == "failed":
            error: dict[str, Any] = self.error or {}
            code, message = error.get("code", "R100"), error.get("message", "the run failed")
            detail = {"cause": error["cause"]} if error.get("cause") else {}
            place = (str(error.get("path", "")), error.get("iteration"))
            raise RunFailed(self.run, Cause(str(code), str(message), *place, detail))
        return self


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


# What parameters take: also types whose items cannot be changed, such as tuples.
JsonLike: TypeAlias = (
    "bool | int | float | str | Sequence[JsonLike] | Mapping[str, JsonLike] | None"
)
_BYTES = (bytes, bytearray, memoryview)
_DOLLARS_MAX = 1e9


def plain_value(value: object, place: str) -> Json:
    """A copy of the value as plain JSON; raises UsageError with the place of what is none."""
    try:
        return _plain(value, place, 0)
    except NotJson as fault:
        raise UsageError(str(fault)) from None


def plain_table(value: object, place: str) -> dict[str, Json]:
    """The same for a value that must be a mapping; None stands for an empty one."""
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
        raise UsageError(f"{name} is {value!r:.80}, which is no amount of dollars such as 0.50")
    return float(value)


def count(value: int | None, name: str) -> int | None:
    """A whole number of at least 1, if one is given; raises UsageError where it is none."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is {value!r:.80}, which is no whole number of at least 1")
    return int(value)


def text(value: str | None, name: str) -> str:
    """A text; None stands for an empty one. Raises UsageError for anything else."""
    if not isinstance(value, str | None):
        raise UsageError(f"{name} is {value!r:.80}, which is no text")
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
    if isinstance(value, Sequence) and not isinstance(value, _BYTES):
        return [_plain(item, f"{place}[{at}]", depth + 1) for at, item in enumerate(value)]
    return as_json(value, place)


def _key(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise NotJson(f"{place} has the key {key!r:.80}, which is no text")
    return str.__str__(key)
