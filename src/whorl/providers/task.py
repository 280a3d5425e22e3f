"""What a kind of task is: the one door through which all work goes, ours and everybody's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from whorl.language import Json

# none: repeating it costs nothing and changes nothing, so no intent is journaled before it.
Effect: TypeAlias = Literal["none", "outside", "priced"]

Emit: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a call used; a cost of None means that no price is known."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """The most that a call is expected to use; reserved before it, settled after it."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0


@dataclass(slots=True)
class Request:
    """One attempt at a task. `key` is the same when this very attempt is sent again."""

    run: str
    address: str
    kind: str
    inputs: dict[str, Json]
    attempt: int = 1
    key: str = ""
    timeout_s: float | None = None
    returns: Json = None
    session: str = ""
    repair: Json = None


@dataclass(slots=True)
class Reply:
    """What a task gave. `detail` is told to people: the model, the finish reason, the status."""

    value: Json
    usage: Usage = Usage()
    detail: dict[str, Json] = field(default_factory=dict)


class TaskKind(Protocol):
    """A kind of task, such as `ask` or `http`."""

    effect: Effect

    def estimate(self, request: Request) -> Estimate:
        """The most that this request is expected to use. Computes only."""

    async def perform(self, request: Request, emit: Emit) -> Reply:
        """Does the work; `emit` takes streamed text. Raises ProviderError."""
