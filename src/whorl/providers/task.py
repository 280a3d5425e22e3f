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
class Cap:
    """The size of the answer is open: a budget may limit it.

    At least `least` output tokens are reserved, up to `most` may be allowed; each costs
    `usd_per_token` (None: no price is known).
    """

    least: int
    most: int
    usd_per_token: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a call is expected to use; reserved before it, settled after it.

    It is the most where `cap` is None. Else it holds the least that the answer is given, and the
    machine says with `Request.cap` how much it may be. `at_worst` is what a server may use that
    does not keep to the limit of an answer, where that is not known of it.
    """

    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    cap: Cap | None = None
    at_worst: Worst | None = None


@dataclass(frozen=True, slots=True)
class Worst:
    """What a call uses if its answer is as long as the model can make it."""

    tokens: int
    cost_usd: float | None


@dataclass(slots=True)
class Request:
    """One attempt at a task.

    `key` is the same when a call is sent again of which nobody knows what came of it. `cap` is how
    many output tokens the budget allows, where the inputs do not limit them.
    """

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
    cap: int | None = None


@dataclass(slots=True)
class Reply:
    """What a task gave. `detail` is told to people: the model, the finish reason, the status.

    `warnings` in it, a list of `{code, message}`, become warnings of the run.
    """

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
