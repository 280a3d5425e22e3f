"""What a workflow writes down: values, inputs, retries, and the conditions that end a loop.

Conditions are an algebra whose verdict is met, not met or inconclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from whorl.language import Expression, Json

__all__ = ["Constant", "Expression", "Fields", "Items", "Port", "PortType", "Retry", "Value"]


@dataclass(frozen=True, slots=True)
class Constant:
    """A JSON value that stands for itself."""

    value: Json


@dataclass(frozen=True, slots=True)
class Items:
    """A list whose items may hold expressions."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Fields:
    """An object whose values (and, where a dialect has it, keys) may hold expressions."""

    entries: tuple[tuple[str | Expression, Value], ...] = ()


Value: TypeAlias = Constant | Expression | Items | Fields

PortType = Literal["string", "number", "integer", "boolean", "json", "list", "file", "files", "any"]


@dataclass(frozen=True, slots=True)
class Port:
    """A typed input of a workflow.

    `aliases` are other names that it may be given under; `*` is any name, where one value is given.
    """

    name: str
    type: PortType = "any"
    required: bool = True
    default: Json = None
    description: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Retry:
    """How often, how long apart and after which faults a task is tried again.

    `on` holds error codes, HTTP statuses as text, or words such as `timeout`; empty means every
    fault that the provider calls retryable, and `("*",)` means every fault. A wait that is `drawn`
    lies anywhere between the one before it (nothing, at first) and its own length.
    """

    times: int
    wait_s: float = 1.0
    backoff: float = 2.0
    wait_max_s: float = 60.0
    wait_min_s: float = 0.0
    jitter: float = 0.0
    on: tuple[str, ...] = ()
    drawn: bool = False


@dataclass(frozen=True, slots=True)
class When:
    """Met when the expression is true; `described` says it in words where its source does not."""

    test: Expression
    described: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """Measures the iteration; met when the score reaches `at_least` (None: it only measures).

    The number is the value of `source`; with `pattern` it is the first group of the first match
    in its text. A score that is not finite, or outside `low` to `high`, never meets anything.
    `described` says how the number is looked for, in the warning that there is none.
    """

    source: Value
    pattern: str | None = None
    at_least: float | None = None
    low: float | None = None
    high: float | None = None
    described: str = ""


@dataclass(frozen=True, slots=True)
class Judge:
    """Asks a model; met when it answers yes, by majority of `votes`."""

    question: Value
    subject: Value
    model: tuple[str, ...] = ()
    votes: int = 1
    inputs: Value = Constant(None)


@dataclass(frozen=True, slots=True)
class BranchTaken:
    """Met when the branch node took the branch of that name."""

    node: str
    name: str


@dataclass(frozen=True, slots=True)
class Stable:
    """Met when two results in a row are at least this much alike.

    Long texts are cut before they are compared; with `whole` any difference counts behind the cut.
    """

    subject: Value
    threshold: float = 0.95
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Plateau:
    """Met when the score has not grown by more than `min_delta` for `patience` iterations."""

    patience: int
    min_delta: float = 0.0


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Met when one of the conditions is."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Met when all of the conditions are."""

    conditions: tuple[Condition, ...]


Condition: TypeAlias = When | Score | Judge | BranchTaken | Stable | Plateau | AnyOf | AllOf
