"""What a run came to, as typed values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from whorl.errors import Cause, RunFailed

if TYPE_CHECKING:
    from whorl.language import Json

Status: TypeAlias = Literal[
    "running", "succeeded", "failed", "waiting", "paused", "interrupted", "cancelled"
]
Mark: TypeAlias = Literal["limit", "budget"]
ExitReason: TypeAlias = Literal[
    "condition_met",
    "max_iterations",
    "timeout",
    "budget",
    "failed",
    "cancelled",
    "accepted",
    "rejected",
]
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
    mark: Literal["limit", "budget"] | None = None


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
            found: dict[str, Any] = self.error or {}
            cause = Cause(
                code=str(found.get("code", "R100")),
                message=str(found.get("message", "the run failed")),
                path=str(found.get("path", "")),
                iteration=found.get("iteration"),
                detail={"cause": found["cause"]} if found.get("cause") else {},
            )
            raise RunFailed(self.run, cause)
        return self


def result_from(document: dict[str, Any]) -> Result:
    """The typed form of a result document."""
    return Result(
        run=document["run"],
        status=document["status"],
        output=document["output"],
        outputs=document["outputs"],
        loops=tuple(_loop(loop) for loop in document["loops"]),
        usage=Usage(**document["usage"]),
        warnings=tuple(document["warnings"]),
        error=document["error"],
    )


def _loop(document: dict[str, Any]) -> LoopResult:
    fields = dict(document)
    fields["failed_iterations"] = tuple(fields["failed_iterations"])
    fields["usage"] = Usage(**fields["usage"])
    return LoopResult(**fields)
