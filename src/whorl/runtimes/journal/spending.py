"""What calls are charged with, by hour, loop and model: what a store keeps of each run's money."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from whorl.interpreter.events import unescape
from whorl.lazily import dataclass, regex
from whorl.runtimes.journal.fields import amount_of, count_of, text_of
from whorl.runtimes.journal.journal import known_cost
from whorl.runtimes.journal.projection import LoopFold, RunFold

if TYPE_CHECKING:
    from whorl.interpreter.events import Event
    from whorl.language import Json

# The hour since the epoch, the loop without the numbers of iterations, and the model.
Place: TypeAlias = tuple[int, str, str]

HOUR_S: Final = 3600
# What tells of the money of a run.
CHARGED: Final = frozenset(
    {"task.started", "task.finished", "task.failed", "task.in_doubt", "node.finished"}
)
# The model of a call that a model was asked of which nobody has said which.
UNKNOWN: Final = "?"
_MODELS_MAX: Final = 20_000
_NUMBERS: Final = regex(r"\[[0-9]+\]|#[0-9]+")


@dataclass(slots=True)
class Spent:
    """What was used; calls without a known price are counted beside the sum."""

    calls: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unpriced_calls: int = 0
    in_doubt: int = 0

    @property
    def known_usd(self) -> float | None:
        return known_cost(self.cost_usd, self.unpriced_calls)

    def charge(self, usage: dict[str, Json], model: str, sign: int = 1) -> None:
        calls = sign * count_of(usage.get("calls"))
        self.calls += calls
        self.model_calls += calls if model else 0
        self.input_tokens += sign * count_of(usage.get("input_tokens"))
        self.output_tokens += sign * count_of(usage.get("output_tokens"))
        self.in_doubt += sign * count_of(usage.get("in_doubt"))
        if usage.get("cost_usd") is None:
            self.unpriced_calls += calls
        else:
            self.cost_usd += sign * (amount_of(usage["cost_usd"]) or 0.0)


def model_named(body: dict[str, Any]) -> str:
    """The model or the agent that a reply, a failure or the inputs of a call name."""
    error = body.get("error")
    detail = error.get("detail") if isinstance(error, dict) else None
    naming = detail if isinstance(detail, dict) else body
    model, provider = text_of(naming.get("model")), text_of(naming.get("provider"))
    if model:
        return f"{provider}/{model}" if provider and "/" not in model else model
    agent = text_of(naming.get("agent"))
    return f"agent {agent}" if agent else ""


# Whoever folds a journal asks for the same loop again and again.
@lru_cache(maxsize=1024)
def step_of(address: str) -> str:
    """An address without the numbers of iterations and attempts."""
    return unescape(_NUMBERS.sub("", address))


def loop_of(address: str) -> str:
    """The innermost loop or list around an address, without numbers; empty: there is none."""
    head, bracket, _ = address.rpartition("]")
    return step_of(head.rpartition("[")[0]) if bracket else ""


@dataclass(slots=True)
class ChargeFold(RunFold[LoopFold]):
    """A run whose charges are told one by one, each with its model."""

    # The models that calls under way name.
    models: dict[str, str] = field(default_factory=dict)

    def begin(self, event: Event) -> None:
        RunFold.begin(self, event)
        inputs = event.body.get("inputs")
        if isinstance(inputs, dict) and (model := model_named(inputs)):
            self.models[event.address] = model
            if len(self.models) > _MODELS_MAX:
                del self.models[next(iter(self.models))]

    def charge(self, event: Event, sign: int = 1) -> None:
        RunFold.charge(self, event, sign)
        usage: Any = event.body["usage"]
        is_asked = bool(usage.get("input_tokens") or usage.get("output_tokens"))
        named = model_named(event.body) or self.models.get(event.address, "")
        self.charged(event, named or (UNKNOWN if is_asked else ""), sign)
        if event.kind not in ("node.finished", "task.in_doubt"):
            self.models.pop(event.address, None)

    def charged(self, event: Event, model: str, sign: int) -> None:
        """The usage of an event counts under its model, or (-1) no longer."""

    def fork(self, event: Event) -> None:
        """What a fork has from the run that it comes from is not paid for again."""
        RunFold.fork(self, event)
        self.models.clear()


def place_of(event: Event, model: str) -> Place:
    return int(event.at // HOUR_S), loop_of(event.address), model
